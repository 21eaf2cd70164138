// The first steps of a user: a talkgroup, the microphone, people. What is done stays done after a reload.
import t from 'tap';
import { startChromium } from '../helpers/browser/chromium.js';
import { connected, desk } from '../helpers/browser/desk.js';
import { service } from '../helpers/service/service.js';

const browser = await startChromium(t, { isAsking: true });

t.test(
  'an administrator sets up talkgroup, microphone and people, with a reload between two steps',
  async (t) => {
    const s = await service(t, { REGISTRATION: 'open' });
    const root = await s.person('root', { role: 'admin' });
    const { page, context, tile } = await desk(t, browser, s, root, { withoutMicrophone: true });
    await page.getByRole('heading', { name: 'Set up your radio in three steps' }).waitFor();
    const step = (title: string) => page.getByRole('listitem').filter({ hasText: title });
    const open = async () => page.locator('[aria-current="step"] h3').textContent();
    t.equal(await open(), 'Create a talkgroup');
    await page.getByLabel('Name of the talkgroup').fill('Fire 1');
    await page.keyboard.press('Enter');
    await step('You are in Fire 1.').waitFor();
    t.equal(await open(), 'Test your microphone');

    await page.reload();
    await connected(page);
    await step('You are in Fire 1.').waitFor();
    t.equal(await open(), 'Test your microphone');
    const next = page.getByRole('button', { name: 'Next' });
    t.equal(await next.isDisabled(), true, 'the microphone is not open');
    await context.grantPermissions(['microphone']);
    await page.getByRole('button', { name: 'Open the microphone' }).click();
    await page.getByText('We hear you').waitFor();
    await next.click();
    t.equal(await open(), 'Add people');
    await page.getByRole('textbox', { name: 'Username' }).fill('ben02');
    await page.getByLabel('First password').fill('first-secret');
    await page.keyboard.press('Enter');
    await page.getByText('ben02 is added. Tell them the password.').waitFor();
    const members = await s.sql`
    select username from users join memberships on user_id = users.id order by username`;
    t.same(
      members.map(({ username }) => username),
      ['ben02', 'root'],
    );
    await page.getByRole('button', { name: 'Show the talkgroups' }).click();
    await tile('Fire 1').waitFor();
    await page.reload();
    await tile('Fire 1').waitFor();
  },
);

t.test(
  'a user without a talkgroup reads which name to tell, and can test the microphone meanwhile',
  async (t) => {
    const s = await service(t);
    const [ann, bob] = [await s.person('ann'), await s.person('bob')];
    const group = await s.talkgroup('Fire 1', bob);
    const { page, context, tile } = await desk(t, browser, s, ann, { withoutMicrophone: true });
    await page.getByText('You are in no talkgroup. Ask an administrator, your name is ann.').waitFor();
    await context.grantPermissions(['microphone']);
    await page.getByRole('button', { name: 'Open the microphone' }).click();
    await page.getByRole('button', { name: 'Next' }).click();
    await ann.call('POST', `/talkgroups/${group.id}/join`);
    await page.getByText('All steps are done.').waitFor();
    await page.getByRole('button', { name: 'Show the talkgroups' }).click();
    await tile('Fire 1').waitFor();
  },
);

t.test('a user who skips the steps has the talkgroups, also after a reload', async (t) => {
  const s = await service(t);
  const ann = await s.person('ann');
  await s.talkgroup('Fire 1', ann);
  const { page, tile } = await desk(t, browser, s, ann, { withoutMicrophone: true });
  await page.getByRole('button', { name: 'Skip, I know the way' }).press('Enter');
  await tile('Fire 1').waitFor();
  await page.reload();
  await tile('Fire 1').waitFor();
  t.equal(await page.getByText('Set up your radio').count(), 0);
});
