// Sends change notifications in every order, with losses: the permissions in the relay end as in the database. A bug in
// a change affects one user or talkgroup.
import fc from 'fast-check';
import t from 'tap';
import { type Change, type Notice, noticeOf } from '../../src/db/notice.js';
import type { Account, EmergencyRow, TalkgroupRow } from '../../src/directory/records.js';
import { AppError } from '../../src/errors.js';
import type { DeviceId, TalkgroupId, UserId } from '../../src/ids.js';
import type { Clock } from '../../src/relay/clock.js';
import type { Fanout } from '../../src/relay/delivery/fanout.js';
import type { FloorControl } from '../../src/relay/floor/control.js';
import { type LiveSession, Membership, mayTalk, Talkgroup, User } from '../../src/relay/members/members.js';
import { createChanges } from '../../src/relay/rights/changes.js';
import type { Loaded } from '../../src/relay/rights/loads.js';
import { createRights, type Rights } from '../../src/relay/rights/rights.js';
import type { RightsChanges } from '../../src/relay/rights/settle.js';
import { clockAt, NO_TIMER } from '../helpers/relay/clocks.js';
import { talkgroupRow } from '../helpers/relay/rows.js';

const userIds = ['ann', 'bob', 'cid'] as UserId[];
const talkgroupIds = ['fire', 'rail'] as TalkgroupId[];
const device = 'phone' as DeviceId; // shared by ann and bob

/** The truth: what a database would hold. */
function newDatabase() {
  const members = new Set<string>();
  const talkgroups = new Map(talkgroupIds.map((id, index) => [id, rowOf(id, index + 1)]));
  const validFrom = new Map<UserId, number>();
  const admins = new Set<UserId>();
  const dispatchers = new Set<UserId>();
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
        case 'talkgroup_changed': {
          const row = talkgroups.get(change.talkgroup);
          if (row) talkgroups.set(row.id, { ...row, revision: row.revision + 1 });
          return;
        }
        case 'device_changed':
          active = !active;
          return;
        case 'user_revoked':
          validFrom.set(change.user, (validFrom.get(change.user) ?? 0) + 1);
          dispatchers.delete(change.user);
          return;
        case 'user_promoted':
          (change.user === 'cid' ? dispatchers : admins).add(change.user);
      }
    },
    isMember: (user: UserId, talkgroup: TalkgroupId) => members.has(`${user}/${talkgroup}`),
    isActive,
    isAdmin: (user: UserId) => admins.has(user),
    mayDispatch: (user: UserId) => admins.has(user) || dispatchers.has(user),
    accountsOf: (users: readonly UserId[]): Account[] =>
      users.map((id) => ({
        id,
        username: id,
        role: admins.has(id) ? 'admin' : 'user',
        is_dispatcher: dispatchers.has(id),
        valid_from: validFrom.get(id) ?? 0,
        device_id: id === 'cid' ? null : device,
        device_active: isActive(id),
        holders_waiting: 0,
        memberships: [...talkgroups.values()]
          .filter((row) => members.has(`${id}/${row.id}`))
          .map((row) => ({ ...row, site: 'depot', may_have_keys: false })),
      })),
    talkgroupsOf: (ids: readonly TalkgroupId[]) => ids.flatMap((id) => talkgroups.get(id) ?? []),
  };
}

const rowOf = (id: TalkgroupId, number: number): TalkgroupRow =>
  talkgroupRow({ id, number, name: id, emergencies: [open] });

/** One in each talkgroup, all the time. */
const open: EmergencyRow = {
  id: 'e1',
  user_id: 'dan' as UserId,
  username: 'dan',
  state: 'raised',
  ...{ lat: null, lng: null, alt: null },
  raised_at: '2026-01-01T00:00:00.000Z',
  ...{ device_id: null, fix: null },
};

/** As the relay reads it: of talkgroups that are held it has them already. */
const withoutEmergencies = (account: Account, held: ReadonlySet<TalkgroupId>): Account => ({
  ...account,
  memberships: account.memberships.map((row) => (held.has(row.id) ? { ...row, emergencies: null } : row)),
});

/** Its time stands still. Each timer waits for `passed` instead. */
const clockOf = (passed: () => Promise<unknown>): Clock => ({
  ...clockAt(() => 0),
  after(_delayMs, run) {
    void passed().then(run);
    return NO_TIMER;
  },
});

