// Bad input by REST: whatever is sent, the answer is a 4xx that is exactly `{error: string}`, and nothing is stored.
import assert from 'node:assert/strict';
import { createECDH, randomUUID } from 'node:crypto';
import { METHODS, request } from 'node:http';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import t from 'tap';
import {
  type Answer,
  assertRefusal,
  type Caller,
  PASSWORD_HASH,
  type Service,
  service,
} from '../helpers/http/rest.js';

const UNKNOWN = randomUUID();

/** Of made-up bodies for each route. `make prove` asks for ten times as many. */
const RUNS = Number(process.env.PROVE_RUNS ?? 3000) / 100;

t.setTimeout(120_000 + RUNS * 1000);

/** Hashing is not what is tested here, and 50 ms for each input would be. */
const instantPasswords = { hash: async () => PASSWORD_HASH, verify: async () => false };

interface BodyRoute {
  readonly method: string;
  readonly path: string;
  readonly caller: Caller;
  readonly good: Readonly<Record<string, unknown>>;
  /** Fields of it that may be left out. */
  readonly optional?: readonly string[];
}

const HOLDERS = '/keys/holders';
const POINT = createECDH('prime256v1').generateKeys().toString('base64url');

/** A key holder of the radio. */
async function holderOf(s: Service): Promise<string> {
  const [row] = await s.sql<{ id: string }>(
    (sql) => sql`
      insert into key_holders (user_id, public_key, name)
      values (${s.radio.userId}, ${createECDH('prime256v1').generateKeys()}, 'x') returning id`,
  );
  return row?.id ?? '';
}

/** Every route that takes a body, with one that it accepts. */
async function bodyRoutes(s: Service): Promise<BodyRoute[]> {
  const { admin, radio, nobody } = s;
  const gps = `/devices/${radio.deviceId}/gps`;
  const status = `/devices/${radio.deviceId}/status`;
  const talkgroup_id = await s.talkgroup();
  await radio.post(`/talkgroups/${talkgroup_id}/join`);
  const account = { username: 'x', password: 'x', deviceSerial: 'x', site: 'x' };
  return [
    {
      method: 'POST',
      path: '/auth/register',
      caller: nobody,
      good: account,
      optional: ['deviceSerial', 'site'],
    },
    { method: 'POST', path: '/auth/login', caller: nobody, good: { username: 'x', password: 'x' } },
    {
      method: 'POST',
      path: '/auth/changepassword',
      caller: radio,
      good: { oldPassword: 'x', newPassword: 'x' },
    },
    {
      method: 'POST',
      path: '/talkgroups',
      caller: admin,
      good: { name: 'x', floor_mode: 'broadcast' },
      optional: ['floor_mode'],
    },
    {
      method: 'PATCH',
      path: `/talkgroups/${talkgroup_id}`,
      caller: admin,
      good: {
        ...{ name: 'x', floor_mode: 'single', max_talk_ms: 5000 },
        ...{ encryption: 'allowed', clear_emergency: true },
      },
      optional: ['name', 'floor_mode', 'max_talk_ms', 'encryption', 'clear_emergency'],
    },
    { method: 'PATCH', path: status, caller: admin, good: { active: true } },
    {
      method: 'PATCH',
      path: `/devices/${radio.deviceId}`,
      caller: admin,
      good: { name: 'x', site: 'north' },
      optional: ['name', 'site'],
    },
    {
      method: 'POST',
      path: gps,
      caller: radio,
      good: {
        ...{ lat: 1, lng: 2, alt: 3, speed: 4, course: 5, accuracy: 6, battery: 7 },
        at: new Date().toISOString(),
      },
      optional: ['speed', 'course', 'accuracy', 'battery', 'at'],
    },
    { method: 'POST', path: '/keys/rotate', caller: admin, good: { talkgroup_id } },
    { method: 'POST', path: HOLDERS, caller: radio, good: { password: 'x', public_key: POINT, name: 'x' } },
    {
      method: 'POST',
      path: `${HOLDERS}/${await holderOf(s)}/accept`,
      caller: admin,
      good: { holder_id: UNKNOWN, password: 'x' },
      optional: ['holder_id', 'password'],
    },
    {
      method: 'PUT',
      path: `/talkgroups/${talkgroup_id}/members/${radio.userId}/keys`,
      caller: admin,
      good: { allowed: true },
    },
  ];
}

