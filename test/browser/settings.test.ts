// The page with the settings: what it changes at once, what stays after a reload, and the password of the account.
import t from 'tap';
import { startChromium } from '../helpers/browser/chromium.js';
import { connected, desk, logIn, openSettings, pressed } from '../helpers/browser/desk.js';
import { eventually } from '../helpers/eventually.js';
import { PASSWORD } from '../helpers/http/rest.js';
import { service } from '../helpers/service/service.js';

const browser = await startChromium(t);

/** Keeps what the page opened last. */
const TAP = `const ask = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
  navigator.mediaDevices.getUserMedia = async (wanted) => (globalThis.heardBy = await ask(wanted));`;

async function setUp(t: Parameters<typeof service>[0], options: Parameters<typeof desk>[4] = {}) {
  const s = await service(t);
  const [ann, bob] = [await s.person('ann', { role: 'admin' }), await s.person('bob')];
  const group = await s.talkgroup('Fire 1', ann, bob);
  return { s, ann, bob, group, ...(await desk(t, browser, s, ann, options)) };
}

t.test('the chosen microphone is opened, and the default one in place of one that is missing', async (t) => {
  const { page } = await setUp(t, { init: TAP });
  const label = () => page.evaluate('heardBy.getAudioTracks()[0].label');
  await openSettings(page);
  const choice = page.getByRole('combobox', { name: 'Microphone' });
  const wanted = await eventually(async () => {
    const names = await choice.locator('option').allTextContents();
    const last = names.at(-1) ?? '';
    if (names.length < 3 || /^Microphone \d/.test(last)) throw new Error(`no names: ${names.join()}`);
    return last;
  });
  await choice.selectOption({ label: wanted });
  await eventually(async () => {
    if ((await label()) !== wanted) throw new Error(`${await label()} is open`);
  });
  await page.locator('.level .lit').first().waitFor();

  await page.evaluate(`{
    const settings = JSON.parse(localStorage.getItem('talkgroup.settings'));
    localStorage.setItem('talkgroup.settings', JSON.stringify({ ...settings, microphoneId: 'unplugged' }));
  }`);
  await page.reload();
  await connected(page);
  await page.mouse.click(1, 1); // the sound starts by a click
  const missing = page.getByText('The chosen microphone is missing. The default one is used.');
  await missing.first().waitFor();
  t.equal(await choice.inputValue(), 'unplugged', 'the choice stays for the day it is back');
});

t.test('the user hears the own voice until the page is left', async (t) => {
  const connects = `for (const change of ['connect', 'disconnect']) {
    const before = AudioNode.prototype[change];
    AudioNode.prototype[change] = function (target, ...more) {
      if (this instanceof MediaStreamAudioSourceNode && target instanceof AudioDestinationNode)
        globalThis.heard = change;
      return before.call(this, ...(target === undefined ? [] : [target, ...more]));
    };
  }`;
  const { page } = await setUp(t, { init: connects });
  const heard = (what: string) =>
    eventually(async () => {
      if ((await page.evaluate('globalThis.heard')) !== what) throw new Error(`no ${what}`);
    });
  await openSettings(page);
  const button = page.getByRole('button', { name: 'Hear yourself' });
  await button.press('Enter');
  await pressed(button, true);
  await heard('connect');
  await page.getByRole('tab', { name: 'Talkgroups' }).click();
  await heard('disconnect');
});

t.test('the colours are those that the user chose, also before the next login', async (t) => {
  const { page } = await setUp(t, { context: { colorScheme: 'light' } });
  const ground = () => page.evaluate('getComputedStyle(document.documentElement).backgroundColor');
  const light = await ground();
  await openSettings(page);
  await page.getByRole('combobox', { name: 'Colours' }).selectOption('Dark');
  const dark = await ground();
  t.not(dark, light);
  await page.getByRole('button', { name: /, Account$/ }).press('Enter');
  await page.getByRole('menuitem', { name: 'Log out', exact: true }).press('Enter');
  await page.getByRole('button', { name: 'Log in' }).waitFor();
  t.equal(await ground(), dark);
  await logIn(page, 'ann');
  await openSettings(page);
  await page.getByRole('combobox', { name: 'Colours' }).selectOption('As the system');
  t.equal(await ground(), light);
  await page.emulateMedia({ colorScheme: 'dark' });
  t.equal(await ground(), dark);
});

t.test('the clock of the header has 24 hours, or twice 12', async (t) => {
  const { page } = await setUp(t);
  const clock = page.locator('.clock');
  t.match(await clock.textContent(), /^\d\d:\d\d:\d\d$/);
  await openSettings(page);
  await page.getByRole('button', { name: '24-hour clock' }).press('Enter');
  await clock.filter({ hasText: /^\d?\d:\d\d:\d\d\s[AP]M$/ }).waitFor();
});

