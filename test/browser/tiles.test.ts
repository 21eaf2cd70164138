// The tiles of a dispatcher: all in sight, in an order that does not change under the pointer, and worked by keyboard alone.
import type { BrowserContextOptions, Page } from 'playwright-core';
import t, { type Test } from 'tap';
import { violationsOn } from '../helpers/browser/axe.js';
import { startChromium } from '../helpers/browser/chromium.js';
import { desk, openSettings, pressed } from '../helpers/browser/desk.js';
import { fakeRadioOf, putFakeRadio, talkerView } from '../helpers/browser/fake-radio.js';
import { judge, type Look } from '../helpers/browser/looks.js';
import { comesTrue } from '../helpers/eventually.js';
import { service } from '../helpers/service/service.js';

const browser = await startChromium(t);

/** Names of 40 characters. */
const LONG = ' with a name of more than forty'.padEnd(32, 'W');

type Box = { x: number; y: number; width: number; height: number };
type Options = { groups: number; suffix?: string; context?: BrowserContextOptions };

/** `Fire 1` and as many talkgroups as `groups` says. */
async function tiles(t: Test, { groups, suffix = '', context = {} }: Options) {
  const s = await service(t);
  const opened = await desk(t, browser, s, await s.person('ann', { role: 'admin' }), {
    ...{ context, withoutMicrophone: true, before: putFakeRadio },
  });
  const radio = fakeRadioOf(opened.page);
  await radio.groups(groups, suffix);
  await opened.button('Mute', `Group ${groups - 1}${suffix}`).waitFor();
  return { ...opened, radio };
}

const boxesOf = (page: Page, selector: string) =>
  page.evaluate<Box[]>(`[...document.querySelectorAll(${JSON.stringify(selector)})].map((element) => {
    const { x, y, width, height } = element.getBoundingClientRect();
    return { x, y, width, height };
  })`);

async function wholeTiles(page: Page): Promise<Box[]> {
  const [view] = await boxesOf(page, '.view');
  if (view === undefined) throw new Error('no view');
  const all = await boxesOf(page, '.tile');
  return all.filter(({ y, height }) => y >= view.y && y + height <= view.y + view.height);
}

for (const colorScheme of ['light', 'dark'] as const)
  t.test(`30 tiles with names of 40 characters are whole at 1280 x 800, ${colorScheme}`, async (t) => {
    const look: Look = { colorScheme, viewport: { width: 1280, height: 800 } };
    const { page } = await tiles(t, { groups: 29, suffix: LONG, context: look });
    const whole = await wholeTiles(page);
    t.equal(whole.length, 30);
    for (const { width, height } of whole) t.strictSame({ width, height }, { width: 188, height: 92 });
    for (const { width, height } of await boxesOf(page, '.view button, .view select'))
      t.ok(width >= 24 && height >= 24, `${width} x ${height}`);
    await judge(t, page, 'tiles', look);
  });

t.test('at 1920 x 1080 the 30 tiles are large, until the user wants compact ones', async (t) => {
  const look: Look = { colorScheme: 'dark', viewport: { width: 1920, height: 1080 } };
  const { page, radio } = await tiles(t, { groups: 29, context: look });
  await radio.changed(1, { talkers: [talkerView('bob')] });
  const large = await wholeTiles(page);
  t.equal(large.length, 30);
  t.ok(large.every(({ width, height }) => width >= 240 && height === 160));
  await judge(t, page, 'tiles', look);
  await page.getByRole('button', { name: 'Compact tiles' }).click();
  await comesTrue('they are compact', async () => {
    return (await wholeTiles(page)).every(({ height }) => height === 92);
  });
});

t.test('on a touch screen each tile is 112 high, and no target is below 44', async (t) => {
  const { page } = await tiles(t, {
    groups: 4,
    context: { hasTouch: true, isMobile: true, viewport: { width: 820, height: 1180 } },
  });
  for (const { height } of await boxesOf(page, '.tile')) t.equal(height, 112);
  for (const { width, height } of await boxesOf(page, '.tile button'))
    t.ok(width >= 44 && height >= 44, `${width} x ${height}`);
});

