// The states of the console without a page: talkgroups, settings, members, login, connection, requests to the worker.
import t from 'tap';
import type { ServerMessage } from '../../src/client/radio.js';
import { RestError } from '../../src/client/rest.js';
import { ageText, clockText } from '../../src/console/app/ages.js';
import { connectionText } from '../../src/console/app/connection.js';
import { createLink, type LinkError } from '../../src/console/app/link.js';
import { readClaims } from '../../src/console/app/token.js';
import { createLogin } from '../../src/console/login/state.js';
import { createOnline } from '../../src/console/members/state.js';
import { createChoices } from '../../src/console/settings/choices.js';
import { createSettings, defaults } from '../../src/console/settings/state.js';
import { createTalkgroups } from '../../src/console/talkgroups/state.js';
import type { Command, ConnectionView } from '../../src/console/worker/messages.js';
import { idOf, manualClock, turn } from '../helpers/client/fakes.js';
import { talkgroupView } from '../helpers/client/talkgroup-view.js';

function fakeShelf(stored: Record<string, string> = {}) {
  const texts = new Map(Object.entries(stored));
  return {
    texts,
    getItem: (key: string) => texts.get(key) ?? null,
    setItem: (key: string, text: string) => void texts.set(key, text),
  };
}

function talkgroupsOf(shelf = fakeShelf()) {
  const calls: string[] = [];
  const sound = {
    setVolume: (id: string, volume: number) => calls.push(`volume ${id} ${volume}`),
    setMuted: (id: string, isMuted: boolean) => calls.push(`muted ${id} ${isMuted}`),
    setSide: (id: string, side: string | null) => calls.push(`side ${id} ${side}`),
  };
  const owner = {
    added: (id: string) => calls.push(`added ${id}`),
    removed: (id: string) => calls.push(`removed ${id}`),
    encrypts: (id: string, isOn: boolean) => calls.push(`encrypts ${id} ${isOn}`),
  };
  const talkgroups = createTalkgroups(sound, createChoices(shelf, 'u1'), owner);
  const tile = (id: string) => {
    const found = talkgroups.tile(id);
    if (found === undefined) throw new Error(`no tile ${id}`);
    return found;
  };
  return { talkgroups, calls, shelf, tile };
}

t.test('tiles are sorted by name, with numbers by their value, and follow a new name', async (t) => {
  const { talkgroups } = talkgroupsOf();
  const names = () => talkgroups.tiles.value.map(({ view }) => view.value.name);
  talkgroups.take({
    talkgroups: [talkgroupView('a', { name: 'Fire 10' }), talkgroupView('b', { name: 'Fire 9' })],
    left: [],
  });
  t.same(names(), ['Fire 9', 'Fire 10']);
  talkgroups.take({ talkgroups: [talkgroupView('b', { name: 'Police' })], left: [] });
  t.same(names(), ['Fire 10', 'Police']);
  talkgroups.take({ talkgroups: [], left: ['a'] });
  t.same(names(), ['Police']);
});

t.test('a talker of one tile changes no other tile and not their order', async (t) => {
  const { talkgroups, tile } = talkgroupsOf();
  talkgroups.take({ talkgroups: [talkgroupView('a'), talkgroupView('b')], left: [] });
  let renders = 0;
  const stop = talkgroups.tiles.subscribe(() => {
    renders += 1;
  });
  const stopOther = tile('b').view.subscribe(() => {
    renders += 1;
  });
  renders = 0;
  talkgroups.take({ talkgroups: [talkgroupView('a', { online: 2 })], left: [] });
  t.equal(renders, 0);
  t.equal(tile('a').view.value.online, 2);
  stop();
  stopOther();
});

