// The client library with the real relay: changes by REST reach connected radios, and their messages take effect.
import t, { type Test } from 'tap';
import { WebSocket } from 'ws';
import {
  createRadio,
  type Radio,
  type RadioEvents,
  type Talk,
  type TalkState,
} from '../../src/client/node.js';
import { startChaosProxy } from '../helpers/network/chaos-proxy.js';
import { type Person, type Service, service } from '../helpers/service/service.js';

const packet = Uint8Array.of(0x08, 1, 2, 3);

type Options = Partial<Parameters<typeof createRadio>[0]>;

/** A service with two users, both members of the talkgroup `fire`. */
async function annAndBob(t: Test, settings: Parameters<typeof service>[1] = {}) {
  const s = await service(t, settings);
  const [ann, bob] = [await s.person('ann'), await s.person('bob')];
  return { s, ann, bob, group: await s.talkgroup('fire', ann, bob) };
}

/** Resolves when the radio is connected. */
async function radioOf(t: Test, s: Service, { token }: Pick<Person, 'token'>, options: Options = {}) {
  const radio = createRadio({ url: s.ws, token, ...options });
  t.teardown(() => radio.close());
  await event(radio, 'open');
  return radio;
}

function event<Name extends keyof RadioEvents>(
  radio: Radio,
  name: Name,
  matches: (value: RadioEvents[Name]) => boolean = () => true,
): Promise<RadioEvents[Name]> {
  return new Promise((resolve) => {
    const stop = radio.on(name, (value) => {
      if (!matches(value)) return;
      stop();
      resolve(value);
    });
  });
}

/** A WebSocket, and those that radios made of it, for a test that breaks one or stops reading. */
function keptSockets() {
  const opened: WebSocket[] = [];
  class KeptWebSocket extends WebSocket {
    constructor(address: string) {
      super(address);
      opened.push(this);
    }
  }
  return { WebSocket: KeptWebSocket, last: () => opened.at(-1) };
}

/** Resolves when the talk is in that state. */
function reaches(talk: Talk, kind: TalkState['kind']): Promise<TalkState> {
  return new Promise((resolve) => {
    if (talk.state.kind === kind) resolve(talk.state);
    talk.on('state', (state) => state.kind === kind && resolve(state));
  });
}

t.test('a talkgroup joined by REST can be talked in at once, and one left no more', async (t) => {
  const s = await service(t);
  const [ann, bob] = [await s.person('ann'), await s.person('bob')];
  const group = await s.talkgroup('fire', bob);
  const [a, b] = [await radioOf(t, s, ann), await radioOf(t, s, bob)];
  t.throws(() => a.talk({ talkgroupId: group.id }), { code: 'not_member' });

  const joined = event(a, 'talkgroups');
  await ann.post(`/talkgroups/${group.id}/join`);
  await joined;
  const [started, heard, ended] = [event(b, 'talk_started'), event(b, 'audio'), event(b, 'talk_ended')];
  const talk = a.talk({ talkgroupId: group.id });
  talk.end(packet);
  t.match(await started, { username: 'ann', session: a.session });
  t.match(await heard, { talkgroupId: group.id, session: a.session, sequence: 0, payload: packet });
  t.match(await ended, { code: 'released', frames: 1 });
  t.match(await talk.ended, { code: 'released', frames: 1 });

  const running = a.talk({ talkgroupId: group.id });
  running.send(packet);
  const left = event(a, 'talkgroups');
  await ann.delete(`/talkgroups/${group.id}/leave`);
  await left;
  t.equal((await running.ended).code, 'left');
  t.equal(a.talkgroups.size, 0);
});

