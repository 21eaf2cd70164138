// Emergencies of live talkgroups: announced at once, stored behind that, followed when another node changed one.
import { randomUUID } from 'node:crypto';
import { type Notice, noticeOf } from '../db/notice.js';
import type { EmergencyRow } from '../directory/records.js';
import { AppError } from '../errors.js';
import type { TalkgroupId, UserId } from '../ids.js';
import type { EmergencyState } from '../protocol/codes.js';
import type { Fanout } from './delivery/fanout.js';
import type { Floors } from './floors.js';
import { Window } from './limits/window.js';
import type { Membership, Talkgroup } from './members/members.js';
import { say } from './messages.js';

/** What is written down; each may be repeated, and answers the notice that went to the other nodes, if one did. */
export interface EmergencyWrites {
  readonly raise: (talkgroup: TalkgroupId, emergency: EmergencyRow) => Promise<Notice | null>;
  readonly acknowledge: (id: string, by: UserId) => Promise<Notice | null>;
  readonly clear: (id: string, by: Clearing) => Promise<Notice | 'forbidden' | 'unknown'>;
}

/** Who clears: its raiser may, and an admin. */
export interface Clearing {
  readonly id: UserId;
  readonly isAdmin: boolean;
}

export interface EmergenciesOptions {
  readonly writes: EmergencyWrites;
  readonly talkgroups: ReadonlyMap<TalkgroupId, Talkgroup>;
  readonly fanout: Fanout;
  readonly floors: Floors;
  readonly noticed: (notice: Notice) => void;
  readonly nowMs: () => number;
  readonly log: { info(fields: object, message: string): void; error(fields: object, message: string): void };
}

interface Unsaved {
  readonly id: string;
  readonly talkgroup: TalkgroupId;
  readonly write: () => Promise<Notice | null>;
}

/** Beyond so many unsaved writes a raise is refused: a database away for days, or an attack. */
const UNSAVED_MAX = 10_000;
/** Of one user; beyond it a raise is refused. */
const RAISES_MAX = 3;
const RAISES_WINDOW_MS = 60_000;
/** Users whose raises are remembered; one more, and the one longest ago is forgotten. */
const RAISERS_MAX = 10_000;
const RETRY_MS_MIN = 100;
const RETRY_MS_MAX = 2000;
/** For what is unsaved when the relay ends: as long as the engine waits for the last radios. */
const LAST_MS = 500;
const LAST_TRIES = 25;

/** What a raise came to; `unavailable`: too many are not yet stored. */
export type Raised =
  | { readonly kind: 'open'; readonly id: string }
  | { readonly kind: 'rate_limited' | 'unavailable' };

export type Emergencies = ReturnType<typeof createEmergencies>;

