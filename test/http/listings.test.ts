// Lists that a client sorts and searches: their order, their pages under ties and changes, and what they refuse.
import assert from 'node:assert/strict';
import fc from 'fast-check';
import t from 'tap';
import { type Service, service } from '../helpers/http/rest.js';

t.setTimeout(300_000);

type Item = Record<string, unknown>;
type List = { path: string; name: string; columns: readonly string[]; text: string };

const LISTS: readonly List[] = [
  { path: '/users', name: 'users', columns: ['username', 'role', 'created_at'], text: 'username' },
  {
    path: '/devices',
    name: 'devices',
    columns: ['name', 'serial', 'site', 'active', 'created_at'],
    text: 'name',
  },
  {
    path: '/admin/talkgroups',
    name: 'talkgroups',
    columns: ['number', 'name', 'floor_mode', 'max_talk_ms', 'encryption', 'members', 'created_at'],
    text: 'name',
  },
];

/** Forty of each, with many equal values, letters of both cases and marks that patterns know. */
async function fill(s: Service): Promise<void> {
  await s.sql(
    (sql) => sql`
      with d as (
        insert into devices (name, site, serial, active)
        select (array['Engine', 'engine', 'Zoë', '10%', 'a_b', 'a\\b'])[1 + i % 6], 'Depot ' || i % 3, 'SN-' || i, i % 4 > 0
        from generate_series(1, 40) i returning id
      ), u as (
        insert into users (username, password_hash, role, created_at)
        select (array['Ann', 'ann', 'Bob', '📻', 'x%y', 'x_y'])[1 + i % 6] || i / 2, 'none',
               (array['user', 'user', 'admin'])[1 + i % 3], now() - i / 5 * interval '1 ms'
        from generate_series(1, 40) i returning id
      ), g as (
        insert into talkgroups (name, master_secret, floor_mode, max_talk_ms, encryption)
        select (array['Fire', 'fire', 'Über', '100%', '<b>'])[1 + i % 5], sha256('x'),
               (array['open', 'single', 'broadcast'])[1 + i % 3], i % 4 * 10000, (array['off', 'allowed'])[1 + i % 2]
        from generate_series(1, 40) i returning id
      )
      insert into memberships (user_id, talkgroup_id, site) select u.id, g.id, 'x' from u, g
      where hashtext(u.id::text || g.id::text) % 3 = 0`,
  );
}

async function read(s: Service, { path, name }: List, query: Record<string, string | number>) {
  const parameters = Object.entries(query).map(([key, value]) => [key, String(value)] as [string, string]);
  const { status, body } = await s.admin.get(`${path}?${new URLSearchParams(parameters)}`);
  assert.equal(status, 200, `${path} ${JSON.stringify(query)} ${JSON.stringify(body)}`);
  return { items: (body as Item)[name] as Item[], next: (body as Item).next as string | null };
}

/** All pages, each with as many items as `limits` says in turn. `between` happens between two pages. */
async function readPages(
  s: Service,
  list: List,
  query: Record<string, string>,
  {
    limits,
    between = async () => {},
  }: { limits: readonly number[]; between?: (last: Item) => Promise<unknown> },
): Promise<Item[]> {
  const all: Item[] = [];
  let after: string | null = null;
  for (let page = 0; ; page++) {
    const limit = limits[page % limits.length] ?? 1;
    const { items, next } = await read(s, list, { ...query, limit, ...(after !== null && { after }) });
    all.push(...items);
    if (next === null) return all;
    assert.equal(items.length, limit, 'a page with another behind it is full');
    after = next;
    await between(items.at(-1) ?? {});
  }
}

/** The letters a to z as one case, then code point by code point, as UTF-8 has them. */
const bytesOf = (text: string) => Buffer.from(text.replace(/[A-Z]/g, (letter) => letter.toLowerCase()));

function compare(one: unknown, other: unknown): number {
  if (typeof one === 'string') return Buffer.compare(bytesOf(one), bytesOf(String(other)));
  return Number(one) - Number(other);
}

