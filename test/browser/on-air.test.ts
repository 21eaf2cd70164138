// On air now and Last ten: who talks is in sight on every tab, in a place that does not change, and is answered from there.
import type { Page } from 'playwright-core';
import t from 'tap';
import { ENDED_MS } from '../../src/console/onair/slots.js';
import { busyDesk } from '../helpers/browser/busy-desk.js';
import { busyRadioOf } from '../helpers/browser/busy-radio.js';
import { startChromium } from '../helpers/browser/chromium.js';
import { desk } from '../helpers/browser/desk.js';
import { fakeRadioOf, putFakeRadio } from '../helpers/browser/fake-radio.js';
import { judge, type Look, looks } from '../helpers/browser/looks.js';
import { comesTrue } from '../helpers/eventually.js';
import { service } from '../helpers/service/service.js';

const browser = await startChromium(t);

const strip = (page: Page) => page.getByRole('region', { name: 'On air now' });
const lastTen = (page: Page) => page.getByRole('region', { name: 'Last ten' });
const answer = (page: Page, username: string, name: string) =>
  strip(page).getByRole('button', { name: `Answer ${username} in ${name}`, exact: true });

t.test(
  'talkers are in sight on every tab, and Answer talks in their talkgroup while it is held',
  async (t) => {
    const { page, button } = await busyDesk(t, browser);
    await strip(page).getByText('2 talkers').waitFor();
    await page.getByRole('tab', { name: 'Admin' }).click();
    await answer(page, 'georg07', 'Harbour North').waitFor();
    await answer(page, 'ben02', 'Fire 1').hover();
    await page.mouse.down();
    const own = strip(page).getByRole('listitem').filter({ hasText: 'You' });
    await own.getByText('Fire 1').waitFor();
    t.equal(await own.getByRole('button').count(), 0, 'nobody answers their own talk');
    const dock = page.locator('[data-region="dock"]');
    await dock.getByText(/^ON AIR 0:\d\d$/).waitFor();
    t.equal(await answer(page, 'ben02', 'Fire 1').getAttribute('aria-pressed'), 'true');
    await page.mouse.up();
    await own.getByText(/^.· ended \d+ s ago$/).waitFor();
    await lastTen(page)
      .getByRole('button', { name: /You *Fire 1/ })
      .waitFor();
    await page.getByRole('tab', { name: 'Talkgroups' }).click();
    await button('Mute', 'Fire 1').click();
    await strip(page).getByText('not heard').waitFor({ state: 'attached' });
    await answer(page, 'ben02', 'Fire 1').focus();
    await page.keyboard.down('Enter');
    await dock.getByText(/^ON AIR 0:\d\d$/).waitFor();
    await page.keyboard.up('Enter');
  },
);

const names = Array.from({ length: 8 }, (_, index) => `Gate ${index}`);

/** A console with a radio of the test, and the talkgroups Gate 0 to Gate 7. */
async function scripted(t: Parameters<typeof service>[0], before = async (_page: Page) => {}) {
  const s = await service(t);
  const opened = await desk(t, browser, s, await s.person('ann'), {
    withoutMicrophone: true,
    expected: [/status of 404/], // the map asks for members of these talkgroups, which the service does not have
    async before(page) {
      await before(page);
      await putFakeRadio(page);
    },
  });
  const radio = fakeRadioOf(opened.page);
  const busy = await busyRadioOf(radio, names);
  await opened.tile('Gate 7').waitFor();
  return { ...opened, radio, busy };
}

/** The element is marked, so that another one is told apart. */
const UNDER_POINTER = (x: number, y: number) => `(() => {
  const button = document.elementFromPoint(${x}, ${y}).closest('button');
  button.dataset.mark ??= String(Math.random());
  return [button.dataset.mark, button.getAttribute('aria-label')];
})()`;

