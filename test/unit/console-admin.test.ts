// Administration of the console without a page: what it sends, how lists keep their rows, and what it says of errors.
import t from 'tap';
import { type Rest, RestError } from '../../src/client/rest.js';
import { createDevices } from '../../src/console/admin/devices.js';
import { wordsOf } from '../../src/console/admin/failure.js';
import { createHolders } from '../../src/console/admin/holders.js';
import { createList, type List, PAGE_ROWS, type Row } from '../../src/console/admin/list.js';
import { type Encryption, idBefore, queryOf, type Talkgroup } from '../../src/console/admin/rows.js';
import { createTable } from '../../src/console/admin/table.js';
import { createTalkgroups } from '../../src/console/admin/talkgroups.js';
import { texts } from '../../src/console/admin/texts.js';
import { createUsers } from '../../src/console/admin/users.js';
import { createAttempt } from '../../src/console/app/attempt.js';

type Answer = (method: string, path: string, body: unknown) => unknown;

/** Answers each call with what `answer` returns, or rejects with what it throws. */
function restOf(answer: Answer): Rest & { sent: string[] } {
  const sent: string[] = [];
  const call = async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    sent.push([method, path, ...(body === undefined ? [] : [JSON.stringify(body)])].join(' '));
    return (await answer(method, path, body)) as T; // the test says what the service answers
  };
  return {
    sent,
    get: (path) => call('GET', path),
    post: (path, body) => call('POST', path, body),
    patch: (path, body) => call('PATCH', path, body),
    put: (path, body) => call('PUT', path, body),
    remove: (path) => call('DELETE', path),
    getBytes: (path) => call('GET', path),
  };
}

const talkgroup = (id: string, name = id, encryption: Encryption = 'allowed'): Talkgroup => ({
  ...{ id, name, number: 1, rotation_counter: 3, floor_mode: 'open', max_talk_ms: 0, members: 2 },
  ...{ encryption, clear_emergency: true, recording_days: 0, created_at: '2026-01-01T08:30:00.000Z' },
});

/** What the service gives a new talkgroup. */
const AS_CREATED = { encryption: 'allowed', mayEmergencyBeClear: true } as const;

const opened = async (list: { open(): void; isReading: { value: boolean } }) => {
  list.open();
  while (!list.isReading.value) await null;
  while (list.isReading.value) await null;
};

function firstOf<Item>({ rows }: List<Item>): Row<Item> {
  const [row] = rows.value;
  if (row === undefined) throw new Error('the list has no row');
  return row;
}

t.test('a new user is listed, its token is not kept, and a taken name is said in words', async (t) => {
  const id = '0190a0b0-0000-7000-8000-000000000005';
  const user = { id, username: 'ann', role: 'user', device_id: null, created_at: '2026-01-01T08:30:00.000Z' };
  let isTaken = false;
  const rest = restOf((method) => {
    if (method === 'GET') return { users: [user], next: null };
    if (isTaken) throw new RestError(409, 'username taken', null);
    return { jwt: 'token of ann', userId: id };
  });
  const users = createUsers(rest);
  const wanted = { username: 'ann', password: 'secret-of-ann', deviceSerial: '' };
  t.equal(await users.create(wanted), true);
  t.equal(rest.sent[0], 'POST /auth/register {"username":"ann","password":"secret-of-ann"}');
  t.strictSame(firstOf(users.table.list).item.value, user);
  isTaken = true;
  t.equal(await users.create({ ...wanted, deviceSerial: 'SN-1' }), false);
  t.equal(
    rest.sent.at(-1),
    'POST /auth/register {"username":"ann","password":"secret-of-ann","deviceSerial":"SN-1"}',
  );
  t.match(users.creation.outcome.value, { isError: true, text: /rejected it: username taken/ });
  t.equal(users.table.list.rows.value.length, 1);
});

t.test('a second press while the first one runs sends nothing', async (t) => {
  let finish = () => {};
  let runs = 0;
  const action = createAttempt(wordsOf);
  const work = () => {
    runs += 1;
    return new Promise<null>((resolve) => {
      finish = () => resolve(null);
    });
  };
  const first = action.run(work);
  t.equal(await action.run(work), false);
  t.equal(action.isBusy.value, true);
  finish();
  t.equal(await first, true);
  t.equal(runs, 1);
  t.equal(action.isBusy.value, false);
});

