// The layout of the console on a phone: one large key with one place in all states, and the views around it.
import type { CDPSession, Page } from 'playwright-core';
import t from 'tap';
import type { RecentBurst, TalkState } from '../../src/console/worker/messages.js';
import { startChromium } from '../helpers/browser/chromium.js';
import { desk, leaveFirstRun } from '../helpers/browser/desk.js';
import { fakeRadioOf, putFakeRadio } from '../helpers/browser/fake-radio.js';
import { judge, type Look } from '../helpers/browser/looks.js';
import { phone } from '../helpers/browser/phone.js';
import { talkgroupView } from '../helpers/client/talkgroup-view.js';
import { service } from '../helpers/service/service.js';

const browser = await startChromium(t, { isAsking: true, hasWebGl: true });

type Box = { x: number; y: number; width: number; height: number };

const boxOf = (page: Page, selector: string) =>
  page.locator(selector).evaluate((element) => {
    const { x, y, width, height } = element.getBoundingClientRect();
    return { x, y, width, height };
  });

const states = (): readonly [name: string, word: string, state: TalkState][] => [
  ['asking', 'Wait', { phase: 'queued', position: 2, size: 3 }],
  ['on-air', 'ON AIR', { phase: 'talking', sinceMs: Date.now(), limitMs: 60_000 }],
  ['denied', 'Denied', { phase: 'refused', code: 'forbidden', talker: null, isFinal: true }],
];

for (const viewport of [
  { width: 390, height: 844 },
  { width: 390, height: 600 },
  { width: 844, height: 390 },
]) {
  const title = `${viewport.width} x ${viewport.height}`;
  t.test(`the key is in sight and has one place in its four states, at ${title}`, async (t) => {
    const s = await service(t);
    const { page } = await desk(t, browser, s, await s.person('ann'), {
      ...{ withoutMicrophone: true, before: putFakeRadio, context: { ...phone, viewport, permissions: [] } },
    });
    await leaveFirstRun(page);
    const radio = fakeRadioOf(page);
    const key = page.getByRole('button', { name: 'Talk in Fire 1' });
    await page.locator('.talk-key.ready').waitFor();
    const regions = async () => ({
      key: await boxOf(page, '.talk-key .hold'),
      emergency: await boxOf(page, '.phone-emergency'),
      navigation: await boxOf(page, '.phone-navigation'),
    });
    const before = await regions();
    for (const [name, { x, y, width, height }] of Object.entries<Box>(before)) {
      const isInside = x >= 0 && y >= 0 && x + width <= viewport.width && y + height <= viewport.height;
      t.ok(isInside, `${name} is in sight: ${JSON.stringify({ x, y, width, height })}`);
    }
    const notice = await boxOf(page, '.phone-notice');
    for (const name of ['key', 'emergency', 'navigation'] as const)
      t.notOk(overlap(notice, before[name]), `what the console needs does not cover the ${name}`);
    if (viewport.width < viewport.height)
      t.equal(before.key.width, 310, 'the key has the width of the screen, but for a replay button of 48');
    else t.ok(before.key.x >= viewport.width / 2, 'the key is at the right half');
    const words = async () => [
      await boxOf(page, '.talk-key .word'),
      await boxOf(page, '.talk-key .sentence'),
    ];
    const wordsBefore = await words();
    await radio.changes({
      talkgroups: [talkgroupView(radio.talkgroupId, { name: 'Fire 1', recordingDays: 30 })],
    });
    await page.locator('.talk-key .note').filter({ hasText: 'Recorded, kept 30 days' }).waitFor();
    await page
      .getByRole('button', { name: 'Talk in Fire 1', description: 'Recorded, kept 30 days' })
      .waitFor();
    t.strictSame(await words(), wordsBefore, 'the note moves nothing');
    const note = await boxOf(page, '.talk-key .note');
    t.ok(note.y + note.height <= before.key.y + before.key.height, 'the note is in the key');
    for (const box of wordsBefore) t.notOk(overlap(note, box), 'and over no word');
    await judge(t, page, `phone-recorded-${viewport.height}-high`, { colorScheme: 'light', viewport });
    await key.focus();
    for (const [name, word, state] of states()) {
      await page.keyboard.down('Enter');
      await page.locator('.talk-key.asking').waitFor();
      await radio.talks([{ talkgroupId: radio.talkgroupId, state }]);
      await page.locator(`.talk-key.${name}`).filter({ hasText: word }).waitFor();
      t.strictSame(await regions(), before, name);
      await page.keyboard.up('Enter');
    }
    await radio.emergency({
      emergency_id: 'alarm',
      user_id: 'georg',
      username: 'georg07'.repeat(9),
      state: 'raised',
    });
    await page.locator('.phone-alarm').waitFor();
    t.strictSame(await regions(), before, 'an alarm');
    await judge(t, page, `phone-${viewport.height}-high`, { colorScheme: 'light', viewport });
    const alarm = await boxOf(page, '.phone-alarm');
    t.equal(alarm.height, 44);
    t.ok(alarm.x + alarm.width <= viewport.width, 'a long name does not widen it');
    t.notOk(
      overlap(await boxOf(page, '.phone-alarm'), notice),
      'and what the console needs does not cover it',
    );
  });
}

const overlap = (one: Box, other: Box): boolean =>
  one.x < other.x + other.width &&
  other.x < one.x + one.width &&
  one.y < other.y + other.height &&
  other.y < one.y + one.height;

