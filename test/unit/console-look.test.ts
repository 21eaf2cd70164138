// The colours that the user chose, and the states of the first steps, the password and the lost talkers, without a page.
import { readFile } from 'node:fs/promises';
import { signal } from '@preact/signals';
import t from 'tap';
import { RestError } from '../../src/client/rest.js';
import { createAway } from '../../src/console/app/away.js';
import { createFirstRun, openStep } from '../../src/console/first-run/state.js';
import { createPasswordChange } from '../../src/console/settings/password.js';
import { createLook } from '../../src/console/settings/theme.js';
import type { TalkerView, TalkgroupView } from '../../src/console/worker/messages.js';

const read = (path: string) => readFile(new URL(`../../../${path}`, import.meta.url), 'utf8');

t.test('the look follows the system until the user chooses one', async (t) => {
  let changed = () => {};
  const system = {
    matches: false,
    addEventListener: (_type: 'change', listener: () => void) => {
      changed = listener;
    },
  };
  const written: (string | null)[] = [];
  const look = createLook(system, (theme) => written.push(theme));
  const turn = (matches: boolean) => {
    system.matches = matches;
    changed();
    return look.isDark.value;
  };
  t.equal(turn(true), true);
  look.show('light');
  t.equal(look.isDark.value, false);
  t.equal(turn(true), false);
  look.show('dark');
  t.equal(turn(false), true);
  look.show('system');
  t.equal(look.isDark.value, false);
  t.same(written, [null, 'light', 'dark', null]);
});

t.test('dark is the same whether the system or the user chooses it', async (t) => {
  const css = await read('src/console/tokens.css');
  const tokensIn = (selector: string) => {
    const from = css.indexOf('{', css.indexOf(selector));
    return [...css.slice(from, css.indexOf('}', from)).matchAll(/(--[\w-]+): ([^;]+);/g)].map(
      ([, name, value]) => `${name} ${value}`,
    );
  };
  const chosen = tokensIn(':root[data-theme="dark"]');
  t.ok(chosen.length > 10);
  t.same(chosen, tokensIn(':root:not([data-theme="light"])'));
});

function steps({ isConnected = true, hasTalkgroup = true, isSetUp = false } = {}) {
  const parts = {
    isConnected: signal(isConnected),
    hasTalkgroup: signal(hasTalkgroup),
    isSetUp: signal(isSetUp),
  };
  return { ...parts, firstRun: createFirstRun(parts) };
}

t.test('the first steps are shown without a talkgroup, or before the microphone was ever open', async (t) => {
  const without = steps({ isConnected: false, hasTalkgroup: false, isSetUp: true });
  without.firstRun.allowed(true);
  t.equal(without.firstRun.isShown.value, false, 'the talkgroups are not known yet');
  without.isConnected.value = true;
  t.equal(without.firstRun.isShown.value, true);
  without.hasTalkgroup.value = true;
  t.equal(without.firstRun.isShown.value, false);

  const fresh = steps();
  t.equal(fresh.firstRun.isShown.value, false, 'the permission is not known yet');
  fresh.firstRun.allowed(false);
  t.equal(fresh.firstRun.isShown.value, true);
  fresh.firstRun.begin();
  fresh.isSetUp.value = true;
  t.equal(fresh.firstRun.isShown.value, true, 'a user who follows them sees the next one');
  fresh.firstRun.leave();
  t.equal(fresh.firstRun.isShown.value, false);

  const known = steps({ isSetUp: true });
  known.firstRun.allowed(false);
  t.equal(known.firstRun.isShown.value, false);
});

t.test('the open step is the first one that the user can do', async (t) => {
  const step = (name: 'talkgroup' | 'microphone', isDone: boolean, isPossible = true) => ({
    ...{ name, isDone, isPossible },
  });
  t.equal(openStep([step('talkgroup', false), step('microphone', false)]), 'talkgroup');
  t.equal(openStep([step('talkgroup', false, false), step('microphone', false)]), 'microphone');
  t.equal(openStep([step('talkgroup', false, false), step('microphone', true)]), 'talkgroup');
  t.equal(openStep([step('talkgroup', true), step('microphone', true)]), null);
});

t.test('a password that was not changed is explained, and a second press sends nothing', async (t) => {
  const said = async (error: Error | null) => {
    const bodies: unknown[] = [];
    const change = createPasswordChange({
      post: async (path, body) => {
        bodies.push([path, body]);
        if (error !== null) throw error;
        return { ok: true } as never;
      },
    });
    const passwords = { oldPassword: 'a', newPassword: 'b' };
    const first = change.submit(passwords);
    t.equal(await change.submit(passwords), false);
    t.equal(await first, error === null);
    t.same(bodies, [['/auth/changepassword', passwords]]);
    return change.outcome.value?.text;
  };
  t.equal(await said(null), 'The password is changed.');
  t.equal(await said(new RestError(401, 'invalid credentials', null)), 'The present password is wrong.');
  t.equal(await said(new RestError(429, 'too many', 9)), 'Too many attempts. Try again in 9 s.');
  t.equal(await said(new RestError(400, 'too short', null)), 'Not changed: too short.');
});

t.test('talkers leave the page with the connection, and come back unless they have ended', async (t) => {
  const view = (id: string, talkers: string[]) =>
    ({ id, talkers: talkers.map((username) => ({ username })) }) as unknown as TalkgroupView; // the parts in use
  const tiles = ['a', 'b', 'c'].map((id) => ({ id, view: signal(view(id, ['ann'])) }));
  const talkers = () =>
    tiles.map(({ view }) => view.value.talkers.map(({ username }: TalkerView) => username).join());
  const away = createAway(() => tiles);
  away.lost();
  t.same(talkers(), ['', '', '']);
  const [, second, third] = tiles;
  if (second === undefined || third === undefined) throw new Error('three tiles');
  second.view.value = view('b', []);
  third.view.value = view('c', ['bob']);
  away.changed(['b', 'c']);
  t.same(talkers(), ['', '', ''], 'none is shown without a connection');
  away.back();
  t.same(talkers(), ['ann', '', 'bob']);
});
