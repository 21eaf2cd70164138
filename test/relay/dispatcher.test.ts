// A dispatcher: a plain user whose right counts at once, over REST and on sockets that are open, and ends with the tokens.
import t from 'tap';
import { eventually } from '../helpers/eventually.js';
import { type Json, type Radio, service } from '../helpers/service/service.js';
import { heardEverywhere, isDealt } from '../helpers/service/two-nodes.js';

t.setTimeout(300_000);

// No burst here ends by silence.
const s = await service(t, { TALK_SILENCE_MS: '60000', TALKGROUP_DIRECTORY: 'admin' });
const { admin } = s;

const request = (radio: Radio, { id }: { id: string }, priority: number) =>
  radio.asks({ type: 'FLOOR_REQUEST', talkgroup_id: id, priority });
const set = (id: string, dispatcher: boolean) => admin.call('PATCH', `/users/${id}`, { dispatcher });
async function known(answer: Promise<Json>): Promise<Json> {
  const told = await answer;
  await heardEverywhere();
  return told;
}

t.test('the right counts at once on an open socket and for the same token', async (t) => {
  const group = await s.crew(t, 3, { name: 'right', floor_mode: 'broadcast' });
  const [ann, bob] = group.people;
  const [a, b] = group.radios;
  t.match(await request(a, group, 6), { type: 'FLOOR_DENIED', code: 'forbidden' });
  t.strictSame((await ann.call('GET', '/users')).body, { error: 'dispatcher or admin role required' });

  const { status, body } = await set(ann.id, true);
  t.equal(status, 200);
  t.strictSame(Object.keys(body), ['user']);
  t.strictSame(Object.keys(body.user as Json).sort(), [
    ...['created_at', 'device_id', 'dispatcher', 'id', 'role', 'username'],
  ]);
  t.match(body.user, { id: ann.id, role: 'user', dispatcher: true });
  // The node that answered has applied it. Another one follows the notification.
  await eventually(async () => {
    const { type } = await request(a, group, 6);
    if (type !== 'FLOOR_GRANTED' && !isDealt) t.fail(`${type} behind the answer`);
    if (type !== 'FLOOR_GRANTED') throw new Error(`${type}`);
  });
  t.match((await ann.call('GET', '/me')).body, { user: { role: 'user', dispatcher: true } });
  t.match((await admin.call('GET', '/me')).body, { user: { role: 'admin', dispatcher: false } });
  t.equal((await ann.call('GET', '/talkgroups/directory')).status, 200);
  const { users } = (await ann.call('GET', `/users?q=${ann.name}`)).body as { users: Json[] };
  t.match(users, [{ username: ann.name, role: 'user', dispatcher: true }]);
  const shown = (await ann.call('GET', `/users/${bob.id}`)).body;
  t.match(shown, { user: { username: bob.name, dispatcher: false } });
  for (const [method, path] of [
    ['GET', '/devices'],
    ['GET', '/audit'],
    ['DELETE', `/users/${bob.id}`],
    ['DELETE', `/talkgroups/${group.id}`],
    ['PATCH', `/users/${ann.id}`],
  ] as const)
    t.strictSame(
      await ann.call(method, path),
      { status: 403, body: { error: 'admin role required' } },
      `${method} ${path}`,
    );

  // Members, and the tokens of plain users alone.
  const { id: other } = await s.talkgroup('moved to');
  t.equal((await ann.call('PUT', `/talkgroups/${other}/members/${bob.id}`)).status, 200);
  t.match(await b.hears('TALKGROUP_JOINED'), { talkgroup_id: other });
  const closed = b.closes();
  t.equal((await ann.call('POST', `/users/${bob.id}/revoke`)).status, 200);
  t.match(await closed, { code: 1008, reason: 'invalid token' });
  const chief = await s.person('right-chief', { role: 'admin' });
  for (const { id } of [chief, ann])
    t.strictSame(await ann.call('POST', `/users/${id}/revoke`), {
      status: 403,
      body: { error: 'admin role required' },
    });
  t.equal((await chief.call('GET', '/me')).status, 200);
  t.equal(
    (await ann.call('POST', '/users/00000000-0000-4000-8000-000000000000/revoke')).status,
    404,
    'of nobody',
  );
});

t.test('a dispatcher preempts with 4 to 6, and never ends an emergency', async (t) => {
  const group = await s.crew(t, 3, { name: 'rank', floor_mode: 'single', admins: 1 });
  const [, ann] = group.people;
  const [chief, a, b] = group.radios;
  await set(ann.id, true);
  await heardEverywhere();
  t.match(await request(b, group, 7), { type: 'FLOOR_GRANTED', priority: 3 });
  t.match(await request(a, group, 7), { type: 'FLOOR_GRANTED', priority: 6 });
  t.match(await b.hears('FLOOR_REVOKED'), { code: 'preempted' });
  t.match(await request(chief, group, 7), { type: 'FLOOR_GRANTED', priority: 7 });
  t.match(await a.hears('FLOOR_REVOKED'), { code: 'preempted' });
  await chief.asks({ type: 'FLOOR_RELEASE', talkgroup_id: group.id });
  await heardEverywhere();

  const { emergency_id } = await known(b.asks({ type: 'EMERGENCY_RAISE', talkgroup_id: group.id }));
  t.match(await request(b, group, 1), { type: 'FLOOR_GRANTED', priority: 7 });
  t.match(await request(a, group, 7), { type: 'FLOOR_DENIED', code: 'busy' });
  // Also from outside of the talkgroup.
  const out = await s.person('rank-outside');
  const o = await out.radio();
  t.match(await known(o.asks({ type: 'EMERGENCY_ACK', emergency_id })), { type: 'ERROR', code: 'forbidden' });
  await set(out.id, true);
  await heardEverywhere();
  t.match(await known(o.asks({ type: 'EMERGENCY_ACK', emergency_id })), { type: 'OK' });
  t.match(await known(a.asks({ type: 'EMERGENCY_CLEAR', emergency_id })), { type: 'OK' });
});

