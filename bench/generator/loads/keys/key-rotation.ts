// A talkgroup with many key holders whose key rotates while it is talked in: when each has the next key, and what is heard.
import { constants, setPriority } from 'node:os';
import { speak } from '../../../../src/client/node.js';
import { createRecorder, type Latency } from '../../../figures/histogram.js';
import { around, nowMs, until } from '../../../machine/clock.js';
import { readUsage, sharesOf, spent } from '../../../machine/conditions.js';
import {
  holderOf,
  joinKeyed,
  type KeyedTarget,
  keyringOf,
  type Trusted,
} from '../../../radios/keyed-radio.js';
import { RawRadio, type Said } from '../../../radios/raw-radio.js';
import { joinAll } from '../../../radios/swarm.js';
import { type Busy, fail, type Performance, perform } from '../../player.js';

export interface RotationSetup {
  readonly server: KeyedTarget;
  readonly adminToken: string;
  readonly talker: Trusted;
  /** Who hear all of the speech, with the library. */
  readonly listeners: readonly Trusted[];
  /** Who fetch the key, and are connected for its events alone. */
  readonly holders: readonly Trusted[];
}

export interface RotationPiece {
  /** By nowMs(). The key rotates then. */
  readonly fromMs: number;
  readonly useInMs: number;
  /** The talk goes on so long. */
  readonly ms: number;
}

export interface RotationPlayed extends Busy {
  /** From the request that rotates to the key in the memory of a holder. */
  readonly keyed: Latency;
  readonly unkeyed: number;
  readonly useInMs: number;
  /** Frames, and what listeners heard of them. */
  readonly said: number;
  readonly heard: number;
  readonly expected: number;
  readonly unopened: number;
  /** Requests for a key that gave none, by status. */
  readonly failures: Readonly<Record<string, number>>;
  /** Epochs of the bursts. */
  readonly epochs: readonly number[];
}

const FRAME_MS = 20;
/** The relay takes 8 bursts in 10 s. */
const BURST_FRAMES = 75;
const PAYLOAD_BYTES = 60;

perform<RotationSetup, RotationPiece, RotationPlayed, null>(prepare);

async function prepare(setup: RotationSetup): Promise<Performance<RotationPiece, RotationPlayed, null>> {
  const { server, adminToken, talker, listeners, holders } = setup;
  // A thousand radios open their envelopes here, on the core of the audience that measures the audio beside them.
  setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
  const talkgroupId = talker.talkgroups[0]?.id ?? '';
  let rotatedMs = Number.POSITIVE_INFINITY;
  let keyed = createRecorder();
  let withKey = 0;
  let heard = 0;
  let unopened = 0;
  let useInMs = 0;
  const epochs: number[] = [];
  const failures: Record<string, number> = {};
  const failed = (status: number) => {
    failures[status] = (failures[status] ?? 0) + 1;
  };
  const hasKey = () => {
    if (nowMs() < rotatedMs) return;
    withKey++;
    keyed.record(nowMs() - rotatedMs);
  };
  const speaker = await joinKeyed(server, talker);
  const ears = [];
  for (const listener of listeners) ears.push(await joinKeyed(server, listener));
  for (const { radio } of ears) {
    radio.on('audio', ({ payload }) => {
      if (payload.length > 0) heard++;
    });
    radio.on('talk_ended', (end) => {
      unopened += end.unopened ?? 0;
    });
  }
  ears[0]?.radio.on('talk_started', ({ crypto }) => epochs.push(crypto?.epoch ?? -1));
  for (const { keyring } of [speaker, ...ears]) keyring.onChange(hasKey);
  const keyrings = await Promise.all(
    holders.map(async (holder) => keyringOf(server, holder, await holderOf(holder), failed)),
  );
  for (const keyring of keyrings) keyring.onChange(hasKey);
  const radios = await joinAll(
    holders,
    (token, i) =>
      new RawRadio({
        ...{ target: { url: server.url, dialect: 'relay' }, token, lost: fail, receive() {} },
        told(said: Said) {
          if (said.type === 'KEY_ROTATED')
            keyrings[i]?.want(talkgroupId, Number(said.rotation_counter), (Number(said.use_in_ms) * 2) / 3);
        },
      }),
  );
  for (const radio of radios)
    radio.say({ type: 'SUBSCRIBE', talkgroup_ids: [talkgroupId], mode: 'events', ref: 1 });

  return {
    async play(piece) {
      keyed = createRecorder();
      const usage = readUsage([]);
      const talked = talk(piece.fromMs + piece.ms);
      await around(piece.fromMs);
      rotatedMs = nowMs();
      const response = await fetch(`${server.restUrl}/keys/rotate`, {
        method: 'POST',
        headers: { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' },
        body: JSON.stringify({ talkgroup_id: talkgroupId, use_in_ms: piece.useInMs }),
      });
      if (!response.ok) throw new Error(`POST /keys/rotate: ${response.status} ${await response.text()}`);
      useInMs = piece.useInMs;
      const said = await talked;
      const expected = said * listeners.length;
      await until(() => heard >= expected, 1_000);
      const { generatorShare } = sharesOf(spent(usage, readUsage([])));
      const unkeyed = 1 + listeners.length + holders.length - withKey;
      return {
        keyed: keyed.latency(),
        unkeyed,
        useInMs,
        said,
        heard,
        expected,
        unopened,
        failures,
        epochs,
        generatorShare,
      };
    },
    end: () => Promise.resolve(null),
  };

  /** Burst after burst until then. Returns the number of frames that the relay took. */
  async function talk(untilMs: number): Promise<number> {
    let said = 0;
    while (nowMs() < untilMs) {
      const talk = speaker.radio.talk({ talkgroupId });
      const packets = Array.from({ length: BURST_FRAMES }, () => new Uint8Array(PAYLOAD_BYTES));
      await speak({ talk, packets, packetMs: FRAME_MS });
      const outcome = await talk.ended;
      if (outcome.kind !== 'ended' || outcome.code !== 'released')
        throw new Error(`a talk was ${outcome.kind}`);
      // What the talker could not send is lost, too.
      said += packets.length;
    }
    return said;
  }
}
