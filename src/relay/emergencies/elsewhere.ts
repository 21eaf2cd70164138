// Follows the emergencies of other relays that are not stored yet, and stores those whose relay cannot be reached any more.
import type { EmergencyRow } from '../../directory/records.js';
import type { TalkgroupId, UserId } from '../../ids.js';
import type { Talkgroup } from '../members/members.js';
import { isBehind, type Known, type KnownEmergencies } from './known.js';
import { emergencyBody, emergencyOf, type UnsavedEmergency } from './messages.js';

export interface ElsewhereOptions {
  readonly known: KnownEmergencies;
  readonly unsaved: { has(id: string): boolean; in(talkgroup: TalkgroupId): Iterable<string> };
  /** Shows the members the emergency as it is known now, where it differs. */
  readonly show: (talkgroup: Talkgroup, known: Known) => void;
  /** Stores what is known of it. */
  readonly store: (known: Known) => void;
  /** The user has raised an emergency elsewhere. */
  readonly raised: (user: UserId) => void;
  readonly tell: (talkgroup: Talkgroup, told: UnsavedEmergency) => void;
  /** Reads the open emergencies of the talkgroup again. */
  readonly read: (talkgroup: TalkgroupId) => void;
  readonly nowMs: () => number;
}

export const unsavedBody = (known: Known): UnsavedEmergency => ({
  ...emergencyBody({ id: known.talkgroup }, known.emergency, known.state),
  ...(known.emergency.device_id !== null && { device_id: known.emergency.device_id }),
  ...(known.acknowledgedBy !== null && { acknowledged_by: known.acknowledgedBy }),
  ...(known.clearedBy !== null && { cleared_by: known.clearedBy }),
});

export type EmergenciesElsewhere = ReturnType<typeof createElsewhere>;

export function createElsewhere(options: ElsewhereOptions) {
  const { known, unsaved, show, store, raised, tell, read, nowMs } = options;

  /** null: there are too many already. */
  function learn(talkgroup: Talkgroup, told: UnsavedEmergency): Known | null {
    const before = known.get(told.emergency_id);
    if (before !== undefined) return before;
    if (known.isFull) return null;
    const held = talkgroup.emergencies.get(told.emergency_id);
    if (held !== undefined) return known.add(talkgroup.id, held, { isStored: true }); // a read has shown it
    if (told.state !== 'cleared') raised(told.user_id as UserId);
    return known.add(talkgroup.id, emergencyOf(told), { isStored: false, state: told.state });
  }

  return {
    /** The emergencies with changes that this relay has not stored. Any page of `max` when there are more. */
    unsaved(talkgroup: Talkgroup, max: number): { emergencies: UnsavedEmergency[]; isWhole: boolean } {
      const ids = [...unsaved.in(talkgroup.id)];
      const isWhole = ids.length <= max;
      const pages = Math.max(1, Math.ceil(ids.length / max));
      const from = max * Math.floor(pages * Math.random());
      const emergencies = ids.slice(from, from + max).flatMap((id) => {
        const one = known.get(id);
        return one === undefined ? [] : [unsavedBody(one)];
      });
      return { emergencies, isWhole };
    },

    /** The other relay has a change of this emergency that is not stored. */
    heard(talkgroup: Talkgroup, told: UnsavedEmergency, relay: number): void {
      const one = learn(talkgroup, told);
      if (one === null || one.talkgroup !== talkgroup.id) return;
      const { emergency_id: id, state, acknowledged_by, cleared_by } = told;
      one.unsavedAt.add(relay);
      one.busyAtMs = nowMs();
      one.acknowledgedBy ??= (acknowledged_by as UserId | undefined) ?? null;
      one.clearedBy ??= (cleared_by as UserId | undefined) ?? null;
      if (isBehind(state, one.state)) {
        one.state = state;
        // Our own change is still to be stored, and must not be the last one.
        if (unsaved.has(id)) store(one);
      } else if (isBehind(one.state, state) && !unsaved.has(id)) tell(talkgroup, unsavedBody(one)); // it came late
      show(talkgroup, one);
    },

    /** It has stored the change: the next read decides. */
    stored(id: string, relay: number): void {
      const one = known.get(id);
      if (!one?.unsavedAt.delete(relay)) return;
      one.isStored = true;
      one.busyAtMs = nowMs();
      read(one.talkgroup);
    },

    /** The relay cannot be reached any more, and may not have stored the change: each relay that knows it does. */
    lost(id: string, relay: number): void {
      const one = known.get(id);
      if (!one?.unsavedAt.delete(relay)) return;
      one.busyAtMs = nowMs();
      if (!unsaved.has(id)) store(one);
    },

    /** The talkgroup has no receiver here any more. */
    forget(id: string, relay: number): void {
      known.get(id)?.unsavedAt.delete(relay);
    },

    /** A read shows it. true: the read is not older than what is known. */
    mayFollow({ id, state }: EmergencyRow): boolean {
      const one = known.get(id);
      if (one === undefined) return true;
      one.isStored = true;
      if (unsaved.has(id) || (one.unsavedAt.size > 0 && isBehind(one.state, state))) return false;
      one.state = state;
      return true;
    },

    /** Whether it stays open although a read does not show it. */
    isKept(id: string): boolean {
      const one = known.get(id);
      return unsaved.has(id) || (one !== undefined && !one.isStored && one.unsavedAt.size > 0);
    },
  };
}