t.test(
  'volume, mute and selection reach the sound, and come back with the next load of the page',
  async (t) => {
    const { talkgroups, calls, shelf, tile } = talkgroupsOf();
    talkgroups.take({ talkgroups: [talkgroupView('a')], left: [] });
    t.same(calls, ['added a', 'volume a 1', 'muted a false', 'side a null']);
    talkgroups.mute(tile('a'), true);
    talkgroups.setVolume(tile('a'), 0.5);
    talkgroups.select(tile('a'), true);
    t.same(calls.slice(4), ['muted a true', 'volume a 0.5', 'side a null']);
    t.same(
      talkgroups.selected.value.map(({ id }) => id),
      ['a'],
    );
    talkgroups.split(true);
    t.equal(calls.at(-1), 'side a selected');
    const again = talkgroupsOf(shelf);
    again.talkgroups.take({ talkgroups: [talkgroupView('a')], left: [] });
    t.same(again.calls, ['added a', 'volume a 0.5', 'muted a true', 'side a null']);
    t.same(
      again.talkgroups.selected.value.map(({ id }) => id),
      ['a'],
    );
  },
);

t.test('a talkgroup that is left is disconnected from the sound once', async (t) => {
  const { talkgroups, calls } = talkgroupsOf();
  talkgroups.take({ talkgroups: [talkgroupView('a')], left: [] });
  talkgroups.take({ talkgroups: [], left: ['a'] });
  talkgroups.take({ talkgroups: [], left: ['a'] });
  t.same(
    calls.filter((call) => call.startsWith('removed')),
    ['removed a'],
  );
});

t.test('choices that are damaged or of another form are left out', async (t) => {
  for (const text of [
    '{',
    '[1,2]',
    '[["a",{"volume":7,"isMuted":true,"isSelected":true}]]',
    '[["a",null]]',
  ]) {
    t.equal(createChoices(fakeShelf({ 'talkgroup.choices.u1': text }), 'u1').read('a'), null, text);
  }
  const shelf = fakeShelf();
  const choice = { isSelected: true, isMuted: false, volume: 0.25, isEncrypting: true };
  createChoices(shelf, 'u1').write('a', choice);
  t.same(createChoices(shelf, 'u1').read('a'), choice);
  t.equal(createChoices(shelf, 'u2').read('a'), null, 'another user of the browser has choices of their own');
});

t.test('settings are kept, and values that this version does not know become defaults', async (t) => {
  const shelf = fakeShelf();
  const one = createSettings(shelf);
  t.same(one.settings.value, defaults);
  const chosen = {
    ...{ talkKey: 'F9', jitterMs: 120, microphoneId: 'headset', isConfirming: true },
    ...{ theme: 'dark' as const, is24Hour: false, isSetUp: true },
  };
  one.change(chosen);
  t.match(createSettings(shelf).settings.value, chosen);
  const strange = {
    ...{ talkKey: 5, jitterMs: 9_000, listening: 'nowhere', isMicrophoneOnDemand: 'yes' },
    ...{ microphoneId: 1, isConfirming: 'yes', theme: 'red', is24Hour: null, isSetUp: 1 },
  };
  t.same(
    createSettings(fakeShelf({ 'talkgroup.settings': JSON.stringify(strange) })).settings.value,
    defaults,
  );
  t.same(createSettings(fakeShelf({ 'talkgroup.settings': 'no json' })).settings.value, defaults);
  const full = {
    getItem: () => null,
    setItem: () => {
      throw new Error('QuotaExceededError');
    },
  };
  const two = createSettings(full);
  two.change({ talkKey: 'F9' });
  t.equal(two.settings.value.talkKey, 'F9', 'a full storage costs the next load only');
});

const member = (session: number) => ({ session, user_id: idOf('u'), username: `u${session}`, site: 'depot' });

function onlineOf(pages: ServerMessage[]) {
  const clock = manualClock();
  const asked: { after: number; atMs: number }[] = [];
  const online = createOnline(
    'tg',
    async (message) => {
      asked.push({ after: message.type === 'MEMBERS' ? (message.after ?? 0) : -1, atMs: clock.nowMs() });
      const page = pages.shift();
      if (page === undefined) throw new Error('unavailable');
      return page;
    },
    clock,
  );
  return { clock, online, asked, shown: () => online.members.value.map(({ session }) => session) };
}