const json = { 'content-type': 'application/json' };

function sendText(
  { method, path, caller }: BodyRoute,
  body: string | Uint8Array<ArrayBuffer> | undefined,
  headers: Record<string, string> = json,
): Promise<Answer> {
  return caller.send(method, path, { headers, ...(body !== undefined && { body }) });
}

const bytes = (...parts: (string | number[])[]) =>
  new Uint8Array(
    Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.from(part)))),
  );

t.test('a body that is no JSON object is refused by every route that takes one', async (t) => {
  const s = await service(t, { passwords: instantPasswords });
  const bodies: Record<string, [body: string | Uint8Array<ArrayBuffer> | undefined, status: number]> = {
    missing: [undefined, 400],
    empty: ['', 400],
    'white space': ['  \r\n\t ', 400],
    'a list': ['[]', 400],
    null: ['null', 400],
    'a number': ['5', 400],
    'a string': ['"x"', 400],
    true: ['true', 400],
    'an empty object': ['{}', 400],
    'a cut object': ['{"username":"x', 400],
    'two objects': ['{}{}', 400],
    'single quotes': ["{'name':'x'}", 400],
    'a comment': ['{"name":"x"/* */}', 400],
    'a number too many': ['{"name":01}', 400],
    'UTF-16': [bytes([0xff, 0xfe, 0x7b, 0, 0x7d, 0]), 400],
    'broken UTF-8': [bytes('{"name":"', [0xc3, 0x28], '"}'), 400],
    'a surrogate in UTF-8': [bytes('{"name":"', [0xed, 0xa0, 0x80], '"}'), 400],
    '8,000 nested lists': ['['.repeat(8000) + ']'.repeat(8000), 400],
    '8,000 nested lists, open': ['['.repeat(8000), 400],
    '3,000 nested objects': [`${'{"a":'.repeat(2700)}1${'}'.repeat(2700)}`, 400],
    __proto__: ['{"__proto__":{"role":"admin"}}', 400],
    '20 kB': [JSON.stringify({ name: 'x'.repeat(20_000) }), 413],
    '20 kB of white space': [`{}${' '.repeat(20_000)}`, 413],
    '2 MB': [JSON.stringify({ name: 'x'.repeat(2_000_000) }), 413],
  };
  const withoutFields = new Set(['an empty object', '3,000 nested objects']);
  const needsNothing = ({ good, optional }: BodyRoute) => Object.keys(good).length === optional?.length;
  for (const route of await bodyRoutes(s)) {
    const answered: Record<string, number> = {};
    const due: Record<string, number> = {};
    for (const [name, [body, status]] of Object.entries(bodies)) {
      answered[name] = (await sendText(route, body)).status;
      due[name] = withoutFields.has(name) && needsNothing(route) ? 200 : status;
    }
    t.strictSame(answered, due, `${route.method} ${route.path}`);
  }
  t.notMatch(s.logged(), '"level":50', 'and none of it is a bug');
});

t.test('a body of another type than JSON is refused with 415', async (t) => {
  const s = await service(t, { passwords: instantPasswords });
  const types: [type: string, status: number][] = [
    ['text/plain', 415],
    ['application/xml', 415],
    ['application/x-www-form-urlencoded', 415],
    ['multipart/form-data; boundary=x', 415],
    ['application/octet-stream', 415],
    ['application/jsonp', 415],
    ['application/merge-patch+json', 415],
    ['text/json', 415],
    ['json', 415],
    ['application/json; charset=utf-16', 415],
    ['application/json; charset="ISO-8859-1"', 415],
    ['application/json; v=1; charset=utf-8859', 415],
    ['application/json; charset=utf-8', 200],
    ['application/json;charset=UTF-8', 200],
    ['application/json; charset="utf-8"; v=1', 200],
    ['application/json; charset=utf8', 200],
    ['APPLICATION/JSON', 200],
  ];
  for (const route of await bodyRoutes(s)) {
    // They share the parser, and would need new names or the right password.
    if (route.path.startsWith('/auth') || route.path === HOLDERS) continue;
    for (const [type, status] of types) {
      const answer = await sendText(route, JSON.stringify(route.good), { 'content-type': type });
      t.equal(answer.status, status, `${route.path}: ${type}`);
    }
    const untyped = await sendText(route, bytes(JSON.stringify(route.good)), {});
    t.equal(untyped.status, 415, `${route.path}: no type`);
  }
});

