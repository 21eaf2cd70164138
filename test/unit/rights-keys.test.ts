// What the relay holds of the permission to have keys, after reads in any order.
import t from 'tap';
import { noticeOf } from '../../src/db/notice.js';
import type { Account, TalkgroupRow } from '../../src/directory/records.js';
import type { TalkgroupId, UserId } from '../../src/ids.js';
import type { LiveSession, Talkgroup } from '../../src/relay/members/members.js';
import { createRights } from '../../src/relay/rights/rights.js';
import { clockAt, NO_TIMER } from '../helpers/relay/clocks.js';
import { accountRow, talkgroupRow } from '../helpers/relay/rows.js';

/** A test waits for a timer of the relay, so the process must wait for it, too. */
function after(delayMs: number, run: () => void) {
  setTimeout(run, delayMs);
  return NO_TIMER;
}

const fire = 'fire' as TalkgroupId;
const nothing = () => {};

/** Rights over rows that the test changes. Reads answer after so many ms. */
function newRights({ readMs = 0 } = {}) {
  const answer = () => new Promise((resolve) => setTimeout(resolve, readMs));
  const accounts = new Map<UserId, Account>();
  /** Users whose sockets were told to follow. */
  const heard: string[] = [];
  const reads = { talkgroups: 0 };
  /** Users whose sockets were told of their key holders. */
  const ofHolders: string[] = [];
  let row: TalkgroupRow = talkgroupRow({ id: fire });
  const rights = createRights({
    reads: {
      accountsOf: async (ids) => {
        const rows = ids.flatMap((id) => accounts.get(id) ?? []);
        await answer();
        return rows;
      },
      talkgroupsOf: async (ids) => {
        reads.talkgroups++;
        const rows = ids.map((id) => ({ ...row, id }));
        await answer();
        return rows;
      },
    },
    changes: {
      ...{ withdrawn: nothing, granted: nothing, missed: nothing, joined: nothing, left: nothing },
      ...{ deleted: nothing, rotated: nothing, changed: nothing, required: nothing, emergencies: nothing },
      checked: nothing,
      holders: ({ id }) => void ofHolders.push(id),
      hearing: ({ user }) => void heard.push(user.id),
      failed: (_user, error) => t.fail(String(error)),
    },
    clock: { ...clockAt(() => 0), after },
    batch: 50,
    waitingMax: 100,
    log: { error: (_fields, message) => t.fail(message) },
  });
  const settled = () => new Promise((resolve) => setTimeout(resolve, 5 + 2 * readMs));
  const accountOf = (id: UserId, mayHaveKeys: boolean) =>
    accountRow(id, { memberships: [{ ...row, site: 'depot', may_have_keys: mayHaveKeys }] });
  return {
    rights,
    settled,
    heard,
    reads,
    ofHolders,
    /** The database: the talkgroup as it is now, and its members, each with or without the permission. */
    becomes(over: Partial<TalkgroupRow>, members: Readonly<Record<string, boolean>>): void {
      row = { ...row, ...over };
      for (const [id, mayHaveKeys] of Object.entries(members))
        accounts.set(id as UserId, accountOf(id as UserId, mayHaveKeys));
    },
    async connects(name: string): Promise<void> {
      await new Promise<void>((resolve) => {
        rights.load(name as UserId, (loaded) => {
          if (loaded.kind === 'loaded') loaded.user.sessions.add({ user: loaded.user } as LiveSession);
          resolve();
        });
      });
      await settled();
    },
    disconnects(name: string): void {
      rights.users.get(name as UserId)?.sessions.clear();
      rights.drop(name as UserId);
    },
    mayHear: (name: string) => rights.users.get(name as UserId)?.memberships.get(1)?.mayHear,
  };
}

t.test('the change to required accepts members that were read before it', async (t) => {
  const { rights, becomes, connects, mayHear, settled } = newRights();
  becomes({}, { ann: false });
  await connects('ann');
  becomes({ encryption: 'required', revision: 1 }, { ann: true });
  await rights.noticed(noticeOf({ kind: 'talkgroup_changed', talkgroup: fire }));
  await settled();
  t.equal(mayHear('ann'), true);
});

