// Emergencies at the console: raised by holding a button, seen on every tab, acknowledged and cleared.
import type { Page } from 'playwright-core';
import t from 'tap';
import { CLEAR_HOLD_MS, RAISE_HOLD_MS } from '../../src/console/alarms/held.js';
import { violationsOn } from '../helpers/browser/axe.js';
import { startChromium } from '../helpers/browser/chromium.js';
import { desk } from '../helpers/browser/desk.js';
import { fakeRadioOf, putFakeRadio } from '../helpers/browser/fake-radio.js';
import { service } from '../helpers/service/service.js';

const browser = await startChromium(t);

t.test(
  'an emergency of a radio is an alert with name, talkgroup and place, until it is cleared',
  async (t) => {
    const s = await service(t);
    const [ann, bob] = [await s.person('ann', { role: 'admin' }), await s.person('bob', { serial: 'SN-1' })];
    const group = await s.talkgroup('Fire 1', ann, bob);
    const radio = await bob.radio();
    const { page } = await desk(t, browser, s, ann);
    await page.getByRole('tab', { name: 'Map' }).click();
    await radio.asks({ type: 'EMERGENCY_RAISE', talkgroup_id: group.id, lat: 52.52, lng: 13.405 });
    const alarms = page.getByRole('region', { name: 'Alarms' });
    const alert = alarms.getByRole('alert').filter({ hasText: 'Emergency of bob in Fire 1' });
    await alert.waitFor();
    await alarms.getByTitle('at 52.52000, 13.40500').getByText('near Berlin').waitFor();
    await radio.asks({ type: 'GPS_UPDATE', lat: 52.53, lng: 13.41, alt: 34 });
    await alarms.getByTitle('at 52.53000, 13.41000').waitFor();
    await alarms.getByText(/^0:\d\d$/).waitFor();
    await alarms.getByRole('button', { name: 'Acknowledge' }).click();
    await radio.hears('EMERGENCY', ({ state }) => state === 'acknowledged');
    await alarms.getByText('acknowledged').waitFor();
    t.equal(await alarms.getByRole('button', { name: 'Acknowledge' }).count(), 0);
    await heldToClear(page, 'bob');
    await radio.hears('EMERGENCY', ({ state }) => state === 'cleared');
    await alert.waitFor({ state: 'detached' });
  },
);

/** Holds the button of the user's alarm, as soon as it takes a press. */
async function heldToClear(page: Page, username: string): Promise<void> {
  const clear = rowOf(page, username).getByRole('button', { name: 'Hold to clear', disabled: false });
  await clear.hover();
  await page.mouse.down();
  await rowOf(page, username).getByText('cleared', { exact: true }).waitFor();
  await page.mouse.up();
}

const rowOf = (page: Page, username: string) =>
  page.getByRole('group', { name: new RegExp(`^Emergency of ${username} in `) });

/** The first hold of a page lasts until the test ends it, however long a busy test needs for that. */
const SLOW_FIRST_HOLD = `{
  const { setTimeout } = globalThis;
  let isFirst = true;
  globalThis.setTimeout = (act, ms, ...rest) => {
    const isLong = isFirst && ms === ${RAISE_HOLD_MS};
    if (isLong) isFirst = false;
    return setTimeout(act, isLong ? 3_600_000 : ms, ...rest);
  };
}`;