t.test('a packed body is refused with 415, whatever it holds', async (t) => {
  const s = await service(t, { passwords: instantPasswords });
  const name = JSON.stringify({ name: 'x' });
  const packed = new Uint8Array(gzipSync(name));
  const sends = async (encoding: string, body: string | Uint8Array<ArrayBuffer>) =>
    (await s.admin.send('POST', '/talkgroups', { headers: { ...json, 'content-encoding': encoding }, body }))
      .status;
  for (const encoding of ['gzip', 'br', 'identity, gzip', 'x']) {
    t.equal(await sends(encoding, packed), 415, encoding);
    t.equal(await sends(encoding, name), 415, encoding);
  }
  t.equal(await sends('identity', name), 200);
  t.equal(await sends('Identity', name), 200);
});

t.test('no body with a type is no body, for the routes that take none', async (t) => {
  const s = await service(t);
  const id = await s.talkgroup();
  for (const type of [
    'application/json',
    'application/json; charset=utf-8',
    'text/plain',
    'application/x-www-form-urlencoded',
  ]) {
    const init = { headers: { 'content-type': type } };
    t.equal((await s.radio.send('POST', `/talkgroups/${id}/join`, init)).status, 200, type);
    t.equal((await s.radio.send('POST', `/talkgroups/${id}/join`, { ...init, body: '' })).status, 200, type);
    t.equal((await s.radio.send('DELETE', `/talkgroups/${id}/leave`, init)).status, 200, type);
  }
  const surplus = { headers: json, body: '{"site":"mine"}' };
  t.equal((await s.radio.send('POST', `/talkgroups/${id}/join`, surplus)).status, 200);
  t.match((await s.radio.get(`/talkgroups/${id}/members`)).body, { members: [{ site: 'north' }] });
});

t.test('no field takes another type than its own: nothing is coerced', async (t) => {
  const s = await service(t, { passwords: instantPasswords });
  const needs: Record<string, string> = {
    floor_mode: 'equal to one of the allowed values',
    encryption: 'equal to one of the allowed values',
    max_talk_ms: 'integer',
  };
  const samples = [null, true, false, 0, 5, -1.5, '5', 'true', '', [], ['x'], {}, { length: 1 }];
  for (const route of await bodyRoutes(s)) {
    for (const [field, own] of Object.entries(route.good)) {
      const isAbsent = (sample: unknown) => sample === null && route.optional?.includes(field);
      for (const sample of samples.filter((one) => typeof one !== typeof own && !isAbsent(one))) {
        const answer = await sendText(route, JSON.stringify({ ...route.good, [field]: sample }));
        t.equal(answer.status, 400, `${route.path}: ${field} ${JSON.stringify(sample)}`);
        const must = needs[field] ?? typeof own;
        // It may be absent beside device_id, and null is absence.
        const isNullOfEither = sample === null && route.path === '/keys/rotate';
        const says = isNullOfEither
          ? 'body must have either talkgroup_id or'
          : `body/${field} must be ${must}`;
        t.match((answer.body as { error: string }).error, says);
      }
      const { [field]: _left, ...rest } = route.good;
      const optional = route.optional?.includes(field);
      const answer = await sendText(route, JSON.stringify({ ...rest, username: randomUUID() }));
      if (optional) t.equal(answer.status, 200);
      else if (field !== 'username') t.match(answer, { status: 400, body: { error: new RegExp(field) } });
    }
  }
  t.match((await s.nobody.post('/auth/login', { password: 'x' })).body, { error: /username/ });
});

