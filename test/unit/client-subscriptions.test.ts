// The user's choice of talkgroups and modes over rejections and reconnects, and presence.
import t from 'tap';
import { ALPHA, BRAVO, fakeWorld, idOf, talkStart, turn } from '../helpers/client/fakes.js';

const [alpha, bravo] = [ALPHA.talkgroup_id, BRAVO.talkgroup_id];
const both = [ALPHA, BRAVO];

function setUp() {
  const world = fakeWorld();
  const { clock, radio, socket } = world;
  socket().welcomes({ talkgroups: both });
  const ref = (index = -1) => socket().texts.at(index)?.ref as number;
  const subscribed = (talkgroups: (typeof ALPHA)[], over: { ref?: number; refused?: [] } = {}) =>
    socket().says({ type: 'SUBSCRIBED', more: false, ref: ref(), talkgroups, refused: [], ...over });
  const returns = (resumed: boolean, talkgroups = both) => {
    socket().closes(1006);
    clock.pass(0);
    socket().welcomes({ resumed, talkgroups });
  };
  const idsOf = (talkgroups: (typeof ALPHA)[]) => talkgroups.map(({ talkgroup_id }) => talkgroup_id);
  /** The radio chooses to listen to these, and the relay accepts. */
  const listens = async (...talkgroups: (typeof ALPHA)[]) => {
    const done = radio.subscribe({ talkgroupIds: idsOf(talkgroups), mode: 'listen' });
    subscribed(talkgroups);
    await done;
  };
  /** The radio unsubscribes from these, and the relay accepts. */
  const leaves = async (...talkgroups: (typeof ALPHA)[]) => {
    const done = radio.unsubscribe(idsOf(talkgroups));
    socket().says({ type: 'OK', ref: ref() });
    await done;
  };
  return { ...world, ref, subscribed, returns, listens, leaves };
}

t.test('a choice is asked for as it was made, and told what of it was refused', async (t) => {
  const { radio, socket, ref } = setUp();
  const refused = radio.subscribe({
    talkgroupIds: [alpha, idOf('tg-other')],
    mode: 'events',
    presence: true,
  });
  t.match(socket().texts, [
    { type: 'SUBSCRIBE', talkgroup_ids: [alpha, idOf('tg-other')], mode: 'events', presence: true },
  ]);
  socket().says({
    ...{ type: 'SUBSCRIBED', more: false, ref: ref(), talkgroups: [{ ...ALPHA, name: 'Alpha 2' }] },
    refused: [{ talkgroup_id: idOf('tg-other'), code: 'not_member' }],
  });
  t.same(await refused, [{ talkgroup_id: idOf('tg-other'), code: 'not_member' }]);
  t.equal(radio.talkgroups.get(alpha)?.name, 'Alpha 2');
  t.equal(radio.talkgroups.get(bravo)?.name, 'Bravo', 'the others are as they were');
});

t.test('a window is asked for as it was chosen, apart from other windows', async (t) => {
  const { radio, socket, subscribed, returns } = setUp();
  const windows = [{ coalesceMs: 10 }, { bundleMs: 60 }] as const;
  const wanted = [
    { talkgroup_ids: [alpha], mode: 'talk', coalesce_ms: 10 },
    { talkgroup_ids: [bravo], mode: 'talk', bundle_ms: 60 },
  ];
  for (const [index, talkgroup] of both.entries()) {
    const done = radio.subscribe({ talkgroupIds: [talkgroup.talkgroup_id], ...windows[index] });
    subscribed([talkgroup]);
    await done;
  }
  t.match(socket().texts, wanted);
  returns(false);
  t.match(socket().texts, wanted);
  t.notOk(socket().texts.some((text) => 'coalesce_ms' in text && 'bundle_ms' in text));
});

