// Remembers emergencies that the database may not show yet, and those cleared lately.
//
// States only grow: raised, acknowledged, cleared. So relays that tell each other the last state they know agree in the
// end, whatever was lost or came twice, and a raise that comes behind its clearing opens nothing.
import type { EmergencyRow } from '../../directory/records.js';
import type { TalkgroupId, UserId } from '../../ids.js';
import type { EmergencyState } from '../../protocol/codes.js';

/**
 * Emergencies remembered, 1 KB each. Beyond it, the oldest of those cleared lately are forgotten. When none is left, a
 * new one of another relay is ignored until a read shows it.
 */
export const KNOWN_MAX = 20_000;
/** Time (ms) for which one that is cleared is remembered after it was stored everywhere. */
export const CLEARED_MS = 600_000;
/** Time (ms) between two looks for those to forget. */
const SWEEP_MS = 1000;

export interface Known {
  readonly talkgroup: TalkgroupId;
  readonly emergency: EmergencyRow;
  state: EmergencyState;
  acknowledgedBy: UserId | null;
  clearedBy: UserId | null;
  /** A read has shown it, or a relay says that it is stored: a read without it then means that it was cleared. */
  isStored: boolean;
  /** The other relays that have a change of it which they have not stored. */
  readonly unsavedAt: Set<number>;
  /** When it last was unsaved at any relay (monotonic ms). */
  busyAtMs: number;
}

const RANKS: Readonly<Record<EmergencyState, number>> = { raised: 0, acknowledged: 1, cleared: 2 };

/** Whether `state` follows `other`. */
export const isBehind = (state: EmergencyState, other: EmergencyState): boolean =>
  RANKS[state] > RANKS[other];

export interface KnownOptions {
  /** Whether this relay has a change of it which is not stored. */
  readonly isUnsaved: (id: string) => boolean;
  readonly nowMs: () => number;
}

export class KnownEmergencies {
  private readonly known = new Map<string, Known>();
  private readonly options: KnownOptions;
  private sweptAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: KnownOptions) {
    this.options = options;
  }

  get(id: string): Known | undefined {
    return this.known.get(id);
  }

  /** All of them are unsaved somewhere, and none may be forgotten. */
  get isFull(): boolean {
    if (this.known.size >= KNOWN_MAX) this.sweep(KNOWN_MAX / 2);
    return this.known.size >= KNOWN_MAX;
  }

  /**
   * Remembers it from now on. The caller asks `isFull` first for those of other relays. Those of this relay are bounded
   * by the writes that it keeps.
   */
  add(
    talkgroup: TalkgroupId,
    emergency: EmergencyRow,
    now: Pick<Known, 'isStored'> & Partial<Pick<Known, 'state'>>,
  ): Known {
    const busyAtMs = this.options.nowMs();
    if (!this.isFull && busyAtMs - this.sweptAtMs >= SWEEP_MS) this.sweep(KNOWN_MAX);
    const by = { acknowledgedBy: null, clearedBy: null };
    const rest = { state: now.state ?? emergency.state, isStored: now.isStored, busyAtMs };
    const known: Known = { talkgroup, emergency, ...by, ...rest, unsavedAt: new Set() };
    this.known.set(emergency.id, known);
    return known;
  }

  /** Forgets those that nothing depends on, and of those cleared lately the oldest beyond `max`. */
  private sweep(max: number): void {
    const nowMs = this.options.nowMs();
    this.sweptAtMs = nowMs;
    for (const [id, { state, unsavedAt, busyAtMs }] of this.known) {
      if (unsavedAt.size > 0 || this.options.isUnsaved(id)) continue;
      const isOver = state !== 'cleared' || nowMs - busyAtMs >= CLEARED_MS;
      if (isOver || this.known.size > max) this.known.delete(id);
    }
  }
}