t.test(
  'a text is refused for its length and for what cannot be shown, and else stored as it came',
  async (t) => {
    const s = await service(t, { passwords: instantPasswords });
    const fields: Record<string, { max: number; store: (text: string) => Promise<string | number> }> = {
      username: { max: 64, store: (username) => register({ username }) },
      deviceSerial: { max: 128, store: (deviceSerial) => register({ deviceSerial }) },
      site: { max: 128, store: (site) => register({ site }) },
      name: { max: 128, store: createTalkgroup },
      'new name': { max: 128, store: renameTalkgroup },
      'name of a device': { max: 128, store: (name) => changeDevice({ name }) },
      'site of a device': { max: 128, store: (site) => changeDevice({ site }) },
      'serial of a link': { max: 128, store: (serial) => link({ serial }) },
      'name in a link': { max: 128, store: (name) => link({ name }) },
      'site in a link': { max: 128, store: (site) => link({ site }) },
    };
    const linked = await s.account();
    async function link(more: { serial?: string; name?: string; site?: string }): Promise<string | number> {
      const body = { serial: randomUUID(), ...more };
      const { status, body: answer } = await s.admin.put(`/users/${linked.userId}/device`, body);
      if (status !== 200) return status;
      const { device } = answer as { device: { serial: string; name: string; site: string } };
      return 'name' in more ? device.name : 'site' in more ? device.site : device.serial;
    }
    async function register(more: object): Promise<string | number> {
      const body = { username: randomUUID(), password: 'x', deviceSerial: randomUUID(), ...more };
      const { status, body: answer } = await s.nobody.post('/auth/register', body);
      if (status !== 200) return status;
      const { userId } = answer as { userId: string };
      const [row] = await s.sql<{ username: string; serial: string; site: string }>(
        (sql) =>
          sql`select username, serial, site from users u join devices d on d.id = device_id where u.id = ${userId}`,
      );
      if ('username' in more) return row?.username ?? '';
      return ('site' in more ? row?.site : row?.serial) ?? '';
    }
    async function createTalkgroup(name: string): Promise<string | number> {
      const { status, body } = await s.admin.post('/talkgroups', { name });
      return status === 200 ? (body as { talkgroup: { name: string } }).talkgroup.name : status;
    }
    const renamed = await s.talkgroup();
    async function renameTalkgroup(name: string): Promise<string | number> {
      const { status, body } = await s.admin.patch(`/talkgroups/${renamed}`, { name });
      return status === 200 ? (body as { talkgroup: { name: string } }).talkgroup.name : status;
    }
    async function changeDevice(change: { name: string } | { site: string }): Promise<string | number> {
      const { status, body } = await s.admin.patch(`/devices/${s.radio.deviceId}`, change);
      if (status !== 200) return status;
      const { device } = body as { device: { name: string; site: string } };
      return 'name' in change ? device.name : device.site;
    }

    for (const [field, { max, store }] of Object.entries(fields)) {
      const refused = {
        empty: '',
        'one character too long': 'x'.repeat(max + 1),
        '300 characters': 'x'.repeat(300),
        'one radio too many': '\u{1F4FB}'.repeat(max + 1),
        NUL: 'a\u0000b',
        BEL: '\u0007',
        'a line break': 'a\nb',
        DEL: 'a\u007f',
        'a C1 control': '\u0085',
        'half a surrogate pair': '\ud800',
        'the other half': 'x\udc00',
        'a pair in the wrong order': '\udc00\ud800',
        'outer spaces': ' leading and trailing ',
        'a space that is none': '\u00a0',
      };
      for (const [what, text] of Object.entries(refused))
        t.equal(await store(text), 400, `${field}: ${what}`);
      const kept = [
        'x'.repeat(max),
        '\u{1F4FB}'.repeat(max),
        "Robert'); drop table users; --",
        '$1 %s {{x}} <b>',
        'عربى',
        '\ufffd',
        'null',
      ];
      for (const text of kept) t.equal(await store(text), text, `${field}: ${text}`);
    }
  },
);

