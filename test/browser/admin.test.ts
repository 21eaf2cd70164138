// Administration in a real browser: what is pressed on the page is seen by REST afterwards.
import type { Locator, Page } from 'playwright-core';
import t, { type Test } from 'tap';
import { violationsOn } from '../helpers/browser/axe.js';
import { startChromium } from '../helpers/browser/chromium.js';
import { desk } from '../helpers/browser/desk.js';
import { eventually } from '../helpers/eventually.js';
import { type Json, type Service, service as startService } from '../helpers/service/service.js';

const browser = await startChromium(t);

const NASTY = [
  '<img src=x onerror="document.title=1">',
  `"'></h3><script>document.title=2</script>`,
  '\u05d0\u200f right \u200e left',
  '🚒'.repeat(32),
  '&lt;b&gt; {{x}}',
];

t.test('a talkgroup is created, renamed, set, rotated and deleted, and REST shows each step', async (t) => {
  const { page, service } = await openAdmin(t);
  await page.getByLabel('Name of the new talkgroup').fill('Fire 1');
  await page.getByRole('combobox', { name: 'Floor mode' }).selectOption('single');
  await page.getByRole('button', { name: 'Create talkgroup' }).click();
  const row = await rowOf(page, 'Fire 1');
  const id = await idOf(service, 'Fire 1');
  t.match(await managed(service, id), { name: 'Fire 1', floor_mode: 'single', rotation_counter: 0 });

  await row.getByRole('button', { name: 'Rename' }).click();
  await page.keyboard.press('Control+A');
  await page.keyboard.type('Fire 2');
  await page.keyboard.press('Enter');
  const renamed = await rowOf(page, 'Fire 2');
  t.match(await managed(service, id), { name: 'Fire 2' });
  await focused(renamed.getByRole('button', { name: 'Rename' }), 'the focus is back at the button');

  await renamed.getByRole('button', { name: 'Floor mode and limit' }).click();
  await renamed.getByRole('combobox', { name: 'Floor mode' }).selectOption('broadcast');
  await renamed.getByLabel('Talk limit in seconds, 0 for none').fill('45');
  await renamed.getByRole('button', { name: 'Save' }).click();
  await renamed.getByText('talk limit 45 seconds').waitFor();
  t.match(await managed(service, id), { floor_mode: 'broadcast', max_talk_ms: 45_000 });

  await renamed.getByRole('button', { name: 'Rotate key' }).dblclick();
  await renamed.getByText('The key is rotated.').waitFor();
  const { rotation_counter } = await managed(service, id);
  await renamed.getByText(`key counter ${rotation_counter}`).waitFor();

  await renamed.getByRole('button', { name: 'Delete', exact: true }).click();
  await focused(renamed.getByRole('button', { name: 'Keep' }), 'the safe button has the focus');
  await page.keyboard.press('Enter');
  t.match(await managed(service, id), { name: 'Fire 2' }, 'kept');
  await renamed.getByRole('button', { name: 'Delete', exact: true }).click();
  await renamed.getByRole('button', { name: 'Delete now' }).click();
  await renamed.waitFor({ state: 'detached' });
  t.strictSame(await managed(service, id), {});
  t.strictSame(await violationsOn(page), []);
});

t.test('two presses at once send one request', async (t) => {
  const { page, service } = await openAdmin(t);
  const { id } = await service.talkgroup('Fire 1');
  await page.getByRole('button', { name: 'Reload' }).click();
  const row = await rowOf(page, 'Fire 1');
  const sent: string[] = [];
  page.on('request', (request) => sent.push(`${request.method()} ${new URL(request.url()).pathname}`));
  // In one task of the page, so that the second one comes before any answer.
  await row.getByRole('button', { name: 'Rotate key' }).evaluate((button: { click(): void }) => {
    button.click();
    button.click();
  });
  await row.getByText('key counter 1').waitFor();
  t.equal(sent.filter((one) => one === 'POST /keys/rotate').length, 1);
  t.match(await managed(service, id), { rotation_counter: 1 });
});

