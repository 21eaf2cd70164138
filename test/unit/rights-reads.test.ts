// Which users share a read of rights: how soon a change is read amid thousands of handshakes, and what an account that
// cannot be read costs the others.
import t from 'tap';
import { noticeOf } from '../../src/db/notice.js';
import type { Account, TalkgroupRow } from '../../src/directory/records.js';
import { AppError } from '../../src/errors.js';
import type { DeviceId, TalkgroupId, UserId } from '../../src/ids.js';
import type { LiveSession } from '../../src/relay/members/members.js';
import type { Loaded } from '../../src/relay/rights/loads.js';
import { createRights } from '../../src/relay/rights/rights.js';
import { virtualClock } from '../helpers/relay/clocks.js';
import { talkgroupRow } from '../helpers/relay/rows.js';

const BATCH = 50;
const READ_MS = 8;
/** The deadline of a read. */
const POISONED_MS = 1500;
const talkgroup = 'fire' as TalkgroupId;
const ids = (name: string, count: number) =>
  Array.from({ length: count }, (_, index) => `${name} ${index}` as UserId);

interface Read {
  readonly users: readonly UserId[];
  readonly atMs: number;
  readonly failed: boolean;
}

/** Rights over a database that answers after 8 ms, or fails when `fails` says so. Time passes by `pass` and `until`. */
function newRights({
  fails = () => null,
  talkgroupsOf = () => [],
  readMs = READ_MS,
}: {
  fails?: (users: readonly UserId[]) => { afterMs: number } | null;
  talkgroupsOf?: (user: UserId) => readonly TalkgroupRow[];
  readMs?: number;
} = {}) {
  const clock = virtualClock();
  const reads: Read[] = [];
  const loaded = new Map<UserId, Loaded['kind']>();
  const nothing = () => {};
  const rights = createRights({
    reads: {
      accountsOf: (users) =>
        new Promise((resolve, reject) => {
          const failure = fails(users);
          reads.push({ users, atMs: clock.nowMs(), failed: failure !== null });
          const accounts = users.map((id) => accountOf(id, talkgroupsOf(id)));
          clock.after(failure?.afterMs ?? readMs, () => {
            if (failure === null) resolve(accounts);
            else reject(new AppError('database_unavailable'));
          });
        }),
      talkgroupsOf: async (ids) => ids.map((id) => talkgroupRow({ id })),
    },
    changes: {
      ...{ withdrawn: nothing, granted: nothing, missed: nothing, joined: nothing, left: nothing },
      ...{
        deleted: nothing,
        rotated: nothing,
        changed: nothing,
        required: nothing,
        emergencies: nothing,
        checked: nothing,
      },
      ...{ holders: nothing, hearing: nothing },
      failed: (_user, error) => t.fail(String(error)),
    },
    clock,
    batch: BATCH,
    waitingMax: 100_000,
    log: { error: (_fields, message) => t.fail(message) },
  });

  /** Lets everything happen that follows from what happened. */
  const settled = () => new Promise((resolve) => setImmediate(resolve));

  async function pass(ms: number): Promise<void> {
    await settled();
    for (let passed = 0; passed < ms; passed++) {
      clock.pass(1);
      rights.expire();
      await settled();
    }
  }

  return {
    rights,
    reads,
    loaded,
    nowMs: clock.nowMs,
    pass,
    /** How long it took (ms), Infinity when it was not so within `maxMs`. */
    async until(isSo: () => boolean, maxMs: number): Promise<number> {
      const sinceMs = clock.nowMs();
      while (!isSo() && clock.nowMs() - sinceMs < maxMs) await pass(1);
      return isSo() ? clock.nowMs() - sinceMs : Number.POSITIVE_INFINITY;
    },
    connect(users: readonly UserId[]): void {
      for (const id of users) {
        rights.load(id, (answer) => {
          loaded.set(id, answer.kind);
          if (answer.kind === 'loaded') answer.user.sessions.add({ user: answer.user } as LiveSession);
        });
      }
    },
    /** Of REST: the answer waits for the acknowledgement. */
    joins(user: UserId): { isAcknowledged: boolean } {
      const call = { isAcknowledged: false };
      void rights.noticed(noticeOf({ kind: 'joined', user, talkgroup })).then(() => {
        call.isAcknowledged = true;
      });
      return call;
    },
  };
}

