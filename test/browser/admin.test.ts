// Administration in a real browser: what is pressed on the page is seen by REST afterwards.
import t from 'tap';
import { choose, confirm, focused, managed, openAdmin, rowOf } from '../helpers/browser/admin.js';
import { violationsOn } from '../helpers/browser/axe.js';
import { startChromium } from '../helpers/browser/chromium.js';
import { desk, openPage } from '../helpers/browser/desk.js';
import { eventually } from '../helpers/eventually.js';
import type { Json, Service } from '../helpers/service/service.js';

const browser = await startChromium(t);

t.test(
  'a talkgroup is created, edited in its row, rotated and deleted, and REST shows each step',
  async (t) => {
    const { page, service } = await openAdmin(t, browser);
    await page.getByRole('button', { name: 'New talkgroup' }).click();
    await page.getByLabel('Name of the new talkgroup').fill('Fire 1');
    await page.getByRole('combobox', { name: 'Floor mode' }).selectOption('single');
    await page.getByRole('button', { name: 'Create talkgroup' }).click();
    const row = await rowOf(page, 'Fire 1');
    const id = await idOf(service, 'Fire 1');
    t.match(await managed(service, id), { name: 'Fire 1', floor_mode: 'single', rotation_counter: 0 });
    await page.getByRole('button', { name: 'Close' }).click();
    await focused(page.getByRole('button', { name: 'New talkgroup' }), 'the focus is back at the button');

    await row.getByRole('button', { name: 'Fire 1, edit name' }).dblclick();
    await page.keyboard.type('Fire 2');
    await page.keyboard.press('Enter');
    const renamed = await rowOf(page, 'Fire 2');
    t.match(await managed(service, id), { name: 'Fire 2' });
    await focused(
      renamed.getByRole('button', { name: 'Fire 2, edit name' }),
      'the focus is back in the cell',
    );

    await renamed.getByRole('button', { name: 'single, edit mode' }).dblclick();
    await renamed.getByRole('combobox', { name: 'Mode of Fire 2' }).selectOption('broadcast');
    await renamed.getByRole('button', { name: 'Save' }).click();
    await renamed.getByRole('button', { name: 'edit talk limit' }).press('Enter');
    await renamed.getByRole('spinbutton', { name: 'Talk limit of Fire 2' }).fill('45');
    await page.keyboard.press('Enter');
    await renamed.getByRole('button', { name: '45 s, edit talk limit' }).waitFor();
    t.match(await managed(service, id), { floor_mode: 'broadcast', max_talk_ms: 45_000 });

    await choose(renamed, 'Rotate key');
    await confirm(page, 'Rotate the key of', 'Rotate key');
    const { rotation_counter } = await eventually(async () => {
      const now = await managed(service, id);
      if (now.rotation_counter === 0) throw new Error('the key is not rotated');
      return now;
    });
    await page.getByText(`The key is rotated. The counter is ${rotation_counter} now.`).waitFor();

    await choose(renamed, 'Delete');
    const question = page.getByRole('dialog', { name: 'Delete \u2068Fire 2\u2069?' });
    await question.getByText('This cannot be undone').waitFor();
    t.strictSame(await violationsOn(page), []);
    await page.keyboard.press('Enter');
    await question.waitFor({ state: 'detached' });
    t.match(await managed(service, id), { name: 'Fire 2' }, 'Enter does not confirm');
    await choose(renamed, 'Delete');
    await confirm(page, 'Delete', 'Delete');
    await renamed.waitFor({ state: 'detached' });
    t.strictSame(await managed(service, id), {});
    await focused(page.getByRole('searchbox', { name: 'Find a talkgroup' }), 'no row takes its place');
    t.strictSame(await violationsOn(page), []);
  },
);

