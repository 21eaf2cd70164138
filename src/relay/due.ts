// Which users and talkgroups must be read, and which of them share the next read: no cause waits for all of another.
//
// What a failed read asked for is suspect until a read shows it. Suspects are read apart, half as many at once after
// each failure, so that in the end the one that cannot be read fails alone. When the database is away everything
// fails: there is still one read at a time in each of the two lanes, and behind the outage the size doubles again.
import type { TalkgroupId, UserId } from '../ids.js';

/** Why a user is read: a notice named a held user, a handshake waits, or a gap may have swallowed notices. */
export type Cause = 'changed' | 'arriving' | 'missed';

/** What one read asks for. */
export interface Batch {
  readonly talkgroups: readonly TalkgroupId[];
  readonly users: readonly UserId[];
}

/** Batches of one kind, read one after the other. */
export interface Lane {
  /** Users and talkgroups that are due. */
  count(): number;
  /** Takes the next batch; what it takes is due no longer. */
  take(): Batch;
}

/** Suspects remembered, 100 bytes each. The oldest is forgotten: when it comes again, it fails one more batch. */
const SUSPECTS_MAX = 10_000;

export type Due = ReturnType<typeof createDue>;

/** Nothing is due. One read takes `batch` users, and as many talkgroups; at least one of each cause. */
export function createDue(batch: number) {
  const size = Math.max(3, batch);
  const users: Readonly<Record<Cause, Set<UserId>>> = {
    changed: new Set(),
    arriving: new Set(),
    missed: new Set(),
  };
  const talkgroups = new Set<TalkgroupId>();
  const suspects = new Set<UserId | TalkgroupId>();
  const suspectUsers = new Set<UserId>();
  const suspectTalkgroups = new Set<TalkgroupId>();
  /** Suspects in one read. */
  let suspectsAtOnce = size;

  /**
   * Changes first, because a REST call waits for them. Half is kept for what a gap missed, and half of the rest for
   * handshakes, because a row of changes may last as well. What one cause leaves the others take.
   */
  function takeUsers(): UserId[] {
    const { arriving, missed } = users;
    const forMissed = Math.min(missed.size, Math.floor(size / 2));
    const forArriving = Math.min(arriving.size, Math.floor((size - forMissed) / 2));
    const first = takeUsersOf('changed', size - forMissed - forArriving);
    const second = takeUsersOf('arriving', size - forMissed - first.length);
    return [...first, ...second, ...takeUsersOf('missed', size - first.length - second.length)];
  }

  function takeUsersOf(cause: Cause, count: number): UserId[] {
    const taken = takeFirst(users[cause], count);
    for (const id of taken) forget(id);
    return taken;
  }

  /** One read serves every cause. */
  function forget(id: UserId): void {
    for (const from of Object.values(users)) from.delete(id);
  }

  return {
    user(id: UserId, cause: Cause): void {
      (suspects.has(id) ? suspectUsers : users[cause]).add(id);
    },
    talkgroup(id: TalkgroupId): void {
      (suspects.has(id) ? suspectTalkgroups : talkgroups).add(id);
    },

    ordinary: {
      count: () => users.changed.size + users.arriving.size + users.missed.size + talkgroups.size,
      take: () => ({ talkgroups: takeFirst(talkgroups, size), users: takeUsers() }),
    } as Lane,

    suspect: {
      count: () => suspectUsers.size + suspectTalkgroups.size,
      take() {
        const first = takeFirst(suspectTalkgroups, suspectsAtOnce);
        return { talkgroups: first, users: takeFirst(suspectUsers, suspectsAtOnce - first.length) };
      },
    } as Lane,

    /** The batch could not be read; all of it is due again. */
    failed(batch: Batch): void {
      for (const id of batch.talkgroups) {
        talkgroups.delete(id);
        suspectTalkgroups.add(id);
      }
      for (const id of batch.users) {
        forget(id);
        suspectUsers.add(id);
      }
      const ids = [...batch.talkgroups, ...batch.users];
      for (const id of ids) suspects.add(id);
      takeFirst(suspects, suspects.size - SUSPECTS_MAX);
      suspectsAtOnce = Math.min(suspectsAtOnce, Math.ceil(ids.length / 2));
    },

    /** The batch was read. */
    shown({ talkgroups, users }: Batch): void {
      const cleared = [...talkgroups, ...users].filter((id) => suspects.delete(id));
      if (cleared.length > 0) suspectsAtOnce = Math.min(size, 2 * suspectsAtOnce);
    },
  };
}

function takeFirst<T>(from: Set<T>, count: number): T[] {
  const taken: T[] = [];
  for (const item of from) {
    if (taken.length >= count) break;
    from.delete(item);
    taken.push(item);
  }
  return taken;
}