for (const colorScheme of ['light', 'dark'] as const) {
  const look: Look = { colorScheme, viewport: { width: 390, height: 844 } };
  t.test(`no state of the key and no view violates a rule of WCAG 2.2, ${colorScheme}`, async (t) => {
    const s = await service(t);
    const { page } = await desk(t, browser, s, await s.person('ann'), {
      ...{ withoutMicrophone: true, before: putFakeRadio, context: { ...phone, ...look } },
      expected: [/status of 404/], // the map asks for members of talkgroups that the service does not have
    });
    const radio = fakeRadioOf(page);
    await radio.groups(4);
    await page.getByRole('button', { name: /^Next/ }).waitFor();
    await radio.changes({
      recent: [call(radio.talkgroupId, 'Fire 1', 'anna01'), call('other', 'Fire 2', 'ben02')],
    });
    const calls = page.getByRole('list', { name: 'Last calls' }).getByRole('listitem');
    await calls.nth(1).waitFor();
    t.match(await calls.allTextContents(), [/^\d\d:\d\d:\d\dben02Fire 211 s$/, /^\d\d:\d\d:\d\danna0111 s$/]);
    await judge(t, page, 'phone-ready', look);
    await page.getByRole('button', { name: 'Talk in Fire 1' }).focus();
    for (const [name, word, state] of states()) {
      await page.keyboard.down('Enter');
      await page.locator('.talk-key.asking').waitFor();
      await radio.talks([{ talkgroupId: radio.talkgroupId, state }]);
      await page.locator(`.talk-key.${name}`).filter({ hasText: word }).waitFor();
      await judge(t, page, `phone-${name}`, look);
      await page.keyboard.up('Enter');
    }
    await radio.emergency({ emergency_id: 'alarm', user_id: 'georg', username: 'georg07', state: 'raised' });
    await page.locator('.phone-alarm').waitFor();
    await judge(t, page, 'phone-alarm', look);
    await radio.lost();
    await page.getByRole('button', { name: 'Reconnect now' }).waitFor();
    await judge(t, page, 'phone-lost', look);
    await radio.reconnected();
    await page.locator('.phone-card.lost').waitFor({ state: 'detached' });
    for (const view of ['Groups', 'Map', 'Alarms']) {
      await page.getByRole('tab', { name: view }).click();
      await page.getByRole('tab', { name: view, selected: true }).waitFor();
      await judge(t, page, `phone-${view.toLowerCase()}`, look);
    }
    await page.setViewportSize({ width: 640, height: 400 }); // 1,280 x 800 at 200 %
    await page.getByRole('tab', { name: 'Talk' }).click();
    await judge(t, page, 'phone-200-percent', { ...look, viewport: { width: 640, height: 400 } });
  });
}

const call = (talkgroupId: string, talkgroup: string, username: string): RecentBurst => ({
  ...{ talkgroupId, talkgroup, username, isOwn: false, endedAtMs: Date.now(), durationMs: 11_000 },
});

/** One finger. The point of `touchEnd` is the last one. */
async function drag(page: Page, cdp: CDPSession, from: Box, dx: number): Promise<void> {
  const [x, y] = [from.x + from.width / 2, from.y + from.height / 2];
  const touch = (type: 'touchStart' | 'touchMove' | 'touchEnd', at: number[]) =>
    cdp.send('Input.dispatchTouchEvent', { type, touchPoints: at.map((x) => ({ x, y, id: 1 })) });
  await touch('touchStart', [x]);
  for (const part of [0.25, 0.5, 0.75, 1]) await touch('touchMove', [x + dx * part]);
  await touch('touchEnd', []);
  await page.evaluate('new Promise(requestAnimationFrame)');
}

t.test(
  'a swipe beside the key and a press on the dots change the talkgroup, a swipe on the key does not',
  async (t) => {
    const s = await service(t);
    const { page, context } = await desk(t, browser, s, await s.person('ann'), {
      ...{ withoutMicrophone: true, before: putFakeRadio, context: phone },
    });
    const radio = fakeRadioOf(page);
    await radio.groups(2);
    const cdp = await context.newCDPSession(page);
    const talksIn = (name: string) => page.getByRole('button', { name: `Talk in ${name}` }).waitFor();
    await talksIn('Fire 1');
    await page.getByRole('button', { name: 'Next: Group 0' }).waitFor();
    await drag(page, cdp, await boxOf(page, '.talk-key .hold'), -150);
    await talksIn('Fire 1');
    t.equal(
      await page.locator('.talk-key.asking, .talk-key.on-air').count(),
      0,
      'lifting it has ended the talk',
    );
    await drag(page, cdp, await boxOf(page, '.phone-card'), -150);
    await talksIn('Group 0');
    await drag(page, cdp, await boxOf(page, '.phone-card'), 150);
    await talksIn('Fire 1');
    await page.getByRole('button', { name: 'Next: Group 0' }).click();
    await talksIn('Group 0');
    await page.getByRole('combobox', { name: 'Talkgroup' }).selectOption('Group 1');
    await talksIn('Group 1');
    await page.getByRole('tab', { name: 'Groups' }).click();
    await page.getByRole('button', { name: 'Select Fire 1' }).click();
    await talksIn('Fire 1');
    await page.getByRole('tab', { name: 'Groups' }).click();
    for (const name of ['Group 1', 'Fire 1'])
      await page.getByRole('button', { name: `Favourite ${name}` }).click();
    await page.getByRole('tab', { name: 'Talk' }).click();
    await page.getByRole('button', { name: 'Next: Group 1' }).waitFor();
    await drag(page, cdp, await boxOf(page, '.phone-card'), -150);
    await talksIn('Group 1');
    await page.getByRole('button', { name: 'Next: Fire 1' }).waitFor();
    await page.getByRole('button', { name: 'Emergency in Group 1' }).tap();
    await drag(page, cdp, await boxOf(page, '.phone-card'), -150);
    await talksIn('Fire 1');
    t.ok(
      await page.getByRole('button', { name: 'Emergency in Fire 1' }).isVisible(),
      'not where the tap was',
    );
  },
);
