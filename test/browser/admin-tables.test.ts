// The tables of administration: their order, pages, cells that are edited, the keyboard, and what they say of errors.
import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import t from 'tap';
import { choose, confirm, focused, managed, openAdmin, rowOf } from '../helpers/browser/admin.js';
import { violationsOn } from '../helpers/browser/axe.js';
import { startChromium } from '../helpers/browser/chromium.js';
import { eventually } from '../helpers/eventually.js';

const browser = await startChromium(t);

const NASTY = [
  '<img src=x onerror="document.title=1">',
  `"'></h3><script>document.title=2</script>`,
  '\u05d0\u200f right \u200e left',
  '🚒'.repeat(32),
  '&lt;b&gt; {{x}}',
];

t.test(
  'Escape restores a cell, and an error stands below it until the next key and moves nothing',
  async (t) => {
    const { page, service } = await openAdmin(t, browser, [/400/]);
    const { id } = await service.talkgroup('Fire 1');
    await service.talkgroup('Works');
    await page.getByRole('button', { name: 'Reload' }).click();
    const row = await rowOf(page, 'Fire 1');
    const below = await rowOf(page, 'Works');
    await row.getByRole('button', { name: 'Fire 1, edit name' }).press('Enter');
    const field = row.getByRole('textbox', { name: 'Name of Fire 1' });
    await field.fill('Fire  2');
    const before = await below.boundingBox();
    await page.keyboard.press('Enter');
    await row.getByRole('alert').getByText('The service rejected it').waitFor();
    t.strictSame(await below.boundingBox(), before);
    t.strictSame(await violationsOn(page), []);
    await page.keyboard.press('x');
    await row.getByRole('alert').waitFor({ state: 'detached' });
    await page.keyboard.press('Escape');
    await focused(row.getByRole('button', { name: 'Fire 1, edit name' }), 'the cell shows its name again');
    t.match(await managed(service, id), { name: 'Fire 1' });
    await row.getByRole('button', { name: 'Fire 1, edit name' }).click();
    t.equal(await field.count(), 0, 'a single click edits nothing');
  },
);

t.test('two presses at once send one request', async (t) => {
  const { page, service } = await openAdmin(t, browser);
  await service.person('ann', { serial: 'SN-8' });
  await page.getByRole('button', { name: 'Devices' }).click();
  const row = await rowOf(page, 'SN-8');
  await row.getByRole('button', { name: 'SN-8, edit name' }).dblclick();
  await row.getByRole('textbox', { name: 'Name of SN-8' }).fill('Engine 8');
  const sent: string[] = [];
  page.on('request', (request) => sent.push(`${request.method()} ${new URL(request.url()).pathname}`));
  // In one task of the page, so that the second one comes before any answer.
  await row.getByRole('button', { name: 'Save' }).evaluate((button: { click(): void }) => {
    button.click();
    button.click();
  });
  await rowOf(page, 'Engine 8');
  t.equal(sent.filter((one) => one.startsWith('PATCH ')).length, 1);
});

t.test('names full of markup, quotes, marks and emoji are text', async (t) => {
  const { page, service } = await openAdmin(t, browser);
  for (const name of NASTY) {
    const { id } = await service.talkgroup('plain');
    // Older names may have what a new one must not.
    await service.sql`update talkgroups set name = ${name} where id = ${id}`;
  }
  await page.getByRole('button', { name: 'Reload' }).click();
  for (const name of NASTY) {
    await eventually(async () => {
      const texts = await page.locator('.admin-cell.first').allTextContents();
      if (!texts.includes(name)) throw new Error(`${name} is not in ${texts}`);
    });
  }
  t.equal(await page.locator('table img, table script').count(), 0);
  t.equal(await page.title(), 'Talkgroup Radio');
  t.strictSame(await violationsOn(page), []);
});