t.test('screen readers say who talks when the user wants it', async (t) => {
  const { s, page, bob, group } = await setUp(t);
  const cid = await s.person('cid');
  await cid.call('POST', `/talkgroups/${group.id}/join`);
  const [radio, other] = [await bob.radio(), await cid.radio()];
  const said = page.locator('[aria-live=polite]', { hasText: 'bob talks in Fire 1' });
  radio.speaks(group.number, 'first', { start: true });
  await page.locator('.slot', { hasText: 'bob' }).waitFor();
  t.equal(await said.count(), 0, 'it would disturb listening');
  await openSettings(page);
  await page.getByRole('checkbox', { name: 'Say who talks' }).check();
  await said.waitFor({ state: 'attached' });
  radio.speaks(group.number, 'first', { end: true });
  await said.waitFor({ state: 'detached' });
  radio.speaks(group.number, 'second', { start: true });
  await said.waitFor({ state: 'attached' });
  other.speaks(group.number, 'third', { start: true });
  await page.locator('[aria-live=polite]', { hasText: 'cid talks in Fire 1' }).waitFor({ state: 'attached' });
  other.speaks(group.number, 'third', { end: true });
  await page.locator('.slot', { hasText: 'cid' }).filter({ hasText: 'ended' }).waitFor();
  t.equal(await said.count(), 0, 'an older talker is not said again');
});

t.test('with confirm instead of hold an emergency and its end ask a question in their place', async (t) => {
  const { page, bob, group } = await setUp(t);
  const radio = await bob.radio();
  await openSettings(page);
  await page.getByRole('button', { name: 'Confirm instead of hold' }).press('Enter');
  const place = page.locator('.emergency-place');
  const box = await place.boundingBox();
  const emergency = page.getByRole('button', { name: 'Emergency in Fire 1' });
  await emergency.click();
  const question = page.getByRole('group', { name: 'Emergency in Fire 1?' });
  await question.waitFor();
  t.strictSame(await place.boundingBox(), box);
  await page.keyboard.press('Escape');
  await emergency.waitFor();
  t.equal(
    await page.evaluate(`document.activeElement.getAttribute('aria-label')`),
    'Emergency in Fire 1',
    'the focus is back',
  );
  await page.keyboard.press('Enter');
  await question.getByRole('button', { name: 'Raise' }).press('Enter');
  await radio.hears(
    'EMERGENCY',
    ({ talkgroup_id, state }) => talkgroup_id === group.id && state === 'raised',
  );

  const row = page.getByRole('group', { name: 'Emergency of ann in Fire 1' });
  await row.getByRole('button', { name: 'Acknowledge' }).press('Enter');
  const clear = row.getByRole('button', { name: 'Clear …' });
  await clear.waitFor();
  const where = await clear.boundingBox();
  await eventually(async () => {
    await clear.click(); // it takes no press for 500 ms after its meaning changed
    await row.getByRole('group', { name: 'Clear the alarm of ann?' }).waitFor({ timeout: 200 });
  });
  const confirm = row.getByRole('button', { name: 'Clear', exact: true });
  const at = await confirm.boundingBox();
  t.ok(at !== null && where !== null && at.x + at.width < where.x, 'a second click does not confirm');
  await confirm.click();
  await radio.hears('EMERGENCY', ({ state }) => state === 'cleared');
});

t.test('the password is changed with the old one, by keyboard, and the next login needs it', async (t) => {
  const { page } = await setUp(t, { expected: [/status of 401/] });
  await openSettings(page);
  const [old, next] = [page.getByLabel('Present password'), page.getByLabel('New password')];
  await old.focus();
  await page.keyboard.type('wrong');
  await page.keyboard.press('Tab');
  await page.keyboard.type('another secret of ann');
  await page.keyboard.press('Enter');
  await page.getByText('The present password is wrong.').waitFor();
  await old.fill(PASSWORD);
  await next.press('Enter');
  await page.getByText('The password is changed.').waitFor();
  t.equal(await old.inputValue(), '', 'the page keeps no password');
  await page.getByRole('button', { name: /, Account$/ }).press('Enter');
  await page.getByRole('menuitem', { name: 'Log out', exact: true }).press('Enter');
  await page.getByRole('textbox', { name: 'Username' }).fill('ann');
  await page.getByRole('textbox', { name: 'Password' }).fill(PASSWORD);
  await page.keyboard.press('Enter');
  await page.getByText('Wrong username or password.').waitFor();
  await page.getByRole('textbox', { name: 'Password' }).fill('another secret of ann');
  await page.keyboard.press('Enter');
  await connected(page);
});