export function createEmergencies(options: EmergenciesOptions) {
  const { writes, talkgroups, fanout, floors, noticed, nowMs, log } = options;
  /** Announced and not yet stored, those of each talkgroup in order; what a read shows of these is older than what we hold. */
  const unsaved: Unsaved[] = [];
  /** By user and not by session: a new connection gives no new raises. */
  const raises = new Map<UserId, Window>();
  let saving = false;
  let closed = false;

  function announce(talkgroup: Talkgroup, emergency: EmergencyRow, state: EmergencyState): void {
    fanout.event(talkgroup.feed, (event) => say.emergency(talkgroup, emergency, state, event));
  }

  function open(talkgroup: Talkgroup, emergency: EmergencyRow): void {
    const isNew = !talkgroup.emergencies.has(emergency.id);
    talkgroup.setEmergency(emergency);
    announce(talkgroup, emergency, emergency.state);
    if (isNew) floors.followEmergency(talkgroup, emergency.user_id, true, nowMs());
  }

  function close(talkgroup: Talkgroup, emergency: EmergencyRow): void {
    talkgroup.clearEmergency(emergency.id);
    announce(talkgroup, emergency, 'cleared');
    const { user_id: user } = emergency;
    const isOver = [...talkgroup.emergencies.values()].every((other) => other.user_id !== user);
    if (isOver) floors.followEmergency(talkgroup, user, false, nowMs());
  }

  function find(id: string): [Talkgroup, EmergencyRow] | null {
    for (const talkgroup of talkgroups.values()) {
      const emergency = talkgroup.emergencies.get(id);
      if (emergency !== undefined) return [talkgroup, emergency];
    }
    return null;
  }

  function store(unsavedOne: Unsaved): void {
    unsaved.push(unsavedOne);
    void save();
  }

  /** One after the other, again and again until they succeed: the database may be away for long. */
  async function save(): Promise<void> {
    if (saving) return;
    saving = true;
    let retryMs = RETRY_MS_MIN;
    for (let next = unsaved[0]; next !== undefined && !closed; next = unsaved[0]) {
      try {
        // Also of a write that found another state than ours. First of all, for a read under way may have begun before.
        noticed((await next.write()) ?? noticeOf({ kind: 'emergency_changed', talkgroup: next.talkgroup }));
        unsaved.shift();
        retryMs = RETRY_MS_MIN;
      } catch (error) {
        // Expected while the database is away. Anything else is a bug, and must not hold up the others.
        if (!(error instanceof AppError)) {
          log.error({ emergency: next.id, err: error }, 'emergency not stored');
          unsaved.shift();
          continue;
        }
        // It may be this talkgroup's alone: the others have their turn first. Its own keep their order, for one can be
        // raised only behind the clearing of the one before.
        const { talkgroup } = next;
        const isLater = (one: Unsaved) => Number(one.talkgroup === talkgroup);
        unsaved.push(...unsaved.splice(0).sort((one, other) => isLater(one) - isLater(other)));
        await new Promise((resolve) => setTimeout(resolve, retryMs).unref());
        retryMs = Math.min(RETRY_MS_MAX, 2 * retryMs);
      }
    }
    saving = false;
  }

  function mayRaise(user: UserId, arrivedAtMs: number): boolean {
    const known = raises.get(user) ?? new Window(RAISES_MAX, RAISES_WINDOW_MS);
    raises.delete(user); // to the end: the first is whose last raise is longest ago
    raises.set(user, known);
    const [oldest] = raises.keys();
    if (raises.size > RAISERS_MAX && oldest !== undefined) raises.delete(oldest);
    return known.take(arrivedAtMs);
  }

  const isUnsaved = (id: string) => unsaved.some((write) => write.id === id);

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
      if (unsaved.length >= UNSAVED_MAX) return { kind: 'unavailable' };
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
      store({
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
        if (isUnsaved(id)) return false; // cleared already
        const notice = await writes.acknowledge(id, by);
        if (notice !== null) noticed(notice);
        return notice !== null;
      }
      const [talkgroup, emergency] = found;
      if (emergency.state === 'acknowledged') return true;
      open(talkgroup, { ...emergency, state: 'acknowledged' });
      store({ id, talkgroup: talkgroup.id, write: () => writes.acknowledge(id, by) });
      return true;
    },

    /** By its raiser or an admin; outcomes as a REST call has them. Rejects like `acknowledge`. */
    async clear(id: string, by: Clearing): Promise<'cleared' | 'forbidden' | 'unknown'> {
      const found = find(id);
      if (found === null) {
        if (isUnsaved(id)) return 'unknown'; // cleared already
        const outcome = await writes.clear(id, by);
        if (typeof outcome === 'string') return outcome;
        noticed(outcome);
        return 'cleared';
      }
      const [talkgroup, emergency] = found;
      if (!by.isAdmin && emergency.user_id !== by.id) return 'forbidden';
      close(talkgroup, emergency);
      log.info({ emergency: id, by: by.id }, 'emergency cleared');
      store({
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
        if (held?.state !== row.state && !isUnsaved(row.id)) open(talkgroup, row);
      }
      // Behind the new ones: who has raised another meanwhile is in an emergency all along.
      const shown = new Set(rows.map(({ id }) => id));
      for (const emergency of [...talkgroup.emergencies.values()]) {
        if (!shown.has(emergency.id) && !isUnsaved(emergency.id)) close(talkgroup, emergency);
      }
    },

    /** Whether an emergency of that id is open or unsaved here: then no question about it needs the database. */
    knows: (id: string) => find(id) !== null || isUnsaved(id),

    /** What is not stored within half a second is lost, and said so. */
    async close(): Promise<void> {
      for (let left = LAST_TRIES; left > 0 && unsaved.length > 0; left--)
        await new Promise((resolve) => setTimeout(resolve, LAST_MS / LAST_TRIES));
      closed = true;
      for (const { id } of unsaved) log.error({ emergency: id }, 'emergency lost, relay closed');
    },
  };
}
