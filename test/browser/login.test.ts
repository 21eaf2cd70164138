// The login of the console: what a user reads when it fails, what a reload keeps, and what logging out ends.
import t from 'tap';
import { confirm } from '../helpers/browser/admin.js';
import { startChromium } from '../helpers/browser/chromium.js';
import { connected, desk, logIn, openPage, openSettings, withPassword } from '../helpers/browser/desk.js';
import { eventually } from '../helpers/eventually.js';
import { service } from '../helpers/service/service.js';

/** A page under that name is one of another machine. */
const ELSEWHERE = 'console.test';
const browser = await startChromium(t, { resolve: ELSEWHERE });

/** Chromium writes an error for each answer from 400 on. */
const REJECTED = /status of 401/;
/** And one for a header that counts over https only. */
const OVER_HTTP = /Cross-Origin-Opener-Policy header has been ignored/;

t.test('a wrong password is told in words, and the right one opens the talkgroups', async (t) => {
  const s = await service(t);
  const ann = await s.person('ann');
  await s.talkgroup('Fire 1', ann);
  await withPassword(s, ann);
  const { page } = await openPage(t, browser, s, { expected: [REJECTED] });
  await page.getByRole('textbox', { name: 'Username' }).fill('ann');
  await page.getByRole('textbox', { name: 'Password' }).fill('wrong');
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.getByText('Wrong username or password.').waitFor();
  await logIn(page, 'ann');
  await page.getByRole('group', { name: 'Fire 1', exact: true }).waitFor();
  t.equal(await page.getByRole('tab').count(), 3, 'a user has no administration');
});

t.test('a reload continues the session of the tab, and a new tab asks for the password', async (t) => {
  const s = await service(t);
  const ann = await s.person('ann');
  await s.talkgroup('Fire 1', ann);
  // Chromium lets a page with an open microphone play by itself, so this one gets none. What the test asks the page counts
  // as a gesture, and may come before the console looks for one.
  const init = `navigator.mediaDevices.getUserMedia = () => new Promise(() => {});
    Object.defineProperty(navigator, 'userActivation', { value: { hasBeenActive: false } });`;
  const { page, context } = await desk(t, browser, s, ann, { withoutMicrophone: true, init });
  await page.reload();
  await connected(page);
  await page.getByRole('button', { name: 'Start the sound' }).waitFor();
  const other = await context.newPage();
  await other.goto(`${s.rest}/console/`);
  await other.getByRole('button', { name: 'Log in' }).waitFor();
  t.equal(
    await other.evaluate('localStorage.length + document.cookie.length'),
    0,
    'nothing is kept beyond the tab',
  );
});

t.test('logging out closes the radio and forgets the token', async (t) => {
  const s = await service(t);
  const [ann, bob] = [await s.person('ann'), await s.person('bob')];
  const group = await s.talkgroup('Fire 1', ann, bob);
  const { page } = await desk(t, browser, s, ann);
  const radio = await bob.radio();
  const online = async () => (await radio.asks({ type: 'SYNC', talkgroup_id: group.id })).online as number;
  t.equal(await online(), 2);
  await page.getByRole('button', { name: /, Account$/ }).click();
  await page.getByRole('menuitem', { name: 'Log out', exact: true }).click();
  await page.getByText('You are logged out.', { exact: true }).waitFor();
  t.equal(await page.evaluate(`sessionStorage.getItem('talkgroup.token')`), null);
  await page.reload();
  await page.getByRole('button', { name: 'Log in' }).waitFor();
  await eventually(async () => {
    await new Promise((resolve) => setTimeout(resolve, 1_000)); // SYNC is answered once a second
    if ((await online()) !== 1) throw new Error('the radio of the console is still online');
  });
});

t.test('a token that is revoked elsewhere logs the console out and says so', async (t) => {
  const s = await service(t);
  const ann = await s.person('ann');
  await s.talkgroup('Fire 1', ann);
  const { page } = await desk(t, browser, s, ann);
  await s.revoke('ann');
  await page.getByText('Your login is no longer valid. Log in again.').waitFor();
});

t.test('logging out everywhere ends the other consoles of the account', async (t) => {
  const s = await service(t);
  const ann = await s.person('ann');
  await s.talkgroup('Fire 1', ann);
  const one = await desk(t, browser, s, ann);
  const other = await desk(t, browser, s, ann);
  await openSettings(one.page);
  await one.page.getByRole('button', { name: 'Log out everywhere' }).click();
  await confirm(one.page, 'Log out everywhere?', 'Log out everywhere');
  await one.page.getByText('You are logged out here and on every other device.').waitFor();
  await other.page.getByText('Your login is no longer valid. Log in again.').waitFor();
});

t.test('logging out everywhere says so when the radio is closed before the answer comes', async (t) => {
  const s = await service(t);
  const ann = await s.person('ann');
  await s.talkgroup('Fire 1', ann);
  const { page } = await desk(t, browser, s, ann);
  await page.route('**/auth/revoke', async (route) => void (await route.fetch())); // the answer never comes
  await openSettings(page);
  await page.getByRole('button', { name: 'Log out everywhere' }).click();
  await confirm(page, 'Log out everywhere?', 'Log out everywhere');
  await page.getByText('You are logged out here and on every other device.').waitFor();
});

t.test('plain http from another machine is explained in words', async (t) => {
  const s = await service(t, { HOST: '0.0.0.0' });
  const address = s.rest.replace('127.0.0.1', ELSEWHERE);
  const { page } = await openPage(t, browser, s, { address, expected: [OVER_HTTP] });
  await page.getByText(/opened over plain http from another machine/).waitFor();
  const ann = await s.person('ann');
  await s.talkgroup('Fire 1', ann);
  await withPassword(s, ann);
  await logIn(page, 'ann');
  await page.getByRole('group', { name: 'Fire 1', exact: true }).waitFor();
  await page.getByText(/opened over plain http from another machine/).waitFor();
});
