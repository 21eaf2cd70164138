// Encrypted speech at the console: what is heard, what the lock says, and who gets keys.
import type { Locator, Page } from 'playwright-core';
import t from 'tap';
import { desk, pressed } from '../helpers/browser/desk.js';
import { dialogOf, encryptedService, SECRETS_KEY, setUpKeys } from '../helpers/browser/keys.js';
import { levelsOf, startBrowser, TAP } from '../helpers/browser/sound-page.js';
import { eventually } from '../helpers/eventually.js';
import { PASSWORD } from '../helpers/http/rest.js';
import { service } from '../helpers/service/service.js';
import { radioOf, talkTone } from '../helpers/sound/talking.js';
import { RATE, sine } from '../helpers/sound/tones.js';

/** Chromium's own processing of the microphone takes some of the tone of -10 dBFS. */
const LOUD = -40;

const hears = (page: Page, hz: number) =>
  eventually(async () => {
    const [left] = await levelsOf(page, hz);
    if (left < LOUD) throw new Error(`${hz} Hz: ${left} dBFS`);
  });

async function hold(page: Page, talk: Locator): Promise<void> {
  await talk.hover();
  await page.mouse.down();
  await pressed(talk, true);
}

t.test('two consoles talk encrypted where it is required, and each shows the lock', async (t) => {
  const { s, ann, bob } = await encryptedService(t);
  const browser = await startBrowser(t, sine(1_000, RATE * 5, { peakDb: -10 }));
  const one = await desk(t, browser, s, ann, { init: TAP });
  await setUpKeys(one);
  await dialogOf(one).waitFor({ state: 'detached' });
  const other = await desk(t, browser, s, bob, { init: TAP });
  await setUpKeys(other);
  await dialogOf(other).waitFor({ state: 'detached' });
  await one.tile('Fire').getByText('Encrypted, keys held by the service').waitFor();

  const listener = await bob.radio();
  await hold(one.page, one.button('Talk in', 'Fire'));
  await other.tile('Fire').getByText('ann is talking').waitFor();
  await other.tile('Fire').getByText('encrypted', { exact: true }).waitFor();
  await hears(other.page, 1_000);
  t.ok(
    listener.frames.length > 0 && listener.frames.every(({ flags }) => (flags & 1) !== 0),
    'no clear frame',
  );
  await one.page.mouse.up();
  await other
    .tile('Fire')
    .getByText(/^ann talked/)
    .waitFor();
  t.equal(
    await other
      .tile('Fire')
      .getByText(/cut off/)
      .count(),
    0,
  );

  // The keys are there after a reload, without a password.
  await other.page.reload();
  await other.page.getByRole('tab', { name: 'Talkgroups' }).waitFor();
  await hold(one.page, one.button('Talk in', 'Fire'));
  await other.tile('Fire').getByText('encrypted', { exact: true }).waitFor();
  await one.page.mouse.up();
  t.equal(await dialogOf(other).count(), 0);
});

t.test('a user encrypts by choice where it is allowed, and the choice is kept', async (t) => {
  const s = await service(t, { SECRETS_KEY });
  const [ann, bob] = [await s.person('ann'), await s.person('bob')];
  await s.talkgroup('Works', ann, bob);
  const browser = await startBrowser(t, sine(1_000, RATE * 5, { peakDb: -10 }));
  const one = await desk(t, browser, s, ann);
  t.equal(await dialogOf(one).count(), 0, 'nobody is asked before a key is needed');
  const encrypt = one.tile('Works').getByRole('button', { name: 'Encrypt what I say in Works' });
  await encrypt.click();
  await setUpKeys(one);
  await dialogOf(one).waitFor({ state: 'detached' });
  await one.tile('Works').getByText('You encrypt what you say, keys held by the service').waitFor();

  const other = await desk(t, browser, s, bob, { init: TAP });
  const listener = await bob.radio();
  await hold(one.page, one.button('Talk in', 'Works'));
  await listener.hears('TALK_STARTED', ({ crypto }) => crypto !== undefined);
  // The talk itself shows bob's console that it needs a key.
  await setUpKeys(other);
  await other.tile('Works').getByText('encrypted', { exact: true }).waitFor();
  await hears(other.page, 1_000);
  await one.page.mouse.up();

  await one.page.reload();
  await pressed(encrypt, true);
  await encrypt.click();
  await pressed(encrypt, false);
});

t.test(
  'clear speech of an emergency is CLEAR, and a change of the talkgroup must be confirmed',
  async (t) => {
    const { s, ann, bob, root, fire } = await encryptedService(t);
    const { page, tile, ...rest } = await desk(t, await startBrowser(t), s, ann, { init: TAP });
    await setUpKeys({ page, tile, ...rest });
    await dialogOf({ page }).waitFor({ state: 'detached' });
    // Without keys, as a radio that lost them.
    const radio = await radioOf(t, s, bob);
    await radio.emergency.raise({ talkgroupId: fire.id });
    const { stop } = await talkTone(t, radio, fire.id, 440);
    await tile('Fire').getByText('CLEAR', { exact: true }).waitFor();
    await tile('Fire').getByRole('alert').filter({ hasText: 'CLEAR not encrypted' }).waitFor();
    await hears(page, 440);
    await stop();
    await root.call('PATCH', `/talkgroups/${fire.id}`, { encryption: 'allowed' });
    await tile('Fire').getByText('Encryption is not required here any more.').waitFor();
    const again = await talkTone(t, radio, fire.id, 440);
    await tile('Fire').getByText('CLEAR', { exact: true }).waitFor();
    await tile('Fire').getByRole('button', { name: 'I know that speech in Fire may be clear' }).click();
    await tile('Fire').getByText('CLEAR', { exact: true }).waitFor({ state: 'detached' });
    await again.stop();
  },
);

