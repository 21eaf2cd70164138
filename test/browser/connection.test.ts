// What the console shows without a connection, when it is back, and of a login without a network.
import t from 'tap';
import { startChromium } from '../helpers/browser/chromium.js';
import { connection, desk, openPage, withPassword } from '../helpers/browser/desk.js';
import { fakeRadioOf, putFakeRadio } from '../helpers/browser/fake-radio.js';
import { judge, type Look } from '../helpers/browser/looks.js';
import { eventually } from '../helpers/eventually.js';
import { PASSWORD } from '../helpers/http/rest.js';
import { service } from '../helpers/service/service.js';

const browser = await startChromium(t);

const LIGHT: Look = { colorScheme: 'light', viewport: { width: 1280, height: 800 } };

/** What has a place that must not change. */
const PLACES = ['[data-region]', '.talk-key', '.alarm-row', '.answer', '.emergency'].join();

t.test('without a connection keys and talkers say so at their places, and an emergency waits', async (t) => {
  const s = await service(t);
  const ann = await s.person('ann', { role: 'admin' });
  const { page, tile } = await desk(t, browser, s, ann, { context: LIGHT, before: putFakeRadio });
  const radio = fakeRadioOf(page);
  await tile('Fire 1').waitFor();
  await radio.talkers(['bob']);
  await tile('Fire 1').getByText('bob is talking').waitFor();
  await radio.emergency({ emergency_id: 'e1', user_id: 'u1', username: 'georg07', state: 'raised' });
  await page.getByRole('button', { name: 'Acknowledge' }).waitFor();
  const places = async () =>
    JSON.stringify(
      await Promise.all((await page.locator(PLACES).all()).map((element) => element.boundingBox())),
    );
  const before = await places();
  const asked = await radio.countOf('EMERGENCY_ACK');

  await radio.lost();
  await tile('Fire 1').getByText('Not connected').first().waitFor();
  t.equal(await places(), before, 'nothing moves');
  t.equal(await tile('Fire 1').getByText('bob is talking').count(), 0);
  await page.getByText('A key that you hold talks when the connection is back.').waitFor();
  await judge(t, page, 'connection-lost', LIGHT);
  const answer = page.getByRole('button', { name: 'Acknowledge' });
  t.equal(await answer.getAttribute('aria-disabled'), 'true');
  await answer.click({ force: true });
  const emergency = page.getByRole('button', { name: 'Emergency in Fire 1' });
  await emergency.hover();
  await page.mouse.down();
  await radio.commanded('raise');
  await page.mouse.up();
  await emergency.getByText('Emergency waits for the connection').waitFor();
  t.equal(await radio.countOf('EMERGENCY_ACK'), asked, 'nothing was acknowledged');

  await radio.reconnected();
  await tile('Fire 1').getByText('bob is talking').waitFor();
  await emergency.getByText('Raising the emergency').waitFor();
});

t.test('the connection is back again for 10 s, and then is connected', async (t) => {
  const s = await service(t);
  const { page } = await desk(t, browser, s, await s.person('ann'), { before: putFakeRadio });
  const radio = fakeRadioOf(page);
  await page.clock.install();
  await radio.reconnected();
  const words = connection(page);
  await words.filter({ hasText: /^Connected again$/ }).waitFor({ state: 'attached' });
  await page.clock.runFor(9_000);
  t.equal(await words.textContent(), 'Connected again');
  await page.clock.runFor(1_500);
  await words.filter({ hasText: /^Connected$/ }).waitFor({ state: 'attached' });
});

t.test('a microphone that gives nothing is named in the key while the user is on air', async (t) => {
  const s = await service(t);
  const { page, tile, button } = await desk(t, browser, s, await s.person('ann'), {
    before: putFakeRadio,
    init: `navigator.mediaDevices.getUserMedia = async () => {
      const context = new AudioContext();
      const target = context.createMediaStreamDestination();
      const tone = context.createOscillator();
      globalThis.sounds = () => { tone.connect(target); tone.start(); };
      return target.stream;
    };`,
  });
  const radio = fakeRadioOf(page);
  await tile('Fire 1').waitFor();
  await button('Talk in', 'Fire 1').hover();
  await page.mouse.down();
  await radio.commanded('talk');
  const state = { phase: 'talking', sinceMs: Date.now(), limitMs: 60_000 } as const;
  await radio.talks([{ talkgroupId: radio.talkgroupId, state }]);
  await tile('Fire 1').getByText('ON AIR, silent').waitFor();
  await page.locator('.talk-bar').getByText('The microphone is silent.').first().waitFor();
  await page.evaluate('sounds()');
  await tile('Fire 1')
    .getByText(/^ON AIR \d/)
    .waitFor();
  await page.locator('.microphone .lit').first().waitFor();
  await page.mouse.up();
});

t.test('a login without a network says so, counts, and logs in when it is back', async (t) => {
  const s = await service(t);
  const ann = await s.person('ann');
  await withPassword(s, ann);
  const { page, context } = await openPage(t, browser, s, { expected: [/ERR_INTERNET_DISCONNECTED/] });
  const card = page.locator('.login form');
  const box = await card.boundingBox();
  t.match(box, { width: 360, height: 360 });
  t.equal(await page.evaluate('document.activeElement.name'), 'username');
  await page
    .locator('.login h1')
    .getByText(/^\d+\.\d+/)
    .waitFor();
  await page.keyboard.type('ann');
  await page.getByRole('textbox', { name: 'Password' }).fill(PASSWORD);
  await page.getByRole('checkbox', { name: 'Show password' }).check();
  t.equal(await page.getByRole('textbox', { name: 'Password' }).getAttribute('type'), 'text');
  await context.setOffline(true);
  await page.getByRole('textbox', { name: 'Password' }).press('Enter');
  await page.getByText('No network. Trying again in 4 s.').waitFor();
  t.strictSame(await card.boundingBox(), box);
  await context.setOffline(false);
  await eventually(async () => {
    if ((await page.getByRole('tab', { name: 'Talkgroups' }).count()) === 0) throw new Error('not logged in');
  });
});