t.test(
  'each column sorts each list in both directions, and the pages of any size have each item once',
  async (t) => {
    const s = await service(t);
    await fill(s);
    for (const list of LISTS) {
      const { items } = await read(s, list, { limit: 200 });
      assert.ok(items.length >= 40);
      for (const column of list.columns) {
        // Microseconds are not in the answer.
        const exact = column === 'created_at' ? await momentsOf(s, list) : null;
        const keyOf = (item: Item) => (exact === null ? item[column] : exact.get(String(item.id)));
        const rising = items.toSorted(
          (a, b) => compare(keyOf(a), keyOf(b)) || compare(String(a.id), String(b.id)),
        );
        await fc.assert(
          fc.asyncProperty(
            fc.boolean(),
            fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 3 }),
            async (isDescending, limits) => {
              const sort = `${isDescending ? '-' : ''}${column}`;
              const found = await readPages(s, list, { sort }, { limits: [...limits, 17] });
              assert.deepEqual(found, isDescending ? rising.toReversed() : rising, `${list.path} ${sort}`);
            },
          ),
          { numRuns: 4 },
        );
      }
    }
    t.pass();
  },
);

async function momentsOf(s: Service, { name }: List): Promise<Map<string, number>> {
  const rows = await s.sql<{ id: string; at: string }>(
    (sql) => sql`select id, (extract(epoch from created_at) * 1000000)::bigint::text as at from ${sql(name)}`,
  );
  return new Map(rows.map(({ id, at }) => [id, Number(at)]));
}

t.test('while items come, go and change, those that stay as they are are listed exactly once', async (t) => {
  const s = await service(t);
  await fill(s);
  const [users] = LISTS;
  assert.ok(users);
  const staying = (await read(s, users, { limit: 200 })).items.map(({ id }) => id as string);
  await fc.assert(
    fc.asyncProperty(fc.boolean(), fc.integer({ min: 1, max: 9 }), async (isDescending, limit) => {
      let turn = 0;
      const sort = `${isDescending ? '-' : ''}username`;
      const pages = await readPages(
        s,
        users,
        { sort },
        {
          limits: [limit],
          // The last item of the page may be one of those that go.
          between: async () => {
            turn++;
            await s.sql(
              (sql) => sql`delete from users where username like 'other %' and hashtext(username) % 2 = 0`,
            );
            await s.sql(
              (sql) => sql`
                insert into users (username, password_hash)
                select 'other ' || ${turn}::int || ' ' || i, 'none' from generate_series(1, 3) i on conflict do nothing`,
            );
          },
        },
      );
      await s.sql((sql) => sql`delete from users where username like 'other %'`);
      const ids = pages.map(({ id }) => id as string);
      assert.equal(new Set(ids).size, ids.length, 'no item twice');
      assert.deepEqual(
        staying.filter((id) => !ids.includes(id)),
        [],
        'and each that stays',
      );
    }),
    { numRuns: 8 },
  );
  t.pass();
});

t.test('a text is found anywhere, each of its characters is text, and it holds for each page', async (t) => {
  const s = await service(t);
  await fill(s);
  for (const list of LISTS) {
    const { items } = await read(s, list, { limit: 200 });
    for (const find of ['n', 'NN', '%', '_', '\\', 'b', '📻', 'ë', '0', "'", '<b>', 'nothing has this']) {
      const texts = (item: Item) =>
        list.path === '/devices' ? [item.name, item.serial, item.site] : [item[list.text]];
      const wanted = items
        .filter((item) => texts(item).some((text) => bytesOf(String(text)).includes(bytesOf(find))))
        .map(({ id }) => id);
      const found = await readPages(s, list, { find, sort: `-${list.text}` }, { limits: [7] });
      // Users are found by their device as well, and one user has one.
      const withDevice = list.path === '/users' ? [s.radio.userId] : [];
      const idsOf = (ids: readonly unknown[]) =>
        ids.filter((id) => !withDevice.some((one) => one === id)).sort();
      t.strictSame(idsOf(found.map(({ id }) => id)), idsOf(wanted), `${list.path} ${find}`);
      const byId = await readPages(s, list, { find }, { limits: [5] });
      t.strictSame(
        byId.map(({ id }) => id),
        found.map(({ id }) => id).sort(),
        'without a sort, in the order of ids',
      );
    }
    t.equal(
      (await read(s, list, { find: '', limit: 200 })).items.length,
      items.length,
      'an empty text is in all',
    );
  }
});