t.test(
  'the service sorts, the next page comes while the list is scrolled, and rows are 36 px high',
  async (t) => {
    // A busy machine may not read a page within 1.5 s.
    const { page, service } = await openAdmin(t, browser, [/status of 503/]);
    await service.sql`insert into talkgroups (name, master_secret)
    select 'Group ' || lpad(n::text, 3, '0'), decode(repeat('00', 32), 'hex') from generate_series(1, 130) n`;
    await page.getByRole('button', { name: 'Reload' }).click();
    const names = page.locator('.admin-cell.first');
    await eventually(async () => assert.equal(await names.count(), 50));
    t.equal(await names.first().innerText(), 'Group 001');
    t.equal((await page.getByRole('row').nth(3).boundingBox())?.height, 36);
    await page.getByRole('button', { name: 'Name', exact: true }).click();
    await eventually(async () => assert.equal(await names.first().innerText(), 'Group 130'));
    t.equal(await page.getByRole('columnheader', { name: 'Name' }).getAttribute('aria-sort'), 'descending');
    await eventually(async () => {
      await page.locator('.admin-scroll').evaluate((list: { scrollTop: number }) => {
        list.scrollTop = list.scrollTop === 1_100 ? 1_101 : 1_100;
      });
      assert.equal(await names.count(), 100);
    });
    const more = page.getByRole('button', { name: 'Show more' });
    await eventually(async () => {
      // It goes with the last page, perhaps in this moment.
      if ((await more.count()) === 1) await more.press('Enter', { timeout: 1_000 }).catch(() => {});
      assert.equal(await page.getByText('130 talkgroups', { exact: true }).count(), 1);
    });
    t.equal(await names.nth(129).innerText(), 'Group 001');
    const head = await page.getByRole('columnheader', { name: 'Name' }).boundingBox();
    const list = await page.locator('.admin-scroll').boundingBox();
    t.equal(head?.y, list?.y, 'the head stays in sight');
    t.strictSame(await violationsOn(page), []);
  },
);

t.test('a talkgroup is found, renamed and deleted by the keyboard alone', async (t) => {
  const { page, service } = await openAdmin(t, browser);
  await service.talkgroup('Fire 1');
  await page.getByRole('searchbox', { name: 'Find a talkgroup' }).focus();
  await page.keyboard.type('ire');
  await rowOf(page, 'Fire 1');
  await tabTo(page, 'Fire 1, edit name');
  await page.keyboard.press('Enter');
  await page.keyboard.type('Works');
  await page.keyboard.press('Enter');
  const row = await rowOf(page, 'Works');
  await focused(row.getByRole('button', { name: 'Works, edit name' }), 'the cell has the focus');
  await tabTo(page, 'Actions for Works');
  await page.keyboard.press('Enter');
  await focused(page.getByRole('menuitem', { name: 'Rename' }), 'the first item has the focus');
  await page.keyboard.press('d');
  await focused(page.getByRole('menuitem', { name: 'Delete' }), 'a letter finds an item');
  await page.keyboard.press('Enter');
  const question = page.getByRole('dialog', { name: 'Delete' });
  await question.waitFor();
  await tabTo(page, 'Delete');
  await page.keyboard.press('Enter');
  await row.waitFor({ state: 'detached' });
});

t.test('an error of the service is shown in words with the name of the row, and with the wait', async (t) => {
  const { page, service } = await openAdmin(t, browser, [/429/]);
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
  await choose(row, 'Rotate key');
  await confirm(page, 'Rotate the key of', 'Rotate key');
  await page
    .getByText('\u2068Fire 1\u2069: The service has too much to do. Wait 3 seconds, then try again.')
    .waitFor();
  await page.unroute('**/keys/rotate');
  await choose(row, 'Rotate key');
  await confirm(page, 'Rotate the key of', 'Rotate key');
  await page.getByText('The counter is 1 now').waitFor();
  t.equal(await page.getByText('too much to do').count(), 0);
});

/** The focus reaches this button by Tab. */
async function tabTo(page: Page, name: string): Promise<void> {
  const wanted = page.getByRole('button', { name, exact: true }).last();
  for (let count = 0; count < 12; count++) {
    if (await wanted.evaluate((element: { matches(selector: string): boolean }) => element.matches(':focus')))
      return;
    await page.keyboard.press('Tab');
  }
  throw new Error(`Tab does not reach ${name}`);
}
