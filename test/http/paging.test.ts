// Lists in pages: their shape, their order, what they refuse, and that nothing is skipped or doubled between two pages.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import t from 'tap';
import { type Caller, type Service, service } from '../helpers/http/rest.js';

t.setTimeout(300_000);

type Item = Record<string, unknown>;
interface List {
  readonly path: string;
  readonly name: string;
  readonly id: string;
  readonly caller: Caller;
}

/** So many talkgroups, members, devices and emergencies, and the four lists that show them. */
async function lists(s: Service, count: number): Promise<List[]> {
  const talkgroup = await s.talkgroup();
  await s.sql(
    (sql) => sql`
      with u as (
        insert into users (username, password_hash) select 'member-' || i, 'none' from generate_series(1, ${count}) i
        returning id
      ), g as (
        insert into talkgroups (name, master_secret) select 'talkgroup ' || i, sha256('x') from generate_series(1, ${count}) i
        returning id
      ), d as (
        insert into devices (name, site, serial) select 'd', 'depot', 'serial ' || i from generate_series(1, ${count}) i
      ), members as (
        -- Not in the order of ids, and some at the same moment.
        insert into memberships (user_id, talkgroup_id, site, created_at)
        select id, ${talkgroup}::uuid, 'depot', now() - random() * interval '9 s' from u union all
        select ${s.radio.userId}::uuid, id, 'depot', now() - (10 * random())::int * interval '1 s' from g
      )
      insert into emergencies (id, user_id, talkgroup_id, lat, raised_at)
      select gen_random_uuid(), ${s.radio.userId}, id, 1, now() - random() * interval '9 s' from g`,
  );
  return [
    { path: '/talkgroups', name: 'talkgroups', id: 'talkgroup_id', caller: s.radio },
    { path: `/talkgroups/${talkgroup}/members`, name: 'members', id: 'user_id', caller: s.radio },
    { path: '/devices', name: 'devices', id: 'id', caller: s.admin },
    { path: '/emergencies', name: 'emergencies', id: 'emergency_id', caller: s.radio },
    { path: '/emergencies', name: 'emergencies', id: 'emergency_id', caller: s.admin },
  ];
}

async function read({ caller, name }: List, path: string): Promise<{ items: Item[]; body: Item }> {
  const { status, body } = await caller.get(path);
  assert.equal(status, 200, path);
  return { items: (body as Item)[name] as Item[], body: body as Item };
}

/** All pages of the list, each with as many items as `limits` says in turn. `between` happens between two pages. */
async function readPages(list: List, limits: readonly number[], between = async (): Promise<void> => {}) {
  const all: Item[] = [];
  let after: string | null = null;
  for (let page = 0; ; page++) {
    const limit = limits[page % limits.length] ?? 1;
    const { items, body } = await read(
      list,
      `${list.path}?limit=${limit}${after === null ? '' : `&after=${after}`}`,
    );
    assert.deepEqual(Object.keys(body), [list.name, 'next']);
    all.push(...items);
    after = body.next as string | null;
    if (after === null) return all;
    assert.equal(items.length, limit, 'a page with another behind it is full');
    assert.equal(after, items.at(-1)?.[list.id]);
    await between();
  }
}

t.test('the pages of each list, whatever their sizes, are the whole list in the order of ids', async (t) => {
  const s = await service(t);
  for (const list of await lists(s, 40)) {
    const { items, body } = await read(list, list.path);
    t.strictSame(Object.keys(body), [list.name], 'the whole list says nothing of pages');
    t.ok(items.length >= 40, list.path);
    const idOf = (item: Item) => String(item[list.id]);
    const inOrder = [...items].sort((a, b) => (idOf(a) < idOf(b) ? -1 : 1));
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 4 }),
        async (limits) => {
          assert.deepEqual(await readPages(list, [...limits, 25]), inOrder);
        },
      ),
      { numRuns: 8 },
    );
    // Between any two ids, upper case too, and beyond the last one.
    const third = idOf(inOrder[2] ?? {});
    t.strictSame((await read(list, `${list.path}?after=${third.toUpperCase()}`)).items, inOrder.slice(3));
    const end = await read(list, `${list.path}?after=ffffffff-ffff-ffff-ffff-ffffffffffff&limit=5`);
    t.strictSame(end.body, { [list.name]: [], next: null });
    t.strictSame(
      (await read(list, `${list.path}?limit=${inOrder.length}`)).body,
      { [list.name]: inOrder, next: null },
      'a page that ends with the list is the last one',
    );
  }
});