t.test('a user is found by the name, the serial and the site of its device', async (t) => {
  const s = await service(t);
  const { userId: id, deviceId } = s.radio;
  await s.sql(
    (sql) =>
      sql`update devices set name = 'Crane 8', serial = 'XQ-77', site = 'North' where id = ${deviceId}`,
  );
  const [users] = LISTS;
  assert.ok(users);
  for (const find of ['crane', 'q-7', 'NORTH']) {
    t.strictSame(
      (await read(s, users, { find })).items.map((item) => item.id),
      [id],
      find,
    );
  }
  t.strictSame((await read(s, users, { find: 'north', q: 'nobody' })).items, [], 'with both, both must hold');
});

t.test(
  'a sort that is not a column, and an end of another sort or of no user, are 400 and name the field',
  async (t) => {
    const s = await service(t);
    await fill(s);
    const forged = (...parts: unknown[]) => Buffer.from(JSON.stringify(parts)).toString('base64url');
    const id = s.radio.userId;
    for (const list of LISTS) {
      const { next } = await read(s, list, { sort: list.text, limit: 3 });
      assert.ok(next);
      const bad: readonly [query: string, field: string][] = [
        ['sort=id', 'sort'],
        ['sort=password_hash', 'sort'],
        ['sort=', 'sort'],
        [`sort=--${list.text}`, 'sort'],
        [`sort=${list.text}&sort=${list.text}`, 'sort'],
        ['find=%00', 'find'],
        [`find=${'x'.repeat(129)}`, 'find'],
        [`after=${next}`, 'after'],
        [`sort=-${list.text}&after=${next}`, 'after'],
        [`sort=${list.text}&after=${id}`, 'after'],
        [`sort=${list.text}&after=`, 'after'],
        [`sort=${list.text}&after=${forged(list.text, 'x')}`, 'after'],
        [`sort=${list.text}&after=${forged(list.text, 'x', 'no id')}`, 'after'],
        [`sort=${list.text}&after=${forged(list.text, 'a\0b', id)}`, 'after'],
        [`sort=${list.text}&after=${forged(list.text, 5, id)}`, 'after'],
        [`sort=created_at&after=${forged('created_at', '1e3', id)}`, 'after'],
        [`sort=created_at&after=${forged('created_at', '9'.repeat(19), id)}`, 'after'],
      ];
      for (const [query, field] of bad) {
        const { status, body } = await s.admin.get(`${list.path}?${query}`);
        t.equal(status, 400, query);
        t.match((body as { error: string }).error, new RegExp(`^querystring/${field} must `), query);
        t.equal((await s.radio.get(`${list.path}?${query}`)).status, 403, 'behind the role');
      }
      const end = forged('created_at', `-${'9'.repeat(18)}`, id);
      t.equal(
        (await s.admin.get(`${list.path}?sort=created_at&after=${end}`)).status,
        200,
        'a forged end is an end',
      );
      t.equal((await s.radio.get(`${list.path}?sort=${list.text}&find=a`)).status, 403);
    }
  },
);

t.test(
  'the devices are a page with sort or find alone, and the whole list without all of them',
  async (t) => {
    const s = await service(t);
    await s.sql(
      (sql) =>
        sql`insert into devices (name, site, serial) select 'd', 's', 'n' || i from generate_series(1, 120) i`,
    );
    const countAt = async (path: string) => {
      const { body } = await s.admin.get(path);
      return [(body as { devices: Item[] }).devices.length, Object.keys(body as Item)];
    };
    t.strictSame(await countAt('/devices'), [121, ['devices']]);
    t.strictSame(await countAt('/devices?unknown=1'), [121, ['devices']]);
    t.strictSame(await countAt('/devices?sort=serial'), [100, ['devices', 'next']]);
    t.strictSame(await countAt('/devices?find=d'), [100, ['devices', 'next']]);
  },
);
