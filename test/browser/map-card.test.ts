// The drawer, the card and the buttons of the map in a real browser, with a radio that the test plays.
import type { Page } from 'playwright-core';
import t from 'tap';
import { violationsOn } from '../helpers/browser/axe.js';
import { startChromium } from '../helpers/browser/chromium.js';
import { mapDrawn, pressed } from '../helpers/browser/desk.js';
import {
  at,
  colourOf,
  DRAWER,
  device,
  EMERGENCY_RED,
  MIDDLE,
  startMaps,
  watching,
} from '../helpers/browser/map.js';
import { comesTrue } from '../helpers/eventually.js';

const browser = await startChromium(t, { hasWebGl: true });
const maps = await startMaps(t, browser);

const TALK_GREEN = '0b7a43';
const cardOf = (page: Page, name: string) => page.getByRole('region', { name: `Card of ${name}` });
const rowOf = (page: Page, name: string) => page.getByRole('button', { name: `Show ${name} on the map` });

/** In the middle of what the drawer leaves of the map. */
async function middleOf(page: Page) {
  const box = await page.locator('canvas.maplibregl-canvas').boundingBox();
  if (box === null) throw new Error('the map is hidden');
  return { x: box.x + DRAWER + (box.width - DRAWER) / 2, y: box.y + box.height / 2 };
}

t.test('the map fills its tab, and the drawer and the buttons float above it in their sizes', async (t) => {
  const { page, radio } = await maps.open(t);
  await radio.tell(watching([device(1), device(2)]));
  await mapDrawn(page);
  const boxOf = async (name: 'Map' | 'Positions') => {
    const box = await page.getByRole('region', { name, exact: true }).boundingBox();
    if (box === null) throw new Error(`${name} is hidden`);
    return box;
  };
  const [map, drawer] = [await boxOf('Map'), await boxOf('Positions')];
  const panel = await page.getByRole('tabpanel').boundingBox();
  t.strictSame([map.x, map.width], [panel?.x, panel?.width]);
  t.equal(map.height, panel?.height);
  t.strictSame(drawer, { ...map, width: DRAWER });
  for (const name of ['Zoom in', 'Zoom out', 'Show all', 'Talkgroups on the map']) {
    const box = await page.getByRole('button', { name }).boundingBox();
    t.match(box, { width: 36, height: 36 }, name);
  }
  const rows = page.getByRole('table', { name: 'Positions' }).getByRole('row');
  t.match(await rows.nth(1).boundingBox(), { height: 36 });
  await page.getByText(/^\d+ k?m$/).waitFor();
  await page
    .getByText(/^\d+° \d\d′ N$/)
    .first()
    .waitFor();
  const place = await page.getByRole('cell', { name: '52.50100' }).textContent();
  t.equal(place, '52.50100', 'for screen readers');
  t.equal(await page.getByTitle('SN-1: 52.50100, 13.40000').count(), 1, 'for the others a tooltip');
});

t.test('the card of a row says what is known and a dash for the rest, by keyboard alone', async (t) => {
  const { page, radio } = await maps.open(t);
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  const reported = { speed: 3.9, course: 97, battery: 38, accuracy: 4 };
  await radio.tell(watching([device(1, { ...reported, lat: 52.52 }), device(2)]));
  await mapDrawn(page);
  await page.getByRole('searchbox', { name: 'Find a user' }).fill('NN 1');
  await page.getByText('5 min').waitFor();
  await comesTrue('one is found', async () => (await page.getByRole('row').count()) === 2);
  await rowOf(page, 'ann 1').press('Enter');
  const card = cardOf(page, 'ann 1');
  await card.getByText('14 km/h').waitFor();
  for (const text of ['97° E', '38 %', 'Fire 1', 'near Berlin', /52\.52000, 13\.40000 · 4 m accurate/])
    await card.getByText(text).first().waitFor();
  await card.getByText(/^\d+ s, live$/).waitFor();
  t.equal(await page.evaluate(`document.activeElement.getAttribute('aria-label')`), 'Card of ann 1');
  t.match(await card.getByRole('button', { name: 'Talk in Fire 1' }).boundingBox(), { height: 44 });
  t.equal((await card.boundingBox())?.width, 308);
  await card.getByRole('button', { name: 'copy the position' }).press('Enter');
  await card.getByText('copied').waitFor();
  t.equal(await page.evaluate('navigator.clipboard.readText()'), '52.52000, 13.40000');
  await card.getByRole('button', { name: 'Talk in Fire 1' }).focus();
  await page.keyboard.down('Enter');
  await radio.commanded('talk');
  await page.keyboard.up('Enter');
  await radio.commanded('release');
  t.strictSame(await violationsOn(page), []);
  await page.keyboard.press('Escape');
  await card.waitFor({ state: 'detached' });
  t.equal(await page.evaluate(`document.activeElement.getAttribute('aria-label')`), 'Show ann 1 on the map');
  await page.getByRole('searchbox', { name: 'Find a user' }).fill('');
  await rowOf(page, 'ann 2').press('Enter');
  const facts = await cardOf(page, 'ann 2').locator('dd').allTextContents();
  t.strictSame(facts.slice(0, 3), ['–', '–', '–']);
});