t.test('of two fields of one name the last counts, and unknown fields count for nothing', async (t) => {
  const s = await service(t);
  const [route] = (await bodyRoutes(s)).filter(({ path }) => path === '/talkgroups');
  assert(route);
  const twice = await sendText(route, '{"name":5,"name":"second"}');
  t.match(twice, { status: 200, body: { talkgroup: { name: 'second' } } });
  const id = randomUUID();
  const surplus = {
    name: 'x',
    id,
    rotation_counter: 7,
    master_secret: 'x',
    number: 1,
    constructor: 1,
  };
  const created = await sendText(route, JSON.stringify(surplus));
  t.match(created, { status: 200, body: { talkgroup: { rotation_counter: 0 } } });
  t.not((created.body as { talkgroup: { id: string } }).talkgroup.id, id);
  t.equal((await sendText(route, '\ufeff{"name":"after a byte order mark"}')).status, 200);
});

t.test('a floor mode is one of three words, and a talk limit 0 or 1,000 to 3,600,000 whole ms', async (t) => {
  const s = await service(t);
  const id = await s.talkgroup();
  const path = `/talkgroups/${id}`;
  const send = (method: string, to: string, body: string) =>
    s.admin.send(method, to, { headers: json, body });
  const stored = async () => {
    const [row] = await s.sql((sql) => sql`select floor_mode, max_talk_ms from talkgroups where id = ${id}`);
    return row;
  };
  for (const mode of ['OPEN', 'Open', ' open', 'open ', '', 'closed', 'singl', '__proto__', 'open\u0000']) {
    const floor_mode = JSON.stringify(mode);
    t.equal((await send('POST', '/talkgroups', `{"name":"x","floor_mode":${floor_mode}}`)).status, 400, mode);
    t.equal((await send('PATCH', path, `{"floor_mode":${floor_mode}}`)).status, 400, mode);
  }
  const refused = '1 999 999.9 -1 -1000 3600001 1000.5 1e999 -1e999 1e-9 4294968296';
  for (const limit of refused.split(' ')) {
    const answer = await send('PATCH', path, `{"max_talk_ms":${limit}}`);
    t.match(answer, { status: 400, body: { error: /^body\/max_talk_ms must be/ } }, limit);
  }
  const twoFields = await send('PATCH', path, '{"floor_mode":"single","max_talk_ms":1}');
  t.equal(twoFields.status, 400);
  t.strictSame(
    await stored(),
    { floor_mode: 'open', max_talk_ms: 60_000 },
    'and the good half is not stored',
  );

  for (const [limit, max_talk_ms] of Object.entries({
    '0': 0,
    '-0': 0,
    '1000': 1000,
    '1e3': 1000,
    '60000.0': 60_000,
    '3600000': 3_600_000,
  })) {
    t.equal((await send('PATCH', path, `{"max_talk_ms":${limit}}`)).status, 200, limit);
    t.match(await stored(), { max_talk_ms });
  }
  for (const floor_mode of ['single', 'broadcast', 'open']) {
    t.equal((await send('PATCH', path, `{"floor_mode":"${floor_mode}"}`)).status, 200);
    t.match(await stored(), { floor_mode });
  }
});

