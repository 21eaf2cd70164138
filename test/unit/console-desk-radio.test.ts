// The worker of the console: what it tells the page, how often, and how it answers.
import t from 'tap';
import type { ServerMessage } from '../../src/client/radio.js';
import { noKeys, setUp } from '../helpers/client/desk-radio.js';
import { alpha, announced, fakeKeys, relays, runOf } from '../helpers/client/encryption.js';
import { ALPHA, BRAVO, emergency, idOf, packet, talkEnd, talkStart, turn } from '../helpers/client/fakes.js';

t.test('the page gets the talkgroups and the connection after WELCOME', async (t) => {
  const { clock, socket, changes, heard } = await setUp();
  t.same(heard, ['attach Alpha'], 'ports that came before the start are kept');
  clock.pass(16);
  t.match(changes().at(-1), { connection: { state: 'connecting', resumed: null } });
  socket().welcomes({ server_time: 1_000_500, talkgroups: [ALPHA, BRAVO], talkgroups_total: 2 });
  clock.pass(16);
  const last = changes().at(-1);
  t.match(last?.connection, { state: 'open', resumed: null, clockOffsetMs: 500, reach: 'whole' });
  t.same(
    last?.talkgroups.map(({ name }) => name),
    ['Alpha', 'Bravo'],
  );
});

t.test(
  '500 events within a second come as at most 63 batches with the last state of each talkgroup',
  async (t) => {
    const { clock, socket, changes } = await setUp();
    socket().welcomes();
    clock.pass(100);
    const before = changes().length;
    for (let event = 1; event <= 500; event += 1) {
      if (event % 2 === 1) socket().says(talkStart({ event, burst: event }));
      else socket().says(talkEnd({ event, burst: event - 1 }));
      clock.pass(2);
    }
    clock.pass(16);
    const batches = changes().slice(before);
    t.ok(batches.length <= 64, `${batches.length} batches`);
    t.ok(batches.length > 30, 'the page follows');
    t.same(batches.at(-1)?.talkgroups[0]?.talkers, []);
    t.match(batches.at(-1)?.talkgroups[0]?.last, { username: 'other', endedAtMs: 1_000_000 });
  },
);

t.test('bursts that ended are named with their talker, at most the last 10 in a batch', async (t) => {
  const { clock, socket, changes } = await setUp();
  socket().welcomes({ server_time: 1_003_000 });
  clock.pass(100);
  const started_at = new Date(1_001_000).toISOString();
  socket().says(talkStart({ event: 1, started_at }));
  socket().says(talkEnd({ event: 2, duration_ms: 1_500 }));
  clock.pass(16);
  const [first] = changes().at(-1)?.recent ?? [];
  t.strictSame(first, {
    ...{ talkgroupId: ALPHA.talkgroup_id, talkgroup: 'Alpha', username: 'other', isOwn: false },
    ...{ endedAtMs: 1_000_000, durationMs: 1_500 },
  });
  for (let event = 3; event <= 60; event += 2) {
    socket().says(talkStart({ event, burst: event, username: `user ${event}` }));
    socket().says(talkEnd({ event: event + 1, burst: event }));
  }
  clock.pass(16);
  t.strictSame(
    changes()
      .at(-1)
      ?.recent.map(({ username }) => username),
    [41, 43, 45, 47, 49, 51, 53, 55, 57, 59].map((n) => `user ${n}`),
  );
  socket().says(talkStart({ event: 61, burst: 61 }));
  clock.pass(16);
  t.strictSame(changes().at(-1)?.recent, [], 'each is named once');
});

t.test('an emergency of a talker changes the running burst', async (t) => {
  const { clock, socket, changes } = await setUp();
  socket().welcomes();
  socket().says(talkStart({ event: 1 }));
  const { user_id } = talkStart();
  clock.pass(16);
  t.match(changes().at(-1)?.talkgroups[0]?.talkers, [{ emergency: false }]);
  socket().says({ type: 'EMERGENCY', event: 2, ...emergency({ user_id }) });
  clock.pass(16);
  t.match(changes().at(-1)?.talkgroups[0]?.talkers, [{ emergency: true }]);
});

