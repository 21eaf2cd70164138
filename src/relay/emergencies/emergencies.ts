// Announces the emergencies of talkgroups at once and stores them afterwards. Follows what other nodes changed.
import { randomUUID } from 'node:crypto';
import { type Notice, noticeOf } from '../../db/notice.js';
import type { EmergencyRow } from '../../directory/records.js';
import type { TalkgroupId, UserId } from '../../ids.js';
import type { EmergencyState } from '../../protocol/codes.js';
import type { Clock } from '../clock.js';
import type { Fanout } from '../delivery/fanout.js';
import type { FloorControl } from '../floor/control.js';
import { Window } from '../limits/window.js';
import { type Membership, named, type Talkgroup } from '../members/members.js';
import { createElsewhere, unsavedBody } from './elsewhere.js';
import { type Known, KnownEmergencies } from './known.js';
import { emergencyText, type UnsavedEmergency } from './messages.js';
import { createUnsaved } from './unsaved.js';

/** The writes of this module. Each may be repeated, and answers the notification that went to the other nodes, if any. */
export interface EmergencyWrites {
  readonly raise: (talkgroup: TalkgroupId, emergency: EmergencyRow) => Promise<Notice | null>;
  readonly acknowledge: (id: string, by: UserId) => Promise<Notice | null>;
  readonly clear: (id: string, by: Clearing) => Promise<Notice | 'forbidden' | 'unknown'>;
}

/** The user that clears. The user that raised may, and who may dispatch. */
export interface Clearing {
  readonly id: UserId;
  readonly mayDispatch: boolean;
}

