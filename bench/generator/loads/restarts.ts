// A fleet on several nodes while one after the other is restarted: who comes back to its session, and how soon.
import { END, START } from '../../../src/protocol/frame.js';
import { around, nowMs, until } from '../../machine/clock.js';
import { readUsage, sharesOf, spent } from '../../machine/conditions.js';
import { sourceAddress } from '../../radios/arrivals.js';
import type { Member } from '../../radios/member.js';
import type { Target } from '../../radios/raw-radio.js';
import { ReturningRadio } from '../../radios/returning-radio.js';
import { timedFrame, UNTIMED } from '../../radios/timed-frame.js';
import { type Busy, type Performance, perform } from '../player.js';

export interface RestartsSetup {
  readonly targets: readonly Target[];
  /** Members of a talkgroup one behind the other. They are dealt out over the nodes. */
  readonly users: readonly Member[];
  readonly members: number;
  /** In so many talkgroups the first member talks, in bursts. */
  readonly talkers: number;
}

export interface RestartsPiece {
  /** Radios of this node are about to lose it, and come back to the others. */
  readonly node: number;
  /** They have so long. */
  readonly ms: number;
}

export interface RestartsPlayed extends Busy {
  /** Radios that lost their connection. */
  readonly closed: number;
  /** The first WELCOME of each of them, and how many said that the session goes on. */
  readonly back: number;
  readonly resumed: number;
  /** For each talkgroup that lost a member: from the last close of the node to when all its members were back. */
  readonly wholeAfterMs: readonly number[];
  /** From the close of each radio to its WELCOME. */
  readonly awayMs: readonly number[];
  /** Attempts that came to nothing, by close code or in the words of the error. */
  readonly refused: Readonly<Record<string, number>>;
}

/** Connections under way at once, in the beginning. */
const JOINING_MAX = 50;
const FRAME_MS = 20;
const BURST_FRAMES = 50;
const PAUSE_FRAMES = 10;
const PAYLOAD_BYTES = 60;

perform<RestartsSetup, RestartsPiece, RestartsPlayed, null>(prepare);

async function prepare({
  targets,
  users,
  members,
  talkers,
}: RestartsSetup): Promise<Performance<RestartsPiece, RestartsPlayed, null>> {
  const nodeOf = users.map((_, radio) => radio % targets.length);
  let ending = -1;
  /** Of this restart, by radio: when its connection ended, and when it was welcome again. */
  let closedAtMs = new Map<number, number>();
  let backAtMs = new Map<number, number>();
  let resumed = 0;
  let refused: Record<string, number> = {};

  const watch = (radio: number) => ({
    welcomed(said: Readonly<Record<string, unknown>>) {
      if (!closedAtMs.has(radio) || backAtMs.has(radio)) return;
      backAtMs.set(radio, nowMs());
      if (said.resumed === true) resumed++;
    },
    refused(loss: { readonly code: number | null; readonly message: string } | null) {
      if (!closedAtMs.has(radio)) {
        closedAtMs.set(radio, nowMs());
        // Each of the others takes as many.
        if (nodeOf[radio] === ending)
          nodeOf[radio] = (ending + 1 + (closedAtMs.size % (targets.length - 1))) % targets.length;
        return;
      }
      const how = loss === null ? 'no answer' : (loss.code ?? loss.message);
      refused[how] = (refused[how] ?? 0) + 1;
    },
  });

  const radios: ReturningRadio[] = [];
  const waiting = users.entries();
  const join = async () => {
    for (const [index, { token }] of waiting) {
      const radio = new ReturningRadio({
        get target() {
          return targets[nodeOf[index] ?? 0] as Target;
        },
        ...{ token, localAddress: sourceAddress(index), receive: () => {}, setOut: () => {} },
        depart: (act) => act(),
        ...watch(index),
      });
      radios[index] = radio;
      await radio.joined;
    }
  };
  await Promise.all(Array.from({ length: JOINING_MAX }, join));
  talk();

  function talk(): void {
    let frame = 0;
    let dueMs = nowMs();
    const step = () => {
      const at = frame++ % (BURST_FRAMES + PAUSE_FRAMES);
      const flags = (at === 0 ? START : 0) | (at === BURST_FRAMES - 1 ? END : 0);
      for (let talker = 0; talker < talkers && at < BURST_FRAMES; talker++) {
        const talkgroup = users[talker * members]?.talkgroups[0]?.number ?? 0;
        const sound = { flags, sequence: at, talkgroup, payloadBytes: PAYLOAD_BYTES, dueMs: UNTIMED };
        radios[talker * members]?.send(timedFrame(sound));
      }
      dueMs += FRAME_MS;
      setTimeout(step, Math.max(0, dueMs - nowMs()));
    };
    step();
  }

  return {
    async play({ node, ms }) {
      ending = node;
      closedAtMs = new Map();
      backAtMs = new Map();
      resumed = 0;
      refused = {};
      const lost = nodeOf.filter((one) => one === node).length;
      const before = readUsage([]);
      const fromMs = nowMs();
      await until(() => closedAtMs.size >= lost && backAtMs.size === closedAtMs.size, ms);
      await around(fromMs); // at least one turn, in which the generator's share is read
      const { generatorShare } = sharesOf(spent(before, readUsage([])));
      const lastCloseMs = Math.max(...closedAtMs.values());
      const lastOfGroup = new Map<number, number>();
      for (const radio of closedAtMs.keys()) {
        const group = Math.floor(radio / members);
        const atMs = backAtMs.get(radio) ?? Number.POSITIVE_INFINITY;
        lastOfGroup.set(group, Math.max(lastOfGroup.get(group) ?? 0, atMs));
      }
      return {
        ...{ closed: closedAtMs.size, back: backAtMs.size, resumed, refused, generatorShare },
        wholeAfterMs: [...lastOfGroup.values()]
          .filter(Number.isFinite)
          .map((atMs) => Math.max(0, atMs - lastCloseMs)),
        awayMs: [...backAtMs].map(([radio, atMs]) => atMs - (closedAtMs.get(radio) ?? atMs)),
      };
    },
    end: async () => null,
  };
}