t.test('the card of a marker is beside it, and keeps its place while the marker moves', async (t) => {
  const { page, radio } = await maps.open(t);
  await radio.tell(watching([device(1)]));
  await mapDrawn(page);
  const middle = await middleOf(page);
  await comesTrue('the marker is drawn', async () => (await colourOf(page, MIDDLE)) === '0f9d58');
  await page.mouse.click(middle.x, middle.y);
  const card = cardOf(page, 'ann 1');
  await card.waitFor();
  const before = await card.boundingBox();
  if (before === null) throw new Error('no card');
  const isOver = middle.x > before.x - 20 && middle.x < before.x + before.width + 20 && middle.y > before.y;
  t.notOk(isOver, 'not over its marker');
  await radio.tell({ type: 'POSITIONS', server_time: at() + 1000, fixes: [[1, 52.5012, 13.4, 0, 3, 0]] });
  await card.getByText('52.50120').waitFor();
  t.strictSame(await card.boundingBox(), before);
  await card.getByRole('button', { name: 'Follow ann 1' }).click();
  await radio.tell({ type: 'POSITIONS', server_time: at() + 2000, fixes: [[1, 52.6, 13.6, 0, 3, 0]] });
  await card.getByText('52.60000').waitFor();
  await comesTrue('the map follows', async () => (await colourOf(page, MIDDLE)) === '0f9d58');
  await card.getByRole('button', { name: 'Trail of ann 1' }).click();
  await pressed(card.getByRole('button', { name: 'Trail of ann 1' }), true);
  await card.getByRole('button', { name: 'Close the card of ann 1' }).click();
  await card.waitFor({ state: 'detached' });
});

t.test('a talker is marked in green and named, on the map and in the table', async (t) => {
  const { page, radio } = await maps.open(t);
  await radio.tell(watching([device(1)]));
  await mapDrawn(page);
  await radio.talkers(['ann 1']);
  const row = page.getByRole('table', { name: 'Positions' }).getByRole('row').nth(1);
  await row.getByText('talking').waitFor();
  // In the box of the name, below its letters.
  await comesTrue(
    'the name is on the map',
    async () => (await colourOf(page, { share: 0.5, down: -23 })) === TALK_GREEN,
  );
  await radio.talkers([]);
  await row.getByText('talking').waitFor({ state: 'detached' });
  await comesTrue(
    'the name is removed',
    async () => (await colourOf(page, { share: 0.5, down: -23 })) !== TALK_GREEN,
  );
});

t.test(
  'Map of an alarm opens its card, an acknowledgement changes the card, and a clearing closes it',
  async (t) => {
    const { page, radio } = await maps.open(t, { role: 'admin' });
    const emergency = { emergency_id: 'e1', user_id: 'user 1', username: 'ann 1', lat: 52.5, lng: 13.4 };
    await radio.emergency({ ...emergency, state: 'raised' });
    await radio.tell(watching([device(1, { updated_at: new Date(at() - 600_000).toISOString() })]));
    const alarms = page.getByRole('region', { name: 'Alarms' });
    await alarms.getByRole('button', { name: 'Map', exact: true }).click();
    const card = cardOf(page, 'ann 1');
    await card.getByText('Emergency, not acknowledged').waitFor();
    await mapDrawn(page);
    // Between the sign and the edge of the disc.
    const disc = { share: 0.5, down: 10 };
    await comesTrue('a red disc', async () => (await colourOf(page, disc)) === EMERGENCY_RED);
    t.strictSame(await violationsOn(page), []);
    await card.getByRole('button', { name: 'Acknowledge' }).click();
    t.match(await radio.asked('EMERGENCY_ACK'), { emergency_id: 'e1' });
    await radio.emergency({ ...emergency, state: 'acknowledged' });
    await card.getByText('Emergency, acknowledged').waitFor();
    t.equal(await card.getByRole('button', { name: 'Acknowledge' }).count(), 0);
    t.equal(
      await page.evaluate(`document.activeElement.getAttribute('aria-label')`),
      'Card of ann 1',
      'with the focus',
    );
    await comesTrue('outlined', async () => (await colourOf(page, disc)) === 'ffffff');
  },
);

