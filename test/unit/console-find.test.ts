// The field that finds talkgroups and users, and the shortcuts, without a page.
import { signal } from '@preact/signals';
import t from 'tap';
import { bestOf, rankOf } from '../../src/console/find/rank.js';
import { createFind, FOUND_MAX } from '../../src/console/find/state.js';
import { readShortcut, type Shortcut } from '../../src/console/keyboard/shortcuts.js';
import { busyNames } from '../helpers/browser/busy-desk.js';
import { manualClock, turn } from '../helpers/client/fakes.js';

t.test(
  'a name is found by its words, their beginnings, and the beginnings of successive words',
  async (t) => {
    const texts = ['harbour north', 'north', 'harb', 'nor', 'hn', 'bour', 'south'];
    t.same(
      texts.map((text) => rankOf('Harbour North', text)),
      [0, 1, 2, 3, 4, 5, null],
    );
    t.equal(rankOf('Harbour North', '  '), null);
  },
);

t.test('each of 200 talkgroups is found by at most three letters, so by five keys', async (t) => {
  const named = [...busyNames, ...Array.from({ length: 170 }, (_, n) => `Group ${n}`)];
  for (const name of named) {
    const words = name.toLowerCase().split(' ');
    const texts = [
      ...words.map((word) => word.slice(0, 3)),
      ...[1, 2].map((length) => (words[0] ?? '').slice(0, length) + (words[1] ?? '').slice(0, 3 - length)),
    ];
    const isFirst = texts.some((text) => bestOf(named, { nameOf: (one) => one, text, max: 1 })[0] === name);
    t.ok(isFirst, `${name} by ${texts.join(', ')}`);
  }
});

t.test('users are asked for after a pause, and an answer to an earlier text is dropped', async (t) => {
  const clock = manualClock();
  const asked: string[] = [];
  const answers: ((users: object[]) => void)[] = [];
  const rest = {
    get: <T>(path: string) =>
      new Promise<T>((resolve) => {
        asked.push(path);
        answers.push((users) => resolve({ users } as T));
      }),
  };
  const names = Array.from({ length: 10 }, (_, n) => ({ id: `t${n}`, name: `Fire ${n}` }));
  const find = createFind({ talkgroups: signal(names), rest: signal(rest), clock });
  const found = () => find.found.value.map(({ name }) => name);
  find.look('f');
  find.look('fi');
  clock.pass(150);
  t.same(asked, ['/users?limit=3&q=fi']);
  find.look('fir');
  clock.pass(150);
  answers[0]?.([{ id: 'u1', username: 'fiona' }]);
  await turn();
  t.notOk(found().includes('fiona'));
  answers[1]?.([{ id: 'u2', username: 'firth' }]);
  await turn();
  t.same(found(), ['Fire 0', 'Fire 1', 'Fire 2', 'Fire 3', 'Fire 4', 'firth']);
  find.move(-1);
  t.equal(find.active.value, 5, 'round from the first to the last');
  t.equal(createFindWithoutUsers(names), FOUND_MAX);
});

function createFindWithoutUsers(names: readonly { id: string; name: string }[]): number {
  const find = createFind({ talkgroups: signal(names), rest: signal(null), clock: manualClock() });
  find.look('fire');
  return find.found.value.length;
}

t.test(
  'letters, digits and signs are shortcuts, but not in a text field and not when switched off',
  async (t) => {
    const place = { talkKey: 'Space', areLettersOn: true, isText: false, isInDialog: false, isInTile: true };
    const press = (key: string, over = {}) => ({
      ...{
        key,
        code: `Key${key.toUpperCase()}`,
        shiftKey: false,
        ctrlKey: false,
        altKey: false,
        metaKey: false,
      },
      ...{ repeat: false, ...over },
    });
    const all: [string, Shortcut][] = [
      ['/', { kind: 'find' }],
      ['?', { kind: 'list' }],
      ['a', { kind: 'alarm' }],
      ['S', { kind: 'select' }],
      ['m', { kind: 'mute' }],
      ['f', { kind: 'favour' }],
      ['3', { kind: 'favourite', number: 3 }],
    ];
    for (const [key, shortcut] of all) {
      t.same(readShortcut(press(key), place), shortcut);
      t.equal(readShortcut(press(key), { ...place, isText: true }), null);
      t.equal(readShortcut(press(key), { ...place, areLettersOn: false }), null);
      t.equal(readShortcut(press(key), { ...place, isInDialog: true }), null);
      t.equal(readShortcut(press(key, { ctrlKey: true }), place), null);
      t.equal(readShortcut(press(key, { repeat: true }), place), null);
    }
    t.equal(readShortcut(press('s'), { ...place, isInTile: false }), null);
    t.equal(readShortcut(press('m'), { ...place, talkKey: 'KeyM' }), null, 'the talk key talks');
    t.same(readShortcut(press('F6'), { ...place, isText: true, areLettersOn: false }), {
      kind: 'region',
      step: 1,
    });
    t.same(readShortcut(press('F6', { shiftKey: true }), place), { kind: 'region', step: -1 });
  },
);