t.test('an id that is none names nothing, on every route and after the body was checked', async (t) => {
  const s = await service(t);
  const ids = [
    'x',
    '0',
    '-1',
    'null',
    'undefined',
    '%00',
    '%20',
    '%2F',
    '..%2F..%2Fhealthz',
    '%F0%9F%93%BB',
    "'%20or%20true--",
    'a'.repeat(200),
    'a'.repeat(5000),
    randomUUID().slice(1),
    `${randomUUID()}0`,
    `{${randomUUID()}}`,
    randomUUID().replaceAll('-', ''),
    randomUUID().replace('-', '_'),
    '00000000-0000-0000-0000-000000000000',
    'ffffffff-ffff-ffff-ffff-ffffffffffff',
    '0000000０-0000-0000-0000-000000000000',
  ];
  const fix = { lat: 1, lng: 2, alt: 3 };
  const [known, holder] = [await s.talkgroup(), await holderOf(s)];
  for (const id of ids) {
    const calls = {
      join: s.radio.post(`/talkgroups/${id}/join`),
      leave: s.radio.delete(`/talkgroups/${id}/leave`),
      members: s.radio.get(`/talkgroups/${id}/members`),
      delete: s.admin.delete(`/talkgroups/${id}`),
      change: s.admin.patch(`/talkgroups/${id}`, { name: 'x' }),
      add: s.admin.put(`/talkgroups/${id}/members/${s.radio.userId}`),
      remove: s.admin.delete(`/talkgroups/${id}/members/${s.radio.userId}`),
      revoke: s.admin.post(`/users/${id}/revoke`),
      'change device': s.admin.patch(`/devices/${id}`, { name: 'x' }),
      acknowledge: s.admin.post(`/emergencies/${id}/ack`),
      clear: s.radio.post(`/emergencies/${id}/clear`),
      status: s.admin.patch(`/devices/${id}/status`, { active: false }),
      'read fix': s.radio.get(`/devices/${id}/gps`),
      'report fix': s.radio.post(`/devices/${id}/gps`, fix),
      rotation: s.radio.get(`/keys/rotation?talkgroup_id=${id}`),
      rotate: s.admin.post('/keys/rotate', { talkgroup_id: id }),
      'rotate for a device': s.admin.post('/keys/rotate', { device_id: id }),
      'accept key holder': s.admin.post(`/keys/holders/${id}/accept`, {}),
      'delete key holder': s.radio.delete(`/keys/holders/${id}`),
      'list key holders': s.admin.get(`/keys/holders?user_id=${id}`),
      'permit in no talkgroup': s.admin.put(`/talkgroups/${id}/members/${s.radio.userId}/keys`, {
        allowed: true,
      }),
      'permit no user': s.admin.put(`/talkgroups/${known}/members/${id}/keys`, { allowed: true }),
      'members with keys': s.admin.get(`/talkgroups/${id}/keys`),
      'keys of no talkgroup': s.radio.get(`/keys/epochs?talkgroup_id=${id}&holder_id=${holder}`),
      recording: s.admin.get(`/recordings/${id}`),
      'frames of no recording': s.admin.get(`/recordings/${id}/frames`),
      'key of no recording': s.admin.get(`/recordings/${id}/key?holder_id=${holder}`),
      'erase no recording': s.admin.delete(`/recordings/${id}`),
      'hold nothing': s.admin.post('/recordings/holds', {
        ...{ talkgroup_id: id, from: '2026-01-01T08:00Z', to: '2026-01-01T09:00Z', reason: 'x' },
      }),
      'release nothing': s.admin.delete(`/recordings/holds/${id}`),
      'keys for no holder': s.radio.get(`/keys/epochs?talkgroup_id=${known}&holder_id=${id}`),
    };
    for (const [name, call] of Object.entries(calls)) t.equal((await call).status, 404, `${name} ${id}`);
    t.equal((await s.admin.patch(`/devices/${id}/status`, {})).status, 400, id);
    t.equal((await s.radio.post(`/devices/${id}/gps`, { ...fix, lat: 91 })).status, 400, id);
  }
  for (const query of [
    '',
    '?',
    '?talkgroup_id',
    '?talkgroup=x',
    '?talkgroup_id=x&talkgroup_id=y',
    '?talkgroup_id[]=x',
  ]) {
    const { status } = await s.radio.get(`/keys/rotation${query}`);
    t.equal(status, query === '?talkgroup_id' ? 404 : 400, query);
  }
});

t.test('a query for keys is refused with 400 when a field is missing, twice or no counter', async (t) => {
  const s = await service(t);
  const id = await s.talkgroup();
  await s.radio.post(`/talkgroups/${id}/join`);
  const holder = await holderOf(s);
  await s.sql((sql) => sql`update key_holders set accepted_at = now() returning id`);
  const good = `talkgroup_id=${id}&holder_id=${holder}`;
  const status = async (query: string) => (await s.radio.get(`/keys/epochs?${query}`)).status;
  const missing = ['', `talkgroup_id=${id}`, `holder_id=${holder}`];
  const twice = [`${good}&holder_id=${holder}`, `${good}&from=0&from=0`];
  const counters = '-1 +1 01 1.0 1e0 0x1 4294967296 99999999999 %20 %201 1%00 null'.split(' ');
  for (const query of [
    ...missing,
    ...twice,
    `${good}&from=`,
    ...counters.map((from) => `${good}&from=${from}`),
    ...'0 5 -1 1.0 1e0 %20'.split(' ').map((limit) => `${good}&limit=${limit}`),
  ])
    t.equal(await status(query), 400, query);
  for (const from of ['0', '1', '4294967295']) t.equal(await status(`${good}&from=${from}`), 200, from);
  t.equal((await s.nobody.get(`/keys/epochs?${good}`)).status, 401);
  t.equal((await s.admin.get(`/keys/epochs?${good}`)).status, 404, 'not of the caller');
  t.notMatch(s.logged(), '"level":50');
});