t.test(
  'an error of REST becomes a sentence with the wait, and an action that failed can run again',
  async (t) => {
    const action = createAttempt(wordsOf);
    const busy = new RestError(429, 'too many requests at once', 3);
    t.equal(await action.run(() => Promise.reject(busy)), false);
    t.strictSame(action.outcome.value, {
      isError: true,
      text: 'The service has too much to do. Wait 3 seconds, then try again.',
    });
    t.equal(await action.run(async () => null), true);
    t.equal(action.outcome.value, null);
    for (const [error, words] of [
      [
        new RestError(503, 'database unavailable', 1),
        'The service cannot do this now. Wait 1 second, then try again.',
      ],
      [new RestError(503, 'database unavailable', null), 'The service cannot do this now.'],
      [
        new RestError(400, 'body/name must be string', null),
        'The service rejected it: body/name must be string.',
      ],
      [new RestError(403, 'admin role required', null), texts.forbidden],
      [
        new RestError(403, 'registration is closed', null, 'registration_closed'),
        'The service rejected it: registration is closed.',
      ],
      [new RestError(404, 'talkgroup not found', null), texts.missing],
      [new RestError(500, 'internal error', null), 'The service answered 500: internal error.'],
      [
        new RestError(
          503,
          'the database did not answer in time: the outcome is unknown',
          1,
          'outcome_unknown',
        ),
        texts.unknownOutcome,
      ],
      [new RestError(0, 'no answer from the service', null), texts.noAnswer],
      [new TypeError('x is not a function'), texts.noAnswer],
    ] as const) {
      t.equal(wordsOf(error), words);
    }
  },
);

t.test('a list reads pages to its end and sorts by name only when one reading had all', async (t) => {
  const names = Array.from({ length: PAGE_ROWS + 2 }, (_, at) => `row ${String(at).padStart(3, '0')}`);
  const asked: (string | null)[] = [];
  const list = createList<string>({
    async read({ after, limit }) {
      asked.push(after);
      const from = after === null ? 0 : names.indexOf(after) + 1;
      const items = names.slice(from, from + limit);
      return { items, next: from + limit < names.length ? (items.at(-1) ?? null) : null };
    },
    idOf: (name) => name,
    nameOf: (name) => [...name].reverse().join(''),
  });
  await opened(list);
  t.equal(list.rows.value.length, PAGE_ROWS);
  t.equal(list.isWhole.value, false);
  const [first] = list.rows.value;
  await list.more();
  t.strictSame(
    list.rows.value.map(({ id }) => id),
    names,
    'the order of the pages stays',
  );
  t.equal(list.isWhole.value, true);
  await list.more();
  t.strictSame(asked, [null, names[PAGE_ROWS - 1]], 'nothing is read behind the end');
  await list.reload();
  t.equal(
    list.rows.value.find(({ id }) => id === first?.id),
    first,
    'a row stays the same over a reload',
  );
  t.equal(list.rows.value[0]?.id, 'row 000');
  t.equal(list.rows.value[1]?.id, 'row 010', 'sorted by name: the whole list is known');
});

