// Presses what administration shows: rows of tables, their menus and the questions.
import type { Browser, Locator, Page } from 'playwright-core';
import type { Test } from 'tap';
import { eventually } from '../eventually.js';
import { type Json, type Service, service as startService } from '../service/service.js';
import { desk } from './desk.js';

/** The row with the actions for this name, once it is there. */
export async function rowOf(page: Page, name: string): Promise<Locator> {
  const actions = page.getByRole('button', { name: `Actions for ${name}`, exact: true });
  const row = page.getByRole('row').filter({ has: actions });
  await row.waitFor();
  return row;
}

/** Presses an item of `Actions for`. `name` is needed where more than one row is in `around`. */
export async function choose(around: Locator, item: string, name = ''): Promise<void> {
  await around.getByRole('button', { name: `Actions for ${name}` }).click();
  await around.getByRole('menuitem', { name: item }).click();
}

/** Answers the question with this start by its confirming button, and waits until it is closed. */
export async function confirm(page: Page, title: string, button: string): Promise<void> {
  const question = page.getByRole('dialog', { name: title });
  await question.getByRole('button', { name: button, exact: true }).click();
  await question.waitFor({ state: 'detached' });
}

/** The tab of administration, at which nothing goes wrong but what is expected. */
export async function openAdmin(t: Test, browser: Browser, expected: readonly RegExp[] = []) {
  const service = await startService(t);
  const options = { expected, withoutMicrophone: true };
  const { page } = await desk(t, browser, service, service.admin, options);
  await page.getByRole('tab', { name: 'Admin' }).click();
  await page.getByRole('button', { name: 'New talkgroup' }).waitFor();
  return { page, service };
}

/** Waits until the element has the focus. */
export async function focused(locator: Locator, what: string): Promise<void> {
  await eventually(async () => {
    const isFocused = await locator.evaluate((element: { ownerDocument: { activeElement: unknown } }) => {
      return element.ownerDocument.activeElement === element;
    });
    if (!isFocused) throw new Error(what);
  });
}

/** As REST has it. Empty: there is none. */
export async function managed(service: Service, id: string): Promise<Json> {
  const { talkgroups } = (await service.admin.get('/admin/talkgroups?limit=200')) as { talkgroups: Json[] };
  return talkgroups.find((one) => one.id === id) ?? {};
}