t.test('emergencies of all talkgroups are listed, acknowledged and cleared', async (t) => {
  const dispatcher = await s.person('all-dispatcher');
  const group = await s.crew(t, 2, { name: 'all' });
  const [a, b] = group.radios;
  const [, bob] = group.people;
  const raised = await known(a.asks({ type: 'EMERGENCY_RAISE', talkgroup_id: group.id }));
  const id = raised.emergency_id as string;
  await eventually(async () => {
    if ((await s.sql`select from emergencies where id = ${id}`).length === 0) throw new Error('not stored');
  });
  const listed = async () =>
    ((await dispatcher.call('GET', '/emergencies')).body.emergencies as Json[]).some(
      ({ emergency_id }) => emergency_id === id,
    );
  t.equal(await listed(), false, 'of a talkgroup of others');
  t.equal((await dispatcher.call('POST', `/emergencies/${id}/ack`)).status, 403);
  t.equal((await bob.call('POST', `/emergencies/${id}/clear`)).status, 403);
  await set(dispatcher.id, true);
  t.equal(await listed(), true);
  t.equal((await dispatcher.call('POST', `/emergencies/${id}/ack`)).status, 200);
  t.match(await b.hears('EMERGENCY', ({ state }) => state === 'acknowledged'), { emergency_id: id });
  t.equal((await dispatcher.call('POST', `/emergencies/${id}/clear`)).status, 200);
  t.match(await b.hears('EMERGENCY', ({ state }) => state === 'cleared'), { emergency_id: id });
});

t.test('behind a revocation by a dispatcher the next key holder waits for an administrator', async (t) => {
  const [dan, ann] = [await s.person('holds-dan'), await s.person('holds-ann')];
  await set(dan.id, true);
  const waits = async () =>
    (await s.sql`select had_holder from users where id = ${ann.id}`)[0]?.had_holder as boolean;
  await s.sql`update users set had_holder = true where id = ${ann.id}`;
  t.equal((await dan.call('POST', `/users/${ann.id}/revoke`)).status, 200);
  t.equal(await waits(), true);
  t.equal((await admin.call('POST', `/users/${ann.id}/revoke`)).status, 200);
  t.equal(await waits(), false);
});

t.test('two who take the right away at once: one does, and no one is left with it', async (t) => {
  const ann = await s.person('twice');
  await set(ann.id, true);
  const answers = await Promise.all([
    set(ann.id, false),
    set(ann.id, true),
    set(ann.id, false),
    set(ann.id, false),
  ]);
  for (const { status } of answers) t.equal(status, 200);
  t.match(await set(ann.id, false), { status: 200, body: { user: { dispatcher: false } } });
  const acts =
    await s.sql`select act from acts where user_id = ${ann.id} and act like 'dispatcher%' order by id`;
  const inTurn = acts.map(
    ({ act }, at) => act === (at % 2 === 0 ? 'dispatcher_added' : 'dispatcher_removed'),
  );
  t.ok(inTurn.every(Boolean), `${acts.map(({ act }) => act)}`);
});

t.test('a user who loses the right loses the tokens, and one who never had it loses nothing', async (t) => {
  const group = await s.crew(t, 1, { name: 'loses', floor_mode: 'single' });
  const [ann] = group.people;
  const [a] = group.radios;
  t.match(await set(ann.id, false), { status: 200, body: { user: { dispatcher: false } } });
  t.equal((await ann.call('GET', '/me')).status, 200, 'the token is valid');
  await set(ann.id, true);
  t.match(await set(ann.id, true), { status: 200 }, 'again');
  const closed = a.closes();
  t.match(await set(ann.id, false), { status: 200, body: { user: { dispatcher: false } } });
  t.match(await closed, { code: 1008, reason: 'invalid token' });
  t.equal((await ann.call('GET', '/me')).status, 401);

  const acts =
    await s.sql`select act from acts where user_id = ${ann.id} and act like 'dispatcher%' order by id`;
  t.strictSame(
    acts.map(({ act }) => act),
    ['dispatcher_added', 'dispatcher_removed'],
  );
  const chief = await s.person('loses-chief', { role: 'admin' });
  t.strictSame(await set(chief.id, true), {
    status: 403,
    body: { error: 'the account of an administrator is changed on the command line' },
  });
  t.equal((await set('00000000-0000-4000-8000-000000000000', true)).status, 404);
  for (const dispatcher of ['yes', 1, null])
    t.equal((await admin.call('PATCH', `/users/${ann.id}`, { dispatcher })).status, 400);
  t.equal((await admin.call('PATCH', `/users/${ann.id}`, {})).status, 400);
});
