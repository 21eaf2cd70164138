// The screens of the console about keys, by the rules of WCAG 2.2.
import t from 'tap';
import { desk } from '../helpers/browser/desk.js';
import { dialogOf, encryptedService, setUpKeys } from '../helpers/browser/keys.js';
import { judge, looks } from '../helpers/browser/looks.js';
import { startBrowser } from '../helpers/browser/sound-page.js';
import { radioOf, talkTone } from '../helpers/sound/talking.js';

const browser = await startBrowser(t);

for (const look of looks) {
  const { colorScheme, viewport } = look;
  t.test(
    `no screen about keys violates WCAG 2.2 A or AA, ${colorScheme} at ${viewport.width} px`,
    async (t) => {
      const { s, ann, bob, root, fire } = await encryptedService(t);
      const works = await s.talkgroup('Works with a rather long name', ann, bob);
      const options = { context: { colorScheme, viewport, reducedMotion: 'reduce' as const } };
      const first = await desk(t, browser, s, ann, options);
      await judge(t, first.page, 'keys-dialog', look);
      await setUpKeys(first);
      await dialogOf(first).waitFor({ state: 'detached' });
      await first.button('Encrypt what I say in', works.name).click();

      const second = await desk(t, browser, s, ann, options);
      await dialogOf(second).getByLabel('Name of this browser').fill('Night desk');
      await setUpKeys(second);
      await dialogOf(second)
        .getByText(/This browser waits for its keys/)
        .waitFor();
      await judge(t, second.page, 'keys-waiting', look);
      await second.page.keyboard.press('Escape');

      const radio = await radioOf(t, s, bob);
      await radio.emergency.raise({ talkgroupId: fire.id });
      await talkTone(t, radio, fire.id, 440);
      await first.tile('Fire').getByText('CLEAR', { exact: true }).waitFor();
      await judge(t, first.page, 'keys-tiles', look);
      await first.page.getByRole('button', { name: 'Look at the devices' }).click();
      await first.page.getByRole('button', { name: 'Accept Night desk' }).scrollIntoViewIfNeeded();
      await judge(t, first.page, 'keys-settings', look);

      const admin = await desk(t, browser, s, root, options);
      await admin.page.getByRole('tab', { name: 'Admin' }).click();
      const row = admin.page.getByRole('article').filter({ hasText: 'Fire' });
      await row.getByRole('button', { name: 'Encryption' }).click();
      await row.getByRole('combobox', { name: 'Encryption' }).waitFor();
      await judge(t, admin.page, 'keys-admin', look);
      await row.getByRole('button', { name: 'Manage members' }).click();
      await row.getByRole('button', { name: 'Take keys from bob' }).waitFor();
      await judge(t, admin.page, 'keys-members', look);
      await admin.page.getByRole('button', { name: 'Users', exact: true }).click();
      const person = admin.page.getByRole('article').filter({ hasText: 'ann' });
      await person.getByRole('button', { name: 'Key holders' }).click();
      await person.getByRole('button', { name: 'Accept Night desk' }).click();
      await person.getByText(/is accepted, and gets its keys now/).waitFor();
      await judge(t, admin.page, 'keys-holders', look);
      await second.page.getByText('This browser waits to be accepted').waitFor({ state: 'detached' });
    },
  );
}
