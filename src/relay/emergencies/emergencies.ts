// Announces the emergencies of talkgroups at once and stores them afterwards. Follows what other nodes changed.
import { randomUUID } from 'node:crypto';
import type { Notice } from '../../db/notice.js';
import type { EmergencyRow } from '../../directory/records.js';
import type { TalkgroupId, UserId } from '../../ids.js';
import type { EmergencyState } from '../../protocol/codes.js';
import type { Fanout } from '../delivery/fanout.js';
import type { FloorControl } from '../floor/control.js';
import { Window } from '../limits/window.js';
import type { Membership, Talkgroup } from '../members/members.js';
import { emergencyText } from './messages.js';
import { createUnsaved } from './unsaved.js';

/** The writes of this module. Each may be repeated, and answers the notification that went to the other nodes, if any. */
export interface EmergencyWrites {
  readonly raise: (talkgroup: TalkgroupId, emergency: EmergencyRow) => Promise<Notice | null>;
  readonly acknowledge: (id: string, by: UserId) => Promise<Notice | null>;
  readonly clear: (id: string, by: Clearing) => Promise<Notice | 'forbidden' | 'unknown'>;
}

/** The user that clears. The user that raised may, and an administrator. */
export interface Clearing {
  readonly id: UserId;
  readonly isAdmin: boolean;
}

export interface EmergenciesOptions {
  readonly writes: EmergencyWrites;
  readonly talkgroups: ReadonlyMap<TalkgroupId, Talkgroup>;
  readonly fanout: Pick<Fanout, 'event'>;
  readonly floor: Pick<FloorControl, 'followEmergency'>;
  readonly noticed: (notice: Notice) => void;
  readonly nowMs: () => number;
  readonly log: { info(fields: object, message: string): void; error(fields: object, message: string): void };
}

/** Of one user within RAISES_WINDOW_MS. One more raise is refused. */
const RAISES_MAX = 3;
const RAISES_WINDOW_MS = 60_000;
/** Users whose raises are remembered. Beyond it, the user whose last raise is the oldest is forgotten. */
const RAISERS_MAX = 10_000;

/** The answer to a raise. `unavailable`: too many are not stored yet. */
export type Raised =
  | { readonly kind: 'open'; readonly id: string }
  | { readonly kind: 'rate_limited' | 'unavailable' };

export type Emergencies = ReturnType<typeof createEmergencies>;

