// Many who ask which talkgroups exist, and the database that is asked one query at a time.
import t from 'tap';
import type { TalkgroupId } from '../../src/ids.js';
import { createLookup } from '../../src/relay/lookup.js';

const id = (name: string) => name as TalkgroupId; // any text will do

/** A database that answers when told to, with the ids that do not begin with "no". */
function databaseByHand() {
  const asked: { ids: readonly TalkgroupId[]; answer: () => void; fail: () => void }[] = [];
  const lookup = createLookup<TalkgroupId>(
    (ids) =>
      new Promise((resolve, reject) => {
        asked.push({
          ids,
          answer: () => resolve(new Set(ids.filter((one) => !one.startsWith('no')))),
          fail: () => reject(new Error('away')),
        });
      }),
  );
  /** The next query, when it has been sent. */
  async function next() {
    for (let turn = 0; turn < 10 && asked.length === 0; turn++) await Promise.resolve();
    const first = asked.shift();
    if (first === undefined) throw new Error('nothing was asked');
    return first;
  }
  return { lookup, next, waiting: asked };
}

t.test('who asks while a query is under way waits for the next, with all the others', async (t) => {
  const { lookup, next, waiting } = databaseByHand();
  const first = lookup([id('fire')]);
  const query = await next();
  const others = [lookup([id('rail'), id('no such')]), lookup([id('depot')])];
  t.equal(waiting.length, 0, 'one query at a time');
  query.answer();
  t.strictSame([...(await first)], ['fire']);
  const second = await next();
  t.strictSame(second.ids, ['rail', 'no such', 'depot']);
  second.answer();
  t.strictSame([...((await others[0]) ?? [])], ['rail', 'depot']);
  await others[1];
});

t.test('a failed query fails those who waited for it, and nobody after them', async (t) => {
  const { lookup, next } = databaseByHand();
  const first = lookup([id('fire')]);
  (await next()).fail();
  await t.rejects(first, { message: 'away' });
  const second = lookup([id('fire')]);
  (await next()).answer();
  t.strictSame([...(await second)], ['fire']);
});

t.test('a query holds 2,000 ids at most, and beyond 20,000 that wait one is refused', async (t) => {
  const { lookup, next } = databaseByHand();
  const ids = (from: number, count: number) => Array.from({ length: count }, (_, at) => id(`${from + at}`));
  const first = lookup(ids(0, 1));
  const query = await next();
  const full = lookup(ids(0, 1500));
  const beyond = lookup(ids(2000, 1500));
  await t.rejects(lookup(ids(0, 17_001)), { message: 'too many look-ups wait' });
  query.answer();
  await first;
  const second = await next();
  t.equal(second.ids.length, 1500);
  second.answer();
  await full;
  const third = await next();
  t.equal(third.ids.length, 1500);
  third.answer();
  t.equal((await beyond).size, 1500);
});