/** A relay's rights over that database, with sockets reduced to what rights know of them. */
function newRelay(
  database: ReturnType<typeof newDatabase>,
  later: <T>(work: () => T) => Promise<T>,
  failing: () => boolean,
) {
  const rights: Rights = createRights({
    reads: {
      accountsOf: (users, isHeld) => {
        const held = new Set(talkgroupIds.filter(isHeld));
        return readLater(() =>
          database.accountsOf(users).map((account) => withoutEmergencies(account, held)),
        );
      },
      talkgroupsOf: (ids) => readLater(() => database.talkgroupsOf(ids)),
    },
    changes: {
      holders() {},
      hearing() {},
      withdrawn() {},
      granted() {},
      missed() {},
      joined() {},
      left() {},
      deleted() {},
      rotated() {},
      changed() {},
      required() {},
      emergencies() {},
      checked(user, account) {
        for (const session of user.sessions) {
          if (account?.device_active && session.issuedAt >= account.valid_from) continue;
          close(session);
        }
      },
      failed: (_user, error) => t.fail(String(error)),
    },
    clock: clockOf(() => later(() => undefined)),
    batch: 2,
    waitingMax: 100,
    log: { error: (_fields, message) => t.fail(message) },
  });

  /** Answers with what was true some time after the question and before the answer. */
  async function readLater<T>(read: () => T): Promise<T> {
    const rows = await later(() => {
      if (failing()) throw new AppError('database_unavailable');
      return read();
    });
    return later(() => rows);
  }

  function close(session: LiveSession): void {
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
        loaded.user.sessions.add({ issuedAt, user: loaded.user } as LiveSession);
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
  fc.record({ kind: fc.constantFrom('key_rotated' as const, 'talkgroup_changed' as const), talkgroup }),
  fc.record({ kind: fc.constant('device_changed' as const), device: fc.constant(device) }),
  fc.record({ kind: fc.constantFrom('user_revoked' as const, 'user_promoted' as const), user }),
  // A talkgroup never comes back, so it is deleted rarely or the rest would test nothing.
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('talkgroup_deleted' as const), talkgroup }) },
);
const step: fc.Arbitrary<Step> = fc.oneof(
  // 0 copies: both ways lost. 2: notification and direct message.
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('change' as const), change, copies: fc.nat(2) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('connect' as const), user }) },
  fc.record({ kind: fc.constant('disconnect' as const), user }),
  fc.record({ kind: fc.constant('gap' as const) }),
  fc.record({ kind: fc.constant('outage' as const), reads: fc.integer({ min: 1, max: 3 }) }),
);

const RUNS = Number(process.env.PROVE_RUNS ?? 3000);

