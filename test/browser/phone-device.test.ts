// What the console asks of a phone: an emergency by a hold, a screen that stays on, the key of a headset, an installation.
import t from 'tap';
import { startChromium } from '../helpers/browser/chromium.js';
import { desk } from '../helpers/browser/desk.js';
import { fakeRadioOf, putFakeRadio } from '../helpers/browser/fake-radio.js';
import { judge } from '../helpers/browser/looks.js';
import { phone } from '../helpers/browser/phone.js';
import { eventually } from '../helpers/eventually.js';
import { service } from '../helpers/service/service.js';

const browser = await startChromium(t, { isAsking: true });

t.test('an emergency is raised by a hold of 1.5 s, not by a tap, and Undo clears it', async (t) => {
  const s = await service(t);
  const [ann, bob] = [await s.person('ann'), await s.person('bob')];
  await s.talkgroup('Fire 1', ann, bob);
  const other = await bob.radio();
  const init = 'globalThis.vibrations = []; navigator.vibrate = (pattern) => vibrations.push(pattern.length)';
  const { page } = await desk(t, browser, s, ann, { context: phone, init });
  const emergency = page.getByRole('button', { name: 'Emergency in Fire 1' });
  await emergency.tap();
  await page.getByRole('status').filter({ hasText: 'Hold for 1.5 s' }).waitFor({ state: 'attached' });
  await other.settled();
  t.notOk(
    other.messages.some(({ type }) => type === 'EMERGENCY'),
    'a tap raises nothing',
  );
  await emergency.focus();
  await page.keyboard.down('Enter');
  await page.locator('.phone-emergency .filled').waitFor({ state: 'attached' });
  await other.hears('EMERGENCY', ({ state }) => state === 'raised');
  await page.keyboard.up('Enter');
  await page.getByRole('button', { name: 'Undo the emergency in Fire 1' }).click();
  await other.hears('EMERGENCY', ({ state }) => state === 'cleared');
  t.strictSame(await page.evaluate('vibrations'), [5], 'three vibrations with two pauses, once');
});

t.test(
  'with confirm instead of hold a tap asks beside the button, and without a connection it waits',
  async (t) => {
    const s = await service(t);
    const { page } = await desk(t, browser, s, await s.person('ann'), {
      ...{ withoutMicrophone: true, before: putFakeRadio, context: phone },
    });
    const radio = fakeRadioOf(page);
    await page.getByRole('button', { name: /, Account$/ }).click();
    await page.getByRole('menuitem', { name: 'Settings' }).click();
    await page.getByRole('button', { name: 'Confirm instead of hold' }).click();
    await page.getByRole('tab', { name: 'Talk' }).click();
    const emergency = page.getByRole('button', { name: 'Emergency in Fire 1' });
    const place = await emergency.boundingBox();
    await emergency.tap();
    const question = page.getByRole('group', { name: 'Emergency in Fire 1?' });
    await judge(t, page, 'phone-confirm', { colorScheme: 'light', viewport: { width: 390, height: 844 } });
    t.strictSame(await emergency.boundingBox(), place);
    await question.getByRole('button', { name: 'Cancel' }).tap();
    await question.waitFor({ state: 'detached' });
    t.notOk(
      (await page.evaluate<string[]>('radioOfTest.commanded')).includes('raise'),
      'a tap raises nothing',
    );
    await radio.lost();
    await emergency.tap();
    await question.getByRole('button', { name: 'Raise' }).tap();
    const said = page.getByRole('status').filter({ hasText: 'Emergency waits for the connection' });
    await said.waitFor({ state: 'attached' });
    await radio.commanded('raise');
  },
);

/** Keeps which locks of the screen are asked for and released. */
const LOCKS = `globalThis.locks = [];
  Object.defineProperty(navigator, 'wakeLock', { value: {
    async request(type) {
      locks.push('asked ' + type);
      return { async release() { locks.push('released'); } };
    },
  } });`;

/** The page says that it is hidden, as that of a locked phone does. */
const HIDING = `(() => {
  let isHidden = false;
  Object.defineProperty(document, 'visibilityState', { get: () => (isHidden ? 'hidden' : 'visible') });
  globalThis.hide = (wanted) => {
    isHidden = wanted;
    document.dispatchEvent(new Event('visibilitychange', { bubbles: true }));
  };
})();`;