t.test('a public key is refused when it is no point of P-256 in its one spelling', async (t) => {
  const s = await service(t, { passwords: instantPasswords });
  const bytes = Buffer.from(POINT, 'base64url');
  const withByte = (at: number, value: number) => {
    const changed = Buffer.from(bytes);
    changed[at] = value;
    return changed.toString('base64url');
  };
  const sized = [0, 1, 33, 64, 66, 1000].map((length) => Buffer.alloc(length, bytes).toString('base64url'));
  const prefixed = [0, 2, 3, 5, 6, 7].map((first) => withByte(0, first));
  const off = [
    withByte(64, (bytes[64] ?? 0) ^ 1),
    Buffer.concat([bytes.subarray(0, 1), Buffer.alloc(64, 255)]),
  ];
  const spelled = [`${POINT}=`, ` ${POINT}`, `${POINT}\n`, bytes.toString('hex'), `${POINT.slice(0, -1)}*`];
  for (const public_key of [...sized, ...prefixed, ...off.map(String), ...spelled]) {
    const answer = await s.radio.post(HOLDERS, { password: 'x', public_key, name: 'x' });
    t.match(answer, { status: 400, body: { error: /^body\/public_key must/ } }, public_key.slice(0, 100));
  }
  for (const name of ['', 'x'.repeat(129), 'a\u0000b', 'a\nb', '\ud800'])
    t.equal((await s.radio.post(HOLDERS, { password: 'x', public_key: POINT, name })).status, 400);
  t.strictSame(await s.sql((sql) => sql`select id from key_holders`), []);
});

t.test('an unknown path is 404 for all, a wrong method 405 with what is allowed', async (t) => {
  const s = await service(t);
  const unknown = [
    '/nowhere',
    '/ws',
    '/ws?token=x',
    '/talkgroup',
    '/talkgroups/',
    '//talkgroups',
    '/talkgroups//join',
    '/TALKGROUPS',
  ];
  const more = [
    '/auth',
    '/auth/login/',
    '/devices/x/y',
    '/keys',
    '/users/x/y',
    '/admin',
    '/docs/static/none.js',
    '/docs/static/..%2F..%2Fpackage.json',
  ];
  for (const path of [...unknown, ...more, '/talkgroups/%2e%2e/x', `/talkgroups/${randomUUID()}`]) {
    for (const caller of [s.nobody, s.radio, s.admin]) {
      const expected = path.startsWith('/talkgroups/') && path.length > 40 ? 405 : 404;
      t.equal((await caller.get(path)).status, expected, path);
    }
  }
  t.equal((await s.nobody.send('POST', '/nowhere', { headers: json, body: '{' })).status, 404);

  const allowed = new Map<string, Set<string>>();
  for (const { method, url } of s.server.routes) {
    const path = url
      .replace(/(?<=.)\/$/, '')
      .replaceAll(/:\w+/g, UNKNOWN)
      .replace('*', 'index.css');
    if (!allowed.has(path)) allowed.set(path, new Set());
    allowed.get(path)?.add(method);
  }
  for (const [path, methods] of allowed) {
    const wrong = METHODS.filter((one) => one !== 'CONNECT' && !methods.has(one));
    const answers: Record<string, string> = {};
    for (const method of wrong) {
      const { status, allow, body } = await sendMethod(s, method, path);
      answers[method] = `${status}, allowed: ${allow}`;
      if (method !== 'HEAD') assertRefusal(JSON.parse(body), `${method} ${path}`);
    }
    const due = `405, allowed: ${[...methods].sort().join(', ')}`;
    t.strictSame(answers, Object.fromEntries(wrong.map((method) => [method, due])), path);
  }
});