export interface EmergenciesOptions {
  readonly writes: EmergencyWrites;
  readonly talkgroups: ReadonlyMap<TalkgroupId, Talkgroup>;
  readonly fanout: Pick<Fanout, 'event'>;
  readonly floor: Pick<FloorControl, 'followEmergency'>;
  readonly noticed: (notice: Notice) => void;
  /** Tells the other relays of a change that is not stored yet. */
  readonly tell: (talkgroup: Talkgroup, told: UnsavedEmergency) => void;
  readonly clock: Clock;
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
  const { writes, talkgroups, fanout, floor, noticed, tell, clock, log } = options;
  const { nowMs, unixMs } = clock;
  /** Announced and not stored yet. */
  const unsaved = createUnsaved({ noticed, saved, clock, log });
  const known = new KnownEmergencies({ isUnsaved: unsaved.has, nowMs });
  const elsewhere = createElsewhere({
    ...{ known, unsaved, show, store, tell, nowMs },
    raised: (user) => void mayRaise(user, nowMs()),
    read: (talkgroup) => noticed(noticeOf({ kind: 'emergency_changed', talkgroup })),
  });
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
    if (!talkgroup.hasRaised(user)) floor.followEmergency(talkgroup, user, false, nowMs());
  }

  /** Where the members have been told otherwise. */
  function show(talkgroup: Talkgroup, { emergency, state }: Known): void {
    const held = talkgroup.emergencies.get(emergency.id);
    if (state !== 'cleared') {
      // The device of what is held may be a later one.
      if (held?.state !== state) open(talkgroup, { ...(held ?? emergency), state });
    } else if (held !== undefined) close(talkgroup, held);
  }

  function saved(id: string): void {
    const one = known.get(id);
    if (one === undefined) return;
    one.isStored = true;
    one.busyAtMs = nowMs();
  }

  /** The raise first, when it may not be stored: a clearing that comes before its raise clears nothing. */
  function store({ talkgroup, emergency, state, isStored, acknowledgedBy, clearedBy }: Known): void {
    const { id, user_id: user } = emergency;
    const add = (write: () => Promise<Notice | null>) => unsaved.add({ id, talkgroup, write });
    if (!isStored && !unsaved.has(id)) add(() => writes.raise(talkgroup, emergency));
    if (state === 'acknowledged') add(() => writes.acknowledge(id, acknowledgedBy ?? user));
    if (state !== 'cleared') return;
    add(async () => {
      // The relay of the user who cleared it has checked the permission.
      const outcome = await writes.clear(id, { id: clearedBy ?? user, mayDispatch: true });
      return typeof outcome === 'string' ? null : outcome;
    });
  }

  /** A member changes an open emergency. */
  function change(talkgroup: Talkgroup, emergency: EmergencyRow, state: EmergencyState, by: UserId): void {
    const one = known.get(emergency.id) ?? known.add(talkgroup.id, emergency, { isStored: true });
    one.state = state;
    if (state === 'acknowledged') one.acknowledgedBy = by;
    else one.clearedBy = by;
    show(talkgroup, one);
    store(one);
    tell(talkgroup, unsavedBody(one));
  }

  /** Although the database may not show it yet. */
  const isCleared = (id: string) => unsaved.has(id) || known.get(id)?.state === 'cleared';

  function find(id: string): [Talkgroup, EmergencyRow] | null {
    for (const talkgroup of talkgroups.values()) {
      const emergency = talkgroup.emergencies.get(id);
      if (emergency !== undefined) return [talkgroup, emergency];
    }
    return null;
  }

  function raisesBy(user: UserId): Window {
    const known = raises.get(user) ?? new Window(RAISES_MAX, RAISES_WINDOW_MS);
    raises.delete(user); // to the end: the first user is the one whose last raise is the oldest
    raises.set(user, known);
    const [oldest] = raises.keys();
    if (raises.size > RAISERS_MAX && oldest !== undefined) raises.delete(oldest);
    return known;
  }

  const mayRaise = (user: UserId, arrivedAtMs: number) => raisesBy(user).take(arrivedAtMs);

  return {
    /** The id of the member's open emergency, raised now when there was none. Its rate counts by `arrivedAtMs`. */
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
        raised_at: new Date(unixMs()).toISOString(),
        device_id: user.deviceId,
        fix: null,
      };
      open(talkgroup, emergency);
      log.info({ emergency: emergency.id, ...placeOf(talkgroup), ...named(user) }, 'emergency raised');
      const one = known.add(talkgroup.id, emergency, { isStored: false });
      store(one);
      tell(talkgroup, unsavedBody(one));
      return { kind: 'open', id: emergency.id };
    },

    /** By an admin. false: no such open emergency. Rejects when it stands only in the database and that is away. */
    async acknowledge(id: string, by: UserId): Promise<boolean> {
      const found = find(id);
      if (found === null) {
        if (isCleared(id)) return false;
        const notice = await writes.acknowledge(id, by);
        if (notice !== null) noticed(notice);
        return notice !== null;
      }
      const [talkgroup, emergency] = found;
      if (emergency.state === 'acknowledged') return true;
      change(talkgroup, emergency, 'acknowledged', by);
      return true;
    },

    /** By its raiser or a dispatcher. Outcomes as a REST call has them. Rejects like `acknowledge`. */
    async clear(id: string, by: Clearing): Promise<'cleared' | 'forbidden' | 'unknown'> {
      const found = find(id);
      if (found === null) {
        if (isCleared(id)) return 'unknown';
        const outcome = await writes.clear(id, by);
        if (typeof outcome === 'string') return outcome;
        noticed(outcome);
        return 'cleared';
      }
      const [talkgroup, emergency] = found;
      if (!by.mayDispatch && emergency.user_id !== by.id) return 'forbidden';
      change(talkgroup, emergency, 'cleared', by.id);
      log.info(
        {
          emergency: id,
          ...placeOf(talkgroup),
          user: emergency.user_id,
          username: emergency.username,
          by: by.id,
        },
        'emergency cleared',
      );
      return 'cleared';
    },

    /** What a read shows of a talkgroup, taken over and announced where it differs. */
    follow(talkgroup: Talkgroup, rows: readonly EmergencyRow[]): void {
      for (const row of rows) {
        const held = talkgroup.emergencies.get(row.id);
        if (!elsewhere.mayFollow(row)) continue;
        if (held?.state !== row.state) open(talkgroup, row);
        else if (held.device_id !== row.device_id) talkgroup.setEmergency(row); // members hear where it is from now on
      }
      // After the new ones: a user who has raised another one meanwhile stays in an emergency.
      const shown = new Set(rows.map(({ id }) => id));
      for (const emergency of [...talkgroup.emergencies.values()]) {
        if (shown.has(emergency.id) || elsewhere.isKept(emergency.id)) continue;
        const one = known.get(emergency.id) ?? known.add(talkgroup.id, emergency, { isStored: true });
        one.state = 'cleared';
        close(talkgroup, emergency);
      }
    },

    /** Whether an emergency of that id is open or unsaved here: then no question about it needs the database. */
    knows: (id: string) => find(id) !== null || unsaved.has(id),

    /** What other relays say and ask of emergencies that are not stored. */
    elsewhere,

    /** How long ago (ms) the user raised the emergencies that count toward the limit. */
    raisedBy: (user: UserId): readonly number[] => raises.get(user)?.ages(nowMs()) ?? [],

    /** The same of a user who comes from another relay. */
    adopt(user: UserId, ages: readonly number[]): void {
      if (ages.length > 0) raisesBy(user).adopt(ages, nowMs());
    },

    close: unsaved.close,
  };
}

/** For the log. */
const placeOf = ({ id, name }: Talkgroup) => ({ talkgroup: id, talkgroup_name: name });