t.test(
  'the form sets how long a talkgroup is recorded, its tile says so, and a rejection is shown',
  async (t) => {
    const { page, service } = await openAdmin(t, browser, [/status of 409/]);
    const ann = await service.person('ann');
    const { id } = (await service.talkgroup('Fire 1', service.admin, ann)) as { id: string };
    const member = await desk(t, browser, service, ann, { withoutMicrophone: true });
    await member.button('Talk in', 'Fire 1').waitFor();
    await page.getByRole('button', { name: 'Reload' }).click();
    const row = await rowOf(page, 'Fire 1');
    const form = page.getByRole('complementary', { name: 'Recording of Fire 1' });
    const days = form.getByRole('spinbutton', {
      name: 'Recording',
      description: /Every member sees that this talkgroup is recorded\. Stored recordings keep their time\./,
    });
    const note = member.tile('Fire 1').locator('.note');
    for (const [count, text] of [
      ['30', 'Recorded, kept 30 days'],
      ['1', 'Recorded, kept 1 day'],
      ['0', null],
    ] as const) {
      await choose(row, 'Recording…');
      await focused(days, 'the field has the focus');
      t.strictSame(await violationsOn(page), []);
      await days.fill(count);
      await page.keyboard.press('Enter');
      await form.waitFor({ state: 'detached' });
      t.match(await managed(service, id), { recording_days: Number(count) });
      if (text === null) await note.waitFor({ state: 'detached' });
      else await note.filter({ hasText: text }).waitFor();
      t.strictSame(await violationsOn(member.page), []);
    }
    await choose(row, 'Recording…');
    for (const wrong of ['3651', '-1', '1.5', '']) {
      await days.fill(wrong);
      await page.keyboard.press('Enter');
      t.ok(await days.evaluate((field) => field.matches(':invalid')), wrong);
    }
    t.match(await managed(service, id), { recording_days: 0 });

    const reason = 'this node records nothing: RECORDING_GB is 0';
    await page.route(`**/talkgroups/${id}`, (route) =>
      route.fulfill({ status: 409, json: { error: reason } }),
    );
    await days.fill('30');
    await page.keyboard.press('Enter');
    await form.getByText(`The service rejected it: ${reason}.`).waitFor();
    t.strictSame(await violationsOn(page), []);
  },
);

t.test('members are found by the start of a name, added and taken out', async (t) => {
  const { page, service } = await openAdmin(t, browser);
  const ann = await service.person('ann of fire');
  await service.person('bob of fire');
  const { id } = await service.talkgroup('Fire 1');
  await page.getByRole('button', { name: 'Reload' }).click();
  const row = await rowOf(page, 'Fire 1');
  await choose(row, 'Manage members');
  const panel = page.getByRole('complementary', { name: 'Members of Fire 1' });
  await panel.getByRole('searchbox', { name: 'Add a user: start of the name' }).waitFor();
  await page.keyboard.type('ANN');
  await panel.getByRole('button', { name: 'Add ann of fire' }).click();
  await panel.getByText('is a member now').waitFor();
  t.equal(await row.getByRole('cell').nth(5).innerText(), '1');
  t.strictSame(await membersOf(service, id), [ann.id]);
  await choose(panel, 'Take out', 'ann of fire');
  await confirm(page, 'Take \u2068ann of fire\u2069 out of', 'Take out');
  await panel.getByText('is taken out').waitFor();
  t.strictSame(await membersOf(service, id), []);
  t.strictSame(await violationsOn(page), []);
  await page.keyboard.press('Escape');
  await panel.waitFor({ state: 'detached' });
  await focused(row.getByRole('button', { name: 'Actions for Fire 1' }), 'the focus is back at the row');
});