t.test('a refresh changes texts, and counts new and deleted rows without moving any', async (t) => {
  type Item = { id: string; text: string };
  let items: Item[] = Array.from({ length: 120 }, (_, at) => ({ id: `row ${100 + at}`, text: 'a' }));
  let isDown = false;
  const list = createList<Item>({
    async read({ after, limit }) {
      if (isDown) throw new RestError(503, 'database unavailable', null);
      const from = after === null ? 0 : items.findIndex(({ id }) => id === after) + 1;
      const page = items.slice(from, from + limit);
      return { items: page, next: from + limit < items.length ? (page.at(-1)?.id ?? null) : null };
    },
    idOf: ({ id }) => id,
  });
  await opened(list);
  const shown = list.rows.value;
  items = items
    .toSpliced(3, 1) // the first one of the next page comes in its place
    .toSpliced(7, 0, { id: 'between', text: 'b' }, { id: 'also between', text: 'b' })
    .map((item) => ({ ...item, text: 'b' }));
  await list.refresh();
  t.equal(list.rows.value, shown);
  t.equal(shown[5]?.item.value.text, 'b');
  t.strictSame(list.waiting.value, { added: 2, removed: 0 }, 'a row may have moved to a page behind');
  isDown = true;
  await list.refresh();
  t.strictSame(list.waiting.value, { added: 2, removed: 0 }, 'the next one tries again');
  t.equal(list.failure.value, null);
  isDown = false;
  await list.reload();
  t.equal(list.rows.value[7]?.id, 'between');
  t.strictSame(list.waiting.value, { added: 0, removed: 0 });
  while (!list.isWhole.value) await list.more();
  items = items.slice(0, -2);
  await list.refresh();
  t.strictSame(list.waiting.value, { added: 0, removed: 2 });
  items = [...items, { id: 'last', text: 'c' }];
  await list.refresh();
  t.strictSame(list.waiting.value, { added: 1, removed: 2 });
  t.equal(list.rowFor({ id: 'row 101', text: 'd' }), shown[1], 'the row that is shown');
});

t.test('the last search wins, with one request at a time', async (t) => {
  let underWay = 0;
  let most = 0;
  const rest = restOf(async (_method, path) => {
    underWay += 1;
    most = Math.max(most, underWay);
    await new Promise((resolve) => setImmediate(resolve));
    underWay -= 1;
    const find = new URLSearchParams(path.split('?')[1]).get('find') ?? '';
    return {
      users: [{ id: `of ${find}`, username: find, role: 'user', device_id: null, created_at: '' }],
      next: null,
    };
  });
  const users = createUsers(rest);
  for (const text of ['a', 'an', 'ann', '100%', '100%_']) users.table.search(text);
  while (users.table.list.isReading.value) await new Promise((resolve) => setImmediate(resolve));
  t.strictSame(
    users.table.list.rows.value.map(({ id }) => id),
    ['of 100%_'],
  );
  t.equal(most, 1);
  t.equal(rest.sent.length, 2, 'searches that were overtaken are not sent');
});

t.test('a failed page leaves the rows, says why, and is read again on request', async (t) => {
  let isDown = false;
  const list = createList<string>({
    async read({ after }) {
      if (isDown) throw new RestError(503, 'database unavailable', 2);
      return after === null ? { items: ['a'], next: 'a' } : { items: ['b'], next: null };
    },
    idOf: (id) => id,
    nameOf: (id) => id,
  });
  await opened(list);
  isDown = true;
  await list.more();
  t.equal(list.failure.value, 'The service cannot do this now. Wait 2 seconds, then try again.');
  t.equal(list.rows.value.length, 1);
  isDown = false;
  await list.more();
  t.equal(list.failure.value, null);
  t.equal(list.rows.value.length, 2);
});

t.test('a change that is stored without the confirmation of the relay is shown as done', async (t) => {
  const unconfirmed = new RestError(
    503,
    'the change is stored, but the relay has not confirmed it',
    1,
    'relay_unconfirmed',
  );
  const rest = restOf((method) => {
    if (method === 'GET') return { talkgroups: [talkgroup('t1', 'Fire 1')], next: null };
    throw unconfirmed;
  });
  const talkgroups = createTalkgroups(rest, true);
  await opened(talkgroups.table.list);
  const row = firstOf(talkgroups.table.list);
  t.equal(await talkgroups.rename(row, 'Fire 2'), true);
  t.equal(row.item.value.name, 'Fire 2');
  t.strictSame(row.action.outcome.value, { isError: false, text: texts.unconfirmed });
  t.equal(await talkgroups.rotate(row), true);
  t.equal(row.item.value.rotation_counter, 4, 'the request was carried out once');
  t.equal(await talkgroups.remove(row), true);
  t.equal(talkgroups.table.remove(row), null, 'no row takes its place');
  t.strictSame(talkgroups.table.list.rows.value, []);
});

