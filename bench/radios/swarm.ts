// Plays mass listeners: probes read at once and time each frame, sinks read rarely. All check sequence numbers.
import { SEQUENCE_AT } from '../../src/protocol/frame.js';
import { around, nowMs } from '../machine/clock.js';
import type { Receive } from './dialects/dialect.js';
import type { Member } from './member.js';
import { type ConnectionLost, RawRadio, type Target } from './raw-radio.js';
import { COUNTED, dueMsAt, isUntimedAt } from './timed-frame.js';

/** Of one talker in one run, numbered from 0 in the header's 16 bits: no run may be longer. */
export const FRAMES_MAX = 65_536;

/** What the listeners of a run have seen, over all of them. */
export interface Tally {
  received: number;
  /** Heard twice, or never sent. */
  duplicated: number;
  outOfOrder: number;
}

export interface SwarmOptions {
  readonly target: Target;
  /** Each hears one talker at most. */
  readonly users: readonly Member[];
  /** Every so many-th listener is a probe, and so is the last to join. The others are sinks. */
  readonly probeEvery: number;
  /**
   * Called by probes: the frame's number, milliseconds from when it was due to heard, NaN when it is only COUNTED, and the
   * listener's place among the users.
   */
  readonly heard: (sequence: number, latencyMs: number, listener: number) => void;
  /** A connection ended without our doing. */
  readonly lost: (loss: ConnectionLost) => void;
}

export interface Swarm extends Sinks {
  readonly tally: Readonly<Tally>;
}

export interface Sinks {
  /** Reads once from each sink of one of `parts` equal parts. */
  sip(part: number, parts: number): void;
  /** From now on sinks read only in sips, as they do from the start. */
  hold(): void;
  /** From now on sinks read like probes. */
  flow(): void;
}

/** Resolves when all listeners have joined. Rejects when one could not. */
export async function connectSwarm(options: SwarmOptions): Promise<Swarm> {
  const { target, users, lost } = options;
  const tally: Tally = { received: 0, duplicated: 0, outOfOrder: 0 };
  const isProbe = probing(options);
  const radios = await joinAll(users, (token, i) => {
    const receive = listener(options, tally, isProbe(i) ? i : null);
    return new RawRadio({ target: { ...target, room: talkgroupNumberOf(users[i]) }, token, lost, receive });
  });
  const sinks = sinksOf(radios.filter((_, i) => !isProbe(i)));
  sinks.hold();
  return { tally, ...sinks };
}

/** Of radios that read rarely. There may come more. */
export const sinksOf = (radios: readonly RawRadio[]): Sinks => ({
  sip(part, parts) {
    for (let i = part % parts; i < radios.length; i += parts) radios[i]?.sip();
  },
  hold() {
    for (const radio of radios) radio.hold();
  },
  flow() {
    for (const radio of radios) radio.flow();
  },
});

/** A sink reads so often: soon enough for the relay, which takes who answers no ping within a second for slow. */
const SIP_MS = 200;
/** In this part of a frame period, for the beginning belongs to the probes. */
const SIP_AT = 0.8;

/** From `hold` to `flow` a part of the sinks reads in each frame period, by the clock, for frames leave by the same. */
export function sipping(sinks: Sinks, periodMs: number): Pick<Sinks, 'hold' | 'flow'> {
  const parts = Math.max(1, Math.round(SIP_MS / periodMs));
  /** Changes when sinks begin to sip, and when they are done with it. */
  let phase = 0;

  async function sip(own: number): Promise<void> {
    for (let period = Math.ceil(nowMs() / periodMs); ; period++) {
      await around((period + SIP_AT) * periodMs);
      if (phase !== own) return;
      sinks.sip(period, parts);
    }
  }

  return {
    hold() {
      phase++;
      sinks.hold();
      void sip(phase);
    },
    flow() {
      phase++;
      sinks.flow();
    },
  };
}

/** Which listeners are probes, by index: evenly spread, and among them the last. */
export const probing =
  ({ users, probeEvery }: Pick<SwarmOptions, 'users' | 'probeEvery'>) =>
  (index: number): boolean =>
    (users.length - 1 - index) % probeEvery === 0;

/** Where a server has rooms, a user's is its first talkgroup. */
export const talkgroupNumberOf = (user: Member | undefined): number => user?.talkgroups[0]?.number ?? 0;

/** Connections under way at once: below the server's bounds and the kernel's listen backlog. */
const JOINING_MAX = 64;

/** Connects one radio for each user, in their order, JOINING_MAX at a time. Rejects when one cannot join. */
export async function joinAll(
  users: readonly Member[],
  connect: (token: string, index: number) => RawRadio,
): Promise<readonly RawRadio[]> {
  const radios: RawRadio[] = [];
  const waiting = users.entries();
  const work = async () => {
    for (const [i, { token }] of waiting) {
      const radio = connect(token, i);
      radios[i] = radio;
      await radio.joined;
    }
  };
  await Promise.all(Array.from({ length: JOINING_MAX }, work));
  return radios;
}

/** The reading end of one listener: runs for each of tens of thousands of deliveries a second. `probe`: null for a sink. */
function listener({ heard }: SwarmOptions, tally: Tally, probe: number | null): Receive {
  let next = 0;
  /** Of those before `next`. null as long as nothing ever was. */
  let missing: Set<number> | null = null;

  /** false: it was heard before, or never sent. */
  function takeOutOfTurn(sequence: number): boolean {
    missing ??= new Set();
    if (sequence < next) {
      if (!missing.delete(sequence)) return false;
      tally.outOfOrder++;
      return true;
    }
    for (let skipped = next; skipped < sequence; skipped++) missing.add(skipped);
    next = sequence + 1;
    return true;
  }

  return (bytes, start) => {
    if (isUntimedAt(bytes, start)) return; // of a radio whose frames are not counted
    const sequence = bytes.readUInt16BE(start + SEQUENCE_AT);
    if (sequence === next) next++;
    else if (!takeOutOfTurn(sequence)) {
      tally.duplicated++;
      return;
    }
    tally.received++;
    if (probe === null) return;
    const dueMs = dueMsAt(bytes, start);
    heard(sequence, dueMs === COUNTED ? Number.NaN : nowMs() - dueMs, probe);
  };
}
