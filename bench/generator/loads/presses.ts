// Radios on three nodes press while a node is away, or on both sides of a split: how soon there is a floor, and only one.
import { END, START, TALKGROUP_AT } from '../../../src/protocol/frame.js';
import { createRecorder, type Latency } from '../../figures/histogram.js';
import { around, nowMs, until } from '../../machine/clock.js';
import { readUsage, sharesOf, spent } from '../../machine/conditions.js';
import { homeAmong, relayOf } from '../../radios/homes.js';
import type { Member } from '../../radios/member.js';
import { RawRadio, type Said, type Target } from '../../radios/raw-radio.js';
import { joinAll } from '../../radios/swarm.js';
import { readDueMs, timedFrame } from '../../radios/timed-frame.js';
import { type Busy, type Performance, perform } from '../player.js';

export interface PressesSetup {
  readonly targets: readonly Target[];
  /** One on each node for each talkgroup, those of the first talkgroup first. */
  readonly users: readonly Member[];
}

export type PressesPiece =
  /** In each talkgroup that this node decides, a radio of another node presses, spread over `ms` from `goneAtMs` on. */
  | { readonly kind: 'press'; readonly gone: number; readonly goneAtMs: number; readonly ms: number }
  /** In each talkgroup two radios press and go on talking: one of this node, which is cut off, and one of another. */
  | { readonly kind: 'part'; readonly cut: number }
  /** Their nodes find each other. */
  | { readonly kind: 'heal' };

export interface PressesPlayed extends Busy {
  readonly talkgroups: number;
  /** From the first press to the first frame in the hand of a listener on the third node. */
  readonly heard: Latency;
  /** Presses that were answered retry_later, and done again. */
  readonly again: number;
  /** Other denials, by code. */
  readonly deniedBy: Readonly<Record<string, number>>;
  /** Talkgroups in which nothing was heard, or two did not talk, or both went on. */
  readonly failed: number;
  /** When one of two talkers was told of the collision, by nowMs(). */
  readonly collidedAtMs: readonly number[];
  readonly late: Latency;
}

const PAYLOAD_BYTES = 60;
const PATIENCE_MS = 10_000;
const FRAME_MS = 100;
const AGAIN_MS = 300;
/** Timers may be early by some milliseconds. */
const SLACK_MS = 20;

perform<PressesSetup, PressesPiece, PressesPlayed, null>(prepare);

