// Who gets keys: a browser that another one accepts, and what an administrator sets at the console.
import t from 'tap';
import { choose, confirm, rowOf } from '../helpers/browser/admin.js';
import { desk } from '../helpers/browser/desk.js';
import { dialogOf, encryptedService, hears, hold, SECRETS_KEY, setUpKeys } from '../helpers/browser/keys.js';
import { startBrowser, TAP } from '../helpers/browser/sound-page.js';
import { PASSWORD } from '../helpers/http/rest.js';
import { service } from '../helpers/service/service.js';
import { RATE, sine } from '../helpers/sound/tones.js';

const browser = await startBrowser(t, sine(1_000, RATE * 5, { peakDb: -10 }));

t.test('a second browser waits, is accepted by the first one, and then hears', async (t) => {
  const { s, ann, bob } = await encryptedService(t);
  const talker = await desk(t, browser, s, bob);
  await setUpKeys(talker);
  const first = await desk(t, browser, s, ann, { expected: [/status of 401/] });
  await setUpKeys(first);
  await dialogOf(first).waitFor({ state: 'detached' });
  // Another context of the browser has a storage of its own.
  const second = await desk(t, browser, s, ann, { init: TAP });
  await setUpKeys(second, 'Night desk');
  await dialogOf(second)
    .getByText(/This browser waits for its keys/)
    .waitFor();
  const digits = await dialogOf(second).locator('code').innerText();
  t.match(digits, /^(\d{5}\s){11}\d{5}$/);
  await second.page.keyboard.press('Escape');
  await second.page.getByText('This browser waits to be accepted before it gets keys.').waitFor();

  await hold(talker.page, talker.button('Talk in', 'Fire'));
  await second.tile('Fire').getByText('not heard', { exact: true }).waitFor();
  await second.tile('Fire').getByText('The key has not come.').waitFor();

  await first.page.getByText('A new device of your account waits to be accepted.').waitFor();
  await first.page.getByRole('button', { name: 'Look at the devices' }).click();
  const settings = first.page.getByRole('region', { name: 'Encryption' });
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
  await confirm(first.page, 'Night desk', 'Delete');
  await row.waitFor({ state: 'detached' });
  await second.page.getByRole('button', { name: 'Set up keys' }).waitFor();
});

t.test('an administrator requires encryption, and allows keys to a member who joined later', async (t) => {
  const s = await service(t, { SECRETS_KEY });
  const root = await s.person('root', { role: 'admin' });
  const [ann, bob] = [await s.person('ann'), await s.person('bob')];
  const fire = await s.talkgroup('Fire', root, ann);
  const { page } = await desk(t, browser, s, root);
  await page.getByRole('tab', { name: 'Admin' }).click();
  const row = await rowOf(page, 'Fire');
  await choose(row, 'Encryption');
  const form = page.getByRole('complementary', { name: 'Encryption of Fire' });
  await form.getByRole('combobox', { name: 'Encryption' }).selectOption('required');
  await form.getByRole('combobox', { name: 'Emergency without a key' }).selectOption('no');
  await form.getByRole('button', { name: 'Save' }).click();
  await row.getByText('required, emergencies too').waitFor();
  // The console of the administrator needs a key now. No dialog opens by itself.
  await page.getByText('A talkgroup needs keys in this browser.').waitFor();
  t.equal(await dialogOf({ page }).count(), 0);

  await bob.call('POST', `/talkgroups/${fire.id}/join`);
  await choose(row, 'Manage members');
  const panel = page.getByRole('complementary', { name: 'Members of Fire' });
  const member = panel.getByRole('listitem').filter({ hasText: 'bob' });
  await member.getByText('may not have keys, 0 devices with keys').waitFor();
  const listed = async () => {
    const { body } = await root.call('GET', `/talkgroups/${fire.id}/keys`);
    return (body.members as { username: string; may_have_keys: boolean }[])
      .filter(({ may_have_keys }) => may_have_keys)
      .map(({ username }) => username)
      .sort();
  };
  t.same(await listed(), ['ann', 'root']);
  await choose(member, 'Allow keys for bob');
  await member.getByText('may have keys, 0 devices with keys', { exact: true }).waitFor();
  t.same(await listed(), ['ann', 'bob', 'root']);
  await choose(
    panel.getByRole('listitem').filter({ hasText: 'ann' }),
    'Stop ann from hearing encrypted speech',
  );
  await panel.getByText('may have no keys, and the keys have changed').waitFor();
  t.same(await listed(), ['bob', 'root']);
});

t.test('without SECRETS_KEY the administrator is told what is missing', async (t) => {
  const s = await service(t);
  const root = await s.person('root', { role: 'admin' });
  const { page } = await desk(t, browser, s, root, { expected: [/status of 409/] });
  await page.getByRole('tab', { name: 'Admin' }).click();
  await page.getByRole('button', { name: 'New talkgroup' }).click();
  await page.getByLabel('Name of the new talkgroup').fill('Fire');
  await page.getByRole('combobox', { name: 'Encryption' }).selectOption('required');
  await page.getByRole('button', { name: 'Create talkgroup' }).click();
  await page.getByText(/Its encryption is not set\. .*SECRETS_KEY/).waitFor();
  t.equal((await s.sql`select encryption from talkgroups where name = 'Fire'`)[0]?.encryption, 'allowed');
});