t.test('talkgroups are created, changed, rotated and deleted with the bodies of the REST API', async (t) => {
  const id = '7e0d5c1a-9b42-4f3e-8a76-1c9d0b2e4f58';
  const name = '<b>"Fire" & \u202eRescue</b> 🚒';
  const rest = restOf((method, path) => {
    if (method === 'GET')
      return { talkgroups: path.includes('limit=1&') ? [talkgroup(id, name)] : [], next: null };
    if (path === '/keys/rotate') return { talkgroup_id: id, rotation_counter: 4 };
    return { talkgroup: { id, name } };
  });
  const talkgroups = createTalkgroups(rest, true);
  await opened(talkgroups.table.list);
  t.equal(await talkgroups.create({ name, floorMode: 'single', ...AS_CREATED }), true);
  const row = firstOf(talkgroups.table.list);
  await talkgroups.changeMode(row, 'broadcast');
  await talkgroups.changeLimit(row, 1.5);
  await talkgroups.record(row, 30);
  await talkgroups.rotate(row);
  t.match(row.item.value, {
    floor_mode: 'broadcast',
    max_talk_ms: 1500,
    recording_days: 30,
    rotation_counter: 4,
  });
  await talkgroups.remove(row);
  t.strictSame(rest.sent, [
    `GET /admin/talkgroups?sort=name&limit=${PAGE_ROWS}`,
    `POST /talkgroups ${JSON.stringify({ name, floor_mode: 'single' })}`,
    'GET /admin/talkgroups?limit=1&after=7e0d5c1a-9b42-4f3e-8a76-1c9d0b2e4f57',
    `PATCH /talkgroups/${id} {"floor_mode":"broadcast"}`,
    `PATCH /talkgroups/${id} {"max_talk_ms":1500}`,
    `PATCH /talkgroups/${id} {"recording_days":30}`,
    `POST /keys/rotate {"talkgroup_id":"${id}"}`,
    `DELETE /talkgroups/${id}`,
  ]);
});

t.test('members are added once, counted, logged out and removed', async (t) => {
  const user = { id: 'u1', username: 'ann', role: 'user', device_id: null, created_at: '' };
  const rest = restOf((method, path) => {
    if (path.endsWith('/revoke') && isGone) throw new RestError(404, 'user not found', null);
    if (path.startsWith('/users?')) return { users: [user], next: null };
    if (path.startsWith('/admin')) return { talkgroups: [talkgroup('t1')], next: null };
    return method === 'GET' ? { members: [], next: null } : { ok: true };
  });
  let isGone = false;
  const talkgroups = createTalkgroups(rest, true);
  await opened(talkgroups.table.list);
  const row = firstOf(talkgroups.table.list);
  const members = talkgroups.membersOf(row);
  await opened(members.list);
  members.search('a');
  while (members.found.isReading.value) await null;
  const found = firstOf(members.found);
  await members.add(found);
  await members.add(found);
  t.equal(row.item.value.members, 3, 'one member more, although two requests were sent');
  const member = firstOf(members.list);
  await members.revoke(member);
  t.same(members.action.outcome.value, { text: texts.revoked, isError: false });
  isGone = true;
  await members.revoke(member);
  t.same(members.action.outcome.value, { text: texts.missing, isError: true });
  await members.remove(member);
  t.equal(row.item.value.members, 2);
  t.equal(members.action.outcome.value?.text, '\u2068ann\u2069 is taken out.');
  const put = 'PUT /talkgroups/t1/members/u1';
  const revoke = 'POST /users/u1/revoke';
  t.strictSame(rest.sent.slice(-5), [put, put, revoke, revoke, 'DELETE /talkgroups/t1/members/u1']);
});

t.test(
  'a new talkgroup gets its encryption with a second request, and says when that was rejected',
  async (t) => {
    const id = '7e0d5c1a-9b42-4f3e-8a76-1c9d0b2e4f58';
    let isRejected = false;
    const rest = restOf((method) => {
      if (method === 'PATCH' && isRejected)
        throw new RestError(
          409,
          'the master secret must be encrypted before encryption can be required',
          null,
          'no_secrets_key',
        );
      if (method === 'GET') return { talkgroups: [talkgroup(id, 'Fire', 'required')], next: null };
      return { talkgroup: { id, name: 'Fire' } };
    });
    const talkgroups = createTalkgroups(rest, true);
    const wanted = {
      name: 'Fire',
      floorMode: 'open',
      encryption: 'required',
      mayEmergencyBeClear: false,
    } as const;
    t.equal(await talkgroups.create(wanted), true);
    t.match(rest.sent[1], `PATCH /talkgroups/${id} {"encryption":"required","clear_emergency":false}`);
    isRejected = true;
    t.equal(await talkgroups.create(wanted), true, 'the talkgroup exists');
    t.match(talkgroups.creation.outcome.value?.text, /encryption is not set\. .*SECRETS_KEY/);
  },
);