t.test('a click on the name or on the line below it selects, and one more ends that', async (t) => {
  const { page, tile, button, radio } = await tiles(t, { groups: 2 });
  await radio.changed(0, { last: { username: 'bob', endedAtMs: Date.now(), isCutOff: false } });
  const box = await tile('Group 0').getByText('bob talked').boundingBox();
  if (box === null) throw new Error('no last talker');
  const [x, y] = [box.x + 5, box.y + box.height / 2];
  await page.mouse.click(x, y);
  await pressed(button('Select', 'Group 0'), true);
  await page.mouse.click(x, y - 22);
  await pressed(button('Select', 'Group 0'), false);
  await button('Mute', 'Group 0').click();
  await pressed(button('Mute', 'Group 0'), true);
  await pressed(button('Select', 'Group 0'), false);
});

t.test('a talker whom the user does not hear, or who is not encrypted, has a word on the tile', async (t) => {
  const { page, tile, menu, radio } = await tiles(t, { groups: 2 });
  await radio.changed(0, {
    talkers: [talkerView('ann'), talkerView('bob', { session: 8, lock: 'cannot_open', unopened: 'no_key' })],
  });
  await tile('Group 0').getByText('bob is talking').waitFor();
  await tile('Group 0').getByText('not heard', { exact: true }).waitFor();
  await tile('Group 0').getByRole('alert').filter({ hasText: 'The key has not come.' }).waitFor();
  await (await menu('Group 0')).getByText('bob: not heard. The key has not come.').waitFor();
  t.strictSame(await violationsOn(page), []);
  await page.keyboard.press('Escape');
  await radio.changed(1, { isLockExpected: true, talkers: [talkerView('carl', { lock: 'clear' })] });
  await tile('Group 1').getByText('CLEAR', { exact: true }).waitFor();
  await radio.changed(1, { talkers: [], encryption: 'required', mayHaveKeys: false });
  await tile('Group 1').getByText('No key', { exact: true }).waitFor();
});

const namesOf = async (page: Page) =>
  (await page.locator('.tile h3').allTextContents()).filter((name) => name !== 'Fire 1').join(', ');

for (const [title, context] of [
  ['1280 x 800, light', { viewport: { width: 1280, height: 800 }, colorScheme: 'light' }],
  ['1280 x 800, dark', { viewport: { width: 1280, height: 800 }, colorScheme: 'dark' }],
  ['1920 x 1080', { viewport: { width: 1920, height: 1080 }, colorScheme: 'light' }],
  [
    'a touch screen',
    { hasTouch: true, isMobile: true, viewport: { width: 820, height: 1180 }, colorScheme: 'light' },
  ],
] as const satisfies [string, BrowserContextOptions & Look][])
  t.test(`a talkgroup that is recorded says so in its talk key, and nothing moves, ${title}`, async (t) => {
    const { page, tile, button, radio } = await tiles(t, { groups: 3, context });
    await button('Select', 'Group 0').click({ position: { x: 12, y: 12 } });
    await radio.changed(1, { talkers: [talkerView('bob')] });
    await tile('Group 1').getByText('bob is talking').waitFor();
    await page.evaluate(SHIFTS);
    const before = await boxesOf(page, PARTS);
    await radio.changed(0, { recordingDays: 3650 });
    await radio.changed(1, { recordingDays: 30 });
    await radio.changed(2, { recordingDays: 1 });
    for (const [name, text] of [
      ['Group 0', 'Recorded, kept 3650 days'],
      ['Group 1', 'Recorded, kept 30 days'],
      ['Group 2', 'Recorded, kept 1 day'],
    ] as const) {
      await tile(name).locator('.note').filter({ hasText: text }).waitFor();
      t.ok(await isWhole(page, `[data-talkgroup="talkgroup-${name.at(-1)}"]`), `${name}: the note is whole`);
      await button('Talk in', name)
        .and(page.getByRole('button', { description: text }))
        .waitFor();
    }
    await page
      .getByRole('button', { name: 'Hold to talk to all selected', description: /Recorded, kept 3650 days/ })
      .waitFor();
    t.ok(await isWhole(page, '.talk-bar'), 'also where it talks to all selected ones');
    t.strictSame(await boxesOf(page, PARTS), before);
    const { colorScheme, viewport } = context;
    await judge(t, page, `tiles-recorded-${title.replaceAll(/\W+/g, '-')}`, { colorScheme, viewport });
    await radio.changed(0, { recordingDays: 0 });
    await tile('Group 0').locator('.note').waitFor({ state: 'detached' });
    t.strictSame(await boxesOf(page, PARTS), before);
    t.strictSame(await page.evaluate('shifts'), []);
  });

