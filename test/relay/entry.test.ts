// Who gets in: tokens, accounts and requests at the WebSocket's port, and what those who do get in are told first.
import { createHmac, generateKeyPairSync, randomUUID, sign as signWith } from 'node:crypto';
import postgres from 'postgres';
import t from 'tap';
import type { UserId } from '../../src/ids.js';
import { encodeFrame, START } from '../../src/protocol/frame.js';
import { clusterUrl } from '../helpers/database/cluster.js';
import { comesTrue } from '../helpers/eventually.js';
import { exchange } from '../helpers/http/raw.js';
import { BINARY, handshake, TEXT, wire, wireFrame } from '../helpers/relay/wire.js';
import { connect, SECRET, service, serviceProcess } from '../helpers/service/service.js';
import { isDealt } from '../helpers/service/two-nodes.js';
import { within } from '../helpers/within.js';

const SOCKETS_PER_USER = 4;
const s = await service(t, { SOCKETS_PER_USER: String(SOCKETS_PER_USER) });
const ann = await s.person('ann');
const portOf = (address: string) => Number(new URL(address).port);

const inBase64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
const HS256 = { alg: 'HS256', typ: 'JWT' };
const claims = { sub: ann.id, username: 'ann', role: 'user', iat: Math.floor(Date.now() / 1000) };

/** A token made by hand: what no signer would sign. */
function tokenOf(header: object, payload: unknown, { hash = 'sha256', key = SECRET } = {}): string {
  const signed = `${inBase64(header)}.${inBase64(payload)}`;
  return `${signed}.${createHmac(hash, key).update(signed).digest('base64url')}`;
}

function rs256Token(): string {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const signed = `${inBase64({ alg: 'RS256', typ: 'JWT' })}.${inBase64(claims)}`;
  return `${signed}.${signWith('sha256', Buffer.from(signed), privateKey).toString('base64url')}`;
}

/** The claims with some of them replaced, or taken away by undefined. */
const but = (changed: Record<string, unknown>) => tokenOf(HS256, { ...claims, ...changed });

const [head = '', body = '', signature = ''] = ann.token.split('.');
const unsigned = inBase64({ alg: 'none', typ: 'JWT' });
const tampered = inBase64({ ...claims, role: 'admin' });

const refusedQueries: Record<string, string> = {
  'no token at all': '',
  'an empty token': '?token=',
  'a token under another name': `?jwt=${ann.token}`,
  'two tokens, both good': `?token=${ann.token}&token=${ann.token}`,
  'a good token and an empty one': `?token=${ann.token}&token=`,
  'a token encoded twice': `?token=${encodeURIComponent(ann.token.replaceAll('.', '%2E'))}`,
  'three kilobytes of nothing': `?token=${'x'.repeat(3000)}`,
  'a token without its signature': `?token=${head}.${body}.`,
  'a token of two parts': `?token=${head}.${body}`,
  'a token of four parts': `?token=${ann.token}.${signature}`,
  'another signature': `?token=${head}.${body}.${signature.slice(0, -4)}AAAA`,
  'alg none without a signature': `?token=${unsigned}.${body}.`,
  'alg none with the old signature': `?token=${unsigned}.${body}.${signature}`,
  'HS512 with the right key': `?token=${tokenOf({ alg: 'HS512', typ: 'JWT' }, claims, { hash: 'sha512' })}`,
  'an RS256 header over an HS256 signature': `?token=${tokenOf({ alg: 'RS256', typ: 'JWT' }, claims)}`,
  'RS256 with a key of its own': `?token=${rs256Token()}`,
  'another key': `?token=${tokenOf(HS256, claims, { key: SECRET.toUpperCase() })}`,
  'an empty key': `?token=${tokenOf(HS256, claims, { key: '' })}`,
  'a payload promoted to admin': `?token=${head}.${tampered}.${signature}`,
  'a critical header nobody knows': `?token=${tokenOf({ ...HS256, crit: ['x'], x: 1 }, claims)}`,
  'a payload that is a list': `?token=${tokenOf(HS256, [claims])}`,
  'a payload that is no JSON': `?token=${tokenOf(HS256, claims).replace(/\..*\./, '.e30x.')}`,
  'a numeric sub': `?token=${but({ sub: 7 })}`,
  'a sub that is no UUID': `?token=${but({ sub: 'ann' })}`,
  'a role in a list': `?token=${but({ role: ['user'] })}`,
  'a role nobody has': `?token=${but({ role: 'root' })}`,
  'an iat in words': `?token=${but({ iat: 'now' })}`,
  'half a second of iat': `?token=${but({ iat: 1.5 })}`,
  'a username that is a number': `?token=${but({ username: 7 })}`,
  'no sub': `?token=${but({ sub: undefined })}`,
  'no username': `?token=${but({ username: undefined })}`,
  'no role': `?token=${but({ role: undefined })}`,
  'no iat': `?token=${but({ iat: undefined })}`,
};