t.test('a talker is shown since the time of the server, by the clock of this computer', async (t) => {
  const { clock, socket, changes } = await setUp();
  socket().welcomes({ server_time: 1_003_000 });
  socket().says(talkStart({ started_at: new Date(1_002_000).toISOString() }));
  clock.pass(16);
  t.match(changes().at(-1)?.talkgroups[0]?.talkers, [
    { username: 'other', startedAtMs: 999_000, isOwn: false },
  ]);
});

t.test('frames are decoded, except empty and encrypted ones', async (t) => {
  const { socket, heard } = await setUp();
  socket().welcomes();
  const frame = { talkgroup: ALPHA.number, sender: 20, burst: 1 };
  socket().relays({ ...frame, sequence: 0, payload: packet(0) });
  socket().relays({ ...frame, sequence: 1, payload: packet(1), flags: 1 });
  socket().relays({ ...frame, sequence: 2, payload: new Uint8Array(), flags: 4 });
  t.same(heard.slice(1), ['hear 0 2']);
});

t.test('LAG empties the buffer and is counted on the talkgroup', async (t) => {
  const { clock, socket, heard, changes } = await setUp();
  socket().welcomes();
  socket().says({
    type: 'LAG',
    talkgroups: [{ talkgroup_id: ALPHA.talkgroup_id, missed: 113 }],
    since_ms: 2_300,
  });
  clock.pass(16);
  t.same(heard.slice(1), ['lagged']);
  t.equal(changes().at(-1)?.talkgroups[0]?.missed, 113);
});

t.test('a talkgroup that the user has left is named once', async (t) => {
  const { clock, socket, changes } = await setUp();
  socket().welcomes();
  clock.pass(16);
  socket().says({ type: 'TALKGROUP_LEFT', talkgroup_id: ALPHA.talkgroup_id, reason: 'left' });
  clock.pass(16);
  t.same(changes().at(-1)?.left, [ALPHA.talkgroup_id]);
  t.same(changes().at(-1)?.talkgroups, []);
});

t.test(
  'a lost connection tells its reason and the time of the next attempt, a return that it resumed',
  async (t) => {
    const { clock, socket, changes } = await setUp();
    socket().welcomes();
    socket().closes(1013, 'replaced');
    clock.pass(16);
    t.match(changes().at(-1)?.connection, {
      ...{ state: 'waiting', close: { code: 1013, reason: 'replaced' } },
      retryAtMs: 1_005_000,
    });
    clock.pass(6_000);
    socket().welcomes({ resumed: true });
    clock.pass(16);
    t.match(changes().at(-1)?.connection, { state: 'open', resumed: true, retryAtMs: null });
  },
);

t.test('GOAWAY is shown until the connection ends', async (t) => {
  const { clock, socket, changes } = await setUp();
  socket().welcomes();
  socket().says({ type: 'GOAWAY', reconnect_after_ms: 1_000 });
  clock.pass(16);
  t.equal(changes().at(-1)?.connection?.isDraining, true);
  socket().closes(1012, 'restart');
  clock.pass(16);
  t.equal(changes().at(-1)?.connection?.isDraining, false);
});

t.test('an emergency reaches the page in each of its states', async (t) => {
  const { clock, socket, changes } = await setUp();
  socket().welcomes();
  const states = ['raised', 'acknowledged', 'cleared'] as const;
  for (const [index, state] of states.entries()) {
    socket().says({ type: 'EMERGENCY', event: index + 1, ...emergency({ state }) });
    clock.pass(16);
    t.same(
      changes()
        .at(-1)
        ?.emergencies.map((one) => one.state),
      [state],
    );
  }
});