t.test('unsubscribed is out of sight: no talkgroup, no talkers, no talk', async (t) => {
  const { radio, socket, ref, subscribed } = setUp();
  const ends: string[] = [];
  radio.on('talk_ended', ({ code }) => ends.push(code));
  socket().says(talkStart());
  const done = radio.unsubscribe([alpha]);
  t.match(socket().texts, [{ type: 'UNSUBSCRIBE', talkgroup_ids: [alpha] }]);
  socket().says({ type: 'OK', ref: ref() });
  await done;
  t.same([...radio.talkgroups.keys()], [bravo]);
  t.same(ends, ['lost']);
  t.throws(() => radio.talk({ talkgroupId: alpha }), { code: 'not_member' });

  const again = radio.subscribe({ talkgroupIds: [alpha] });
  t.match(socket().texts.at(-1), { type: 'SUBSCRIBE', mode: 'talk', presence: false });
  subscribed([ALPHA]);
  t.same(await again, []);
  t.same([...radio.talkgroups.keys()].sort(), [alpha, bravo]);
});

t.test('an unasked SUBSCRIBED renews what it holds', async (t) => {
  const { radio, socket } = setUp();
  socket().says({ type: 'SUBSCRIBED', more: false, talkgroups: [{ ...BRAVO, event: 5 }], refused: [] });
  t.same([...radio.talkgroups.keys()], [alpha, bravo]);
  t.equal(radio.talkgroups.get(bravo)?.event, 5);
});

t.test('a choice for a talkgroup that WELCOME had no room for is asked for again', async (t) => {
  const { clock, socket, listens } = setUp();
  await listens(BRAVO);
  socket().closes(1006);
  clock.pass(0);
  socket().welcomes({ talkgroups: [ALPHA], talkgroups_total: 2 });
  t.match(socket().texts, [{ type: 'SUBSCRIBE', talkgroup_ids: [bravo], mode: 'listen' }]);
});

t.test('a resumed session keeps its modes, a new one is asked for them again, together', async (t) => {
  const { socket, subscribed, returns, listens } = setUp();
  for (const talkgroup of both) {
    await listens(talkgroup);
  }
  returns(true);
  t.same(socket().texts, []);
  returns(false);
  t.match(socket().texts, [{ type: 'SUBSCRIBE', talkgroup_ids: [alpha, bravo], mode: 'listen' }]);
  t.equal(socket().texts.length, 1);
  subscribed(both);
  await turn();
  returns(true);
  t.same(socket().texts, [], 'now that session has them');
});

t.test('different choices are asked for apart, an unsubscribed talkgroup is left again', async (t) => {
  const { radio, socket, ref, returns, leaves } = setUp();
  await leaves(ALPHA);
  radio.subscribe({ talkgroupIds: [bravo], mode: 'events', presence: true }).catch(() => {});
  returns(false);
  t.match(socket().texts, [
    { type: 'UNSUBSCRIBE', talkgroup_ids: [alpha] },
    { type: 'SUBSCRIBE', talkgroup_ids: [bravo], mode: 'events', presence: true },
  ]);
  t.equal(radio.talkgroups.size, 2);
  socket().says({ type: 'OK', ref: ref(0) });
  await turn();
  t.same([...radio.talkgroups.keys()], [bravo]);
});

t.test('a choice that the relay may not have heard stands, and is asked for on return', async (t) => {
  const { clock, radio, socket, returns } = setUp();
  const cut = radio.subscribe({ talkgroupIds: [alpha], mode: 'listen' });
  returns(true);
  await t.rejects(cut, { code: 'disconnected' });
  t.match(socket().texts, [{ type: 'SUBSCRIBE', talkgroup_ids: [alpha], mode: 'listen' }]);

  socket().closes(1006);
  await t.rejects(radio.subscribe({ talkgroupIds: [bravo], mode: 'events' }), { code: 'disconnected' });
  clock.pass(0);
  socket().welcomes({ resumed: true, talkgroups: both });
  t.match(socket().texts, [
    { talkgroup_ids: [alpha], mode: 'listen' },
    { talkgroup_ids: [bravo], mode: 'events' },
  ]);
});