t.test('a user is created, can log in, and a taken name is said', async (t) => {
  const { page, service } = await openAdmin(t, browser, [/409/]);
  await page.getByRole('button', { name: 'Users' }).click();
  await page.getByRole('button', { name: 'New user' }).click();
  await page.getByLabel('Name of the new user').fill('cid');
  await page.getByLabel('Password of the new user').fill('cid-secret');
  await page.getByRole('button', { name: 'Create user' }).click();
  await rowOf(page, 'cid');
  const body = { username: 'cid', password: 'cid-secret' };
  t.match(await service.call('POST', '/auth/login', null, body), { status: 200 });
  await page.getByLabel('Name of the new user').fill('cid');
  await page.getByLabel('Password of the new user').fill('another-secret');
  await page.keyboard.press('Enter');
  await page.getByText('The service rejected it: username taken.').waitFor();
  t.strictSame(await violationsOn(page), []);
  const row = await rowOf(page, 'cid');
  const place = await row.boundingBox();
  await service.person('another');
  const waiting = page.getByRole('button', { name: '1 new, show' });
  await waiting.waitFor();
  t.strictSame(await row.boundingBox(), place, 'what others create comes when it is wanted');
  t.equal(await page.getByRole('button', { name: 'Actions for another' }).count(), 0);
  await waiting.click();
  await rowOf(page, 'another');
  await waiting.waitFor({ state: 'detached' });
});

t.test(
  'users are found by a part of the name or by their device, and their tokens are revoked',
  async (t) => {
    const { page, service } = await openAdmin(t, browser);
    const ann = await service.person('ann 100%_', { serial: 'SN-7' });
    await service.person('100 other');
    await page.getByRole('button', { name: 'Users' }).click();
    const find = page.getByRole('searchbox', { name: 'Find a user' });
    await find.fill('0%_');
    const row = await rowOf(page, 'ann 100%_');
    await page.getByText('1 user', { exact: true }).waitFor();
    await find.fill('sn-7');
    await page.getByText('1 user', { exact: true }).waitFor();
    await row.getByRole('button', { name: 'Card of ann 100%_' }).click();
    const card = page.getByRole('complementary', { name: 'Card of ann 100%_' });
    await card.getByText('SN-7').waitFor();
    t.strictSame(await violationsOn(page), []);
    await choose(row, 'Revoke tokens');
    const question = page.getByRole('dialog', { name: 'Revoke the tokens of' });
    await question.waitFor();
    t.strictSame(await violationsOn(page), []);
    await page.keyboard.press('Escape');
    await question.waitFor({ state: 'detached' });
    t.match(await ann.call('GET', '/me'), { status: 200 }, 'a closed question does nothing');
    await choose(row, 'Revoke tokens');
    await question.getByRole('button', { name: 'Revoke tokens' }).click();
    await page.getByText('The tokens are revoked').waitFor();
    t.match(await ann.call('GET', '/me'), { status: 401 });
    t.strictSame(await violationsOn(page), []);
  },
);

t.test(
  'the card sets device and password, says why a user hears nothing, and a user is deleted',
  async (t) => {
    const { page, service } = await openAdmin(t, browser);
    const ann = await service.person('ann');
    await page.getByRole('button', { name: 'Users' }).click();
    const row = await rowOf(page, 'ann');
    await row.getByText('no device').waitFor();
    await row.getByRole('button', { name: 'Card of ann' }).click();
    const card = page.getByRole('complementary', { name: 'Card of ann' });
    await card.getByText('Hears nothing: the user is in no talkgroup.').waitFor();
    await card.getByRole('button', { name: 'Find out why' }).click();
    await card.getByText('The node answered.').waitFor();
    const causes = card.getByRole('list', { name: 'Causes' }).getByRole('listitem');
    t.match(await causes.allInnerTexts(), [
      /^No radio of ann is connected, on 1 node\.\s+Check that the app runs/,
      /^ann is a member of no talkgroup\./,
      /^ann has no device/,
    ]);
    await card.getByRole('button', { name: 'Device…' }).click();
    const serial = card.getByLabel('Serial of the device');
    await focused(serial, 'the field has the focus');
    await serial.fill('SN-9');
    await page.keyboard.press('Enter');
    await card.getByText('Saved.').waitFor();
    await row.getByText('SN-9').waitFor();
    t.match(await ann.call('GET', '/me'), { status: 200 }, 'a first device revokes nothing');
    await serial.fill('');
    await page.keyboard.press('Enter');
    await confirm(page, 'Change the device of', 'Change the device');
    await card.getByText('The tokens are revoked').waitFor();
    await row.getByText('no device').waitFor();
    t.match(await ann.call('GET', '/me'), { status: 401 });
    t.strictSame(await violationsOn(page), []);
    await card.getByRole('button', { name: 'Password…' }).click();
    await card.getByLabel('New password').fill('another one');
    await page.keyboard.press('Enter');
    await card.getByText('The tokens are revoked').waitFor();
    const body = { username: 'ann', password: 'another one' };
    t.match(await service.call('POST', '/auth/login', null, body), { status: 200 });
    t.strictSame(await violationsOn(page), []);
    await choose(row, 'Delete');
    await confirm(page, 'Delete', 'Delete');
    await row.waitFor({ state: 'detached' });
    t.match(await service.call('POST', '/auth/login', null, body), { status: 401 });
    t.strictSame(await violationsOn(page), []);
  },
);