t.test('members are found by the start of a name, added and removed', async (t) => {
  const { page, service } = await openAdmin(t);
  const ann = await service.person('ann of fire');
  await service.person('bob of fire');
  const { id } = await service.talkgroup('Fire 1');
  await page.getByRole('button', { name: 'Reload' }).click();
  const row = await rowOf(page, 'Fire 1');
  await row.getByRole('button', { name: 'Manage members' }).click();
  await page.keyboard.type('ANN');
  await row.getByRole('button', { name: 'Add ann of fire' }).click();
  await row.getByText('is a member now').waitFor();
  await row.getByText('1 member', { exact: false }).first().waitFor();
  t.strictSame(await membersOf(service, id), [ann.id]);
  await row.getByRole('button', { name: 'Remove ann of fire' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove', exact: true }).click();
  await row.getByText('is removed').waitFor();
  t.strictSame(await membersOf(service, id), []);
  t.strictSame(await violationsOn(page), []);
});

t.test('a user is created, can log in, and a taken name is said', async (t) => {
  const { page, service } = await openAdmin(t, [/409/]);
  await page.getByRole('button', { name: 'Users' }).click();
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
});

t.test('users are found by the start of a name, and their tokens are revoked', async (t) => {
  const { page, service } = await openAdmin(t);
  const ann = await service.person('100%_ann', { serial: 'SN-7' });
  await service.person('100 other');
  await page.getByRole('button', { name: 'Users' }).click();
  await page.getByLabel('Search by the start of the name').fill('100%_');
  const row = await rowOf(page, '100%_ann');
  await eventually(async () => {
    if ((await page.getByRole('article').count()) !== 1) throw new Error('% and _ are no pattern');
  });
  await row.getByRole('button', { name: 'Show device' }).click();
  await row.getByText('SN-7').waitFor();
  await row.getByRole('button', { name: 'Revoke tokens' }).click();
  const question = page.getByRole('dialog', { name: 'Revoke the tokens of' });
  await question.waitFor();
  t.strictSame(await violationsOn(page), []);
  await page.keyboard.press('Escape');
  await question.waitFor({ state: 'detached' });
  t.match(await ann.call('GET', '/me'), { status: 200 }, 'a closed question does nothing');
  await row.getByRole('button', { name: 'Revoke tokens' }).click();
  await question.getByRole('button', { name: 'Revoke tokens' }).click();
  await row.getByText('The tokens are revoked').waitFor();
  t.match(await ann.call('GET', '/me'), { status: 401 });
  t.strictSame(await violationsOn(page), []);
});

t.test('a device is renamed, disabled and enabled', async (t) => {
  const { page, service } = await openAdmin(t);
  const ann = await service.person('ann', { serial: 'SN-8' });
  await page.getByRole('button', { name: 'Devices' }).click();
  const row = await rowOf(page, 'SN-8');
  await row.getByRole('button', { name: 'Rename' }).click();
  await row.getByLabel('New name').fill('Engine 8');
  await row.getByLabel('Site').fill('North');
  await row.getByRole('button', { name: 'Save' }).click();
  const renamed = await rowOf(page, 'Engine 8');
  t.match((await ann.get('/me')).device, { name: 'Engine 8', site: 'North', serial: 'SN-8' });
  await renamed.getByRole('button', { name: 'Disable' }).click();
  await renamed.getByRole('button', { name: 'Enable' }).waitFor();
  t.match(await ann.call('GET', '/me'), { status: 401 });
  await renamed.getByRole('button', { name: 'Enable' }).click();
  await renamed.getByRole('button', { name: 'Disable' }).waitFor();
  t.match(await ann.call('GET', '/me'), { status: 200 });
  t.strictSame(await violationsOn(page), []);
});

t.test('names full of markup, quotes, marks and emoji are text', async (t) => {
  const { page, service } = await openAdmin(t);
  for (const name of NASTY) {
    const { id } = await service.talkgroup('plain');
    // Older names may have what a new one must not.
    await service.sql`update talkgroups set name = ${name} where id = ${id}`;
  }
  await page.getByRole('button', { name: 'Reload' }).click();
  for (const name of NASTY) {
    await eventually(async () => {
      const texts = await page.getByRole('heading', { level: 3 }).allTextContents();
      if (!texts.includes(name)) throw new Error(`${name} is not in ${texts}`);
    });
  }
  t.equal(await page.locator('article img, article script').count(), 0);
  t.equal(await page.title(), 'Talkgroup Radio');
  t.strictSame(await violationsOn(page), []);
});

t.test('the next page is added below, and focus and scroll stay', async (t) => {
  const { page, service } = await openAdmin(t);
  await service.sql`insert into talkgroups (name, master_secret)
    select 'Group ' || n, decode(repeat('00', 32), 'hex') from generate_series(1, 60) n`;
  await page.getByRole('button', { name: 'Reload' }).click();
  await eventually(async () => {
    if ((await page.getByRole('article').count()) !== 50) throw new Error('the first page is not there');
  });
  const more = page.getByRole('button', { name: 'Show more' });
  await more.focus();
  const before = await page.evaluate('document.querySelector("main").scrollTop');
  await page.keyboard.press('Enter');
  await eventually(async () => {
    if ((await page.getByRole('article').count()) !== 60) throw new Error('the second page is not there');
  });
  t.equal(await page.evaluate('document.querySelector("main").scrollTop'), before);
  await focused(page.getByRole('button', { name: '60 entries' }), 'the button keeps the focus');
});

t.test('an error of the service is shown in words beside what failed, with the wait', async (t) => {
  const { page, service } = await openAdmin(t, [/429/]);
  await service.talkgroup('Fire 1');
  await page.getByRole('button', { name: 'Reload' }).click();
  const row = await rowOf(page, 'Fire 1');
  await page.route('**/keys/rotate', (route) =>
    route.fulfill({
      status: 429,
      headers: { 'retry-after': '3' },
      json: { error: 'too many requests at once' },
    }),
  );
  await row.getByRole('button', { name: 'Rotate key' }).click();
  await row.getByText('The service has too much to do. Wait 3 seconds, then try again.').waitFor();
  await page.unroute('**/keys/rotate');
  await row.getByRole('button', { name: 'Rotate key' }).click();
  await row.getByText('key counter 1').waitFor();
  t.equal(await row.getByText('too much to do').count(), 0);
});

/** The tab of administration, at which nothing goes wrong but what is expected. */
async function openAdmin(t: Test, expected: readonly RegExp[] = []) {
  const service = await startService(t);
  const options = { expected, withoutMicrophone: true };
  const { page } = await desk(t, browser, service, service.admin, options);
  await page.getByRole('tab', { name: 'Admin' }).click();
  await page.getByRole('button', { name: 'Create talkgroup' }).waitFor();
  return { page, service };
}

/** The entry with this name. */
async function rowOf(page: Page, name: string): Promise<Locator> {
  const row = page.getByRole('article', { name, exact: true });
  await row.waitFor();
  return row;
}

async function focused(locator: Locator, what: string): Promise<void> {
  await eventually(async () => {
    const isFocused = await locator.evaluate((element: { ownerDocument: { activeElement: unknown } }) => {
      return element.ownerDocument.activeElement === element;
    });
    if (!isFocused) throw new Error(what);
  });
}

async function idOf(service: Service, name: string): Promise<string> {
  const { talkgroups } = (await service.admin.get('/admin/talkgroups?limit=200')) as { talkgroups: Json[] };
  return String(talkgroups.find((one) => one.name === name)?.id);
}

/** As REST has it. Empty: there is none. */
async function managed(service: Service, id: string): Promise<Json> {
  const { talkgroups } = (await service.admin.get('/admin/talkgroups?limit=200')) as { talkgroups: Json[] };
  return talkgroups.find((one) => one.id === id) ?? {};
}

async function membersOf(service: Service, id: string): Promise<unknown[]> {
  const { members } = (await service.admin.get(`/talkgroups/${id}/members`)) as { members: Json[] };
  return members.map(({ user_id }) => user_id);
}
