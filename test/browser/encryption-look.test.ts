// The screens of the console about keys, by the rules of WCAG 2.2.
import type { Page } from 'playwright-core';
import t, { type Test } from 'tap';
import { choose, rowOf } from '../helpers/browser/admin.js';
import { desk } from '../helpers/browser/desk.js';
import { dialogOf, encryptedService, setUpKeys } from '../helpers/browser/keys.js';
import { isNarrow, judge, looks } from '../helpers/browser/looks.js';
import { startBrowser } from '../helpers/browser/sound-page.js';
import { radioOf, talkTone } from '../helpers/sound/talking.js';

const browser = await startBrowser(t);

t.test('no screen about keys violates WCAG 2.2 A or AA, in light and dark, wide and narrow', async (t) => {
  const { s, ann, bob, root, fire } = await encryptedService(t);
  const works = await s.talkgroup('Works with a rather long name', ann, bob);
  const options = { context: { reducedMotion: 'reduce' as const } };
  const first = await desk(t, browser, s, ann, options);
  await judgeInAll(t, first.page, 'keys-dialog');
  await setUpKeys(first);
  await dialogOf(first).waitFor({ state: 'detached' });
  await first.choose('Encrypt what I say in', works.name);

  const second = await desk(t, browser, s, ann, options);
  await setUpKeys(second, 'Night desk');
  await dialogOf(second)
    .getByText(/This browser waits for its keys/)
    .waitFor();
  await judgeInAll(t, second.page, 'keys-waiting');
  await second.page.keyboard.press('Escape');

  const radio = await radioOf(t, s, bob);
  await radio.emergency.raise({ talkgroupId: fire.id });
  await talkTone(t, radio, fire.id, 440);
  await first.tile('Fire').getByText('CLEAR', { exact: true }).waitFor();
  await judgeInAll(t, first.page, 'keys-tiles');
  await first.page.getByRole('button', { name: 'Look at the devices' }).click();
  await first.page.getByRole('button', { name: 'Accept Night desk' }).scrollIntoViewIfNeeded();
  await judgeInAll(t, first.page, 'keys-settings');

  const admin = await desk(t, browser, s, root, options);
  await admin.page.getByRole('tab', { name: 'Admin' }).click();
  const row = await rowOf(admin.page, 'Fire');
  await choose(row, 'Encryption');
  await admin.page.getByRole('combobox', { name: 'Encryption' }).waitFor();
  await judgeInAll(t, admin.page, 'keys-admin');
  await admin.page.setViewportSize({ width: 1280, height: 800 });
  await choose(row, 'Manage members');
  const bobs = admin.page.getByRole('listitem').filter({ hasText: 'bob' });
  await bobs.getByText('may have keys').waitFor();
  await judgeInAll(t, admin.page, 'keys-members');
  await admin.page.setViewportSize({ width: 1280, height: 800 });
  await admin.page.getByRole('button', { name: 'Users', exact: true }).click();
  await choose(await rowOf(admin.page, 'ann'), 'Browsers and radios with keys');
  const person = admin.page.getByRole('complementary', { name: 'Card of ann' });
  await person.getByRole('button', { name: 'Accept Night desk' }).click();
  await person.getByText(/is accepted, and gets its keys now/).waitFor();
  await judgeInAll(t, admin.page, 'keys-holders');
  await second.page.getByText('This browser waits to be accepted').waitFor({ state: 'detached' });
});

/** One page in every look, because three consoles for each look take minutes. */
async function judgeInAll(t: Test, page: Page, what: string): Promise<void> {
  for (const look of looks) {
    await page.setViewportSize(look.viewport);
    await page.emulateMedia({ colorScheme: look.colorScheme });
    await page.locator(isNarrow(look) ? '.phone' : '.shell').waitFor();
    await judge(t, page, what, look);
  }
  await page.setViewportSize({ width: 1280, height: 800 });
}