t.test('while members join and leave, those who stay are listed exactly once', async (t) => {
  const s = await service(t);
  const [, members] = await lists(s, 30);
  if (members === undefined) throw new Error('there are five lists');
  const talkgroup = members.path.split('/')[2] ?? '';
  const staying = (await read(members, members.path)).items.map(({ user_id }) => user_id as string);
  await s.sql(
    (sql) =>
      sql`insert into users (username, password_hash) select 'other-' || i, 'none' from generate_series(1, 200) i`,
  );
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 9 }), fc.nat(), async (limit, seed) => {
      let turn = seed;
      const pages = await readPages(members, [limit], async () => {
        turn++;
        await s.sql(
          (sql) => sql`
            insert into memberships (user_id, talkgroup_id, site)
            select id, ${talkgroup}, 'depot' from users
            where username like 'other-%' and hashtext(username || ${turn}::text) % 5 = 0
            on conflict do nothing`,
        );
        await s.sql(
          (sql) => sql`
            delete from memberships where talkgroup_id = ${talkgroup} and user_id in (
              select id from users where username like 'other-%' and hashtext(username || ${-turn}::text) % 5 = 0
            )`,
        );
      });
      const ids = pages.map(({ user_id }) => user_id as string);
      assert.deepEqual(ids, [...ids].sort(), 'in order');
      assert.equal(new Set(ids).size, ids.length, 'and no member twice');
      const seen = new Set(ids);
      assert.deepEqual(
        staying.filter((id) => !seen.has(id)),
        [],
        'and each that stays',
      );
    }),
    { numRuns: 6 },
  );
});

t.test('a page goes on behind an id that is there no more', async (t) => {
  const s = await service(t);
  const [, members] = await lists(s, 6);
  if (members === undefined) throw new Error('there are five lists');
  const all = (await readPages(members, [100])).map(({ user_id }) => user_id as string);
  await s.sql((sql) => sql`delete from users where id = ${all[2] ?? ''}`);
  const rest = await read(members, `${members.path}?after=${all[2]}`);
  t.strictSame(
    rest.items.map(({ user_id }) => user_id),
    all.slice(3),
  );
});

t.test('a malformed limit or id is 400, behind 401 and 403 and before 404', async (t) => {
  const s = await service(t);
  const id = randomUUID();
  const bad = [
    'limit=0',
    'limit=',
    'limit=1001',
    'limit=99999999999999999999',
    'limit=-1',
    'limit=1e2',
    'limit=5.0',
    'limit=%205',
    'limit=0x10',
    'limit=010',
    'limit=1&limit=2',
    'limit=all',
    'after=',
    'after=x',
    `after=${id}x`,
    `after=${id}&after=${id}`,
    'after=null',
    `limit=5&after=`,
    `limit=&after=${id}`,
  ];
  const routes = [
    '/talkgroups',
    `/talkgroups/${id}/members`,
    '/talkgroups/x/members',
    '/devices',
    '/emergencies',
  ];
  const small = ['/talkgroups/directory', '/admin/talkgroups', '/users', '/recordings', '/recordings/holds'];
  for (const path of [...routes, ...small]) {
    for (const query of bad) {
      t.equal((await s.admin.get(`${path}?${query}`)).status, 400, `${path}?${query}`);
      t.equal((await s.nobody.get(`${path}?${query}`)).status, 401);
    }
    const most = small.includes(path) ? 200 : 1000;
    const good = await s.admin.get(`${path}?limit=${most}&after=${id}`);
    t.equal(good.status, path.endsWith('/members') ? 404 : 200, path);
    for (const limit of ['', '0', '1e2', most + 1]) {
      const { status, body } = await s.admin.get(`${path}?limit=${limit}`);
      const error = `querystring/limit must be an integer from 1 to ${most}`;
      t.strictSame({ status, body }, { status: 400, body: { error } });
    }
  }
  t.equal((await s.radio.get('/devices?limit=x')).status, 403);
  t.equal((await s.radio.get(`/talkgroups/${id}/members?limit=5`)).status, 404);
  t.equal((await s.radio.get('/talkgroups?unknown=x')).status, 200);
});