t.test('a device is renamed, disabled and enabled', async (t) => {
  const { page, service } = await openAdmin(t, browser);
  const ann = await service.person('ann', { serial: 'SN-8' });
  await page.getByRole('button', { name: 'Devices' }).click();
  const row = await rowOf(page, 'SN-8');
  await choose(row, 'Rename');
  await page.keyboard.type('Engine 8');
  await page.keyboard.press('Enter');
  const renamed = await rowOf(page, 'Engine 8');
  await choose(renamed, 'Change site');
  await page.keyboard.type('North');
  await page.keyboard.press('Enter');
  await renamed.getByRole('button', { name: 'North, edit site' }).waitFor();
  t.match((await ann.get('/me')).device, { name: 'Engine 8', site: 'North', serial: 'SN-8' });
  await choose(renamed, 'Disable');
  await confirm(page, 'Disable', 'Disable');
  await renamed.getByText('disabled').waitFor();
  t.match(await ann.call('GET', '/me'), { status: 401 });
  await choose(renamed, 'Enable');
  await renamed.getByText('enabled').waitFor();
  t.match(await ann.call('GET', '/me'), { status: 200 });
  t.strictSame(await violationsOn(page), []);
});

t.test('a setup code is made on the card, and its link sets the password in another browser', async (t) => {
  const { page, service } = await openAdmin(t, browser);
  const ann = await service.person('ann');
  await page.getByRole('button', { name: 'Users' }).click();
  await page.getByRole('button', { name: 'Card of ann' }).click();
  const card = page.getByRole('complementary', { name: 'Card of ann' });
  await card.getByRole('button', { name: 'Setup code…' }).click();
  await card.getByRole('spinbutton', { name: 'Valid for (hours)' }).fill('24');
  await page.keyboard.press('Enter');
  const code = (await card.locator('output').textContent()) ?? '';
  await card.getByRole('img', { name: 'QR code with the link' }).waitFor();
  t.strictSame(await violationsOn(page), []);

  const { page: other } = await openPage(t, browser, service, { expected: [/401/] });
  await other.evaluate(`location.hash = 'setup=0000-0000-0000-0000'`);
  await other.getByRole('heading', { name: 'Set your password' }).waitFor();
  await focused(other.getByRole('textbox', { name: 'New password' }), 'the password is asked for');
  await other.keyboard.type('chosen');
  await other.keyboard.press('Enter');
  await other.getByText('This code is not valid.').waitFor();
  t.strictSame(await violationsOn(other), []);
  await other.getByRole('textbox', { name: 'Setup code' }).fill(code.toLowerCase());
  await other.getByRole('button', { name: 'Set the password and log in' }).click();
  await other.getByRole('tab').first().waitFor();
  t.notMatch(other.url(), /setup/, 'the code stays in no address');
  t.equal((await ann.call('GET', '/me')).status, 401, 'an earlier token');
  const body = { username: 'ann', password: 'chosen' };
  t.match(await service.call('POST', '/auth/login', null, body), { status: 200 });
});