async function prepare({
  targets,
  users,
}: PressesSetup): Promise<Performance<PressesPiece, PressesPlayed, null>> {
  const nodes = targets.length;
  const relays: number[] = [];
  const reaches: string[] = targets.map(() => '');
  /** Of what is under way, by number of the talkgroup. */
  let told: (radio: number, said: Said) => void = () => {};
  let heard: (radio: number, talkgroup: number, dueMs: number) => void = () => {};
  const radios = await joinAll(users, (token, radio) => {
    const node = radio % nodes;
    return new RawRadio({
      ...{ token, target: targets[node] as Target },
      told(said) {
        if (said.type === 'WELCOME') relays[node] ??= relayOf(Number(said.session));
        if (said.type === 'WELCOME' || said.type === 'REACH') reaches[node] = String(said.reach);
        told(radio, said);
      },
      receive(bytes, start, end) {
        const dueMs = readDueMs(new DataView(bytes.buffer, bytes.byteOffset + start, end - start));
        heard(radio, bytes.readUInt32BE(start + TALKGROUP_AT), dueMs);
      },
      lost: () => {}, // its node is away
    });
  });
  const numberOf = (radio: number) => users[radio]?.talkgroups[0]?.number ?? 0;
  const groups = Array.from({ length: users.length / nodes }, (_, group) => group * nodes);

  function send(radio: number, flags: number, dueMs = Number.NaN): void {
    const talkgroup = numberOf(radio);
    const frame = { flags, sequence: 0, talkgroup, payloadBytes: PAYLOAD_BYTES, dueMs };
    radios[radio]?.send(timedFrame(frame));
  }

  async function press(
    gone: number,
    goneAtMs: number,
    ms: number,
  ): Promise<Omit<PressesPlayed, 'generatorShare'>> {
    const [talks, listens] = [(gone + 1) % nodes, (gone + 2) % nodes];
    const own = groups.filter((first) => homeAmong(relays, numberOf(first)) === gone);
    const [times, late] = [createRecorder(), createRecorder()];
    /** Of those that no listener has heard yet. */
    const dueOf = new Map<number, number>();
    const denials = createDenials();
    /** They talk until they are heard: the first frame may be lost with the node. */
    const speaking = new Map<number, number>();
    told = (radio, said) => {
      const dueMs = dueOf.get(numberOf(radio));
      if (radio % nodes !== talks || dueMs === undefined) return;
      if (said.type === 'FLOOR_GRANTED') speaking.set(radio, dueMs);
      if (said.type !== 'FLOOR_DENIED') return;
      if (denials.isLater(said)) setTimeout(() => send(radio, START, dueMs), denials.waitMs(said));
    };
    heard = (radio, talkgroup, dueMs) => {
      if (radio % nodes !== listens || dueOf.get(talkgroup) !== dueMs) return;
      dueOf.delete(talkgroup);
      speaking.delete(radio - listens + talks);
      times.record(nowMs() - dueMs);
      send(radio - listens + talks, END);
    };
    const talking = setInterval(() => {
      for (const [radio, dueMs] of speaking) send(radio, 0, dueMs);
    }, FRAME_MS);
    for (const [index, first] of own.entries()) {
      const dueMs = goneAtMs + (ms * index) / own.length;
      await around(dueMs);
      late.record(nowMs() - dueMs);
      dueOf.set(numberOf(first), dueMs);
      send(first + talks, START, dueMs);
    }
    await until(() => dueOf.size === 0, PATIENCE_MS);
    clearInterval(talking);
    return {
      ...{ talkgroups: own.length, heard: times.latency(), failed: dueOf.size, collidedAtMs: [] },
      ...{ ...denials.result(), late: late.latency() },
    };
  }

  let talking: NodeJS.Timeout | undefined;
  let pair: readonly number[] = [];

  async function part(cut: number): Promise<Omit<PressesPlayed, 'generatorShare'>> {
    const other = (cut + 1) % nodes;
    pair = [cut, other];
    await until(() => reaches[cut] === 'alone' && reaches[other] === 'partial', PATIENCE_MS);
    const speaking = new Set<number>();
    const denials = createDenials();
    told = (radio, { type, ...said }) => {
      if (!pair.includes(radio % nodes)) return;
      if (type === 'FLOOR_GRANTED') speaking.add(radio);
      if (type === 'FLOOR_REVOKED') speaking.delete(radio);
      if (type !== 'FLOOR_DENIED') return;
      denials.isLater(said);
      setTimeout(() => send(radio, START), Math.max(AGAIN_MS, denials.waitMs(said)));
    };
    const all = groups.flatMap((first) => [first + cut, first + other]);
    for (const radio of all) send(radio, START);
    talking = setInterval(() => {
      for (const radio of speaking) send(radio, 0);
    }, FRAME_MS);
    await until(() => speaking.size === all.length, PATIENCE_MS);
    return { ...nothing(groups.length), ...denials.result(), failed: all.length - speaking.size };
  }

  async function heal(): Promise<Omit<PressesPlayed, 'generatorShare'>> {
    const collided = new Map<number, number>();
    told = (radio, { type, code }) => {
      if (type !== 'FLOOR_REVOKED' || code !== 'collision') return;
      if (!collided.has(numberOf(radio))) collided.set(numberOf(radio), nowMs());
    };
    await until(() => collided.size === groups.length, PATIENCE_MS);
    clearInterval(talking);
    for (const first of groups) for (const node of pair) send(first + node, END);
    // For the next split.
    await until(() => reaches.every((reach) => reach === 'whole'), PATIENCE_MS);
    const failed = groups.length - collided.size;
    return { ...nothing(groups.length), failed, collidedAtMs: [...collided.values()] };
  }

  return {
    async play(piece) {
      const before = readUsage([]);
      const played =
        piece.kind === 'press'
          ? await press(piece.gone, piece.goneAtMs, piece.ms)
          : piece.kind === 'part'
            ? await part(piece.cut)
            : await heal();
      const { generatorShare } = sharesOf(spent(before, readUsage([])));
      return { ...played, generatorShare };
    },
    end: async () => null,
  };
}

const nothing = (talkgroups: number) => ({
  ...{ talkgroups, heard: createRecorder().latency(), late: createRecorder().latency() },
  ...{ again: 0, deniedBy: {}, failed: 0, collidedAtMs: [] },
});

/** Counts denials, and tells those after which a talker presses again. */
function createDenials() {
  let again = 0;
  const deniedBy: Record<string, number> = {};
  return {
    isLater({ code }: Said): boolean {
      const isLater = code === 'retry_later';
      if (isLater) again++;
      else deniedBy[String(code)] = (deniedBy[String(code)] ?? 0) + 1;
      return isLater;
    },
    // A frame that comes a moment earlier is dropped without an answer.
    waitMs: ({ retry_ms }: Said) => Number(retry_ms ?? 0) + SLACK_MS,
    result: () => ({ again, deniedBy }),
  };
}