t.test('holding the button for 1.5 s raises an emergency, and a shorter press does not', async (t) => {
  const s = await service(t);
  const [ann, bob] = [await s.person('ann'), await s.person('bob')];
  await s.talkgroup('Fire 1', ann, bob);
  const radio = await bob.radio();
  const { page } = await desk(t, browser, s, ann, { init: SLOW_FIRST_HOLD });
  const emergency = page.getByRole('button', { name: 'Emergency in Fire 1' });
  const place = await emergency.boundingBox();
  await emergency.hover();
  await page.mouse.down();
  await emergency.getByText('Keep holding').waitFor();
  await page.mouse.up();
  await emergency.getByText('Hold for 1.5 s').waitFor();
  t.strictSame(await emergency.boundingBox(), place, 'no text changes its place');
  await emergency.focus();
  await page.keyboard.down('Enter');
  await radio.hears('EMERGENCY', ({ username, state }) => username === 'ann' && state === 'raised');
  await page.keyboard.up('Enter');
  const alarms = page.getByRole('region', { name: 'Alarms' });
  await alarms.getByRole('alert').filter({ hasText: 'Emergency of ann in Fire 1' }).waitFor();
  t.equal(
    await alarms.getByRole('button', { name: 'Acknowledge' }).count(),
    0,
    'only administrators acknowledge',
  );
  await heldToClear(page, 'ann');
  await radio.hears('EMERGENCY', ({ state }) => state === 'cleared');
  t.notOk(
    radio.messages.some(({ type }) => type === 'EMERGENCY'),
    'the short press has raised none',
  );
});

t.test('a window that loses the focus cancels a held emergency button', async (t) => {
  const s = await service(t);
  const [ann, bob] = [await s.person('ann'), await s.person('bob')];
  await s.talkgroup('Fire 1', ann, bob);
  const { page } = await desk(t, browser, s, ann);
  const emergency = page.getByRole('button', { name: 'Emergency in Fire 1' });
  await emergency.hover();
  await page.mouse.down();
  await emergency.getByText('Keep holding').waitFor();
  await page.evaluate(`dispatchEvent(new Event('blur'))`);
  await emergency.getByText('Hold for 1.5 s').waitFor();
  await page.mouse.up();
});

t.test('an emergency from before the login is shown, and one of a talkgroup left is removed', async (t) => {
  const s = await service(t);
  const [ann, bob] = [await s.person('ann'), await s.person('bob')];
  const group = await s.talkgroup('Fire 1', ann, bob);
  const radio = await bob.radio();
  await radio.asks({ type: 'EMERGENCY_RAISE', talkgroup_id: group.id });
  const { page } = await desk(t, browser, s, ann);
  const alert = page.getByRole('region', { name: 'Alarms' }).getByRole('alert');
  await alert.filter({ hasText: 'Emergency of bob in Fire 1' }).waitFor();
  await s.admin.delete(`/talkgroups/${group.id}/members/${ann.id}`);
  await alert.waitFor({ state: 'detached' });
  await page.getByText('You are in no talkgroup.').waitFor();
});

/** A console with a radio of the test. */
async function scripted(t: Parameters<typeof service>[0], before = async (_page: Page) => {}) {
  const s = await service(t);
  const ann = await s.person('ann', { role: 'admin' });
  const opened = await desk(t, browser, s, ann, {
    withoutMicrophone: true,
    async before(page) {
      await before(page);
      await putFakeRadio(page);
    },
  });
  const radio = fakeRadioOf(opened.page);
  await opened.tile('Fire 1').waitFor();
  let lastS = 0;
  return {
    ...opened,
    radio,
    async raise(username: string, state = 'raised') {
      lastS += 1;
      const raised_at = new Date(Date.now() - 60_000 + lastS * 1000).toISOString();
      await radio.emergency({ emergency_id: username, user_id: username, username, state, raised_at });
      await rowOf(opened.page, username).waitFor();
    },
    /** The alarm of this user has another state now. */
    say: (username: string, state: string) =>
      radio.emergency({ emergency_id: username, user_id: username, username, state }),
  };
}

/** The button under the resting pointer, and whose alarm it is. The element is marked, so that another one is told apart. */
const UNDER_POINTER = (x: number, y: number) => `(() => {
  const element = document.elementFromPoint(${x}, ${y});
  element.dataset.mark ??= String(Math.random());
  return [element.dataset.mark, element.textContent, element.closest('[role=group]').getAttribute('aria-label')];
})()`;

