// Lists of watched devices: in which order they are read, how many at once, and for how many devices they count.
import t, { type Test } from 'tap';
import type { DeviceRow } from '../../src/directory/records.js';
import type { DeviceId, UserId } from '../../src/ids.js';
import { createDevices } from '../../src/relay/positions/devices.js';
import type { DevicesRead } from '../../src/relay/positions/list.js';
import { createLists } from '../../src/relay/positions/lists.js';

const [ANN, BOB] = ['ann' as UserId, 'bob' as UserId];

const rowsOf = (count: number): DeviceRow[] =>
  Array.from({ length: count }, (_, index) => ({
    ...{ id: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}` as DeviceId, name: `${index}` },
    ...{ user: null, fix: null },
  }));

/** Lists with reads that end when the test says so. `asked` has the names of the reads under way, in their order. */
function setUp(t: Test) {
  let nowMs = 0;
  const asked: string[] = [];
  const ends = new Map<string, { answer: (rows: number) => void; fail: () => void }>();
  const lists = createLists({
    ...{ devices: createDevices(Date.now), nowMs: () => nowMs, changed() {} },
    log: { error: (_fields, message) => t.fail(message) },
  });
  return {
    lists,
    asked,
    add(name: string, expected = 0) {
      const source = () =>
        new Promise<DevicesRead>((resolve, reject) => {
          asked.push(name);
          const answer = (rows: number) => resolve({ devices: rowsOf(rows), total: rows });
          ends.set(name, { answer, fail: () => reject(new Error('away')) });
        });
      const list = lists.add(source, expected);
      lists.use(list);
      return list;
    },
    async answers(name: string, rows = 1) {
      ends.get(name)?.answer(rows);
      await turn();
    },
    async fails(name: string) {
      ends.get(name)?.fail();
      await turn();
    },
    async pass(ms: number) {
      for (const endMs = nowMs + ms; nowMs < endMs; ) {
        nowMs += 50;
        lists.tick();
        await turn();
      }
    },
  };
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

t.test('users take turns: one who asks for much makes no other one wait', async (t) => {
  const { lists, asked, add, answers } = setUp(t);
  for (let number = 1; number <= 8; number++) void lists.ready(add(`ann ${number}`), ANN);
  void lists.ready(add('bob 1'), BOB);
  void lists.ready(add('bob 2'), BOB);
  asked.splice(0);
  for (const name of ['ann 1', 'ann 2', 'ann 3', 'ann 4']) await answers(name);
  t.strictSame(asked, ['ann 5', 'bob 1', 'ann 6', 'bob 2']);
});

t.test('a list for which a session waits is read before those that are read again', async (t) => {
  const { lists, asked, add, answers, pass } = setUp(t);
  const known = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => ({ name, list: add(name) }));
  for (const { list } of known) void lists.ready(list, ANN);
  t.strictSame(asked, ['a', 'b', 'c', 'd'], 'four at once');
  for (const { name } of known) await answers(name);
  t.strictSame(asked.splice(0), ['a', 'b', 'c', 'd', 'e', 'f'], 'the next one when one has ended');
  await pass(1100);
  t.strictSame(asked.splice(0), ['a', 'b', 'c', 'd'], 'again after a second');
  const late = add('late');
  const isRead = lists.ready(late, ANN);
  await answers('a');
  t.strictSame(asked.splice(0), ['late']);
  await answers('late');
  await isRead;
  t.ok(late.isRead);
});

t.test('after 3,000 rows the next read waits a tenth of a second', async (t) => {
  const { lists, asked, add, answers, pass } = setUp(t);
  void lists.ready(add('large'), ANN);
  await answers('large', 3000);
  void lists.ready(add('next'), ANN);
  await pass(50);
  t.strictSame(asked, ['large']);
  await pass(50);
  t.strictSame(asked, ['large', 'next']);
});

t.test('while reads fail, no more begin at once than the timer lets', async (t) => {
  const { lists, asked, add, fails, pass } = setUp(t);
  const names = Array.from({ length: 9 }, (_, index) => `${index}`);
  const outcomes = names.map((name) =>
    lists.ready(add(name), ANN).then(String, (error: Error) => error.message),
  );
  for (const name of names.slice(0, 4)) await fails(name);
  t.equal(asked.length, 4);
  t.strictSame(await Promise.all(outcomes.slice(0, 4)), ['away', 'away', 'away', 'away']);
  await pass(50);
  t.equal(asked.length, 8);
});

t.test(
  'a list counts for what it was asked for, then for what it has, and at its end for nothing',
  async (t) => {
    const { lists, add, answers } = setUp(t);
    const list = add('one', 200);
    t.equal(lists.size, 200);
    void lists.ready(list, ANN);
    await answers('one', 3);
    t.equal(lists.size, 3);
    t.ok(lists.leave(list));
    t.equal(lists.size, 0);
  },
);