const page = (sessions: number[], next: number | null, online = 9): ServerMessage => ({
  ...{ type: 'MEMBERS', talkgroup_id: 'tg', online, next },
  members: sessions.map(member),
});

t.test('members come page by page, no more often than the relay answers', async (t) => {
  const { clock, online, asked, shown } = onlineOf([page([1, 2], 2), page([5], null)]);
  clock.pass(0);
  await turn();
  t.same([shown(), online.hasMore.value, online.online.value], [[1, 2], true, 9]);
  online.more();
  clock.pass(2_000);
  t.equal(asked.length, 1);
  clock.pass(200);
  await turn();
  t.same(shown(), [1, 2, 5]);
  t.equal(online.hasMore.value, false);
  t.same(
    asked.map(({ after }) => after),
    [0, 2],
  );
});

t.test('PRESENCE adds and removes sessions within the pages that have come', async (t) => {
  const { clock, online, shown } = onlineOf([page([1, 4], 4), page([1], null)]);
  clock.pass(0);
  await turn();
  const presence = (over: object) =>
    online.take({ type: 'PRESENCE', talkgroup_id: 'tg', online: 3, joined: [], left: [], ...over });
  presence({ joined: [member(2), member(9)], left: [1] });
  t.same(shown(), [2, 4], 'session 9 follows with its page');
  t.equal(online.online.value, 3);
  presence({ talkgroup_id: 'other', left: [2] });
  t.same(shown(), [2, 4]);
  presence({ joined: undefined, left: undefined });
  clock.pass(2_100);
  await turn();
  t.same(shown(), [1], 'too many at once: the pages are asked for anew');
});

t.test('a page that fails says so, and can be asked for again', async (t) => {
  const { clock, online } = onlineOf([]);
  clock.pass(0);
  await turn();
  t.equal(online.phase.value, 'failed');
});

t.test('a failed login says what the user can do, and a second click meanwhile does nothing', async (t) => {
  const failures = [
    [new RestError(401, 'invalid credentials', null), 'Wrong username or password.'],
    [new RestError(429, 'too many failed logins', 30), 'Too many attempts. Try again in 30 s.'],
    [
      new RestError(401, 'device disabled', null, 'device_disabled'),
      'The device of this account is disabled. An administrator can enable it.',
    ],
  ] as const;
  for (const [failure, text] of failures) {
    let tries = 0;
    const login = createLogin(() => {
      tries += 1;
      return Promise.reject(failure);
    }, manualClock());
    const first = login.submit('ann', 'x');
    await login.submit('ann', 'x');
    await first;
    t.same([tries, login.failure.value, login.isUnderWay.value], [1, text, false]);
  }
});

t.test('a login without a network is repeated after 5 s, until the user changes it', async (t) => {
  const clock = manualClock();
  const answers: (Error | null)[] = [0, 0, null].map((status) =>
    status === null ? null : new RestError(status, 'no answer', null),
  );
  let tries = 0;
  const logIn = async () => {
    const answer = answers[tries];
    tries += 1;
    if (answer) throw answer;
  };
  const login = createLogin(logIn, clock);
  await login.submit('ann', 'x');
  t.equal(login.failure.value, 'No network. Trying again in 5 s.');
  clock.pass(1_000);
  t.equal(login.failure.value, 'No network. Trying again in 4 s.');
  for (let s = 0; s < 4; s += 1) clock.pass(1_000);
  t.same([tries, login.isUnderWay.value, login.failure.value], [2, true, 'No network. Trying again.']);
  await turn();
  t.equal(login.failure.value, 'No network. Trying again in 5 s.');
  login.cancel();
  t.equal(login.failure.value, null);
  clock.pass(60_000);
  await turn();
  t.equal(tries, 2, 'nothing is sent of what the user has changed');
  await login.submit('ann', 'y');
  t.same([tries, login.failure.value], [3, null]);
});