t.test(
  'the encryption of a talkgroup is changed, and a rejection says what must be done first',
  async (t) => {
    let error: string | null = null;
    const rest = restOf((method) => {
      if (method === 'GET') return { talkgroups: [talkgroup('t1')], next: null };
      if (error !== null) throw new RestError(409, 'first do something else', null, error);
      return { talkgroup: { id: 't1' } };
    });
    const talkgroups = createTalkgroups(rest, true);
    await opened(talkgroups.table.list);
    const row = firstOf(talkgroups.table.list);
    const wanted = { encryption: 'required', mayEmergencyBeClear: true } as const;
    t.equal(await talkgroups.protect(row, wanted), true);
    t.match(row.item.value, { encryption: 'required', clear_emergency: true });
    for (const [code, words] of [
      ['no_secrets_key', texts.noSecretsKey],
      ['not_enforced', texts.notEnforced],
    ] as const) {
      error = code;
      t.equal(await talkgroups.protect(row, wanted), false);
      t.equal(row.action.outcome.value?.text, words);
    }
  },
);

t.test('members of a talkgroup that requires encryption may have keys, or not', async (t) => {
  const member = { user_id: 'u1', site: 'depot', user: { id: 'u1', username: 'ann', role: 'user' } };
  const keys = { user_id: 'u1', username: 'ann', may_have_keys: false, holders: 2 };
  const rest = restOf((method, path) => {
    if (method === 'PUT') return { ok: true };
    if (path.startsWith('/admin')) return { talkgroups: [talkgroup('t1', 'Fire', 'required')], next: null };
    return { members: [path.includes('/keys') ? keys : member], next: null };
  });
  const talkgroups = createTalkgroups(rest, true);
  await opened(talkgroups.table.list);
  const members = talkgroups.membersOf(firstOf(talkgroups.table.list));
  await opened(members.list);
  const row = firstOf(members.list);
  t.match(row.item.value.keys, { may_have_keys: false, holders: 2 });
  await members.permitKeys(row, true);
  t.equal(rest.sent.at(-1), 'PUT /talkgroups/t1/members/u1/keys {"allowed":true}');
  t.match(row.item.value.keys, { may_have_keys: true, holders: 2 });
  await members.permitKeys(row, false);
  t.equal(members.action.outcome.value?.text, texts.keysTaken('ann'));
});

t.test('an administrator accepts and deletes the key holders of a user', async (t) => {
  const phone = {
    holder_id: 'h1',
    user_id: '',
    public_key: '?',
    name: 'Phone',
    fingerprint: '01234',
    created_at: '',
    accepted: false,
  };
  const rest = restOf((method) => (method === 'GET' ? { holders: [phone], next: null } : { ok: true }));
  const holders = createHolders(rest, 'u1');
  await opened(holders.list);
  const row = firstOf(holders.list);
  await holders.accept(row);
  t.equal(row.item.value.accepted, true);
  await holders.remove(row);
  t.strictSame(holders.list.rows.value, []);
  t.strictSame(rest.sent, [
    `GET /keys/holders?user_id=u1&limit=${PAGE_ROWS}`,
    'POST /keys/holders/h1/accept {}',
    'DELETE /keys/holders/h1',
  ]);
});

t.test('a device is renamed and disabled, and stays as it was when the service rejects it', async (t) => {
  const device = { id: 'd1', name: 'SN-1', site: 'Depot', serial: 'SN-1', active: true, created_at: '' };
  let isDown = false;
  const rest = restOf((method, path) => {
    if (isDown) throw new RestError(503, 'database unavailable', null);
    if (method === 'GET') return { devices: [device], next: null };
    return path.endsWith('/status') ? { ok: true } : { device: { ...device, name: 'Engine 1' } };
  });
  const devices = createDevices(rest);
  await opened(devices.table.list);
  const row = firstOf(devices.table.list);
  await devices.change(row, { name: 'Engine 1' });
  await devices.setActive(row, false);
  t.match(row.item.value, { name: 'Engine 1', active: false });
  isDown = true;
  t.equal(await devices.setActive(row, true), false);
  t.equal(row.item.value.active, false);
  t.equal(row.action.outcome.value?.isError, true);
});