t.test('Follow emergencies stops when the user moves the map, and says so', async (t) => {
  const { page, radio } = await maps.open(t);
  await radio.emergency({ emergency_id: 'e1', user_id: 'user 1', username: 'ann 1', lat: 52.5, lng: 13.4 });
  await mapDrawn(page);
  await comesTrue('it is in the middle', async () => (await colourOf(page, MIDDLE)) === EMERGENCY_RED);
  const follow = page.getByRole('button', { name: 'Follow emergencies' });
  await pressed(follow, true);
  const before = await follow.boundingBox();
  await page.getByRole('button', { name: 'Zoom in' }).click();
  await pressed(follow, true);
  const { x, y } = await middleOf(page);
  await page.mouse.move(x, y + 60);
  await page.mouse.down();
  await page.mouse.move(x + 80, y + 100, { steps: 4 });
  await page.mouse.up();
  await pressed(follow, false);
  await follow.getByText('off').waitFor();
  t.strictSame(await follow.boundingBox(), before, 'and keeps its size');
  await follow.click();
  await pressed(follow, true);
  await comesTrue('it is in the middle again', async () => (await colourOf(page, MIDDLE)) === EMERGENCY_RED);
  await page.locator('canvas.maplibregl-canvas').press('ArrowRight');
  await pressed(follow, false);
});

t.test('the drawer is sorted by its heads, and stays closed after it was closed', async (t) => {
  const { page, radio } = await maps.open(t);
  await radio.tell(watching([device(1, { speed: 1 }), device(2, { speed: 9 }), device(3)]));
  const names = async () =>
    (await page.locator('.map-table tbody th bdi:first-of-type').allTextContents()).join();
  await comesTrue('by name', async () => (await names()) === 'ann 1,ann 2,ann 3');
  await page.getByRole('button', { name: 'km/h' }).press('Enter');
  await comesTrue('by speed', async () => (await names()) === 'ann 2,ann 1,ann 3');
  t.equal(await page.getByRole('columnheader', { name: 'km/h' }).getAttribute('aria-sort'), 'descending');
  await page.getByRole('button', { name: 'Close the positions' }).click();
  const open = page.getByRole('button', { name: 'Positions', exact: true });
  await open.waitFor();
  await page.getByRole('tab', { name: 'Talkgroups' }).click();
  await open.waitFor({ state: 'detached' });
  await page.getByRole('tab', { name: 'Map' }).click();
  await open.click();
  await page.getByRole('table', { name: 'Positions' }).waitFor();
});

t.test('the talkgroups on the map are chosen behind a button, and Escape closes them', async (t) => {
  // The service does not know the talkgroups of the test.
  const { page, radio } = await maps.open(t, { expected: [/\/members\?limit=/] });
  await radio.groups(1);
  const button = page.getByRole('button', { name: 'Talkgroups on the map' });
  await button.press('Enter');
  const choice = page.getByRole('group', { name: 'Talkgroups on the map' });
  await choice.getByRole('checkbox', { name: 'Group 0' }).uncheck();
  await comesTrue('it is left out', async () => {
    const asked = (await page.evaluate('radioOfTest.asked')) as { type: string; talkgroup_ids?: string[] }[];
    return asked.findLast(({ type }) => type === 'WATCH')?.talkgroup_ids?.join() === radio.talkgroupId;
  });
  t.strictSame(await violationsOn(page), []);
  await page.keyboard.press('Escape');
  await choice.waitFor({ state: 'detached' });
});
