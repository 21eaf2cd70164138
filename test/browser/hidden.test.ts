// The console in a tab that is not looked at: its radio goes on, and what it shows is right when it is looked at again.
import assert from 'node:assert/strict';
import t from 'tap';
import { startChromium } from '../helpers/browser/chromium.js';
import { connection, desk, openSettings } from '../helpers/browser/desk.js';
import { eventually } from '../helpers/eventually.js';
import { service } from '../helpers/service/service.js';
import { IS_PROOF } from '../helpers/within.js';

/** Keeps the titles of the notifications that the page has asked for. */
const NOTICES = `globalThis.notices = [];
globalThis.Notification = class extends Notification {
  constructor(title, options) {
    super(title, options);
    notices.push(title);
  }
};`;

/** A proof hides it for 180 s, which is longer than the relay waits for an idle socket. */
const TALKS = IS_PROOF ? 90 : 3;
const PAUSE_MS = IS_PROOF ? 2_000 : 0;

/**
 * No page is hidden in a browser without a screen. So this does to a page what Chrome does to a hidden one: it says so,
 * draws no frame, and runs timers once a minute, which Chrome does after 5 min. Timers of a worker go on there, too.
 */
const HIDING = `(() => {
  const { setTimeout, setInterval, requestAnimationFrame } = globalThis;
  const waiting = [];
  let isHidden = false;
  const slow = (ms) => (isHidden ? Math.max(ms ?? 0, 60_000) : ms);
  globalThis.setTimeout = (act, ms, ...rest) => setTimeout(act, slow(ms), ...rest);
  globalThis.setInterval = (act, ms, ...rest) =>
    setInterval((...values) => isHidden || act(...values), ms, ...rest);
  globalThis.requestAnimationFrame = (draw) =>
    isHidden ? waiting.push(draw) : requestAnimationFrame(draw);
  Object.defineProperty(document, 'visibilityState', { get: () => (isHidden ? 'hidden' : 'visible') });
  Object.defineProperty(document, 'hidden', { get: () => isHidden });
  globalThis.hide = (wanted) => {
    isHidden = wanted;
    document.dispatchEvent(new Event('visibilitychange', { bubbles: true }));
    if (!isHidden) for (const draw of waiting.splice(0)) requestAnimationFrame(draw);
  };
})();`;

const browser = await startChromium(t);

t.test('a console that is hidden stays connected and is up to date', async (t) => {
  const s = await service(t);
  const [ann, bob] = [await s.person('ann'), await s.person('bob')];
  const group = await s.talkgroup('Fire 1', ann, bob);
  const radio = await bob.radio();
  const { page, tile } = await desk(t, browser, s, ann, { init: HIDING });
  await page.evaluate('hide(true)');
  t.equal(await page.evaluate('document.visibilityState'), 'hidden');
  for (let talk = 0; talk < TALKS; talk++) {
    radio.speaks(group.number, 'word', { start: true });
    radio.speaks(group.number, 'word', { end: true });
    await radio.hears('TALK_ENDED');
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
  await page.evaluate('hide(false)');
  await tile('Fire 1')
    .getByText(/^bob talked \d+ s ago$/)
    .waitFor();
  t.equal(await connection(page).textContent(), 'Connected', 'the connection was never lost');
  t.equal(await page.evaluate('performance.getEntriesByType("navigation").length'), 1);
});

t.test('a hidden console notifies about each new alarm, if the user has allowed it', async (t) => {
  const s = await service(t);
  const [ann, bob] = [await s.person('ann'), await s.person('bob')];
  const groups = [await s.talkgroup('Fire 1', ann, bob), await s.talkgroup('Fire 2', ann, bob)] as const;
  const radio = await bob.radio();
  const raise = async ({ id }: { id: string }) =>
    t.match(await radio.asks({ type: 'EMERGENCY_RAISE', talkgroup_id: id }), { type: 'OK' });
  const { page, context } = await desk(t, browser, s, ann, { init: HIDING + NOTICES });
  await openSettings(page);
  const choice = page.getByRole('checkbox', { name: 'Notify about alarms while this page is hidden' });
  await choice.click();
  await page.getByText('This browser does not allow it.').waitFor();
  t.equal(await choice.isChecked(), false);
  await context.grantPermissions(['microphone', 'notifications']);
  await choice.click();
  await page.locator('label:has(:checked)', { hasText: 'Notify about alarms' }).waitFor();
  await raise(groups[0]);
  await page.getByRole('alert').filter({ hasText: 'Emergency of bob in Fire 1' }).waitFor();
  t.strictSame(await page.evaluate('notices'), [], 'it is seen');
  await page.evaluate('hide(true)');
  await raise(groups[1]);
  await eventually(async () =>
    assert.deepEqual(await page.evaluate('notices'), ['Emergency of bob in Fire 2']),
  );
  t.equal(await choice.isChecked(), true);
});