t.test('the card of a user brings its row up to date, or says why it cannot be read', async (t) => {
  const device = { id: 'd1', name: 'SN-1', site: 'x', serial: 'SN-1', active: true, position_at: null };
  const one = { device, talkgroups: [], talkgroups_total: 0, tokens_valid_from: null };
  const user = { id: 'u1', username: 'ann', role: 'user', device_id: null, device: null, created_at: '' };
  let isThere = true;
  const users = createUsers(
    restOf((method, path) => {
      if (path.startsWith('/users?')) return { users: [user], next: null };
      if (method === 'PUT') return { ok: true };
      if (!isThere) throw new RestError(404, 'user not found', null);
      return one;
    }),
  );
  await opened(users.table.list);
  const row = firstOf(users.table.list);
  await users.show(row);
  t.strictSame(users.shown.value.get('u1'), one);
  t.match(row.item.value, { device_id: 'd1', device: { serial: 'SN-1' } });
  isThere = false;
  t.equal(await users.setPassword(row, 'x', true), true, 'it was stored, although it cannot be read again');
  t.equal(users.changesOf(row).outcome.value?.text, texts.saved);
  t.type(users.shown.value.get('u1'), 'string');
});

t.test('queries leave out empty values, and the id before another is the next lower one', async (t) => {
  t.equal(queryOf({ limit: 50, after: null, q: '' }), '?limit=50');
  t.equal(queryOf({ q: 'a&b=%' }), '?q=a%26b%3D%25');
  t.equal(idBefore('10000000-0000-0000-0000-000000000000'), '0fffffff-ffff-ffff-ffff-ffffffffffff');
  t.equal(idBefore('00000000-0000-0000-0000-000000000000'), '00000000-0000-0000-0000-000000000000');
});

t.test('a table reads the first page again for a new order or search, and goes on with both', async (t) => {
  const asked: string[] = [];
  const table = createTable<string>({
    sort: 'name',
    idOf: (id) => id,
    async read(query) {
      asked.push(query);
      return {
        items: query.includes('after') ? ['c'] : ['b', 'a'],
        next: query.includes('after') ? null : 'end',
      };
    },
  });
  await opened(table.list);
  t.strictSame(
    table.list.rows.value.map(({ id }) => id),
    ['b', 'a'],
    'the order of the service stays',
  );
  await table.list.more();
  const done = async () => {
    while (table.list.isReading.value) await null;
  };
  table.sortBy('number');
  await done();
  t.equal(table.list.rows.value.length, 2);
  table.sortBy('number');
  await done();
  table.search('50 %');
  await done();
  await table.list.more();
  t.strictSame(asked, [
    '?sort=name&limit=50',
    '?sort=name&limit=50&after=end',
    '?sort=number&limit=50',
    '?sort=-number&limit=50',
    '?sort=-number&find=50+%25&limit=50',
    '?sort=-number&find=50+%25&limit=50&after=end',
  ]);
});

t.test('a row that goes closes what is open of it, and names the row that takes its place', async (t) => {
  const table = createTable<string>({
    sort: 'name',
    idOf: (id) => id,
    read: async () => ({ items: ['a', 'b', 'c'], next: null }),
  });
  await opened(table.list);
  const [a, b, c] = table.list.rows.value;
  if (a === undefined || b === undefined || c === undefined) throw new Error('the table has three rows');
  table.side.value = { kind: 'members', row: b };
  table.editing.value = { id: 'c', column: 'name' };
  t.equal(table.remove(b), 'c');
  t.equal(table.side.value, null);
  t.strictSame(table.editing.value, { id: 'c', column: 'name' }, 'of another row');
  t.equal(table.remove(c), 'a');
  t.equal(table.editing.value, null);
  table.side.value = { kind: 'new' };
  t.equal(table.remove(a), null);
  t.strictSame(table.side.value, { kind: 'new' });
});