t.test('a second browser waits, is accepted by the first one, and then hears', async (t) => {
  const { s, ann, bob } = await encryptedService(t);
  const browser = await startBrowser(t, sine(1_000, RATE * 5, { peakDb: -10 }));
  const talker = await desk(t, browser, s, bob);
  await setUpKeys(talker);
  const first = await desk(t, browser, s, ann, { expected: [/status of 401/] });
  await setUpKeys(first);
  await dialogOf(first).waitFor({ state: 'detached' });
  // Another context of the browser has a storage of its own.
  const second = await desk(t, browser, s, ann, { init: TAP });
  await dialogOf(second).getByLabel('Name of this browser').fill('Night desk');
  await setUpKeys(second);
  await dialogOf(second)
    .getByText(/This browser waits for its keys/)
    .waitFor();
  const digits = await dialogOf(second).locator('code').innerText();
  t.match(digits, /^(\d{5}\s){11}\d{5}$/);
  await second.page.keyboard.press('Escape');
  await second.page.getByText('This browser waits to be accepted before it gets keys.').waitFor();

  await hold(talker.page, talker.button('Talk in', 'Fire'));
  await second.tile('Fire').getByText('cannot open', { exact: true }).waitFor();
  await second.tile('Fire').getByText('The key has not come.').waitFor();

  await first.page.getByText('A new device of your account waits to be accepted.').waitFor();
  await first.page.getByRole('button', { name: 'Look at the devices' }).click();
  const settings = first.page.getByRole('dialog', { name: 'Settings' });
  const row = settings.getByRole('listitem').filter({ hasText: 'Night desk' });
  t.equal((await row.locator('code').innerText()).replace(/\s/g, ''), digits.replace(/\s/g, ''));
  await settings.getByLabel('Your password, to accept a device').fill('wrong');
  await row.getByRole('button', { name: 'Accept Night desk' }).click();
  await settings.getByText('Wrong password.').waitFor();
  await settings.getByLabel('Your password, to accept a device').fill(PASSWORD);
  await row.getByRole('button', { name: 'Accept Night desk' }).click();
  await settings.getByText('Accepted. The device gets its keys now.').waitFor();

  // The talk still runs, and can be opened from here on.
  await second.tile('Fire').getByText('encrypted', { exact: true }).waitFor();
  await hears(second.page, 1_000);
  await talker.page.mouse.up();

  await row.getByRole('button', { name: 'Delete Night desk' }).click();
  await row.waitFor({ state: 'detached' });
  await dialogOf(second).getByLabel('Password').waitFor();
});

t.test('an administrator requires encryption, and allows keys to a member who joined later', async (t) => {
  const s = await service(t, { SECRETS_KEY });
  const root = await s.person('root', { role: 'admin' });
  const [ann, bob] = [await s.person('ann'), await s.person('bob')];
  const fire = await s.talkgroup('Fire', root, ann);
  const { page } = await desk(t, await startBrowser(t), s, root);
  await page.getByRole('tab', { name: 'Admin' }).click();
  const row = page.getByRole('article').filter({ hasText: 'Fire' });
  await row.getByRole('button', { name: 'Encryption' }).click();
  await row.getByRole('combobox', { name: 'Encryption' }).selectOption('required');
  await row.getByRole('combobox', { name: 'Clear speech in an emergency' }).selectOption('no');
  await row.getByRole('button', { name: 'Save' }).click();
  await row.getByText('encryption required, keys held by the service, clear emergencies rejected').waitFor();
  // The console of the administrator needs a key now. It is asked for over the tab, and can be put off.
  await dialogOf({ page }).getByRole('button', { name: 'Close' }).click();

  await bob.call('POST', `/talkgroups/${fire.id}/join`);
  await row.getByRole('button', { name: 'Manage members' }).click();
  const member = row.getByRole('listitem').filter({ hasText: 'bob' });
  await member.getByText('may not have keys, 0 devices with keys').waitFor();
  const listed = async () => {
    const { body } = await root.call('GET', `/talkgroups/${fire.id}/keys`);
    return (body.members as { username: string; may_have_keys: boolean }[])
      .filter(({ may_have_keys }) => may_have_keys)
      .map(({ username }) => username)
      .sort();
  };
  t.same(await listed(), ['ann', 'root']);
  await member.getByRole('button', { name: 'Allow keys for bob' }).click();
  await member.getByText('may have keys, 0 devices with keys', { exact: true }).waitFor();
  t.same(await listed(), ['ann', 'bob', 'root']);
  await row
    .getByRole('listitem')
    .filter({ hasText: 'ann' })
    .getByRole('button', { name: 'Take keys from ann' })
    .click();
  await row.getByText('may have no keys, and the keys have changed').waitFor();
  t.same(await listed(), ['bob', 'root']);
});

t.test('without SECRETS_KEY the administrator is told what is missing', async (t) => {
  const s = await service(t);
  const root = await s.person('root', { role: 'admin' });
  const { page } = await desk(t, await startBrowser(t), s, root, { expected: [/status of 409/] });
  await page.getByRole('tab', { name: 'Admin' }).click();
  await page.getByLabel('Name of the new talkgroup').fill('Fire');
  await page.getByRole('combobox', { name: 'Encryption' }).selectOption('required');
  await page.getByRole('button', { name: 'Create talkgroup' }).click();
  await page.getByText(/Its encryption is not set\. .*SECRETS_KEY/).waitFor();
  t.equal((await s.sql`select encryption from talkgroups where name = 'Fire'`)[0]?.encryption, 'allowed');
});