t.test('a dispatcher sees users and talkgroups, moves members and answers alarms, and no more', async (t) => {
  const { page, service } = await openAdmin(t, browser);
  const dan = await service.person('dan');
  const ann = await service.person('ann');
  const { id } = await service.talkgroup('Fire 1', dan, ann);
  await page.getByRole('button', { name: 'Users' }).click();
  const row = await rowOf(page, 'dan');
  await choose(row, 'Make a dispatcher');
  await confirm(page, 'Make \u2068dan\u2069 a dispatcher?', 'Make a dispatcher');
  await row.getByText('Dispatcher', { exact: true }).waitFor();

  const options = { withoutMicrophone: true, expected: [/401/] };
  const { page: his } = await desk(t, browser, service, dan, options);
  await his.getByRole('tab', { name: 'Admin' }).click();
  const sections = his.getByRole('navigation', { name: 'Administration' }).getByRole('button');
  await sections.first().waitFor();
  t.strictSame(await sections.allTextContents(), ['Talkgroups', 'Users']);
  t.equal(await his.getByRole('button', { name: 'New talkgroup' }).count(), 0);
  const group = await rowOf(his, 'Fire 1');
  t.equal(await group.getByRole('button', { name: /edit/ }).count(), 0);
  await choose(group, 'Manage members');
  const panel = his.getByRole('complementary', { name: 'Members of Fire 1' });
  await choose(panel, 'Take out', 'ann');
  await confirm(his, 'Take', 'Take out');
  await eventually(async () => {
    if ((await membersOf(service, id)).length !== 1) throw new Error('ann is a member');
  });
  t.strictSame(await violationsOn(his), []);

  await his.getByRole('button', { name: 'Users' }).click();
  const other = await rowOf(his, 'ann');
  await other.getByRole('button', { name: 'Card of ann' }).click();
  const card = his.getByRole('complementary', { name: 'Card of ann' });
  await card.getByText('0 talkgroups').waitFor();
  t.equal(await card.getByRole('button', { name: /Password|Device/ }).count(), 0);
  await choose(other, 'Revoke tokens');
  await confirm(his, 'Revoke', 'Revoke tokens');
  await eventually(async () => {
    if ((await ann.call('GET', '/me')).status !== 401) throw new Error('the token is valid');
  });
  await (await rowOf(his, 'admin')).getByRole('button', { name: 'Actions for admin' }).click();
  t.equal(await his.getByRole('menuitem', { name: 'Revoke' }).count(), 0, 'not of an administrator');
  await his.keyboard.press('Escape');
  t.strictSame(await violationsOn(his), []);

  const cid = await service.person('cid');
  await service.admin.call('PUT', `/talkgroups/${id}/members/${cid.id}`);
  const radio = await cid.radio();
  await radio.asks({ type: 'EMERGENCY_RAISE', talkgroup_id: id });
  const alarms = his.getByRole('region', { name: 'Alarms' });
  await alarms.getByRole('button', { name: 'Acknowledge' }).click();
  await radio.hears('EMERGENCY', ({ state }) => state === 'acknowledged');

  await choose(row, 'Make a plain user');
  await confirm(page, 'Make \u2068dan\u2069 a plain user?', 'Make a plain user');
  await his.getByRole('button', { name: 'Log in' }).waitFor();
});

async function idOf(service: Service, name: string): Promise<string> {
  const { talkgroups } = (await service.admin.get('/admin/talkgroups?limit=200')) as { talkgroups: Json[] };
  return String(talkgroups.find((one) => one.name === name)?.id);
}

async function membersOf(service: Service, id: string): Promise<unknown[]> {
  const { members } = (await service.admin.get(`/talkgroups/${id}/members`)) as { members: Json[] };
  return members.map(({ user_id }) => user_id);
}