t.test('a token that is not right is closed with 1008 invalid token, and nothing else is said', async (t) => {
  for (const [what, query] of Object.entries(refusedQueries)) {
    const radio = await connect(t, `${s.ws}/ws${query}`);
    t.same(await radio.closes(), { code: 1008, reason: 'invalid token' }, what);
    t.same(radio.arrivals, [], `${what}: no message`);
  }
});

t.test('a token of 10 kB ends the connection and nothing else', async (t) => {
  const radio = await connect(t, `${s.ws}/ws?token=${'x'.repeat(10_000)}`);
  t.equal(radio.welcome, null);
  t.not((await radio.closes()).code, 1000);
  t.ok((await ann.radio()).welcome, 'the next one is let in');
});

t.test('a token encoded once, as it should be, is let in', async (t) => {
  const radio = await connect(t, `${s.ws}/ws?other=1&token=${ann.token.replaceAll('.', '%2E')}`);
  t.equal(radio.welcome?.username, 'ann');
  radio.socket.close();
});

t.test('a good token of no user, of a disabled device, or from before a revocation is told so', async (t) => {
  const nobody = s.sign({ ...claims, sub: randomUUID() as UserId, role: 'user' });
  const unknown = await connect(t, `${s.ws}/ws?token=${nobody}`);
  t.same(await unknown.closes(), { code: 1008, reason: 'unknown user' });

  const dan = await s.person('dan', { serial: 'dan-1' });
  await s.admin.patch(`/devices/${dan.device}/status`, { active: false });
  t.same(await (await dan.radio()).closes(), { code: 1008, reason: 'device disabled' });
  await s.admin.patch(`/devices/${dan.device}/status`, { active: true });
  t.equal((await dan.radio()).welcome?.device_id, dan.device, 'enabling the device lets it in again');

  const eve = await s.person('eve');
  const iat = Math.floor(Date.now() / 1000);
  await s.sql`update users set valid_from = ${iat + 60} where id = ${eve.id}`;
  t.same(await (await eve.radio()).closes(), { code: 1008, reason: 'invalid token' });
  const later = s.sign({ ...claims, sub: eve.id, role: 'user', iat: iat + 60 });
  t.ok((await connect(t, `${s.ws}/ws?token=${later}`)).welcome, 'a token of that very second is good');
});

t.test('what a refused radio sends before or after it is told is neither relayed nor stored', async (t) => {
  const [fay, flo] = [await s.person('fay', { serial: 'fay-1' }), await s.person('flo')];
  const group = await s.talkgroup('fire', fay, flo);
  const listener = await flo.radio();
  const fix = JSON.stringify({ type: 'GPS_UPDATE', device_id: fay.device, lat: 1, lng: 2, alt: 3 });
  const payload = Buffer.from('let me in');
  const speech = encodeFrame({ flags: START, sequence: 0, talkgroup: group.number, payload });
  const both = [wireFrame({ opcode: TEXT, payload: fix }), wireFrame({ opcode: BINARY, payload: speech })];
  const nobody = s.sign({ ...claims, sub: randomUUID() as UserId, role: 'user' });
  await s.admin.patch(`/devices/${fay.device}/status`, { active: false });
  for (const token of [fay.token, but({ role: 'root' }), nobody]) {
    const refused = await wire(t, `${s.ws}/ws?token=${token}`);
    refused.write(...both);
    t.match(await refused.ends(), { code: 1008 });
    t.same(refused.messages(), []);
    // Who cannot wait for the answer to its handshake may be dropped by the engine instead.
    const hasty = await wire(t, `${s.ws}/ws?token=${token}`, both);
    await hasty.ends();
    t.same(hasty.messages(), []);
  }
  await listener.settled();
  t.same(listener.frames, []);
  t.same(listener.messages, []);
  t.match(await flo.call('GET', `/devices/${fay.device}/gps`), { status: 404 }, 'no fix was stored');
});