t.test('claims are read from a token with any name, and from nothing else', async (t) => {
  const encode = (claims: unknown) => `h.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.s`;
  const claims = { sub: 'u1', username: 'Zoë 🚒 \u202e', role: 'admin', iat: 1 };
  t.same(readClaims(encode(claims)), { userId: 'u1', username: 'Zoë 🚒 \u202e', role: 'admin' });
  t.match(readClaims(encode({ ...claims, role: 'anything' })), { role: 'user' });
  for (const token of ['', 'a', 'a.b.c', 'a.!!.c', encode(null), encode({ sub: 1 })])
    t.equal(readClaims(token), null, token);
});

const open: ConnectionView = {
  ...{ state: 'open', close: null, retryAtMs: null, resumed: null, isDraining: false },
  ...{ reach: 'whole', clockOffsetMs: 0, opened: 1 },
};

t.test('the connection is said in words', async (t) => {
  const text = (over: Partial<ConnectionView>, nowMs = 0) => connectionText({ ...open, ...over }, nowMs).text;
  t.equal(text({}), 'Connected');
  t.equal(text({ resumed: true }), 'Connected');
  t.equal(connectionText(open, 0, true).text, 'Connected again');
  const starting = { state: 'waiting', close: { code: 1013, reason: 'overloaded' }, retryAtMs: 0 } as const;
  t.equal(text(starting), 'The radio service starts. Connecting again.');
  t.match(text({ isDraining: true }), /shutting down/);
  t.match(text({ reach: 'partial' }), /One server is missing/);
  t.match(text({ reach: 'alone' }), /reaches no other one/);
  const close = { code: 1013, reason: 'replaced' };
  const waiting = { state: 'waiting', close, retryAtMs: 5_000 } as const;
  t.equal(
    text(waiting, 1_500),
    'Another connection of this account took the place of this one. Connecting again in 4 s.',
  );
  t.match(text(waiting, 5_000), /Connecting again\.$/);
  t.match(text({ state: 'connecting', close: { code: 1006, reason: '' } }), /^The connection was lost\./);
  t.equal(connectionText({ ...open, ...waiting }, 0).isTrouble, true);
  t.equal(connectionText(open, 0).isTrouble, false);
});

t.test('answers of the worker settle their own request', async (t) => {
  const sent: Command[] = [];
  const link = createLink(
    { postMessage: (command) => sent.push(command) },
    { changed() {}, failed() {}, replay() {} },
  );
  const ask = { type: 'PING', t: 0 } as const;
  const first = link.request(ask);
  const second = link.request(ask);
  const [one, two] = sent.map((command) => ('id' in command ? command.id : 0));
  link.take({ kind: 'answer', id: two ?? 0, error: { code: 'timeout', message: 'no answer' } });
  link.take({ kind: 'answer', id: one ?? 0, message: { type: 'OK', ref: 1 } });
  t.same(await first, { type: 'OK', ref: 1 });
  await t.rejects(second, { code: 'timeout' } satisfies Partial<LinkError>);
  const heard: string[] = [];
  const stop = link.onMessage(({ type }) => heard.push(type));
  link.take({ kind: 'message', message: { type: 'OK', ref: 1 } });
  stop();
  link.take({ kind: 'message', message: { type: 'OK', ref: 1 } });
  t.same(heard, ['OK']);
});

t.test('ages and durations are written for readers', async (t) => {
  t.same([-5, 0, 59_999, 60_000, 3_599_999, 3_600_000, 90_000_000].map(ageText), [
    ...['0 s', '0 s', '59 s', '1 min', '59 min', '1 h', '1 d'],
  ]);
  t.same([0, 65_000, 600_000].map(clockText), ['0:00', '1:05', '10:00']);
});
