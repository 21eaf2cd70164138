// Decides which users and talkgroups must be read, and which share the next read: no cause waits for all of another.
//
// The users and talkgroups of a failed read are suspect until a read shows them. Suspects are read apart, half as many at
// once after each failure, so that in the end the one that cannot be read fails alone. When the database is down, every
// read fails: there is still one read at a time in each of the two lanes, and after the outage the size doubles again.
import type { TalkgroupId, UserId } from '../../ids.js';

/** Why a user is read: a notification named it, a handshake waits, or notifications may have been missed. */
export type Cause = 'changed' | 'arriving' | 'missed';

/** The content of one read. */
export interface Batch {
  readonly talkgroups: readonly TalkgroupId[];
  readonly users: readonly UserId[];
}

/** Batches of one kind, read one after the other. */
export interface Lane {
  /** Users and talkgroups that are due. */
  count(): number;
  /** Takes the next batch, which is not due any more. */
  take(): Batch;
}

/** Suspects remembered, 100 bytes each. A forgotten one fails one more batch when it comes again. */
const SUSPECTS_MAX = 10_000;

export type Due = ReturnType<typeof createDue>;

/** At first nothing is due. One read takes `batch` users and as many talkgroups, at least one of each cause. */
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
   * Changes come first, because a REST call waits for them. Half is reserved for what a gap missed, and half of the rest
   * for handshakes, because changes may come without a pause. What one cause leaves, the others take.
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

    /** The batch could not be read. All of it is due again. */
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