t.test('a request is answered under its id, and an ERROR with its code', async (t) => {
  const { desk, socket, events } = await setUp();
  socket().welcomes();
  desk.take({ kind: 'request', id: 1, message: { type: 'EMERGENCY_ACK', emergency_id: idOf('em-1') } });
  desk.take({ kind: 'request', id: 2, message: { type: 'EMERGENCY_CLEAR', emergency_id: idOf('em-1') } });
  const [first, second] = socket()
    .texts.slice(-2)
    .map(({ ref }) => Number(ref));
  socket().says({ type: 'ERROR', ref: second ?? 0, code: 'forbidden', message: 'not allowed' });
  socket().says({ type: 'OK', ref: first ?? 0 });
  await turn();
  const answers = events.filter(({ kind }) => kind === 'answer');
  t.match(answers, [
    { id: 2, error: { code: 'forbidden', message: 'not allowed' } },
    { id: 1, message: { type: 'OK' } },
  ]);
});

t.test('an emergency is raised by the radio, and answered when the relay has announced it', async (t) => {
  const { desk, socket, events } = await setUp();
  socket().welcomes();
  desk.take({ kind: 'raise', id: 5, talkgroupId: ALPHA.talkgroup_id });
  t.match(socket().texts.at(-1), { type: 'EMERGENCY_RAISE', talkgroup_id: ALPHA.talkgroup_id });
  socket().says({ type: 'OK', ref: Number(socket().texts.at(-1)?.ref), emergency_id: idOf('em-1') });
  await turn();
  t.match(events.at(-1), { kind: 'answer', id: 5, message: { emergency_id: idOf('em-1') } });
});

t.test('PRESENCE of each talkgroup is requested once, and passed on to the page as it came', async (t) => {
  const { socket, events } = await setUp();
  socket().welcomes();
  const { talkgroup_id, floor_mode, max_talk_ms, encryption, clear_emergency, recording_days } = ALPHA;
  const settings = { floor_mode, max_talk_ms, encryption, clear_emergency, recording_days };
  socket().says({ type: 'TALKGROUP_CHANGED', talkgroup_id, ...settings, name: 'Alpha 2' });
  const requested = socket().texts.filter(({ type }) => type === 'SUBSCRIBE');
  t.match(requested, [{ talkgroup_ids: [ALPHA.talkgroup_id], mode: 'talk', presence: true }]);
  t.equal(requested.length, 1);
  const presence: ServerMessage = {
    ...{ type: 'PRESENCE', talkgroup_id: ALPHA.talkgroup_id },
    ...{ joined: [], left: [20], online: 1 },
  };
  socket().says(presence);
  t.same(
    events.filter(({ kind }) => kind === 'message'),
    [{ kind: 'message', message: presence }],
  );
});

t.test(
  'audio of several talkgroups is requested in common writes, and of a single one at once',
  async (t) => {
    const { socket } = await setUp();
    const requests = () =>
      socket()
        .texts.filter(({ type }) => type === 'SUBSCRIBE')
        .map(({ talkgroup_ids, coalesce_ms = null }) => ({ talkgroup_ids, coalesce_ms }));
    const [alpha, bravo] = [ALPHA.talkgroup_id, BRAVO.talkgroup_id];
    socket().welcomes();
    t.same(requests(), [{ talkgroup_ids: [alpha], coalesce_ms: null }]);
    socket().says({ type: 'TALKGROUP_JOINED', ...BRAVO });
    t.same(requests().slice(1), [{ talkgroup_ids: [alpha, bravo], coalesce_ms: 10 }]);
    socket().says({ type: 'TALKGROUP_LEFT', talkgroup_id: alpha, reason: 'left' });
    t.same(requests().slice(2), [{ talkgroup_ids: [bravo], coalesce_ms: null }]);
  },
);

