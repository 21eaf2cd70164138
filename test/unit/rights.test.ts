// The order of changes: whatever way notices take, and whichever get lost, the relay ends as the database says.
import fc from 'fast-check';
import t from 'tap';
import { type Change, type Notice, noticeOf } from '../../src/db/notices.js';
import { AppError } from '../../src/errors.js';
import type { DeviceId, TalkgroupId, UserId } from '../../src/ids.js';
import { mayTalk, type User } from '../../src/relay/members.js';
import { createRights, type Loaded, type Rights } from '../../src/relay/rights.js';
import type { Session } from '../../src/relay/session.js';
import type { Account, TalkgroupRow } from '../../src/talk/store.js';

const userIds = ['ann', 'bob', 'cid'] as UserId[];
const talkgroupIds = ['fire', 'rail'] as TalkgroupId[];
const device = 'phone' as DeviceId; // shared by ann and bob

/** The truth: what a database would hold. */
function newDatabase() {
  const members = new Set<string>();
  const talkgroups = new Map(talkgroupIds.map((id, index) => [id, rowOf(id, index + 1)]));
  const validFrom = new Map<UserId, number>();
  let active = true;
  const isActive = (user: UserId) => active || user === 'cid';

  return {
    validFrom,
    change(change: Change): void {
      switch (change.kind) {
        case 'joined':
          if (talkgroups.has(change.talkgroup)) members.add(`${change.user}/${change.talkgroup}`);
          return;
        case 'left':
          return void members.delete(`${change.user}/${change.talkgroup}`);
        case 'talkgroup_deleted':
          talkgroups.delete(change.talkgroup);
          for (const user of userIds) members.delete(`${user}/${change.talkgroup}`);
          return;
        case 'key_rotated': {
          const row = talkgroups.get(change.talkgroup);
          if (row) talkgroups.set(row.id, { ...row, rotation_counter: row.rotation_counter + 1 });
          return;
        }
        case 'device_changed':
          active = !active;
          return;
        case 'user_revoked':
          validFrom.set(change.user, (validFrom.get(change.user) ?? 0) + 1);
      }
    },
    isMember: (user: UserId, talkgroup: TalkgroupId) => members.has(`${user}/${talkgroup}`),
    isActive,
    accountsOf: (users: readonly UserId[]): Account[] =>
      users.map((id) => ({
        id,
        username: id,
        role: 'user',
        valid_from: validFrom.get(id) ?? 0,
        device_id: id === 'cid' ? null : device,
        device_active: isActive(id),
        memberships: [...talkgroups.values()]
          .filter((row) => members.has(`${id}/${row.id}`))
          .map((row) => ({ ...row, site: 'depot' })),
      })),
    talkgroupsOf: (ids: readonly TalkgroupId[]) => ids.flatMap((id) => talkgroups.get(id) ?? []),
  };
}

const rowOf = (id: TalkgroupId, number: number): TalkgroupRow => ({
  id,
  number,
  name: id,
  rotation_counter: 0,
  floor_mode: 'open',
  max_talk_ms: 0,
  emergencies: [],
});

/** A relay's rights over that database, with sockets reduced to what rights know of them. */
function newRelay(
  database: ReturnType<typeof newDatabase>,
  later: <T>(work: () => T) => Promise<T>,
  failing: () => boolean,
) {
  const rights: Rights = createRights({
    reads: {
      accountsOf: (users) => readLater(() => database.accountsOf(users)),
      talkgroupsOf: (ids) => readLater(() => database.talkgroupsOf(ids)),
    },
    effects: {
      withdrawn() {},
      granted() {},
      missed() {},
      joined() {},
      left() {},
      deleted() {},
      rotated() {},
      changed() {},
      emergencies() {},
      checked(user, account) {
        for (const session of user.sessions) {
          if (account?.device_active && session.issuedAt >= account.valid_from) continue;
          close(session);
        }
      },
    },
    nowMs: () => 0,
    batch: 2,
    waitingMax: 100,
    log: { error: (_fields, message) => t.fail(message) },
    pause: () => later(() => undefined),
  });

  /** Answers with what was true some time after the question and before the answer. */
  async function readLater<T>(read: () => T): Promise<T> {
    const rows = await later(() => {
      if (failing()) throw new AppError('database_unavailable');
      return read();
    });
    return later(() => rows);
  }

  function close(session: Session): void {
    session.user.sessions.delete(session);
    rights.drop(session.user.id);
  }

  return {
    rights,
    close,
    connect(id: UserId): void {
      const issuedAt = database.validFrom.get(id) ?? 0;
      rights.load(id, (loaded: Loaded) => {
        if (loaded.kind !== 'loaded') return;
        if (!loaded.account.device_active || issuedAt < loaded.account.valid_from) return;
        loaded.user.sessions.add({ issuedAt, user: loaded.user } as Session);
      });
    },
  };
}

type Step =
  | { kind: 'change'; change: Change; copies: number }
  | { kind: 'connect'; user: UserId }
  | { kind: 'disconnect'; user: UserId }
  | { kind: 'gap' }
  | { kind: 'outage'; reads: number };