t.test("WELCOME tells who one is and all of one's talkgroups, with these keys and no others", async (t) => {
  const [gus, gil] = [await s.person('gus', { serial: 'gus-1' }), await s.person('gil')];
  const alpha = await s.talkgroup('alpha', gus, gil);
  const beta = await s.talkgroup('beta', gus);
  await s.talkgroup('gamma', gil);
  for (let i = 0; i < 2; i++)
    await s.admin.post('/keys/rotate', { talkgroup_id: beta.id, use_in_ms: 600_000 });
  const other = await gil.radio();
  const before = Date.now();
  const { welcome, arrivals } = await gus.radio();
  t.ok(welcome);
  if (welcome === null) return;
  t.equal(arrivals[0], welcome, 'first of all');

  const { server_time, session, talkgroups, resume_token, ...rest } = welcome;
  t.strictSame(rest, {
    type: 'WELCOME',
    protocol: 1,
    user_id: gus.id,
    username: 'gus',
    device_id: gus.device,
    resumed: false,
    limits: {
      ...{ frame_bytes: 1024, frames_per_second: 110, user_frames_per_second: 220 },
      ...{ user_bytes_per_second: 65_536, talks_per_user: 2, talkers_max: 32 },
      ...{ text_bytes: 8192, backlog_ms: 1000 },
    },
    ...(isDealt && { reach: 'whole' }), // a node that has no others tells none
    talkgroups_total: 2,
  });
  // A relay among others puts its id before them: 4 bytes.
  t.match(resume_token, isDealt ? /^[\w-]{27}$/ : /^[\w-]{22}$/, '128 bits');
  t.ok(Number.isInteger(session) && session > 0 && session < 2 ** 32);
  t.not(session, other.session, 'no two sessions have the same number');
  t.ok(Number(server_time) >= before && Number(server_time) <= Date.now());
  const common = {
    floor_mode: 'open',
    max_talk_ms: 60_000,
    encryption: 'allowed',
    clear_emergency: true,
    recording_days: 0,
    may_have_keys: false,
    event: 0,
    talkers: [],
    talkers_total: 0,
    emergencies: [],
    emergencies_total: 0,
  };
  const useInMs = Number(talkgroups.find(({ talkgroup_id }) => talkgroup_id === beta.id)?.use_in_ms);
  t.ok(useInMs > 0 && useInMs <= 600_000, `the second key is used in ${useInMs} ms`);
  t.strictSame(
    talkgroups.toSorted((a, b) => Number(a.number) - Number(b.number)),
    [
      {
        talkgroup_id: alpha.id,
        number: alpha.number,
        name: 'alpha',
        rotation_counter: 0,
        talk_counter: 0,
        use_in_ms: 0,
        ...common,
        online: 2,
      },
      {
        talkgroup_id: beta.id,
        number: beta.number,
        name: 'beta',
        rotation_counter: 2,
        talk_counter: 0,
        use_in_ms: useInMs,
        ...common,
        online: 1,
      },
    ],
  );
  t.notMatch(
    JSON.stringify({ ...welcome, resume_token: '' }).replaceAll('may_have_keys', ''),
    /secret|key|password/i,
  );
  t.equal(other.welcome?.device_id, null, 'who has no device is told null');
});

t.test('a request that is no WebSocket is answered as HTTP, with {error}', async (t) => {
  const address = `${s.ws}/ws?token=${ann.token}`;
  const asks = async (request: string) => (await exchange(portOf(s.ws), [request], 1)).answers[0];
  const refusals: [what: string, request: string, answer: { status: number; headers?: object }][] = [
    [
      'no Upgrade, no key',
      handshake(address, { Upgrade: '', Connection: '', 'Sec-WebSocket-Key': '' }),
      { status: 426, headers: { upgrade: 'websocket' } },
    ],
    [
      'a key, but no Upgrade',
      handshake(address, { Upgrade: '', Connection: '' }),
      { status: 426, headers: { upgrade: 'websocket' } },
    ],
    [
      'an Upgrade to something else',
      handshake(address, { Upgrade: 'h2c' }),
      { status: 426, headers: { upgrade: 'websocket' } },
    ],
    [
      'version 12',
      handshake(address, { 'Sec-WebSocket-Version': '12' }),
      { status: 426, headers: { 'sec-websocket-version': '13' } },
    ],
    [
      'no version',
      handshake(address, { 'Sec-WebSocket-Version': '' }),
      { status: 426, headers: { 'sec-websocket-version': '13' } },
    ],
    ['no key', handshake(address, { 'Sec-WebSocket-Key': '' }), { status: 400 }],
    [
      'a key of 15 bytes',
      handshake(address, { 'Sec-WebSocket-Key': Buffer.alloc(15).toString('base64') }),
      { status: 400 },
    ],
    [
      'a key of 17 bytes',
      handshake(address, { 'Sec-WebSocket-Key': Buffer.alloc(17).toString('base64') }),
      { status: 400 },
    ],
    ['a key that is no base64', handshake(address, { 'Sec-WebSocket-Key': '!'.repeat(24) }), { status: 400 }],
    ['POST', handshake(address).replace('GET', 'POST'), { status: 405, headers: { allow: 'GET' } }],
    ['DELETE', handshake(address).replace('GET', 'DELETE'), { status: 405, headers: { allow: 'GET' } }],
    ['another path', handshake(address).replace('/ws?', '/wss?'), { status: 404 }],
    ['a path below', handshake(address).replace('/ws?', '/ws/x?'), { status: 404 }],
    ['the root', handshake(address).replace('/ws?', '/?'), { status: 404 }],
    ['POST elsewhere', handshake(address).replace('GET /ws', 'POST /'), { status: 404 }],
  ];
  for (const [what, request, expected] of refusals) {
    const answer = await asks(request);
    t.match(answer, expected, what);
    t.match(answer?.headers['content-type'], /^application\/json/, what);
    const refusal = JSON.parse(answer?.body ?? 'null');
    t.strictSame(Object.keys(refusal), ['error'], what);
    t.type(refusal.error, 'string', what);
    t.notMatch(answer?.body, ann.token, what);
  }
});