/** fetch knows only some of the methods. */
function sendMethod(
  s: Service,
  method: string,
  path: string,
): Promise<{ status: number; allow: string; body: string }> {
  return new Promise((resolve, reject) => {
    request({ port: s.port, method, path, headers: json }, (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (text) => {
        body += text;
      });
      response.on('end', () =>
        resolve({ status: response.statusCode ?? 0, allow: response.headers.allow ?? '', body }),
      );
    })
      .on('error', reject)
      .end();
  });
}

t.test('whatever JSON is sent, no route fails', async (t) => {
  const s = await service(t, { passwords: instantPasswords });
  for (const route of await bodyRoutes(s)) {
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.string({ maxLength: 200 }),
      fc.constant('\ud800'),
    );
    const value = fc.oneof({ arbitrary: text, weight: 2 }, fc.jsonValue(), fc.double(), fc.boolean());
    const fields = Object.fromEntries(Object.keys(route.good).map((field) => [field, value]));
    const nearlyRight = fc.record(fields, { requiredKeys: [] }).map((body) => ({ ...route.good, ...body }));
    const body = fc.oneof(
      { arbitrary: nearlyRight.map((one) => JSON.stringify(one)), weight: 3 },
      fc.json(),
      fc.string({ unit: 'binary' }),
    );
    await fc.assert(
      fc.asyncProperty(body, async (body) => {
        const { status } = await sendText(route, body);
        // 429: wrong passwords of one user are counted.
        return [200, 400, 401, 404, 409, 413, ...(route.path === HOLDERS ? [429] : [])].includes(status);
      }),
      { numRuns: RUNS },
    );
    t.pass(`${route.method} ${route.path}`);
  }
  t.notMatch(s.logged(), '"level":50');
});

t.test('null for an optional field counts as absent, for a required one it is 400', async (t) => {
  const s = await service(t, { passwords: instantPasswords });
  const id = await s.talkgroup();
  const account = { username: 'ann', password: 'of ann' };
  type Case = [method: 'post' | 'patch', path: string, body: object, status: number];
  const cases: Case[] = [
    ['post', '/auth/register', { ...account, deviceSerial: null }, 200],
    ['post', '/auth/register', { ...account, username: 'bob', deviceSerial: null, site: null }, 200],
    ['post', '/auth/register', { ...account, username: 'cid', deviceSerial: 'SN-9', site: null }, 200],
    ['post', '/auth/register', { ...account, username: null }, 400],
    ['post', '/auth/register', { ...account, password: null }, 400],
    ['post', '/auth/login', { ...account, password: null }, 400],
    ['post', '/auth/changepassword', { oldPassword: 'x', newPassword: null }, 400],
    ['post', '/talkgroups', { name: 'x', floor_mode: null }, 200],
    ['post', '/talkgroups', { name: null }, 400],
    ['patch', `/talkgroups/${id}`, { name: null, floor_mode: null, max_talk_ms: null }, 200],
    ['patch', `/devices/${s.radio.deviceId}/status`, { active: null }, 400],
    ['post', `/devices/${s.radio.deviceId}/gps`, { lat: 1, lng: 1, alt: null }, 400],
    ['post', '/keys/rotate', { talkgroup_id: null }, 400],
  ];
  for (const [method, path, body, status] of cases)
    t.equal((await s.admin[method](path, body)).status, status, `${path} ${JSON.stringify(body)}`);
  const stored = await s.sql(
    (sql) => sql`select name, floor_mode, max_talk_ms from talkgroups where id = ${id}`,
  );
  t.strictSame(stored, [{ name: 'fire brigade', floor_mode: 'open', max_talk_ms: 60_000 }], 'left as it was');
  const [device] = await s.sql((sql) => sql`select site from devices where serial = 'SN-9'`);
  t.strictSame(device, { site: 'unknown' });
});