t.test('an Answer button under the resting pointer never changes whom it answers', async (t) => {
  const { page, busy, radio } = await scripted(t, (page) => page.clock.install());
  await busy.talks('Gate 0', 'ben');
  await busy.talks('Gate 1', 'cid');
  const button = answer(page, 'cid', 'Gate 1');
  await button.hover();
  const { x, y, width, height } = (await button.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
  const look = () => page.evaluate<string[]>(UNDER_POINTER(x + width / 2, y + height / 2));
  const before = await look();
  t.match(before, [/./, 'Answer cid in Gate 1']);
  await page.clock.pauseAt(new Date(Date.now() + 60_000));
  await busy.ends('Gate 1', 'cid');
  await strip(page)
    .getByText(/^.· ended/)
    .waitFor();
  t.strictSame(await look(), before, 'the talk has ended');
  for (const [index, name] of ['dan', 'eva', 'fay', 'gus'].entries())
    await busy.talks(`Gate ${index + 2}`, name);
  await strip(page).getByText('+2 more').waitFor();
  t.strictSame(await look(), before, 'four others began, and two have no slot');
  await busy.talks('Gate 7', 'georg', { emergency: true });
  await answer(page, 'georg', 'Gate 7').waitFor();
  t.equal(await answer(page, 'ben', 'Gate 0').count(), 0, 'the emergency has the slot of the oldest talker');
  await page.clock.runFor(3 * ENDED_MS);
  t.strictSame(await look(), before, '30 s later');
  await page.mouse.down();
  await radio.commanded('talk');
  await page.mouse.up();
  await page.evaluate('document.activeElement.blur()');
  await page.mouse.move(640, 400);
  await answer(page, 'ben', 'Gate 0').waitFor();
  t.equal(await button.count(), 0, 'the next talker comes when the pointer has left');
});

t.test('the talk key with Shift answers the latest talker, and without one it says so', async (t) => {
  const { page, busy, button } = await scripted(t);
  const dock = page.locator('[data-region="dock"]');
  const holds = async (expected: string | RegExp) => {
    await page.keyboard.down('Shift');
    await page.keyboard.down('Space');
    await dock.getByText(expected).first().waitFor();
    await page.keyboard.up('Space');
    await page.keyboard.up('Shift');
    await dock.getByText('You hold').waitFor({ state: 'detached' });
  };
  await holds('No other user has talked yet.');
  await busy.talks('Gate 3', 'ben');
  await busy.talks('Gate 4', 'cid');
  await busy.ends('Gate 4', 'cid');
  await answer(page, 'cid', 'Gate 4').waitFor();
  await holds('Gate 4');
  await button('Mute', 'Gate 4').click();
  await holds('Gate 3');
});

t.test('new talks wait while the pointer is in Last ten, and a row goes to its tile', async (t) => {
  const { page, busy } = await scripted(t);
  const list = lastTen(page);
  const talked = async (name: string, username: string, over = {}) => {
    await busy.talks(name, username, over);
    await busy.ends(name, username);
  };
  const texts = () => list.getByRole('button').allInnerTexts();
  const shown = async () => (await texts()).map((text) => text.split(/\s+/).slice(1).join(' '));
  await list.getByText('No talks yet').waitFor();
  await talked('Gate 7', 'ben', { startedAtMs: Date.now() - 65_000 });
  await talked('Gate 1', 'ann', { isOwn: true });
  await list.getByRole('button', { name: 'You' }).waitFor();
  t.strictSame(await shown(), ['You Gate 1 1 s', 'ben Gate 7 1:05']);
  const row = list.getByRole('button', { name: 'ben' });
  await row.hover();
  await talked('Gate 2', 'cid');
  await talked('Gate 3', 'dan');
  await list.getByText('2 new').waitFor();
  t.strictSame(await shown(), ['You Gate 1 1 s', 'ben Gate 7 1:05'], 'the pointer is in the list');
  await page.getByRole('tab', { name: 'Map' }).press('Enter');
  await page.getByRole('tab', { name: 'Map', selected: true }).waitFor();
  await row.click();
  await comesTrue('the tile of Gate 7 is in sight', () =>
    page.evaluate<boolean>(`(() => {
      const tile = document.querySelector('[data-talkgroup="${busy.id('Gate 7')}"]');
      const view = document.querySelector('[data-region="view"]').getBoundingClientRect();
      return tile !== null && tile.getBoundingClientRect().bottom <= view.bottom + 1;
    })()`),
  );
  await page.keyboard.press('ArrowUp');
  t.match(await page.evaluate('document.activeElement.textContent'), /You/, 'arrow keys move between rows');
  await page.mouse.move(400, 400);
  t.equal((await shown()).length, 2, 'the focus is in the list');
  await page.evaluate('document.activeElement.blur()');
  await list.getByText('newest first').waitFor();
  t.strictSame(await shown(), ['dan Gate 3 1 s', 'cid Gate 2 1 s', 'You Gate 1 1 s', 'ben Gate 7 1:05']);
});

/** Texts that screen readers say by themselves, of each moment. */
const SAID = `globalThis.said = [];
  new MutationObserver(() => {
    for (const region of document.querySelectorAll('[role=status], [role=alert], [role=log], [aria-live]'))
      said.push(region.textContent);
  }).observe(document, { subtree: true, childList: true, characterData: true });`;

t.test('screen readers do not say who talks', async (t) => {
  const { page, busy, tile } = await scripted(t);
  await page.evaluate(SAID);
  for (const [index, name] of ['ben', 'cid', 'dan', 'eva', 'fay'].entries())
    await busy.talks(`Gate ${index}`, name);
  await strip(page).getByText('+1 more').waitFor();
  await busy.ends('Gate 4', 'fay');
  await lastTen(page).getByRole('button', { name: 'fay' }).waitFor();
  await tile('Gate 3').getByText('eva').waitFor();
  const said = await page.evaluate<string[]>('said');
  t.ok(said.length > 0, 'something was listened to');
  t.strictSame(
    said.filter((text) => /ben|cid|dan|eva|fay/.test(text)),
    [],
  );
  t.equal(
    await page.locator('[data-region="strip"] [aria-live], [data-region="last-ten"] [aria-live]').count(),
    0,
  );
});

const narrow: Look = { colorScheme: 'light', viewport: { width: 900, height: 600 } };

t.test('the strip shows who is not heard, and is accessible with all its looks', async (t) => {
  const { page, busy, button, radio } = await scripted(t);
  await busy.talks('Gate 0', 'ben');
  await busy.talks('Gate 1', 'georg', { emergency: true });
  await busy.talks('Gate 2', 'cid', { lock: 'cannot_open' });
  await busy.talks('Gate 3', 'dan');
  await busy.ends('Gate 3', 'dan');
  await button('Mute', 'Gate 1').click();
  await strip(page).getByText('emergency, not heard').waitFor({ state: 'attached' });
  t.equal(await strip(page).getByText('not heard', { exact: true }).count(), 1, 'what cannot be decoded');
  const classes = await strip(page)
    .getByRole('listitem')
    .evaluateAll((all) => all.map(({ className }) => className));
  t.strictSame(classes, ['slot voice heard', 'slot urgent not-heard', 'slot voice not-heard', 'slot ended']);
  for (const look of [...looks, narrow]) {
    await page.emulateMedia({ colorScheme: look.colorScheme });
    await page.setViewportSize(look.viewport);
    await judge(t, page, 'on-air', look);
  }
  await page.setViewportSize({ width: 1280, height: 800 });
  await radio.lost();
  await page.getByText('You have heard no talkgroup since').waitFor();
  t.equal(await strip(page).getByRole('listitem').count(), 0, 'without a connection there are no talkers');
});