const user = fc.constantFrom(...userIds);
const talkgroup = fc.constantFrom(...talkgroupIds);
const change: fc.Arbitrary<Change> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constantFrom('joined' as const, 'left' as const), user, talkgroup }),
  },
  fc.record({ kind: fc.constantFrom('key_rotated' as const), talkgroup }),
  fc.record({ kind: fc.constant('device_changed' as const), device: fc.constant(device) }),
  fc.record({ kind: fc.constant('user_revoked' as const), user }),
  // A talkgroup never comes back, so it is deleted rarely or the rest would test nothing.
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('talkgroup_deleted' as const), talkgroup }) },
);
const step: fc.Arbitrary<Step> = fc.oneof(
  // 0 copies: both ways lost; 2: notification and direct message.
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('change' as const), change, copies: fc.nat(2) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('connect' as const), user }) },
  fc.record({ kind: fc.constant('disconnect' as const), user }),
  fc.record({ kind: fc.constant('gap' as const) }),
  fc.record({ kind: fc.constant('outage' as const), reads: fc.integer({ min: 1, max: 3 }) }),
);

const RUNS = Number(process.env.PROVE_RUNS ?? 3000);

t.test(
  'interleaved changes, connections, lost notices and outages: no right stands that the database denies',
  async (t) => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), fc.array(step, { maxLength: 30 }), async (scheduler, steps) => {
        const database = newDatabase();
        let outage = 0;
        const later = <T>(work: () => T) => scheduler.schedule(Promise.resolve()).then(work);
        const relay = newRelay(database, later, () => outage > 0 && outage-- > 0);
        const undelivered: Notice[] = [];

        const deliver = (notice: Notice) => {
          void relay.rights.notice(notice);
          const index = undelivered.indexOf(notice);
          if (index >= 0) undelivered.splice(index, 1);
        };
        const run = (next: Step) => {
          if (next.kind === 'connect') return relay.connect(next.user);
          if (next.kind === 'gap') return relay.rights.gap();
          if (next.kind === 'outage') outage = next.reads;
          else if (next.kind === 'disconnect') {
            const [session] = relay.rights.users.get(next.user)?.sessions ?? [];
            if (session) relay.close(session);
          } else {
            database.change(next.change);
            const notice = noticeOf(next.change);
            undelivered.push(notice);
            for (let copy = 0; copy < next.copies; copy++) void later(() => deliver(notice));
          }
        };
        // The steps come in order, each somewhere between deliveries and reads.
        void scheduler.scheduleSequence(steps.map((next) => async () => run(next)));
        const drain = async (check: () => void) => {
          for (await settled(); scheduler.count() > 0; await settled()) {
            await scheduler.waitOne();
            check();
          }
        };
        await drain(() => assertNothingForbidden(relay.rights, database, undelivered));
        relay.rights.gap();
        undelivered.length = 0;
        await drain(() => {});
        assertAsTheDatabaseSays(relay.rights, database);
      }),
      { numRuns: RUNS },
    );
    t.pass(`${RUNS} histories`);
  },
);

/** Everything that follows from the last step without another one has happened. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

/** A right the database denies may stand only while every notice of its end is still under way. */
function assertNothingForbidden(
  rights: Rights,
  database: ReturnType<typeof newDatabase>,
  undelivered: readonly Notice[],
): void {
  for (const held of rights.users.values()) {
    if (held.sessions.size === 0) continue;
    if (!held.withdrawn && isRefused(held, database) && !undelivered.some(endsSessions)) {
      throw new Error(`${held.id} still takes part although refused`);
    }
    for (const membership of held.memberships.values()) {
      const { id } = membership.talkgroup;
      if (!mayTalk(membership) || database.isMember(held.id, id)) continue;
      if (!undelivered.some((n) => endsMembership(n, held.id, id)))
        throw new Error(`${held.id} still talks in ${id}`);
    }
  }
}

const endsMembership = (notice: Notice, user: UserId, talkgroup: TalkgroupId) =>
  (notice.kind === 'left' && notice.user === user && notice.talkgroup === talkgroup) ||
  (notice.kind === 'talkgroup_deleted' && notice.talkgroup === talkgroup);

const endsSessions = ({ kind }: Notice) => kind === 'device_changed' || kind === 'user_revoked';

function isRefused(held: User, database: ReturnType<typeof newDatabase>): boolean {
  const [session] = held.sessions;
  return !database.isActive(held.id) || (session?.issuedAt ?? 0) < (database.validFrom.get(held.id) ?? 0);
}

function assertAsTheDatabaseSays(rights: Rights, database: ReturnType<typeof newDatabase>): void {
  for (const held of rights.users.values()) {
    if (held.sessions.size === 0) throw new Error(`${held.id} is held without a session`);
    if (isRefused(held, database)) throw new Error(`${held.id} is connected although refused`);
    for (const id of talkgroupIds) {
      const membership = [...held.memberships.values()].find((one) => one.talkgroup.id === id);
      const may = membership !== undefined && mayTalk(membership);
      if (may !== database.isMember(held.id, id)) throw new Error(`${held.id} in ${id}: ${may}`);
    }
  }
  for (const held of rights.talkgroups.values()) {
    const [row] = database.talkgroupsOf([held.id]);
    if (row?.rotation_counter !== held.rotationCounter)
      throw new Error(`${held.id}: rotation ${held.rotationCounter}`);
    if (held.memberships.size === 0) throw new Error(`${held.id} is held without a member`);
  }
}