const RECTANGLES = `[...document.querySelectorAll('[data-region], .tabs, .tile, .talk-bar')]
  .map((element) => JSON.stringify(element.getBoundingClientRect()))`;

t.test('nothing moves under the pointer while alarms come, are acknowledged and cleared', async (t) => {
  const { page, raise, say, radio } = await scripted(t);
  const empty = await page.evaluate<string[]>(RECTANGLES);
  await page.getByRole('region', { name: 'Alarms' }).getByText('No open alarms').waitFor();
  await raise('bob');
  await raise('cid');
  await raise('dan', 'acknowledged');
  await raise('eva');
  const lowest = rowOf(page, 'eva').getByRole('button', { name: 'Acknowledge' });
  await lowest.hover();
  const at = (await lowest.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
  const lookLow = () => page.evaluate<string[]>(UNDER_POINTER(at.x + at.width / 2, at.y + at.height - 4));
  const low = await lookLow();
  t.match(low, [/./, 'Acknowledge', 'Emergency of eva in Fire 1']);
  await raise('fay');
  await page.getByRole('button', { name: '1 more below, 1 new' }).waitFor();
  t.strictSame(await lookLow(), low, 'a fifth one comes, out of sight');
  const button = rowOf(page, 'cid').getByRole('button', { name: 'Acknowledge' });
  await button.hover();
  const { x, y, width, height } = (await button.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
  const look = () => page.evaluate<string[]>(UNDER_POINTER(x + width / 2, y + height / 2));
  const before = await look();
  t.match(before, [/./, 'Acknowledge', 'Emergency of cid in Fire 1']);
  for (const username of ['gus', 'hal', 'ivy', 'jon']) await raise(username);
  t.strictSame(await look(), before, 'four are raised');
  await say('bob', 'acknowledged');
  await rowOf(page, 'bob').getByText('acknowledged').waitFor();
  t.strictSame(await look(), before, 'one is acknowledged');
  await say('dan', 'cleared');
  await rowOf(page, 'dan').getByText('cleared', { exact: true }).waitFor();
  t.strictSame(await look(), before, 'one is cleared');
  t.strictSame(await page.evaluate(RECTANGLES), empty, 'and no region of the page has changed its place');
  await page.getByRole('button', { name: '5 more below, 5 new' }).waitFor();
  await page.getByText('8 open, 7 new').waitFor();
  t.equal(await page.title(), '(7 new) Alarm: cid · Talkgroup Radio');
  await radio.refuses('rate limited');
  await page.mouse.down();
  await page.mouse.up();
  const sentence = rowOf(page, 'cid').getByText('Not possible: rate limited.');
  await sentence.waitFor();
  t.strictSame(await look(), before, 'a request has failed');
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    t.strictSame(await violationsOn(page), [], colorScheme);
  }
  await radio.refuses(null);
  await page.mouse.down();
  await page.mouse.up();
  await sentence.waitFor({ state: 'detached' });
  t.match(await radio.asked('EMERGENCY_ACK', 2), { emergency_id: 'cid' });
});

t.test('an alarm is cleared by a hold of 1 s, once, and not by a click or a hold of 900 ms', async (t) => {
  const { page, raise, say, radio } = await scripted(t, (page) => page.clock.install());
  await raise('bob', 'acknowledged');
  const row = rowOf(page, 'bob');
  await row.getByRole('button', { name: 'Hold to clear' }).hover();
  // From here on the time of the page moves as the test says.
  await page.clock.pauseAt(new Date(Date.now() + 3_600_000));
  const holds = async (ms: number) => {
    await page.mouse.down();
    await row.locator('.filling').waitFor();
    await page.clock.runFor(ms);
    await page.mouse.up();
  };
  await holds(0);
  await row.getByText('Hold for 1 s', { exact: true }).waitFor();
  await holds(CLEAR_HOLD_MS - 100);
  await page.clock.runFor(10_000);
  await row.getByText('Hold to clear').waitFor();
  t.equal(await radio.countOf('EMERGENCY_CLEAR'), 0);
  await holds(CLEAR_HOLD_MS);
  t.match(await radio.asked('EMERGENCY_CLEAR'), { emergency_id: 'bob' });
  await say('bob', 'cleared');
  await row.getByText('Stays 10 s').waitFor();
  t.equal(await row.getByRole('button').count(), 0);
  await page.clock.runFor(60_000);
  t.equal(await row.count(), 1, 'it stays under the pointer');
  t.equal(await page.evaluate(`document.activeElement.getAttribute('role')`), 'group', 'with the focus');
  await page.getByRole('tab', { name: 'Talkgroups' }).click();
  await row.waitFor({ state: 'detached' });
  t.equal(await radio.countOf('EMERGENCY_CLEAR'), 1);
  t.equal(await page.title(), 'Talkgroup Radio');
});

t.test('the button Map of an alarm opens the map, and Talk talks in its talkgroup', async (t) => {
  const { page, raise, radio } = await scripted(t);
  await raise('bob');
  const row = rowOf(page, 'bob');
  await row.getByRole('button', { name: 'Talk in Fire 1' }).hover();
  await page.mouse.down();
  await radio.commanded('talk');
  await page.mouse.up();
  await radio.commanded('release');
  await row.getByRole('button', { name: 'Map' }).click();
  await page.getByRole('tab', { name: 'Map', selected: true }).waitFor();
});

t.test('the emergency button keeps its talkgroup while the pointer is on it', async (t) => {
  const { page, radio, button } = await scripted(t);
  await radio.groups(2);
  const place = page.getByRole('region', { name: 'Emergency' }).getByRole('button');
  await page.getByText('Emergency: choose a talkgroup').waitFor();
  const before = await place.boundingBox();
  await button('Select', 'Group 1').click();
  const emergency = page.getByRole('button', { name: 'Emergency in Group 1', exact: true });
  await emergency.hover();
  await button('Select', 'Group 0').evaluate((element: { click(): void }) => element.click());
  await page.getByText('2 selected').waitFor();
  t.equal(await emergency.count(), 1, 'the pointer is on it');
  t.strictSame(await emergency.boundingBox(), before);
  await page.mouse.move(0, 0);
  await page.getByRole('button', { name: 'Emergency in Group 0', exact: true }).waitFor();
  t.strictSame(await place.boundingBox(), before);
});

t.test(
  'the menu of a tile raises in its own talkgroup, and the alarm is seen while a user talks',
  async (t) => {
    const s = await service(t);
    const [ann, bob] = [await s.person('ann'), await s.person('bob')];
    const [quiet, chosen] = [await s.talkgroup('Fire 1', ann, bob), await s.talkgroup('Fire 2', ann, bob)];
    const radio = await bob.radio();
    const { page, tile, button, menu } = await desk(t, browser, s, ann);
    await button('Select', 'Fire 2').click();
    await page.getByRole('button', { name: 'Emergency in Fire 2' }).waitFor();
    const emergency = (await menu('Fire 1')).getByRole('button', { name: 'Emergency in Fire 1' });
    t.strictSame(await violationsOn(page), []);
    await emergency.hover();
    await page.mouse.down();
    const { talkgroup_id } = await radio.hears('EMERGENCY', ({ state }) => state === 'raised');
    await page.mouse.up();
    t.equal(talkgroup_id, quiet.id);
    t.not(talkgroup_id, chosen.id);
    await page.keyboard.press('Escape');
    await tile('Fire 1').getByText('ALARM').waitFor();
    radio.speaks(quiet.number, 'I am coming', { start: true });
    await tile('Fire 1').getByText('bob is talking').waitFor();
    t.equal(await tile('Fire 1').getByText('ALARM').count(), 1, 'the talker does not hide the alarm');
  },
);