/** What must not move for a note. */
const PARTS = '.tile, .tile *:not(.note), .talk-bar, .talk-bar .hold, .talk-bar .word';

/** Keeps what the browser calls layout shifts. */
const SHIFTS = `globalThis.shifts = [];
  new PerformanceObserver((list) => {
    for (const { value, sources } of list.getEntries())
      shifts.push([value, ...sources.map(({ node }) => node?.parentElement?.outerHTML.slice(0, 200))].join(' '));
  }).observe({ type: 'layout-shift' });`;

/** Whether the letters of the note are in the face of its key, and not over its word. */
const isWhole = (page: Page, around: string) =>
  page.evaluate<boolean>(`(() => {
    const face = document.querySelector(${JSON.stringify(around)} + ' .face');
    const boxOf = (element) => {
      const range = document.createRange();
      range.selectNodeContents(element);
      return range.getBoundingClientRect();
    };
    const [note, word, key] = [boxOf(face.querySelector('.note')), boxOf(face.querySelector('.word')), face.getBoundingClientRect()];
    const isInside = note.left >= key.left && note.right <= key.right && note.top >= key.top && note.bottom <= key.bottom;
    const letters = 3; // px of a line above and below its letters
    const isOver = note.left < word.right && word.left < note.right &&
      note.top + letters < word.bottom && word.top < note.bottom - letters;
    return isInside && !isOver;
  })()`);

t.test('while the pointer rests on the tiles they stay, and Sort now sorts them', async (t) => {
  const { page, radio, button } = await tiles(t, { groups: 3 });
  await page.getByRole('combobox', { name: 'Sort' }).selectOption('activity');
  await button('Mute', 'Group 2').hover();
  await page.getByText('Order is held while you point here').waitFor();
  const before = await namesOf(page);
  t.equal(before, 'Group 0, Group 1, Group 2');
  await radio.changed(2, { talkers: [talkerView('bob')] });
  await page.getByRole('button', { name: 'Sort now' }).waitFor();
  await radio.groups(4);
  await button('Mute', 'Group 3').waitFor();
  t.equal(await namesOf(page), `${before}, Group 3`, 'a new one is last');
  await radio.changed(1, { talkers: [talkerView('carl')] });
  await page.getByRole('button', { name: 'Sort now' }).click();
  await comesTrue('they are sorted', async () => (await namesOf(page)).startsWith('Group 1'));
  const sort = page.getByRole('combobox', { name: 'Sort' });
  t.ok(await sort.evaluate((element) => element === element.ownerDocument.activeElement));
  await sort.selectOption('number');
  t.equal(await namesOf(page), 'Group 3, Group 2, Group 1, Group 0');
});

t.test('without the pointer the order follows by itself', async (t) => {
  const { page, radio } = await tiles(t, { groups: 3 });
  await page.mouse.move(5, 5);
  await page.getByRole('combobox', { name: 'Sort' }).selectOption('activity');
  await radio.changed(2, { talkers: [talkerView('bob')] });
  await comesTrue('the talker is first', async () => (await namesOf(page)).startsWith('Group 2'));
});

const focused = (page: Page) =>
  page.evaluate<string>(
    `document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent`,
  );

async function press(page: Page, ...keys: string[]): Promise<string> {
  for (const key of keys) await page.keyboard.press(key);
  return focused(page);
}

t.test('the grid is one stop in the Tab order, and the arrows move in it', async (t) => {
  const { page, button, radio } = await tiles(t, { groups: 29 });
  await button('Select', 'Fire 1').focus();
  const tabs: string[] = [];
  while (tabs.at(-1) !== 'Hold to talk to all selected' && tabs.length < 6)
    tabs.push(await press(page, 'Tab'));
  t.ok(tabs.length <= 5, tabs.join(', '));
  await button('Mute', 'Fire 1').focus();
  t.equal(await press(page, 'ArrowRight'), 'Mute Group 0');
  t.equal(await press(page, 'ArrowDown'), 'Mute Group 5');
  t.equal(await press(page, 'End'), 'Mute Group 28');
  t.equal(await press(page, 'Shift+Tab', 'Tab'), 'Mute Group 28', 'its controls are those in the Tab order');
  await radio.left(28);
  await comesTrue('the focus is on the tile before', async () => (await focused(page)).endsWith('Group 27'));
});