t.test('a radio that connects during a burst knows who talks, and from which frame on', async (t) => {
  const { s, ann, bob, group } = await annAndBob(t);
  const a = await radioOf(t, s, ann);
  const talk = a.talk({ talkgroupId: group.id });
  talk.send(packet);
  talk.skip(299);
  talk.send(packet);
  await a.ping(); // behind the frames: they are relayed

  const b = createRadio({ url: s.ws, token: bob.token });
  t.teardown(() => b.close());
  const [started] = await Promise.all([event(b, 'talk_started'), event(b, 'open')]);
  t.match(started, { username: 'ann', session: a.session, burst: 1 });
  const heard = event(b, 'audio');
  talk.send(packet);
  t.equal((await heard).sequence, 301);
});

t.test('a fix sent by radio is the one REST tells, a bad one is refused, a ping is answered', async (t) => {
  const s = await service(t);
  const ann = await s.person('ann', { serial: 'radio-1' });
  const radio = await radioOf(t, s, ann);
  await radio.gps({ lat: 52.25, lng: 5.5, alt: 12 });
  const { gps } = await ann.get(`/devices/${ann.device}/gps`);
  t.match(gps, { device_id: ann.device, lat: 52.25, lng: 5.5, alt: 12 });
  await t.rejects(radio.gps({ lat: 91, lng: 0, alt: 0 }), { code: 'bad_message' });
  const device_id = '00000000-0000-4000-8000-000000000000';
  await t.rejects(radio.gps({ lat: 1, lng: 1, alt: 1, device_id }), { code: 'unknown_device' });
  const { rttMs, server_time } = await radio.ping();
  t.ok(rttMs > 0 && rttMs < 5_000);
  t.ok(Math.abs(server_time - Date.now()) < 5_000);
});

t.test('a disabled device makes the radio wait, a worthless token stops it', async (t) => {
  const s = await service(t);
  const ann = await s.person('ann', { serial: 'radio-1' });
  const radio = await radioOf(t, s, ann);
  const waiting = event(radio, 'waiting');
  await s.admin.patch(`/devices/${ann.device}/status`, { active: false });
  t.match(await waiting, { code: 1008, reason: 'device disabled' });
  t.equal(radio.state, 'waiting');

  const stranger = createRadio({ url: s.ws, token: 'worthless' });
  t.match(await event(stranger, 'stopped'), { code: 1008, reason: 'invalid token' });
});

t.test('a radio whose network changes goes on in the same session, its running burst included', async (t) => {
  const { s, ann, bob, group } = await annAndBob(t);
  const proxy = await startChaosProxy({ host: '127.0.0.1', port: Number(new URL(s.ws).port) });
  t.teardown(() => proxy.stop());
  const b = await radioOf(t, s, bob);
  const heard: string[] = [];
  b.on('talk_started', ({ burst }) => heard.push(`started ${burst}`));
  b.on('audio', ({ burst, sequence }) => heard.push(`${burst} #${sequence}`));
  b.on('talk_ended', ({ burst, code, frames }) => heard.push(`ended ${burst} ${code} ${frames}`));

  const a = await radioOf(t, s, ann, { url: `ws://127.0.0.1:${proxy.port}` });
  const { session } = a;
  const talk = a.talk({ talkgroupId: group.id });
  talk.send(packet);
  await reaches(talk, 'talking');
  proxy.hole();
  talk.send(packet); // into the void, as seen from here, and so never sent again
  const open = event(a, 'open');
  a.reconnect();
  proxy.heal();
  t.match(await open, { resumed: true, session });
  talk.send(packet);
  talk.end(packet);
  t.match(await talk.ended, { code: 'released', frames: 3 });
  await b.ping();
  t.same(heard, ['started 1', '1 #0', '1 #2', '1 #3', 'ended 1 released 3']);

  const next = a.talk({ talkgroupId: group.id });
  next.end(packet);
  await next.ended;
  await b.ping();
  t.same(heard.slice(5), ['started 2', '2 #0', 'ended 2 released 1'], 'burst numbers go on');
  t.equal(b.gaps, 0);
});