t.test('of two choices under way the later one counts, in whatever order they are answered', async (t) => {
  const { radio, socket, ref, returns } = setUp();
  const first = radio.subscribe({ talkgroupIds: [alpha], mode: 'events' });
  const second = radio.subscribe({ talkgroupIds: [alpha], mode: 'listen' });
  const refused = [{ talkgroup_id: alpha, code: 'not_member' }] as const;
  socket().says({ type: 'SUBSCRIBED', more: false, ref: ref(0), talkgroups: [], refused: [...refused] });
  t.same(await first, refused);
  returns(true);
  await t.rejects(second, { code: 'disconnected' });
  t.match(socket().texts, [{ type: 'SUBSCRIBE', talkgroup_ids: [alpha], mode: 'listen' }]);
});

t.test('a membership that ended while the radio was away is chosen no more', async (t) => {
  const { socket, returns, listens } = setUp();
  await listens(BRAVO);
  returns(false, [ALPHA]);
  t.same(socket().texts, []);
  returns(false);
  t.same(socket().texts, [], 'joined again it is as every other');
});

t.test('what was refused, and what was left, is chosen no more', async (t) => {
  const { radio, socket, ref, returns, listens } = setUp();
  const refused = radio.subscribe({ talkgroupIds: [alpha], mode: 'listen' });
  socket().says({ type: 'ERROR', ref: ref(), code: 'rate_limited', message: '' });
  await t.rejects(refused, { code: 'rate_limited' });
  await listens(BRAVO);
  socket().says({ type: 'TALKGROUP_LEFT', talkgroup_id: bravo, reason: 'left' });
  socket().says({ type: 'TALKGROUP_JOINED', ...BRAVO });
  returns(false);
  t.same(socket().texts, []);
});

t.test('more talkgroups than one message takes go in several', async (t) => {
  const { radio, socket } = setUp();
  const talkgroupIds = Array.from({ length: 401 }, (_, i) => idOf(`tg-${i}`));
  const refused = radio.subscribe({ talkgroupIds });
  const sizes = socket().texts.map(({ talkgroup_ids }) => (talkgroup_ids as string[]).length);
  t.same(sizes, [200, 200, 1]);
  for (const { ref, talkgroup_ids } of socket().texts) {
    const [talkgroup_id = ''] = talkgroup_ids as string[];
    socket().says({
      ...{ type: 'SUBSCRIBED', more: false, ref: ref as number, talkgroups: [] },
      refused: [{ talkgroup_id, code: 'not_member' }],
    });
  }
  t.equal((await refused).length, 3);
});

t.test('a refused change of subscription restores the choice before it', async (t) => {
  for (const code of ['rate_limited', 'unavailable'] as const) {
    const { radio, socket, ref, returns, listens } = setUp();
    await listens(ALPHA);
    const refused = radio.subscribe({ talkgroupIds: both.map((one) => one.talkgroup_id), mode: 'events' });
    socket().says({ type: 'ERROR', ref: ref(), code, message: '' });
    await t.rejects(refused, { code });
    returns(true);
    t.same(socket().texts, [], 'the session has it still');
    returns(false);
    t.match(socket().texts, [{ type: 'SUBSCRIBE', talkgroup_ids: [alpha], mode: 'listen' }]);
    t.equal(socket().texts.length, 1, 'bravo is as it was');
  }
});

t.test(
  'what is refused restores the last choice that the relay took, not one that it refused too',
  async (t) => {
    const { radio, socket, ref, returns } = setUp();
    const chooses = (mode: 'listen' | 'events' | 'talk') => radio.subscribe({ talkgroupIds: [alpha], mode });
    const [first, second, third] = [chooses('listen'), chooses('events'), chooses('talk')];
    socket().says({ type: 'SUBSCRIBED', more: false, ref: ref(0), talkgroups: [ALPHA], refused: [] });
    for (const index of [1, 2])
      socket().says({ type: 'ERROR', ref: ref(index), code: 'rate_limited', message: '' });
    t.same(await first, []);
    await t.rejects(second, { code: 'rate_limited' });
    await t.rejects(third, { code: 'rate_limited' });
    returns(true);
    t.same(socket().texts, []);
    returns(false);
    t.match(socket().texts, [{ type: 'SUBSCRIBE', talkgroup_ids: [alpha], mode: 'listen' }]);
  },
);