t.test(
  'with CORS_ORIGINS set, another origin is refused with 403 and a radio without any is let in',
  async (t) => {
    const own = await service(t, { CORS_ORIGINS: 'https://radio.example,https://map.example' });
    const { token } = await own.person('hal');
    const address = `${own.ws}/ws?token=${token}`;
    for (const origin of [
      'https://evil.example',
      'http://radio.example',
      'https://radio.example.evil.example',
      'null',
    ]) {
      const { answers } = await exchange(portOf(own.ws), [handshake(address, { Origin: origin })], 1);
      t.match(answers, [{ status: 403, body: /"error"/ }], origin);
    }
    for (const origin of ['https://radio.example', 'https://map.example']) {
      t.ok((await connect(t, address, { headers: { Origin: origin } })).welcome, origin);
    }
    // The console comes from the name that the browser connects to. With PORT=0 it may have any port.
    const page = await connect(t, address, { headers: { Origin: 'http://127.0.0.1:3000' } });
    t.ok(page.welcome, 'the page of the console');
    const closed = await service(t, { CORS_ORIGINS: 'https://radio.example', CONSOLE: 'off' });
    const { answers } = await exchange(
      portOf(closed.ws),
      [handshake(`${closed.ws}/ws`, { Origin: 'http://127.0.0.1:3000' })],
      1,
    );
    t.match(answers, [{ status: 403 }], 'without the console that is another origin');
    t.ok((await connect(t, address)).welcome, 'no origin: no browser');
    const open = await connect(t, `${s.ws}/ws?token=${ann.token}`, {
      headers: { Origin: 'https://evil.example' },
    });
    t.ok(open.welcome, 'without CORS_ORIGINS any origin will do');
  },
);

t.test('a user that connects all the time is told to wait, and others connect', async (t) => {
  const { person, sign, sql, ws } = await service(t, {}, undefined, { isOneNode: true });
  const [uma, val] = [await person('uma'), await person('val')];
  let tries = 0;
  let refusal: object | null = null;
  while (refusal === null) {
    tries++;
    const radio = await connect(t, `${ws}/ws?token=${uma.token}`);
    if (radio.welcome === null) refusal = await radio.closes();
    else radio.socket.close(1000);
  }
  t.ok(tries > 64, `after ${tries}`);
  t.same(refusal, { code: 1013, reason: 'rate_limited' });
  t.ok((await val.radio()).welcome);
  // A token from before a revocation does not keep its owner out.
  const issuedS = Math.floor(Date.now() / 1000);
  const claims = { sub: val.id, username: val.name, role: 'user' } as const;
  const [old, present] = [sign({ ...claims, iat: issuedS - 100 }), sign({ ...claims, iat: issuedS })];
  await sql`update users set valid_from = ${issuedS - 50} where id = ${val.id}`;
  for (let round = 0; round < 70; round++) await connect(t, `${ws}/ws?token=${old}`);
  t.ok((await connect(t, `${ws}/ws?token=${present}`)).welcome);
});