const accountOf = (id: UserId, talkgroups: readonly TalkgroupRow[] = []): Account => ({
  ...{ id, username: id, role: 'user', is_dispatcher: false, valid_from: 0 },
  memberships: talkgroups.map((row) => ({ ...row, site: 'depot', may_have_keys: false })),
  ...{ device_id: `phone of ${id}` as DeviceId, device_active: true, holders_waiting: 0 },
});

t.test('a join is acknowledged within a few reads while 9,000 handshakes wait', async (t) => {
  const { rights, connect, joins, until, pass, reads } = newRights();
  const [ann, bob] = ids('held', 2) as [UserId, UserId];
  connect([ann, bob]);
  await pass(100);
  connect(ids('stranger', 9_000));
  await pass(1);
  const before = reads.length;
  const call = joins(ann);
  const tookMs = await until(() => call.isAcknowledged, 2_000);
  t.ok(tookMs <= 3 * READ_MS, `${tookMs} ms`);
  t.ok(reads.length - before <= 3, `${reads.length - before} reads`);

  const device = `phone of ${bob}` as DeviceId;
  await rights.noticed(noticeOf({ kind: 'device_changed', device }));
  t.equal(rights.users.get(bob)?.withdrawn, true);
  const mutedMs = await until(() => rights.users.get(bob)?.withdrawn === false, 2_000);
  t.ok(mutedMs <= 3 * READ_MS, `a harmless change takes ${mutedMs} ms`);
});

t.test('changes that never end keep neither handshakes nor what a gap missed from being read', async (t) => {
  const { rights, connect, joins, until, pass, reads, loaded } = newRights();
  const [busy, quiet] = [ids('busy', 200), ids('quiet', 200)];
  connect([...busy, ...quiet]);
  await pass(200);
  let isOver = false;
  const changes = (async () => {
    while (!isOver) {
      for (const id of busy) joins(id);
      await pass(1);
    }
  })();
  const strangers = ids('stranger', 500);
  connect(strangers);
  rights.gap();
  const before = reads.length;
  const isRead = (id: UserId) => reads.slice(before).some(({ users }) => users.includes(id));
  t.ok((await until(() => quiet.every(isRead), 1_000)) < Number.POSITIVE_INFINITY, 'what a gap missed');
  t.ok((await until(() => strangers.every((id) => loaded.has(id)), 1_500)) < Number.POSITIVE_INFINITY);
  t.same(new Set(strangers.map((id) => loaded.get(id))), new Set(['loaded']));
  isOver = true;
  await changes;
});

t.test('a dispatcher in 1,000 talkgroups is admitted while they change one after another', async (t) => {
  const rows = Array.from({ length: 1_000 }, (_, number) =>
    talkgroupRow({ id: `talkgroup ${number}` as TalkgroupId, number }),
  );
  const readMs = 100;
  const { rights, connect, joins, until, pass, loaded } = newRights({ talkgroupsOf: () => rows, readMs });
  let isOver = false;
  const changes = (async () => {
    for (let at = 0; !isOver; at = (at + 1) % rows.length) {
      const talkgroup = rows[at]?.id as TalkgroupId;
      void rights.noticed(noticeOf({ kind: 'talkgroup_changed', talkgroup }));
      await pass(3);
    }
  })();
  const [dispatcher] = ids('dispatcher', 1) as [UserId];
  connect([dispatcher]);
  const tookMs = await until(() => loaded.has(dispatcher), 5_000);
  t.equal(loaded.get(dispatcher), 'loaded');
  t.ok(tookMs <= 3 * readMs, `${tookMs} ms`);
  const call = joins(dispatcher);
  const joinedMs = await until(() => call.isAcknowledged, 5_000);
  t.ok(joinedMs <= 3 * readMs, `${joinedMs} ms`);
  isOver = true;
  await changes;
});

