// Consoles with keys: a talkgroup that requires encryption, and the dialog that sets up the keys of a browser.
import { randomBytes } from 'node:crypto';
import type { Test } from 'tap';
import { PASSWORD } from '../http/rest.js';
import { service } from '../service/service.js';
import type { Desk } from './desk.js';

/** Encryption can be required with it only. */
export const SECRETS_KEY = randomBytes(32).toString('base64');

export const dialogOf = ({ page }: Pick<Desk, 'page'>) => page.getByRole('dialog', { name: 'Set up keys' });

/** Answers the dialog that opens when a key is needed first. */
export async function setUpKeys(console: Desk): Promise<void> {
  const dialog = dialogOf(console);
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