t.test('one socket more than a user may have closes the one that was silent for longest', async (t) => {
  const ida = await s.person('ida');
  const group = await s.talkgroup('sockets', ida);
  const radios = [];
  // Sockets of a user are counted on each node.
  for (let i = 0; i < SOCKETS_PER_USER; i++) radios.push(await ida.radioHere());
  const [first, second, third] = radios;
  // The first speaks, the second asks: the third has been silent for longest.
  first?.speaks(group.number, 'still here', { start: true, end: true });
  await second?.settled();
  const next = await ida.radioHere();
  t.ok(next.welcome);
  t.same(await third?.closes(), { code: 1013, reason: 'replaced' });
  for (const radio of radios) if (radio !== third) await radio.settled();
  t.match(next.welcome, { talkgroups: [{ online: SOCKETS_PER_USER }] });
});

t.test(
  'while memberships cannot be read, a newcomer gets 1013 within 3 s and those inside talk on',
  async (t) => {
    const [jan, kim] = [await s.person('jan'), await s.person('kim')];
    const group = await s.talkgroup('away', jan, kim);
    const [a, b] = [await jan.radio(), await kim.radio()];
    const refused = async (what: string) => {
      const from = performance.now();
      const late = await connect(t, `${s.ws}/ws?token=${jan.token}`);
      t.same(await late.closes(), { code: 1013, reason: 'overloaded' }, what);
      t.same(late.arrivals, [], what);
      within(t, performance.now() - from, 3000, what);
      a.speaks(group.number, what, { start: true, end: true });
      t.equal((await b.hearsFrame()).text, what);
    };

    await s.sql.begin(async (sql) => {
      await sql`lock table memberships in access exclusive mode`;
      await refused('the database does not answer');
    });
    await withoutDatabase(() => refused('the database is away'));
    const backAt = performance.now();
    await comesTrue('the radio is let in again', async () => {
      const radio = await connect(t, `${s.ws}/ws?token=${jan.token}`);
      return radio.welcome !== null;
    });
    within(t, performance.now() - backAt, 3000);
  },
);

/** The service's database refuses all connections for as long as `work` takes. */
async function withoutDatabase(work: () => Promise<void>): Promise<void> {
  const cluster = postgres(await clusterUrl(), { max: 1, onnotice: () => {} });
  const name = new URL(s.url).pathname.slice(1);
  await cluster.unsafe(`alter database ${name} allow_connections false`);
  await cluster`select pg_terminate_backend(pid) from pg_stat_activity where datname = ${name}`;
  await work();
  await cluster.unsafe(`alter database ${name} allow_connections true`);
  await cluster.end();
}

t.test('a token never stands in the log, however it arrives and however much is logged', async (t) => {
  const own = await serviceProcess(t, { LOG_LEVEL: 'trace' });
  const leo = await own.person('leo');
  const forged = tokenOf(HS256, { ...claims, sub: leo.id }, { key: 'a'.repeat(32) });
  const revoked = own.sign({ ...claims, sub: randomUUID() as UserId, role: 'user' });
  const radio = await leo.radio();
  radio.says({ type: 'PING', token: leo.token });
  radio.says(leo.token);
  radio.sends(Buffer.from(leo.token));
  await radio.settled();
  for (const token of [forged, revoked])
    t.equal((await connect(t, `${own.ws}/ws?token=${token}`)).welcome, null);
  for (const request of [
    handshake(`${own.ws}/wsx?token=${leo.token}`),
    handshake(`${own.ws}/ws?token=${leo.token}`, { Upgrade: '' }),
    handshake(`${own.ws}/ws?token=${leo.token}`, { 'Sec-WebSocket-Key': '' }),
  ]) {
    await exchange(portOf(own.ws), [request], 1);
  }
  for (const address of [own.rest, own.ws.replace('ws:', 'http:')])
    await fetch(`${address}/ws?token=${leo.token}`);
  await leo.get('/talkgroups');
  await leo.call('GET', '/devices');
  radio.socket.terminate();
  own.signal('SIGTERM');
  t.equal(await own.exit(), 0);

  const output = own.output();
  t.match(output, leo.id, 'it does log the session');
  for (const token of [leo.token, forged, revoked]) {
    for (const part of token.split('.').slice(1)) t.notMatch(output, part);
  }
  t.notMatch(output, SECRET);
});

t.test('a WebSocket port that is taken refuses to start and takes no connection away', async (t) => {
  const second = await serviceProcess(t, { DATABASE_URL: s.url, WS_PORT: String(portOf(s.ws)) });
  t.equal(await second.exit(), 1);
  t.match(second.output(), `cannot listen on WS_PORT ${portOf(s.ws)} of 127.0.0.1: in use`);
  for (let i = 0; i < 10; i++) {
    const radio = await (await s.person(`after-${i}`)).radio();
    t.ok(radio.welcome);
  }
});
