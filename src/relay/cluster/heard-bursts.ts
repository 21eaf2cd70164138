// The bursts of one other relay that are played here in the floor mode `open`.
//
// After a change to another floor mode they stay here until one of them goes on with a turn, or they end.
import type { RunningTalker } from '../../protocol/bodies.js';
import type { EndCode } from '../../protocol/codes.js';
import type { Past } from './bodies.js';
import type { ClusterCounts } from './counts.js';
import type { PlayedBurst, Shared, Stage } from './stage.js';
import { type KeptBursts, SILENT_MS_MAX } from './turns/turns.js';

/** A frame that was on its way for longer (ms) is old speech: half of what a receiver may lag. */
export const LATE_MS_MAX = 500;

/** A copy, because the memory of the bus holds other messages, too. Its memory is never shared between threads. */
export const copyOf = ({ buffer, byteOffset, byteLength }: Uint8Array) =>
  buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer;

/** A running burst of it. `index` is that of the last frame. */
interface Heard {
  readonly burst: number;
  readonly played: PlayedBurst;
  /** Of the message that announced it. */
  readonly seq: number;
  index: number;
  heardAtMs: number;
}

type Ended = Parameters<PlayedBurst['end']>[1];

export class HeardBursts<Talkgroup extends Shared> {
  private readonly services: {
    readonly talkgroup: Talkgroup;
    readonly stage: Stage<Talkgroup>;
    readonly counts: ClusterCounts;
  };
  /** By session, at most one each. */
  private readonly bursts = new Map<number, Heard>();

  constructor(services: HeardBursts<Talkgroup>['services']) {
    this.services = services;
  }

  has(session: number, burst: number): boolean {
    return this.bursts.get(session)?.burst === burst;
  }

  /** It began with the message `seq`, or runs. `lost`: this number of its frames was meant for this relay. */
  begin(talker: RunningTalker, seq: number, lost: number, nowMs: number): void {
    const { talkgroup, stage, counts } = this.services;
    const { session, burst, frames } = talker;
    // The end of the one before was lost.
    const before = this.bursts.get(session);
    if (before !== undefined) this.end(session, before, 'disconnected');
    const played = stage.begin(talkgroup, talker, nowMs);
    this.bursts.set(session, { burst, played, seq, index: frames, heardAtMs: nowMs });
    if (lost <= 0) return;
    counts.framesLost += lost;
    played.missed(lost, nowMs);
  }

  /** `body` is the frame as clients get it, valid until the return. false: the burst is not known. */
  frame(
    session: number,
    burst: number,
    index: number,
    body: Uint8Array,
    delayMs: number,
    nowMs: number,
  ): boolean {
    const { counts } = this.services;
    const heard = this.bursts.get(session);
    if (heard === undefined || heard.burst !== burst) return false;
    heard.heardAtMs = nowMs;
    if (index <= heard.index) return true;
    const lost = index - heard.index - 1;
    const isLate = delayMs > LATE_MS_MAX;
    heard.index = index;
    counts.framesLost += lost;
    if (isLate) counts.framesLate++;
    if (lost > 0 || isLate) heard.played.missed(lost + (isLate ? 1 : 0), nowMs);
    if (!isLate) heard.played.frame(copyOf(body), index, nowMs);
    return true;
  }

  /** The burst has ended there. It may have ended here before. */
  finish({ session, burst, code, duration_ms, frames }: Past, nowMs: number): void {
    const heard = this.bursts.get(session);
    if (heard === undefined || heard.burst !== burst) return;
    const lost = frames - heard.index;
    if (lost > 0) {
      this.services.counts.framesLost += lost;
      heard.played.missed(lost, nowMs);
    }
    this.end(session, heard, code, { durationMs: duration_ms, frames });
  }

  /** These run there, and no others, as of its message `seq`. */
  keep(running: readonly RunningTalker[], seq: number): void {
    const names = new Set(running.map(({ session, burst }) => `${session}.${burst}`));
    for (const [session, heard] of [...this.bursts])
      if (!names.has(`${session}.${heard.burst}`) && heard.seq <= seq)
        this.end(session, heard, 'disconnected');
  }

  /** One has been silent for too long. Said again in half of the time, until that is answered. */
  isSilent(nowMs: number): boolean {
    let isSilent = false;
    for (const heard of this.bursts.values()) {
      if (nowMs - heard.heardAtMs < SILENT_MS_MAX) continue;
      heard.heardAtMs = nowMs - SILENT_MS_MAX / 2;
      isSilent = true;
    }
    return isSilent;
  }

  /** It goes on in `open`. */
  adopt(session: number, heard: Omit<Heard, 'heardAtMs'>, nowMs: number): void {
    this.bursts.set(session, { ...heard, heardAtMs: nowMs });
  }

  /** It goes on with a turn. null: it was not played in `open`. */
  take(session: number, burst: number): Heard | null {
    const heard = this.bursts.get(session);
    if (heard === undefined || heard.burst !== burst) return null;
    this.bursts.delete(session);
    return heard;
  }

  endAll(code: EndCode): void {
    for (const [session, heard] of [...this.bursts]) this.end(session, heard, code);
  }

  /** The talkgroup has no receiver here any more. */
  dropAll(): void {
    for (const { played } of this.bursts.values()) played.drop();
    this.bursts.clear();
  }

  private end(
    session: number,
    heard: Heard,
    code: EndCode,
    ended: Ended = { durationMs: null, frames: heard.index },
  ): void {
    this.bursts.delete(session);
    heard.played.end(code, ended);
  }
}

/** Those of all other relays, by the id of each. */
export const keptOf = <Talkgroup extends Shared>(
  others: ReadonlyMap<number, { readonly bursts: HeardBursts<Talkgroup> }>,
): KeptBursts => ({
  take(session, burst) {
    for (const { bursts } of others.values()) {
      const heard = bursts.take(session, burst);
      if (heard !== null) return heard;
    }
    return null;
  },
  end() {
    for (const { bursts } of others.values()) bursts.endAll('mode');
  },
});