t.test('a radio that reconnects while its old connection lives goes on in the same burst', async (t) => {
  for (const floor_mode of ['open', 'single'] as const) {
    const { s, ann, bob, group } = await annAndBob(t);
    await s.admin.patch(`/talkgroups/${group.id}`, { floor_mode });
    const [a, b] = [await radioOf(t, s, ann), await radioOf(t, s, bob)];
    const heard: string[] = [];
    b.on('talk_started', ({ burst }) => heard.push(`started ${burst}`));
    b.on('audio', ({ burst, sequence }) => heard.push(`${burst} #${sequence}`));
    b.on('talk_ended', ({ burst, code, frames }) => heard.push(`ended ${burst} ${code} ${frames}`));
    const { session } = a;
    const talk = a.talk({ talkgroupId: group.id });
    talk.send(packet);
    await reaches(talk, 'talking');
    const open = event(a, 'open');
    a.reconnect();
    talk.send(packet);
    t.match(await open, { resumed: true, session });
    talk.send(packet);
    talk.end(packet);
    t.match(await talk.ended, { code: 'released', frames: 3 }, floor_mode);
    t.equal(talk.dropped, 1, 'the packet from between the connections');
    await b.ping();
    t.same(heard, ['started 1', '1 #0', '1 #2', '1 #3', 'ended 1 released 3'], floor_mode);
  }
});

t.test(
  'the floor: first come, the others are denied or wait their turn, over a reconnect as well',
  async (t) => {
    const s = await service(t);
    const people = [await s.person('ann'), await s.person('bob'), await s.person('cyd')] as const;
    const group = await s.talkgroup('fire', ...people);
    const talkgroupId = group.id;
    await s.admin.patch(`/talkgroups/${group.id}`, { floor_mode: 'single', max_talk_ms: 30_000 });
    const [a, b, c] = await Promise.all(people.map((person) => radioOf(t, s, person)));
    if (!a || !b || !c) throw new Error('three radios were asked for');

    const talk = a.talk({ talkgroupId });
    talk.send(packet);
    t.match(await reaches(talk, 'granted'), { burst: 1, priority: 1, max_talk_ms: 30_000 });
    await reaches(talk, 'talking');
    const eager = b.talk({ talkgroupId });
    eager.send(packet);
    t.match(await eager.ended, {
      kind: 'denied',
      code: 'busy',
      talker: { username: 'ann', session: a.session },
    });

    const [second, third] = [
      b.talk({ talkgroupId, floor: 'queue' }),
      c.talk({ talkgroupId, floor: 'queue', priority: 3 }),
    ];
    t.match(await reaches(third, 'queued'), { position: 1 });
    await reaches(second, 'queued');
    const open = event(c, 'open');
    c.reconnect();
    t.match(await open, { resumed: true });
    t.match(await reaches(third, 'queued'), { position: 1, size: 2 });
    talk.end();
    await reaches(third, 'granted');
    third.send(packet);
    await reaches(third, 'talking');
    third.end();
    t.match(await third.ended, { code: 'released', frames: 2 });
    await reaches(second, 'granted');
    second.end();
    t.match(await second.ended, { code: 'unsent' });

    const again = a.talk({ talkgroupId, floor: 'request' });
    await reaches(again, 'granted');
    t.match(await again.ended, { kind: 'revoked', code: 'unused' });
    t.same([a.gaps, b.gaps, c.gaps], [0, 0, 0]);
  },
);

t.test(
  'in a full open talkgroup a talk is denied or waits, and one that sends too much is revoked',
  async (t) => {
    const s = await service(t, {
      ...{ TALKERS_MAX: '1', USER_BYTES_PER_SECOND: '16384', TALK_SILENCE_MS: '60000' },
    });
    const [ann, bob] = [await s.person('ann'), await s.person('bob')];
    const { id: talkgroupId } = await s.talkgroup('fire', ann, bob);
    const [a, b] = [await radioOf(t, s, ann), await radioOf(t, s, bob)];
    const first = a.talk({ talkgroupId });
    first.send(packet);
    await reaches(first, 'talking');
    const refused = b.talk({ talkgroupId });
    refused.send(packet);
    t.same(await refused.ended, { kind: 'denied', code: 'busy' });

    const waits = b.talk({ talkgroupId, floor: 'queue' });
    t.match(await reaches(waits, 'queued'), { position: 1, size: 1 });
    first.end();
    await reaches(waits, 'granted');
    const flood = setInterval(() => waits.send(new Uint8Array(1000)), 10);
    t.teardown(() => clearInterval(flood));
    t.match(await waits.ended, { kind: 'revoked', code: 'rate_limited' });
  },
);