t.test(
  'a talker has the lock of the burst, and clear speech is expected after the user has confirmed',
  async (t) => {
    const fake = fakeKeys([9]);
    const { clock, desk, socket, changes } = await setUp({ ...noKeys(), store: fake.keys });
    const shown = () => {
      clock.pass(16);
      return changes().at(-1)?.talkgroups[0];
    };
    socket().welcomes({ talkgroups: [alpha({ encryption: 'required' })] });
    t.match(shown(), { encryption: 'required', isLockExpected: true, mayHaveKeys: true });
    socket().says(talkStart());
    t.match(shown()?.talkers, [{ lock: 'clear', unopened: null }]);
    socket().says(talkEnd());
    socket().says({
      ...{ type: 'TALKGROUP_CHANGED', talkgroup_id: ALPHA.talkgroup_id },
      ...{ name: 'Alpha', floor_mode: 'open', max_talk_ms: 0, encryption: 'allowed', clear_emergency: true },
      recording_days: 0,
    });
    t.match(shown(), { encryption: 'allowed', isLockExpected: true });
    desk.take({ kind: 'confirm_clear', talkgroupId: ALPHA.talkgroup_id });
    t.match(shown(), { encryption: 'allowed', isLockExpected: false });
  },
);

t.test('the page hears at once that a talkgroup is recorded, and for how long it is kept', async (t) => {
  const { clock, socket, changes } = await setUp();
  const daysShown = () => {
    clock.pass(16);
    return changes()
      .at(-1)
      ?.talkgroups.map(({ recordingDays }) => recordingDays);
  };
  socket().welcomes();
  t.same(daysShown(), [0]);
  const { talkgroup_id, name, floor_mode, max_talk_ms, encryption, clear_emergency } = ALPHA;
  const settings = { name, floor_mode, max_talk_ms, encryption, clear_emergency };
  for (const recording_days of [30, 1, 0]) {
    socket().says({ type: 'TALKGROUP_CHANGED', talkgroup_id, ...settings, recording_days });
    t.same(daysShown(), [recording_days]);
  }
});

t.test('the key of a talkgroup is asked for when the user begins to encrypt there', async (t) => {
  const fake = fakeKeys();
  const { desk, socket } = await setUp({ ...noKeys(), store: fake.keys });
  socket().welcomes({ talkgroups: [alpha()] });
  t.same(fake.wanted, [], 'nobody needs it yet');
  desk.take({ kind: 'encrypt', talkgroupId: ALPHA.talkgroup_id, isOn: true });
  t.same(fake.wanted, [9]);
});

t.test('a registration is answered, and a change of the keys is told', async (t) => {
  const { clock, desk, events, changes } = await setUp();
  clock.pass(16);
  t.match(changes().at(-1)?.keys, { state: 'none' });
  desk.take({ kind: 'register', id: 5, password: 'x', name: 'y' });
  await turn();
  t.match(events.at(-1), { kind: 'registered', id: 5, registration: { isAccepted: true } });
});

t.test(
  'encrypted speech is decoded after it was opened, and a talk without its last frame is cut off',
  async (t) => {
    const fake = fakeKeys([9]);
    const { clock, socket, heard, changes } = await setUp({ ...noKeys(), store: fake.keys });
    const shown = () => {
      clock.pass(16);
      return changes().at(-1)?.talkgroups[0];
    };
    socket().welcomes({ talkgroups: [alpha({ encryption: 'required' })] });
    const run = runOf(9);
    socket().says(announced(run.crypto));
    relays(socket(), run, { sequence: 0, payload: packet(0), flags: 8 });
    t.match(shown()?.talkers, [{ lock: 'encrypted', unopened: null }]);
    t.same(heard.slice(1), ['hear 0 2']);
    relays(socket(), run, { sequence: 1, payload: packet(1) }, (bytes) => bytes.fill(0, -1));
    t.match(shown()?.talkers, [{ lock: 'cannot_open', unopened: 'changed' }]);
    t.equal(heard.length, 2, 'what was changed on the way is not played');
    socket().says(talkEnd());
    t.match(shown(), { talkers: [], last: { username: 'other', isCutOff: true } });
  },
);