t.test('an account that cannot be read fails alone in the end, and all others are read', async (t) => {
  let poison: UserId | null = null;
  const isPoisoned = (users: readonly UserId[]) => poison !== null && users.includes(poison);
  const { rights, connect, until, pass, reads, loaded } = newRights({
    fails: (users) => (isPoisoned(users) ? { afterMs: POISONED_MS } : null),
  });
  const held = ids('held', 2 * BATCH);
  connect(held);
  await pass(200);
  const sick = held[0] as UserId;
  poison = sick;
  const device = `phone of ${sick}` as DeviceId;
  for (const user of held) if (user !== sick) void rights.noticed(noticeOf({ kind: 'user_revoked', user }));
  void rights.noticed(noticeOf({ kind: 'device_changed', device }));
  const withdrawn = () => held.filter((id) => rights.users.get(id)?.withdrawn);
  const tookMs = await until(() => withdrawn().length === 1, 60_000);
  t.same(withdrawn(), [sick]);
  const failures = reads.filter(({ failed }) => failed).length;
  t.ok(failures <= 12, `${failures} reads failed in ${tookMs} ms`);
  await until(() => reads.at(-1)?.failed === true && reads.at(-1)?.users.length === 1, 60_000);

  const before = reads.length;
  const strangers = ids('stranger', 6 * BATCH);
  connect(strangers);
  const loadedMs = await until(() => loaded.size === held.length + strangers.length, 3_000);
  t.ok(loadedMs < 500, `handshakes are not held up: ${loadedMs} ms`);
  t.ok(
    reads.slice(before).every(({ users, failed }) => !failed || users.length === 1),
    'it shares no read any more',
  );

  poison = null;
  t.ok(
    (await until(() => withdrawn().length === 0, 5_000)) < 5_000,
    'and is read when that is possible again',
  );
  const largest = Math.max(...reads.slice(before).map(({ users }) => users.length));
  t.equal(largest, BATCH, 'others go in full batches');
});

t.test(
  'an account that cannot be read spoils one batch of handshakes, and none when it comes again',
  async (t) => {
    const [sick] = ids('sick', 1) as [UserId];
    const { connect, pass, until, reads, loaded } = newRights({
      fails: (users) => (users.includes(sick) ? { afterMs: POISONED_MS } : null),
    });
    for (let round = 0; round < 12; round++) {
      const strangers = ids(`stranger of ${round}`, BATCH - 1);
      loaded.clear();
      const before = reads.length;
      connect([sick, ...strangers]);
      await until(() => loaded.size === BATCH, 3_000);
      t.equal(loaded.get(sick), 'failed');
      const failed = strangers.filter((id) => loaded.get(id) === 'failed').length;
      const spoiled = reads.slice(before).some(({ users, failed }) => failed && users.length > 1);
      if (round > 0) t.same([failed, spoiled], [0, false], `round ${round}`);
      await pass(5_000);
    }
  },
);

t.test('while the database is away reads grow no more, and full batches come back with it', async (t) => {
  let isAway = false;
  const { rights, connect, pass, until, reads } = newRights({
    fails: () => (isAway ? { afterMs: 1 } : null),
  });
  const held = ids('held', 40 * BATCH);
  connect(held);
  await pass(1_000);
  isAway = true;
  for (const user of held) void rights.noticed(noticeOf({ kind: 'user_revoked', user }));
  const before = reads.length;
  await pass(60_000);
  t.ok(reads.length - before <= 2 * 70, `${reads.length - before} reads in a minute`);
  isAway = false;
  const back = reads.length;
  const withdrawn = () => [...rights.users.values()].filter((user) => user.withdrawn).length;
  const tookMs = await until(() => withdrawn() === 0, 10_000);
  t.ok(tookMs < 2_000, `all were read after ${tookMs} ms`);
  t.ok(reads.length - back <= 40 + 12, `${reads.length - back} reads`);
});
