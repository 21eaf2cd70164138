// Consoles with keys: a talkgroup that requires encryption, and the dialog that sets up the keys of a browser.
import { randomBytes } from 'node:crypto';
import type { Locator, Page } from 'playwright-core';
import type { Test } from 'tap';
import { eventually } from '../eventually.js';
import { PASSWORD } from '../http/rest.js';
import { service } from '../service/service.js';
import { type Desk, pressed } from './desk.js';
import { levelsOf } from './sound-page.js';

/** Encryption can be required with it only. */
export const SECRETS_KEY = randomBytes(32).toString('base64');

export const dialogOf = ({ page }: Pick<Desk, 'page'>) => page.getByRole('dialog', { name: 'Set up keys' });

/** Opens the dialog by the line in the dock, and answers it. */
export async function setUpKeys(console: Desk, nameOfBrowser?: string): Promise<void> {
  const dialog = dialogOf(console);
  await console.page.getByRole('button', { name: 'Set up keys' }).click();
  if (nameOfBrowser !== undefined) await dialog.getByLabel('Name of this browser').fill(nameOfBrowser);
  await dialog.getByLabel('Password').fill(PASSWORD);
  await dialog.getByRole('button', { name: 'Set up' }).click();
}

/** Fire, which requires encryption, with ann and bob as members. */
export async function encryptedService(t: Test, settings: object = {}) {
  const s = await service(t, { SECRETS_KEY });
  const [ann, bob] = [await s.person('ann'), await s.person('bob')];
  const root = await s.person('root', { role: 'admin' });
  const fire = await s.talkgroup('Fire', ann, bob);
  await root.call('PATCH', `/talkgroups/${fire.id}`, { encryption: 'required', ...settings });
  return { s, ann, bob, root, fire };
}

/** The tone of -10 dBFS at the microphone was measured as -33 dBFS on each side. */
const LOUD = -40;

/** Waits until the page plays the frequency. It has the tap. */
export const hears = (page: Page, hz: number) =>
  eventually(async () => {
    const [left] = await levelsOf(page, hz);
    if (left < LOUD) throw new Error(`${hz} Hz: ${left} dBFS`);
  });

/** Holds a talk button with the mouse. */
export async function hold(page: Page, talk: Locator): Promise<void> {
  await talk.hover();
  await page.mouse.down();
  await pressed(talk, true);
}