t.test('an admin who asks with priority takes the floor, and both are told', async (t) => {
  const s = await service(t);
  const [ann, boss] = [await s.person('ann'), await s.person('boss', { role: 'admin' })];
  const group = await s.talkgroup('fire', ann, boss);
  await s.admin.patch(`/talkgroups/${group.id}`, { floor_mode: 'single' });
  const [a, b] = [await radioOf(t, s, ann), await radioOf(t, s, boss)];
  const talk = a.talk({ talkgroupId: group.id });
  talk.send(packet);
  await reaches(talk, 'talking');
  const codec = { name: 'codec2', sample_rate: 8_000, frame_ms: 40 };
  const started = event(a, 'talk_started', ({ username }) => username === 'boss');
  const order = b.talk({ talkgroupId: group.id, priority: 5, codec });
  order.send(packet);
  t.match(await talk.ended, { kind: 'revoked', code: 'preempted', frames: 1 });
  t.match(await reaches(order, 'talking'), { priority: 5 });
  t.match(await started, { priority: 5, codec });

  const c = await radioOf(t, s, ann);
  t.match([...(c.talkgroups.get(group.id)?.talkers.values() ?? [])], [{ username: 'boss', codec }]);
  order.end();
  t.match(await order.ended, { kind: 'ended', code: 'released', frames: 2 });
});

t.test('a talk begun at once in a talkgroup of a later part of WELCOME is relayed', async (t) => {
  const s = await service(t);
  const bob = await s.person('bob');
  const ids = await s.talkgroups(bob, 200);
  const b = createRadio({ url: s.ws, token: bob.token });
  t.teardown(() => b.close());
  const { talkgroups, talkgroups_total } = await event(b, 'open');
  const told = new Set(talkgroups.map(({ talkgroup_id }) => talkgroup_id));
  const [first = '', second = ''] = ids.filter((id) => !told.has(id));
  t.same([talkgroups_total, b.talkgroups.has(first)], [200, false]);

  const [spoken, asked, elsewhere] = [
    b.talk({ talkgroupId: first }),
    b.talk({ talkgroupId: second, floor: 'queue' }),
    b.talk({ talkgroupId: '00000000-0000-4000-8000-000000000000' }),
  ];
  spoken.end(packet);
  t.match(await spoken.ended, { code: 'released', frames: 1 });
  await reaches(asked, 'granted');
  asked.end(packet);
  t.match(await asked.ended, { code: 'released', frames: 1 });
  t.same(await elsewhere.ended, { kind: 'denied', code: 'not_member' });
  t.equal(b.talkgroups.size, 200);
  t.throws(() => b.talk({ talkgroupId: elsewhere.talkgroupId }), { code: 'not_member' });
});

t.test('a new session that is refused its choices as too many gets them a moment later', async (t) => {
  const s = await service(t, { RESUME_MS: '0' });
  const bob = await s.person('bob');
  const ids = await s.talkgroups(bob, 200);
  const sockets = keptSockets();
  const [other, b] = [await bob.radio(), await radioOf(t, s, bob, { ...sockets, random: () => 0 })];
  await b.subscribe({ talkgroupIds: ids, mode: 'listen' });
  const isAnswer = (message: { type: string }) => message.type === 'ERROR' || 'ref' in message;
  let refused: unknown;
  // The budget of snapshots is the user's: spent by one socket, it is missing to the other until it has grown again.
  while (refused !== 'rate_limited') {
    while ((await other.asks({ type: 'SUBSCRIBE', talkgroup_ids: ids })).type === 'SUBSCRIBED');
    const answer = event(b, 'message', isAnswer);
    sockets.last()?.terminate();
    const told = await answer;
    refused = told.type === 'ERROR' && told.code;
  }
  await event(b, 'message', (message) => message.type === 'SUBSCRIBED' && message.ref !== undefined);
  const talk = b.talk({ talkgroupId: ids[0] ?? '' });
  talk.end(packet);
  t.same(await talk.ended, { kind: 'denied', code: 'listen_only' });
});