t.test('a choice refused right after a reconnect leaves the one that is being asked for again', async (t) => {
  const { radio, socket, ref, returns, listens } = setUp();
  await listens(ALPHA);
  returns(false);
  const refused = radio.subscribe({ talkgroupIds: [alpha], mode: 'events' });
  for (const index of [0, 1])
    socket().says({ type: 'ERROR', ref: ref(index), code: 'rate_limited', message: '' });
  await t.rejects(refused, { code: 'rate_limited' });
  returns(true);
  t.match(socket().texts, [{ type: 'SUBSCRIBE', talkgroup_ids: [alpha], mode: 'listen' }]);
});

t.test(
  'a choice that a new session refuses for now is asked for again, every second, until taken',
  async (t) => {
    for (const code of ['rate_limited', 'unavailable'] as const) {
      const { clock, socket, ref, subscribed, returns, listens } = setUp();
      await listens(ALPHA, BRAVO);
      returns(false);
      for (const asked of [1, 2]) {
        t.equal(socket().texts.length, asked);
        socket().says({ type: 'ERROR', ref: ref(), code, message: '' });
        await turn();
        clock.pass(999);
        t.equal(socket().texts.length, asked, 'not at once');
        clock.pass(1);
      }
      const wanted = { type: 'SUBSCRIBE', talkgroup_ids: [alpha, bravo], mode: 'listen' };
      t.match(socket().texts, [wanted, wanted, wanted]);
      subscribed(both);
      await turn();
      clock.pass(5_000);
      t.equal(socket().texts.length, 3, 'taken');
    }
  },
);

t.test('an unsubscribed talkgroup is left again by a session that refused it for now', async (t) => {
  const { clock, socket, ref, returns, leaves } = setUp();
  await leaves(ALPHA);
  returns(false);
  socket().says({ type: 'ERROR', ref: ref(), code: 'rate_limited', message: '' });
  await turn();
  clock.pass(1_000);
  const left = { type: 'UNSUBSCRIBE', talkgroup_ids: [alpha] };
  t.match(socket().texts, [left, left]);
});

t.test(
  'a refused re-subscription is dropped when it is pointless, or the user chose otherwise',
  async (t) => {
    type World = ReturnType<typeof setUp>;
    const scenes: Record<string, (world: World) => unknown> = {
      'the membership ended': ({ socket }) =>
        socket().says({ type: 'TALKGROUP_LEFT', talkgroup_id: alpha, reason: 'left' }),
      async 'another choice was taken'({ radio, subscribed }) {
        const other = radio.subscribe({ talkgroupIds: [alpha], mode: 'events' });
        subscribed([ALPHA]);
        await other;
      },
      'another choice is under way': ({ radio }) => {
        radio.subscribe({ talkgroupIds: [alpha], mode: 'events' }).catch(() => {});
      },
      'the radio is closed': ({ radio }) => radio.close(),
    };
    for (const [name, happens] of Object.entries(scenes)) {
      const world = setUp();
      const { clock, radio, socket, ref, returns, listens } = world;
      await listens(ALPHA);
      returns(false);
      socket().says({ type: 'ERROR', ref: ref(), code: 'rate_limited', message: '' });
      await turn();
      await happens(world);
      const asked = socket().texts.length;
      clock.pass(5_000);
      t.equal(socket().texts.length, asked, name);
      if (radio.state === 'stopped') t.equal(clock.pending, 0, name);
    }
  },
);