t.test('without a limit, a page that is asked for by its beginning has 100 items', async (t) => {
  const s = await service(t);
  const [talkgroups] = await lists(s, 120);
  if (talkgroups === undefined) throw new Error('there are five lists');
  const first = await read(talkgroups, '/talkgroups?after=00000000-0000-0000-0000-000000000000');
  t.equal(first.items.length, 100);
  t.ok(first.body.next);
  t.equal((await read(talkgroups, '/talkgroups/directory')).items.length, 100);
});

t.test('a long list is sent in its order, as one body of a known length', async (t) => {
  const s = await service(t);
  const all = await lists(s, 1203);
  for (const list of all) {
    const response = await list.caller.send('GET', list.path);
    const { items, body } = await read(list, list.path);
    t.strictSame(Object.keys(body), [list.name]);
    t.equal(new Set(items.map((item) => item[list.id])).size, items.length);
    t.ok(items.length >= 1203);
    t.equal(response.headers.get('content-type'), 'application/json; charset=utf-8');
    t.equal(
      Number(response.headers.get('content-length')),
      Buffer.byteLength(JSON.stringify(body)),
      list.path,
    );
    const head = await list.caller.send('HEAD', list.path);
    t.equal(head.headers.get('content-length'), response.headers.get('content-length'));
  }
  const stored = await s.sql<{ user_id: string }>(
    (sql) =>
      sql`select user_id from memberships where talkgroup_id = ${all[1]?.path.split('/')[2] ?? ''} order by created_at, user_id`,
  );
  const { members } = (await s.radio.get(all[1]?.path ?? '')).body as { members: Item[] };
  t.strictSame(
    members.map(({ user_id }) => user_id),
    stored.map(({ user_id }) => user_id),
  );
});

t.test('every user finds all talkgroups in the directory, unless it is for admins', async (t) => {
  const s = await service(t);
  await lists(s, 5);
  const list = { path: '/talkgroups/directory', name: 'talkgroups', id: 'id', caller: s.radio };
  const found = await readPages(list, [2]);
  const stored = await s.sql(
    (sql) => sql`select id, name, rotation_counter, created_at from talkgroups order by id`,
  );
  t.equal(stored.length, 6);
  t.strictSame(found, stored);
  t.equal((await s.nobody.get(list.path)).status, 401);

  const closed = await service(t, { settings: { TALKGROUP_DIRECTORY: 'admin' } });
  t.match(await closed.radio.get('/talkgroups/directory'), {
    status: 403,
    body: { error: 'admin role required' },
  });
  t.strictSame((await closed.admin.get('/talkgroups/directory')).body, { talkgroups: [], next: null });
  t.equal((await closed.radio.get('/talkgroups')).status, 200);
});

t.test('the directory takes no path from talkgroups, and no method that it has not', async (t) => {
  const s = await service(t);
  const put = await s.admin.send('PUT', '/talkgroups/directory');
  t.equal(put.status, 405);
  t.equal(put.headers.get('allow'), 'GET, HEAD');
  t.equal((await s.admin.delete('/talkgroups/directory')).status, 405);
  t.equal((await s.nobody.send('PATCH', '/talkgroups/directory?x=1')).status, 405);
  t.equal((await s.admin.get('/talkgroups/directory/members')).status, 404);
  t.equal((await s.admin.send('HEAD', '/talkgroups/directory')).status, 200);
});