t.test('what was chosen to hear is heard so, and again in a new session', async (t) => {
  const s = await service(t, { RESUME_MS: '0' });
  const [ann, bob] = [await s.person('ann'), await s.person('bob')];
  const [fire, police] = [await s.talkgroup('fire', ann, bob), await s.talkgroup('police', ann, bob)];
  const sockets = keptSockets();
  const [a, b] = [await radioOf(t, s, ann), await radioOf(t, s, bob, sockets)];
  t.same(await b.subscribe({ talkgroupIds: [fire.id], mode: 'events' }), []);
  await b.unsubscribe([police.id]);
  t.match(await b.subscribe({ talkgroupIds: ['00000000-0000-4000-8000-000000000000'] }), [
    { code: 'not_member' },
  ]);
  const heard: string[] = [];
  b.on('audio', () => heard.push('audio'));
  b.on('talk_ended', ({ talkgroup_id, frames }) => heard.push(`${talkgroup_id === fire.id} ${frames}`));
  const speakEverywhere = async () => {
    for (const { id } of [fire, police]) {
      const talk = a.talk({ talkgroupId: id });
      talk.end(packet);
      await talk.ended;
    }
    await b.ping();
  };
  await speakEverywhere();
  t.same(heard.splice(0), ['true 1']);
  t.same([...b.talkgroups.keys()], [fire.id]);
  const eager = b.talk({ talkgroupId: fire.id });
  eager.send(packet);
  t.match(await eager.ended, { kind: 'denied', code: 'listen_only' });

  const open = event(b, 'open');
  const { session } = b;
  sockets.last()?.terminate();
  t.match(await open, { resumed: false });
  t.not(b.session, session);
  await b.ping(); // behind the choices
  await speakEverywhere();
  t.same(heard.splice(0), ['true 1']);
  t.same([...b.talkgroups.keys()], [fire.id]);
  t.equal(b.gaps, 0);
});

t.test('a radio that stopped reading is told what it missed, and hears live speech again', async (t) => {
  const { s, ann, bob, group } = await annAndBob(t, { BACKLOG_MS: '200' });
  const [a, c] = [await radioOf(t, s, ann), await radioOf(t, s, ann)];
  const sockets = keptSockets();
  const b = await radioOf(t, s, bob, sockets);
  const heard: string[] = [];
  b.on('audio', () => heard.push('frame'));
  b.on('lag', ({ missed }) => heard.push(`lag ${missed}`));
  const ended = event(b, 'talk_ended');
  const lag = event(b, 'lag');

  const talk = a.talk({ talkgroupId: group.id });
  const microphone = setInterval(() => talk.send(packet), 20);
  t.teardown(() => clearInterval(microphone));
  await event(b, 'audio');
  const socket = sockets.last();
  socket?.pause();
  // Two seconds of speech, as another radio hears it: more than a second between two pings, and the backlog allowed.
  for (let frames = 0; frames < 100; frames++) await event(c, 'audio');
  socket?.resume();
  const { missed, sinceMs } = await lag;
  await event(b, 'audio');
  clearInterval(microphone);
  talk.end();
  const end = await ended;
  t.ok(missed > 0 && sinceMs > 0);
  t.equal(b.talkgroups.get(group.id)?.missed, missed);
  t.equal((end.frames ?? 0) - end.heard, missed, 'nothing else is missing');
  t.equal(heard.filter((what) => what === 'frame').length, end.heard);
  t.equal(b.gaps, 0, 'events went on');
});

