// Radios of the client library that come into the middle of an encrypted burst: how soon they have its key, and hear it.
import { createRadio } from '../../../../src/client/node.js';
import { createRecorder, type Latency } from '../../../figures/histogram.js';
import { around, exactly, nowMs, until } from '../../../machine/clock.js';
import { type Conditions, readUsage, sharesOf, spent } from '../../../machine/conditions.js';
import {
  holderOf,
  joinKeyed,
  type KeyedTarget,
  keyringOf,
  type Trusted,
} from '../../../radios/keyed-radio.js';
import { answer } from '../../player.js';

export interface KeyedEntryTask {
  readonly server: KeyedTarget & { readonly pid: number };
  readonly talker: Trusted;
  readonly entering: readonly Trusted[];
  readonly entriesPerSecond: number;
  readonly payloadBytes: number;
}

/** From when the radio should have begun to connect. */
export interface KeyedEntry extends Conditions {
  readonly ready: Latency;
  /** To the key in memory: WELCOME, a request to REST, the envelope opened. */
  readonly keyed: Latency;
  readonly heard: Latency;
  readonly unheard: number;
}

const FRAME_MS = 20;
const SETTLE_MS = 500;
const ARRIVAL_MS_MAX = 3_000;

answer(play);

async function play({
  server,
  talker,
  entering,
  entriesPerSecond,
  payloadBytes,
}: KeyedEntryTask): Promise<KeyedEntry> {
  const talkgroupId = talker.talkgroups[0]?.id ?? '';
  const speaker = await joinKeyed(server, talker);
  const talk = speaker.radio.talk({ talkgroupId });
  const payload = new Uint8Array(payloadBytes);
  const speech = setInterval(() => talk.send(payload), FRAME_MS);
  const holders = await Promise.all(entering.map(holderOf));
  const [ready, keyed, heard, late] = [
    createRecorder(),
    createRecorder(),
    createRecorder(),
    createRecorder(),
  ];
  let count = 0;
  const startMs = nowMs() + SETTLE_MS;
  const golden = (Math.sqrt(5) - 1) / 2;
  await around(startMs - FRAME_MS);
  const usage = readUsage([server.pid]);
  for (const [i, member] of entering.entries()) {
    const holder = holders[i];
    if (holder === undefined) throw new RangeError('each has a holder');
    // Entries in step with the frame clock would all wait equally long.
    const dueMs = startMs + (1000 * i) / entriesPerSecond + FRAME_MS * ((i * golden) % 1);
    await exactly(dueMs);
    late.record(nowMs() - dueMs);
    const keyring = keyringOf(server, member, holder);
    const radio = createRadio({ url: server.url, token: member.token, keys: keyring, recallSeconds: 0 });
    radio.on('open', () => ready.record(nowMs() - dueMs));
    const stop = keyring.onChange(() => {
      stop();
      keyed.record(nowMs() - dueMs);
    });
    const leave = radio.on('audio', () => {
      leave();
      heard.record(nowMs() - dueMs);
      count++;
      radio.close();
      keyring.close();
    });
  }
  const shares = sharesOf(spent(usage, readUsage([server.pid])));
  await until(() => count === entering.length, ARRIVAL_MS_MAX);
  clearInterval(speech);
  talk.end();
  speaker.radio.close();
  return {
    ...{
      ready: ready.latency(),
      keyed: keyed.latency(),
      heard: heard.latency(),
      unheard: entering.length - count,
    },
    ...{ late: late.latency(), ...shares },
  };
}