async function withoutPointer(t: Test) {
  const opened = await tiles(t, { groups: 200 });
  await opened.page.mouse.move(5, 5);
  return opened;
}

t.test('one of 200 talkgroups is found and selected by five keys', async (t) => {
  const { page, button, tile } = await withoutPointer(t);
  await page.keyboard.press('/');
  const field = page.getByRole('combobox', { name: 'Find a talkgroup or user' });
  await field.waitFor();
  t.equal(await press(page, '1', '5', '0'), 'Find a talkgroup or user');
  await page.getByRole('option', { name: 'Group 150', selected: true }).waitFor();
  t.strictSame(await violationsOn(page), []);
  await page.keyboard.press('Enter');
  await pressed(button('Select', 'Group 150'), true);
  t.equal(await focused(page), 'Select Group 150');
  const box = await tile('Group 150').boundingBox();
  t.ok(box !== null && box.y >= 136 && box.y + box.height <= 736, 'it is whole in the view');
  t.equal(await page.getByRole('group', { name: /^Group / }).count(), 200, 'nothing is filtered');
});

t.test('a user is found by the beginning of the name, and Enter opens the card', async (t) => {
  const { page } = await withoutPointer(t);
  await press(page, '/', 'a', 'n');
  await page.getByRole('option', { name: 'ann User' }).waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('tab', { name: 'Admin', selected: true }).waitFor();
  await page.getByRole('complementary', { name: 'Card of ann' }).waitFor();
});

t.test('letters select, mute and favour the focused tile, and digits select favourites', async (t) => {
  const { page, button, menu, choose } = await tiles(t, { groups: 4 });
  await button('Talk in', 'Group 3').focus();
  await page.keyboard.press('s');
  await pressed(button('Select', 'Group 3'), true);
  await page.keyboard.press('m');
  await pressed(button('Mute', 'Group 3'), true);
  await page.keyboard.press('f');
  await page.getByRole('button', { name: 'Favourites 1' }).waitFor();
  await page.keyboard.press('1');
  await pressed(button('Select', 'Group 3'), false);
  await (await menu('Group 3')).getByText('Key 1').waitFor();
  t.strictSame(await violationsOn(page), []);
  await choose('Favourite', 'Group 3');
  await page.keyboard.press('Escape');
  t.equal(await focused(page), 'More for Group 3', 'a closed menu gives the focus back');
  await page.getByRole('button', { name: 'Favourites 0' }).waitFor();
});

t.test('letters can be switched off, and F6 still moves between the regions', async (t) => {
  const { page, button, radio } = await tiles(t, { groups: 4 });
  await radio.emergency({ emergency_id: 'e1', user_id: 'u', username: 'bob', state: 'raised' });
  await page.getByRole('button', { name: 'Acknowledge' }).waitFor();
  await page.keyboard.press('a');
  t.equal(await focused(page), 'Emergency of bob in Fire 1');
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'Keys' }).waitFor();
  t.strictSame(await violationsOn(page), []);
  await page.keyboard.press('Escape');
  await openSettings(page);
  await page.getByRole('checkbox', { name: 'Letters, digits and signs are shortcuts' }).uncheck();
  await page.getByRole('tab', { name: 'Talkgroups' }).click();
  await button('Mute', 'Group 3').focus();
  await page.keyboard.press('m');
  t.equal(await button('Mute', 'Group 3').getAttribute('aria-pressed'), 'false');
  t.equal(await press(page, 'F6'), 'Silence for 60 s');
  t.equal(await press(page, 'F6'), 'Last ten');
  t.equal(await press(page, 'F6'), 'Hold to talk to all selected');
  t.equal(await press(page, 'F6'), 'Talkgroups', 'the header is behind the dock');
  const back = ['Shift+F6', 'Shift+F6', 'Shift+F6', 'Shift+F6'] as const;
  t.equal(await press(page, ...back), 'Mute Group 3', 'a region keeps its focus');
});