t.test('a member that was read after the change to required keeps what its row says', async (t) => {
  const { rights, becomes, connects, mayHear, heard, settled } = newRights();
  becomes({}, { ann: false });
  await connects('ann');
  // Bob joins after the change. Its notification comes late, as from another node or after a gap.
  becomes({ encryption: 'required', revision: 1 }, { ann: true, bob: false });
  await connects('bob');
  await rights.noticed(noticeOf({ kind: 'talkgroup_changed', talkgroup: fire }));
  await settled();
  t.equal(mayHear('ann'), true);
  t.equal(mayHear('bob'), false, 'nobody permitted it');
  t.strictSame(heard, ['bob'], 'the sockets follow');

  for (const [revision, encryption] of [
    [2, 'allowed'],
    [3, 'required'],
  ] as const) {
    becomes({ encryption, revision }, {});
    await rights.noticed(noticeOf({ kind: 'talkgroup_changed', talkgroup: fire }));
    await settled();
    t.equal(mayHear('bob'), true, `present at the change to ${encryption}`);
  }
});

t.test('a read from before the change to required leaves its members accepted', async (t) => {
  const { rights, becomes, connects, mayHear, settled } = newRights({ readMs: 8 });
  becomes({}, { ann: false, bob: false });
  await connects('ann');
  await settled();
  const annIsRead = rights.noticed(noticeOf({ kind: 'user_promoted', user: 'ann' as UserId }));
  const bobConnects = connects('bob');
  // Another relay has read the change that both reads have missed.
  const held = rights.talkgroups.get(fire) as Talkgroup;
  const settings = {
    floor_mode: held.floorMode,
    max_talk_ms: held.maxTalkMs,
    encryption: 'required',
  } as const;
  rights.adopt(held, { ...settings, revision: held.revision + 1 });
  await Promise.all([annIsRead, bobConnects]);
  t.equal(mayHear('ann'), true);
  t.equal(mayHear('bob'), true);
});

t.test('key holders that changed before a user left are no news for their next session', async (t) => {
  const { rights, becomes, connects, disconnects, ofHolders, settled } = newRights();
  const ann = 'ann' as UserId;
  becomes({}, { ann: true });
  await connects(ann);
  await rights.noticed(noticeOf({ kind: 'holders_changed', user: ann }));
  await settled();
  t.strictSame(ofHolders, [ann]);
  await rights.noticed(noticeOf({ kind: 'holders_changed', user: ann }));
  disconnects(ann);
  await settled();
  await connects(ann);
  await rights.noticed(noticeOf({ kind: 'joined', user: ann, talkgroup: fire }));
  t.strictSame(ofHolders, [ann], 'read when the session began');
});

t.test('talkers that ask with a newer epoch all the time do not keep a change from being read', async (t) => {
  const { rights, becomes, connects, settled } = newRights({ readMs: 8 });
  becomes({}, { ann: false });
  await connects('ann');
  await settled();
  let isOver = false;
  let answered = 0;
  const asking = (async () => {
    while (!isOver) {
      void rights.readAgain(fire).then(() => answered++);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  })();
  becomes({ name: 'other', revision: 1 }, { bob: false });
  let acknowledged = 0;
  void rights.noticed(noticeOf({ kind: 'talkgroup_changed', talkgroup: fire })).then(() => acknowledged++);
  void connects('bob');
  await new Promise((resolve) => setTimeout(resolve, 500));
  t.equal(acknowledged, 1, 'the change is acknowledged');
  t.ok(rights.users.has('bob' as UserId), 'a handshake is read');
  t.ok(answered > 100, `${answered} requests are answered`);
  isOver = true;
  await asking;
});

t.test(
  'requests with newer epochs cost one read of the talkgroup in 150 ms, and all are answered',
  async (t) => {
    const { rights, becomes, connects, settled, reads } = newRights();
    becomes({}, { ann: false });
    await connects('ann');
    const sinceMs = performance.now();
    const answered: Promise<void>[] = [];
    for (let request = 0; request < 20; request++) {
      answered.push(rights.readAgain(fire));
      await settled();
    }
    await Promise.all(answered);
    const reckoned = 2 + (performance.now() - sinceMs) / 150;
    t.ok(reads.talkgroups <= reckoned, `${reads.talkgroups} reads, ${reckoned} at most`);
  },
);

t.test('a request with a newer epoch is answered by a read that began after it', async (t) => {
  const { rights, becomes, connects, settled } = newRights({ readMs: 8 });
  becomes({}, { ann: false });
  await connects('ann');
  await settled();
  void rights.readAgain(fire);
  await new Promise((resolve) => setTimeout(resolve, 2));
  becomes({ rotation_counter: 1 }, {}); // behind the read under way
  await rights.readAgain(fire);
  t.equal(rights.talkgroups.get(fire)?.rotationCounter, 1);
});