export function createEmergencies(options: EmergenciesOptions) {
  const { writes, talkgroups, fanout, floor, noticed, nowMs, log } = options;
  /** Announced and not stored yet. */
  const unsaved = createUnsaved({ noticed, log });
  /** By user, not by session: a new connection allows no further raises. */
  const raises = new Map<UserId, Window>();

  function announce(talkgroup: Talkgroup, emergency: EmergencyRow, state: EmergencyState): void {
    fanout.event(talkgroup.feed, (event) => emergencyText(talkgroup, emergency, state, event));
  }

  function open(talkgroup: Talkgroup, emergency: EmergencyRow): void {
    const isNew = !talkgroup.emergencies.has(emergency.id);
    talkgroup.setEmergency(emergency);
    announce(talkgroup, emergency, emergency.state);
    if (isNew) floor.followEmergency(talkgroup, emergency.user_id, true, nowMs());
  }

  function close(talkgroup: Talkgroup, emergency: EmergencyRow): void {
    talkgroup.clearEmergency(emergency.id);
    announce(talkgroup, emergency, 'cleared');
    const { user_id: user } = emergency;
    const isOver = [...talkgroup.emergencies.values()].every((other) => other.user_id !== user);
    if (isOver) floor.followEmergency(talkgroup, user, false, nowMs());
  }

  function find(id: string): [Talkgroup, EmergencyRow] | null {
    for (const talkgroup of talkgroups.values()) {
      const emergency = talkgroup.emergencies.get(id);
      if (emergency !== undefined) return [talkgroup, emergency];
    }
    return null;
  }

  function mayRaise(user: UserId, arrivedAtMs: number): boolean {
    const known = raises.get(user) ?? new Window(RAISES_MAX, RAISES_WINDOW_MS);
    raises.delete(user); // to the end: the first user is the one whose last raise is the oldest
    raises.set(user, known);
    const [oldest] = raises.keys();
    if (raises.size > RAISERS_MAX && oldest !== undefined) raises.delete(oldest);
    return known.take(arrivedAtMs);
  }

  return {
    /** The id of the member's open emergency, raised now when there was none; its rate counts by `arrivedAtMs`. */
    raise(
      { user, talkgroup }: Membership,
      where: { readonly lat?: number; readonly lng?: number; readonly alt?: number },
      arrivedAtMs = nowMs(),
    ): Raised {
      for (const emergency of talkgroup.emergencies.values()) {
        if (emergency.user_id === user.id) return { kind: 'open', id: emergency.id };
      }
      if (unsaved.isFull()) return { kind: 'unavailable' };
      if (!mayRaise(user.id, arrivedAtMs)) return { kind: 'rate_limited' };
      const emergency: EmergencyRow = {
        id: randomUUID(),
        user_id: user.id,
        username: user.username,
        state: 'raised',
        lat: where.lat ?? null,
        lng: where.lng ?? null,
        alt: where.alt ?? null,
        raised_at: new Date().toISOString(),
      };
      open(talkgroup, emergency);
      log.info({ emergency: emergency.id, talkgroup: talkgroup.id, user: user.id }, 'emergency raised');
      unsaved.add({
        id: emergency.id,
        talkgroup: talkgroup.id,
        write: () => writes.raise(talkgroup.id, emergency),
      });
      return { kind: 'open', id: emergency.id };
    },

    /** By an admin. false: no such open emergency. Rejects when it stands only in the database and that is away. */
    async acknowledge(id: string, by: UserId): Promise<boolean> {
      const found = find(id);
      if (found === null) {
        if (unsaved.has(id)) return false; // cleared already
        const notice = await writes.acknowledge(id, by);
        if (notice !== null) noticed(notice);
        return notice !== null;
      }
      const [talkgroup, emergency] = found;
      if (emergency.state === 'acknowledged') return true;
      open(talkgroup, { ...emergency, state: 'acknowledged' });
      unsaved.add({ id, talkgroup: talkgroup.id, write: () => writes.acknowledge(id, by) });
      return true;
    },

    /** By its raiser or an admin; outcomes as a REST call has them. Rejects like `acknowledge`. */
    async clear(id: string, by: Clearing): Promise<'cleared' | 'forbidden' | 'unknown'> {
      const found = find(id);
      if (found === null) {
        if (unsaved.has(id)) return 'unknown'; // cleared already
        const outcome = await writes.clear(id, by);
        if (typeof outcome === 'string') return outcome;
        noticed(outcome);
        return 'cleared';
      }
      const [talkgroup, emergency] = found;
      if (!by.isAdmin && emergency.user_id !== by.id) return 'forbidden';
      close(talkgroup, emergency);
      log.info({ emergency: id, by: by.id }, 'emergency cleared');
      unsaved.add({
        id,
        talkgroup: talkgroup.id,
        async write() {
          const outcome = await writes.clear(id, by);
          return typeof outcome === 'string' ? null : outcome;
        },
      });
      return 'cleared';
    },

    /** What a read shows of a talkgroup, taken over and announced where it differs. */
    follow(talkgroup: Talkgroup, rows: readonly EmergencyRow[]): void {
      for (const row of rows) {
        const held = talkgroup.emergencies.get(row.id);
        if (held?.state !== row.state && !unsaved.has(row.id)) open(talkgroup, row);
      }
      // After the new ones: a user who has raised another one meanwhile stays in an emergency.
      const shown = new Set(rows.map(({ id }) => id));
      for (const emergency of [...talkgroup.emergencies.values()]) {
        if (!shown.has(emergency.id) && !unsaved.has(emergency.id)) close(talkgroup, emergency);
      }
    },

    /** Whether an emergency of that id is open or unsaved here: then no question about it needs the database. */
    knows: (id: string) => find(id) !== null || unsaved.has(id),

    close: unsaved.close,
  };
}