t.test('a re-subscription that is refused for good waits for the next connection', async (t) => {
  const { clock, socket, ref, returns, listens } = setUp();
  await listens(ALPHA);
  returns(false);
  socket().says({ type: 'ERROR', ref: ref(), code: 'bad_message', message: '' });
  await turn();
  clock.pass(5_000);
  t.equal(socket().texts.length, 1);
  returns(true);
  t.match(socket().texts, [{ type: 'SUBSCRIBE', talkgroup_ids: [alpha], mode: 'listen' }]);
});

t.test('the choice before a refused one is asked for again when the session does not have it', async (t) => {
  const { clock, radio, socket, ref, returns, listens } = setUp();
  await listens(ALPHA);
  returns(false);
  const refused = radio.subscribe({ talkgroupIds: [alpha], mode: 'events' });
  socket().says({ type: 'ERROR', ref: ref(0), code: 'bad_message', message: '' });
  socket().says({ type: 'ERROR', ref: ref(1), code: 'rate_limited', message: '' });
  await t.rejects(refused, { code: 'rate_limited' });
  clock.pass(1_000);
  t.match(socket().texts.slice(2), [{ type: 'SUBSCRIBE', talkgroup_ids: [alpha], mode: 'listen' }]);
});

t.test('each message of a choice too large for one stands for itself', async (t) => {
  const { radio, socket, returns } = setUp();
  const many = Array.from({ length: 201 }, (_, i) => ({
    ...ALPHA,
    talkgroup_id: idOf(`tg-${i}`),
    number: i + 10,
  }));
  socket().says({ type: 'SUBSCRIBED', more: false, talkgroups: many, refused: [] });
  const choice = radio.subscribe({ talkgroupIds: many.map((one) => one.talkgroup_id), mode: 'listen' });
  const [full, last] = socket().texts.map(({ ref }) => ref as number);
  socket().says({
    type: 'SUBSCRIBED',
    more: false,
    ref: full ?? 0,
    talkgroups: many.slice(0, 200),
    refused: [],
  });
  socket().says({ type: 'ERROR', ref: last ?? 0, code: 'rate_limited', message: '' });
  await t.rejects(choice, { code: 'rate_limited' });
  returns(false, many);
  t.same(
    socket().texts.map(({ talkgroup_ids }) => (talkgroup_ids as string[]).length),
    [200],
    'what the relay took is chosen',
  );
});

t.test('more came and went than the server names: both lists are empty, and that is said', async (t) => {
  const { radio, socket } = setUp();
  const told: unknown[] = [];
  radio.on('presence', (presence) => told.push(presence));
  socket().says({ type: 'PRESENCE', talkgroup_id: alpha, online: 33 });
  t.same(told, [{ talkgroup_id: alpha, joined: [], left: [], online: 33, isIncomplete: true }]);
  t.equal(radio.talkgroups.get(alpha)?.online, 33);
});

t.test('members that come and go are told, and their number is known', async (t) => {
  const { radio, socket, ref } = setUp();
  const told: unknown[] = [];
  radio.on('presence', (presence) => told.push(presence));
  const member = { session: 21, user_id: idOf('u-2'), username: 'ann', site: 'depot' };
  const presence = { talkgroup_id: alpha, joined: [member], left: [20], online: 4 };
  socket().says({ type: 'PRESENCE', ...presence });
  t.same(told, [{ ...presence, isIncomplete: false }]);
  t.equal(radio.talkgroups.get(alpha)?.online, 4);
  t.equal(radio.gaps, 0, 'it carries no event number');

  const page = radio.members(alpha, { after: 20, limit: 1 });
  t.match(socket().texts, [{ type: 'MEMBERS', talkgroup_id: alpha, after: 20, limit: 1 }]);
  const answer = { talkgroup_id: alpha, online: 4, members: [member], next: 21 };
  socket().says({ type: 'MEMBERS', ref: ref(), ...answer });
  t.same(await page, answer);
});