t.test('the screen stays on during a talk, and always when the user wants that', async (t) => {
  const s = await service(t);
  const { page } = await desk(t, browser, s, await s.person('ann'), {
    ...{ withoutMicrophone: true, before: putFakeRadio, context: phone, init: LOCKS + HIDING },
  });
  const locks = (wanted: readonly string[]) =>
    eventually(async () => {
      const seen = await page.evaluate<string[]>('locks');
      if (seen.join() !== wanted.join()) throw new Error(seen.join());
    });
  await page.getByRole('button', { name: 'Talk in Fire 1' }).focus();
  await locks([]);
  await page.keyboard.down('Enter');
  await locks(['asked screen']);
  await page.keyboard.up('Enter');
  await locks(['asked screen', 'released']);
  await page.getByRole('button', { name: /, Account$/ }).click();
  await page.getByRole('menuitem', { name: 'Settings' }).click();
  await page.getByRole('button', { name: 'Keep the screen on' }).click();
  await locks(['asked screen', 'released', 'asked screen']);
  await page.evaluate('hide(true)');
  await locks(['asked screen', 'released', 'asked screen', 'released']);
  await page.evaluate('hide(false)');
  await locks(['asked screen', 'released', 'asked screen', 'released', 'asked screen']);
  t.pass('it is asked for again after a locked screen');
});

t.test('after each return from a locked screen the page says that nothing was heard, and when', async (t) => {
  const s = await service(t);
  const ann = await s.person('ann');
  await s.talkgroup('Fire 1', ann);
  const { page } = await desk(t, browser, s, ann, { context: phone, init: HIDING });
  for (const time of ['first', 'second']) {
    await page.evaluate('hide(true)');
    await page.evaluate('hide(false)');
    const notice = page.getByRole('status').filter({
      hasText: /^Screen locked: you hear nothing. You were away from \d\d:\d\d:\d\d to \d\d:\d\d:\d\d\.$/,
    });
    await notice.waitFor();
    await page.getByRole('button', { name: 'Close' }).click();
    await notice.waitFor({ state: 'detached' });
    t.pass(time);
  }
});

/** Keeps what the page does with the keys of a headset. */
const HEADSET = `globalThis.headset = {};
  navigator.mediaSession.setActionHandler = (action, handler) => { headset[action] = handler; };`;

t.test('the key of a headset starts and ends a talk, once the user has switched it on', async (t) => {
  const s = await service(t);
  const { page } = await desk(t, browser, s, await s.person('ann'), {
    ...{ withoutMicrophone: true, before: putFakeRadio, context: phone, init: HEADSET },
  });
  const radio = fakeRadioOf(page);
  await page.locator('.talk-key.ready').waitFor();
  t.strictSame(await page.evaluate('Object.keys(headset)'), [], 'off at first');
  await page.getByRole('button', { name: /, Account$/ }).click();
  await page.getByRole('menuitem', { name: 'Settings' }).click();
  await page.getByRole('button', { name: 'Talk with the key of a headset' }).click();
  await page.getByRole('tab', { name: 'Talk' }).click();
  await page.evaluate('headset.play()');
  await radio.talks([
    { talkgroupId: radio.talkgroupId, state: { phase: 'talking', sinceMs: Date.now(), limitMs: 0 } },
  ]);
  await page.locator('.talk-key.on-air').waitFor();
  await page.evaluate('headset.pause()');
  await radio.commanded('release');
  await page.locator('.talk-key.ready').waitFor();
});

t.test('the browser finds a manifest without errors, and the policy lets it in', async (t) => {
  const s = await service(t);
  const { page, context, problems } = await desk(t, browser, s, await s.person('ann'), { context: phone });
  const cdp = await context.newCDPSession(page);
  const { url, errors, data } = await cdp.send('Page.getAppManifest');
  t.match(url, /\/console\/manifest\.webmanifest$/);
  t.strictSame(errors, []);
  t.equal(JSON.parse(data ?? '{}').display, 'standalone');
  const icons = await page.evaluate<number[]>(
    `Promise.all(['icon-192.png', 'icon-512.png', 'icon-maskable-512.png'].map((icon) => fetch(icon).then(({ status }) => status)))`,
  );
  t.strictSame(icons, [200, 200, 200]);
  t.strictSame(problems, []);
});