t.test('a call for help is known to all until it is cleared, whatever happens to its radio', async (t) => {
  const s = await service(t);
  const [ann, boss] = [await s.person('ann'), await s.person('boss', { role: 'admin' })];
  const group = await s.talkgroup('fire', ann, boss);
  const b = await radioOf(t, s, boss);
  const a = createRadio({ url: s.ws, token: ann.token });
  t.teardown(() => a.close());
  const told = event(b, 'emergency');
  const id = await a.emergency.raise({ talkgroupId: group.id, lat: 52.25, lng: 5.5, alt: 12 });
  t.match(await told, { emergency_id: id, username: 'ann', state: 'raised', lat: 52.25, lng: 5.5, alt: 12 });
  t.equal(await a.emergency.raise({ talkgroupId: group.id }), id, 'a second call is the same');
  await t.rejects(a.emergency.ack(id), { code: 'forbidden' });

  const talk = a.talk({ talkgroupId: group.id });
  const heard = event(b, 'talk_started');
  talk.end(packet);
  t.match(await heard, { emergency: true, priority: 7 });
  await talk.ended;

  const acknowledged = event(a, 'emergency', ({ state }) => state === 'acknowledged');
  await b.emergency.ack(id);
  await acknowledged;
  const late = await radioOf(t, s, ann);
  t.match([...late.emergencies.values()], [{ emergency_id: id, state: 'acknowledged' }]);
  const cleared = event(b, 'emergency', ({ state }) => state === 'cleared');
  await a.emergency.clear(id);
  await cleared;
  t.equal(b.emergencies.size, 0);
  await t.rejects(a.emergency.clear(id), { code: 'unknown_emergency' });
  t.same([a.gaps, b.gaps, late.gaps], [0, 0, 0]);
});

t.test('a radio that asked for presence is told who comes and goes, and can ask who is there', async (t) => {
  const { s, ann, bob, group } = await annAndBob(t);
  const a = await radioOf(t, s, ann);
  await a.subscribe({ talkgroupIds: [group.id], presence: true });
  const came = event(a, 'presence', ({ joined }) => joined.length > 0);
  const b = await radioOf(t, s, bob);
  t.match(await came, { joined: [{ session: b.session, username: 'bob' }], online: 2 });
  t.equal(a.talkgroups.get(group.id)?.online, 2);
  const first = await a.members(group.id, { limit: 1 });
  t.match(first, { online: 2, members: [{ session: a.session, username: 'ann' }], next: a.session });
  await t.rejects(a.members(group.id), { code: 'rate_limited' });
  const went = event(a, 'presence', ({ left }) => left.length > 0);
  const { session } = b;
  b.close();
  t.match(await went, { left: [session], online: 1 });
});

t.test('an event that did not get through is noticed, and made up for by a fresh snapshot', async (t) => {
  const { s, ann, bob, group } = await annAndBob(t);
  const a = await radioOf(t, s, ann);
  let swallows = '';
  const b = await radioOf(t, s, bob, {
    random: () => 0.1,
    WebSocket: class extends WebSocket {
      override emit(name: string, ...rest: unknown[]): boolean {
        if (name === 'message' && swallows && String(rest[0]).includes(swallows)) return true;
        return super.emit(name, ...rest);
      }
    },
  });
  const first = a.talk({ talkgroupId: group.id });
  swallows = 'TALK_STARTED';
  first.send(packet);
  await reaches(first, 'talking');
  await b.ping();
  t.equal(b.gaps, 0, 'nobody misses what nothing followed');
  swallows = '';
  const found = event(b, 'talk_started');
  await s.admin.post('/keys/rotate', { talkgroup_id: group.id });
  t.match(await found, { username: 'ann', burst: 1 });
  t.equal(b.gaps, 1);
  const ended = event(b, 'talk_ended');
  first.end();
  t.match(await ended, { code: 'released', frames: 2 });
  t.equal(b.gaps, 1);
});