t.test(
  'changes, connections, lost notifications and outages leave no permission that the database denies',
  async (t) => {
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), fc.array(step, { maxLength: 30 }), async (scheduler, steps) => {
        const database = newDatabase();
        let outage = 0;
        const later = <T>(work: () => T) => scheduler.schedule(Promise.resolve()).then(work);
        const relay = newRelay(database, later, () => outage > 0 && outage-- > 0);
        const undelivered: Notice[] = [];
        const unacknowledged = new Set<Notice>();

        const deliver = (notice: Notice) => {
          void relay.rights.noticed(notice).then(() => unacknowledged.delete(notice));
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
            unacknowledged.add(notice);
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
        await drain(() => {
          assertNothingForbidden(relay.rights, database, undelivered);
          assertChangesInForce(relay.rights, database, unacknowledged);
        });
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

/** No member talks by settings whose change is acknowledged. */
function assertChangesInForce(
  { talkgroups }: Rights,
  database: ReturnType<typeof newDatabase>,
  unacknowledged: ReadonlySet<Notice>,
): void {
  for (const { id, revision, memberships } of talkgroups.values()) {
    const [row] = database.talkgroupsOf([id]);
    if (row === undefined || row.revision === revision || ![...memberships].some(mayTalk)) continue;
    if (![...unacknowledged].some((one) => one.kind === 'talkgroup_changed' && one.talkgroup === id))
      throw new Error(`${id} has revision ${revision}, and ${row.revision} is acknowledged`);
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
    if (held.isAdmin !== database.isAdmin(held.id)) throw new Error(`${held.id}: admin ${held.isAdmin}`);
    if (held.mayDispatch !== database.mayDispatch(held.id))
      throw new Error(`${held.id}: dispatches ${held.mayDispatch}`);
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
    if (row?.revision !== held.revision) throw new Error(`${held.id}: revision ${held.revision}`);
    if (held.memberships.size === 0) throw new Error(`${held.id} is held without a member`);
    if (held.emergencies.size !== 1) throw new Error(`${held.id}: its emergencies are not known`);
  }
}

/** Rights over that database where `changes` have bugs. Who failed stands in `failed`, who was read in `read`. */
function withBugs(changes: Partial<RightsChanges>) {
  const database = newDatabase();
  const failed: UserId[] = [];
  const logged: string[] = [];
  const read: UserId[] = [];
  const nothing = () => {};
  /** What happens while accounts are read. */
  const during = { read: nothing };
  const rights = createRights({
    reads: {
      accountsOf: async (users) => {
        read.push(...users);
        const accounts = database.accountsOf(users);
        during.read();
        return accounts;
      },
      talkgroupsOf: async (ids) => database.talkgroupsOf(ids),
    },
    changes: {
      withdrawn: nothing,
      granted: nothing,
      missed: nothing,
      joined: nothing,
      left: nothing,
      deleted: nothing,
      rotated: nothing,
      changed: nothing,
      required: nothing,
      emergencies: nothing,
      checked: nothing,
      holders: nothing,
      hearing: nothing,
      failed(user) {
        failed.push(user.id);
        user.sessions.clear();
        rights.drop(user.id);
      },
      ...changes,
    },
    clock: clockOf(settled),
    batch: 10,
    waitingMax: 100,
    log: { error: (_fields, message) => logged.push(message) },
  });
  const connect = (id: UserId) =>
    new Promise<Loaded['kind']>((resolve) =>
      rights.load(id, (loaded) => {
        if (loaded.kind === 'loaded') loaded.user.sessions.add({ user: loaded.user } as LiveSession);
        resolve(loaded.kind);
      }),
    );
  return { database, rights, failed, logged, read, during, connect };
}

const [ann, bob] = userIds as [UserId, UserId, UserId];
const [fire] = talkgroupIds as [TalkgroupId, TalkgroupId];

t.test('reloads after a gap are read between handshakes, not after the last of them', async (t) => {
  const relay = withBugs({});
  await relay.connect(ann);
  relay.read.length = 0;
  let coming = 500;
  // Each user that is answered comes again: there are always more of them than one read takes.
  const come = (id: UserId) => void relay.connect(id).then(() => coming-- > 0 && come(id));
  for (let stranger = 0; stranger < 30; stranger++) come(`stranger ${stranger}` as UserId);
  relay.rights.gap();
  for (let turn = 0; turn < 1000 && coming > 0; turn++) await settled();
  const before = relay.read.indexOf(ann);
  t.ok(before >= 0 && before < 30, `${before} of ${relay.read.length} were read before her`);
});

t.test('a user is admitted while the keys of its talkgroups rotate in each read', async (t) => {
  const relay = withBugs({});
  for (const talkgroup of talkgroupIds) relay.database.change({ kind: 'joined', user: ann, talkgroup });
  let rotations = 0;
  relay.during.read = () => {
    if (rotations >= 50) return;
    rotations++;
    for (const talkgroup of talkgroupIds) {
      const change = { kind: 'key_rotated', talkgroup } as const;
      relay.database.change(change);
      void relay.rights.noticed(noticeOf(change));
    }
  };
  t.equal(await relay.connect(ann), 'loaded');
  t.ok(rotations < 5, `after ${rotations} of 50 rotations`);
  relay.during.read = () => {};
  for (let turn = 0; turn < 100; turn++) await settled();
  for (const held of relay.rights.talkgroups.values())
    t.equal(held.rotationCounter, rotations, 'what was read too early is read again');
});

for (const kind of ['talkgroup_changed', 'talkgroup_deleted'] as const) {
  t.test(
    `a user is admitted while ${kind} names a talkgroup in each read, and no member talks by the old row`,
    async (t) => {
      const missed: TalkgroupId[] = [];
      const relay = withBugs({
        missed: (_user, memberships) => {
          for (const { talkgroup } of memberships) missed.push(talkgroup.id);
        },
      });
      for (const talkgroup of talkgroupIds) relay.database.change({ kind: 'joined', user: ann, talkgroup });
      const change = { kind, talkgroup: fire };
      let reads = 0;
      relay.during.read = () => {
        if (reads++ === 1) relay.database.change(change);
        if (reads < 50) void relay.rights.noticed(noticeOf(change));
      };
      const mayTalkIn = () =>
        [...(relay.rights.users.get(ann)?.memberships.values() ?? [])]
          .filter(mayTalk)
          .map(({ talkgroup }) => talkgroup.id);
      let admittedTo: TalkgroupId[] = [];
      relay.rights.load(ann, (loaded) => {
        if (loaded.kind !== 'loaded') return;
        loaded.user.sessions.add({ user: loaded.user } as LiveSession);
        admittedTo = mayTalkIn();
      });
      for (let turn = 0; turn < 100; turn++) await settled();
      t.equal(reads, 2, 'one read is repeated');
      t.same(admittedTo, ['rail'], 'before the first talkgroup is read');
      const isDeleted = kind === 'talkgroup_deleted';
      t.same(mayTalkIn(), isDeleted ? ['rail'] : talkgroupIds);
      t.same(missed, isDeleted ? [] : [fire], 'what was suspended is told of');
      t.equal(relay.rights.talkgroups.get(fire)?.revision, isDeleted ? undefined : 1);
    },
  );
}

t.test('a join is acknowledged only when the new member may talk, while its talkgroup changes', async (t) => {
  const relay = withBugs({});
  await relay.connect(ann);
  const joined = { kind: 'joined', user: ann, talkgroup: fire } as const;
  relay.database.change(joined);
  const before = relay.read.length;
  relay.during.read = () => {
    const change = { kind: 'talkgroup_changed', talkgroup: fire } as const;
    if (relay.read.length - before <= 4) void relay.rights.noticed(noticeOf(change));
  };
  await relay.rights.noticed(noticeOf(joined));
  t.same([...(relay.rights.users.get(ann)?.memberships.values() ?? [])].map(mayTalk), [true]);
  t.equal(relay.read.length - before, 5);
});

t.test('a promotion is read, and suspends no permission meanwhile', async (t) => {
  let withdrawals = 0;
  const relay = withBugs({ withdrawn: () => withdrawals++ });
  relay.database.change({ kind: 'joined', user: ann, talkgroup: fire });
  await relay.connect(ann);
  const promoted = { kind: 'user_promoted', user: ann } as const;
  relay.database.change(promoted);
  await relay.rights.noticed(noticeOf(promoted));
  t.equal(relay.rights.users.get(ann)?.isAdmin, true);
  t.equal(withdrawals, 0);
});

t.test(
  'a user whose change throws is disconnected, blocks no new connection and is not read again',
  async (t) => {
    const relay = withBugs({
      checked(user) {
        if (user.id === ann) throw new Error('a bug');
      },
    });
    await relay.connect(ann);
    relay.read.length = 0;
    const revoked = relay.rights.noticed(noticeOf({ kind: 'user_revoked', user: ann }));
    t.equal(await relay.connect(bob), 'loaded');
    await revoked;
    await settled();
    t.same(relay.failed, [ann]);
    t.same(relay.logged, ['permission change failed']);
    t.same(relay.read.filter((id) => id === ann).length, 1);
    t.same([...relay.rights.users.keys()], [bob]);
  },
);

t.test('a suspension that throws is acknowledged, and the others of its notification are done', async (t) => {
  const withdrawn: UserId[] = [];
  const relay = withBugs({
    withdrawn({ user }) {
      if (user.id === ann) throw new Error('a bug');
      withdrawn.push(user.id);
    },
  });
  for (const user of [ann, bob]) relay.database.change({ kind: 'joined', user, talkgroup: fire });
  for (const user of [ann, bob]) await relay.connect(user);
  relay.read.length = 0;
  await relay.rights.noticed(noticeOf({ kind: 'device_changed', device }));
  await settled();
  t.same(relay.failed, [ann]);
  t.same(withdrawn, [bob], 'it is the same device');
  t.same(relay.read, [bob]);
});

t.test('a talkgroup whose change throws is read once, and the request is answered', async (t) => {
  const relay = withBugs({
    emergencies() {
      throw new Error('a bug');
    },
  });
  relay.database.change({ kind: 'joined', user: ann, talkgroup: fire });
  await relay.connect(ann);
  await relay.rights.noticed(noticeOf({ kind: 'talkgroup_changed', talkgroup: fire }));
  t.equal(await relay.connect(bob), 'loaded');
  t.same(relay.logged, ['permission change failed']);
  t.same(relay.failed, []);
});

t.test('an admission that throws does not affect the others', async (t) => {
  const relay = withBugs({});
  const before = relay.connect(bob); // both of the others wait for the next read
  relay.rights.load(ann, () => {
    throw new Error('a bug');
  });
  t.equal(await relay.connect(ann), 'loaded');
  t.equal(await before, 'loaded');
  t.same(relay.logged, ['permission change failed']);
  t.same(relay.read, [bob, ann]);
});

/** Three sockets of one member, the middle one broken. What is done to the others stands in `done` by their numbers. */
function threeSockets() {
  const [account] = newDatabase().accountsOf([ann]);
  const user = new User(account as Account); // there is one for each id
  const talkgroup = new Talkgroup(rowOf(fire, 1));
  const membership = new Membership(user, talkgroup, 'depot');
  talkgroup.memberships.add(membership);
  const done = new Set<number>();
  const failed: (number | string)[] = [];
  const refused: number[] = [];
  for (const number of [1, 2, 3]) {
    const act = () => {
      if (number === 2) throw new Error('a bug');
      done.add(number);
    };
    const session: LiveSession = {
      ...{ number, user, isLive: true, issuedAt: 0, heardAtMs: 0, hears: () => true, close: act },
      ...{ withdrawn: act, granted: act, joined: act, left: act, missed: act, hearing: act, send: act },
    };
    user.sessions.add(session);
  }
  const changesWith = (floor: object, fanout: object) =>
    createChanges({
      fanout: fanout as Fanout,
      floor: floor as FloorControl,
      followEmergencies: () => broken(),
      refused: ({ number }) => void refused.push(number),
      nowMs: () => 0,
      fail: (number) => failed.push(number),
      log: { error: (_fields, message) => failed.push(message) },
    });
  return { user, talkgroup, membership, done, failed, refused, changesWith };
}

const broken = () => {
  throw new Error('a bug');
};

const ofSockets: Record<string, (changes: RightsChanges, held: ReturnType<typeof threeSockets>) => void> = {
  withdrawn: (changes, { membership }) => changes.withdrawn(membership),
  granted: (changes, { membership }) => changes.granted(membership),
  missed: (changes, { user, membership }) => changes.missed(user, new Set([membership])),
  joined: (changes, { membership }) => changes.joined(membership),
  left: (changes, { membership }) => changes.left(membership),
  deleted: (changes, { talkgroup }) => changes.deleted(talkgroup),
  checked: (changes, { user }) => changes.checked(user, null),
};

for (const [name, act] of Object.entries(ofSockets)) {
  t.test(
    `a throw for one socket of a user fails that one, and the others are ${name} all the same`,
    async (t) => {
      const held = threeSockets();
      act(held.changesWith({ close() {} }, {}), held);
      t.same(held.failed, [2]);
      t.same([...held.done], [1, 3]);
    },
  );
}

t.test(
  'a connection that is closed for its token is refused, and a session without one is not',
  async (t) => {
    const { user, refused, changesWith } = threeSockets();
    const [first, , third] = [...user.sessions];
    Object.assign(third ?? {}, { isLive: false });
    const account = { valid_from: 0, device_active: true } as Account; // all that is judged
    const changes = changesWith({}, {});
    changes.checked(user, account);
    t.same(refused, [], 'its token is valid');
    changes.checked(user, { ...account, valid_from: 1 });
    t.same(refused, [first?.number, 2], 'the second one before its close throws');
  },
);

t.test('an error of a whole talkgroup is logged, and the rest of its change is done', async (t) => {
  const { talkgroup, done, failed, changesWith } = threeSockets();
  let changed = 0;
  const changes = changesWith(
    { close: broken, change: () => changed++, endUnencrypted: broken },
    { tell: broken, event: broken },
  );
  changes.changed(talkgroup);
  t.equal(changed, 1, 'its floor follows');
  changes.required(talkgroup);
  changes.rotated(talkgroup);
  changes.emergencies(talkgroup, []);
  changes.deleted(talkgroup);
  t.same([...done], [1, 3], 'its members are dismissed');
  t.same(failed, [...Array(5).fill('talkgroup change failed'), 2]);
});
