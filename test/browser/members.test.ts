// The members of a talkgroup at the console: who is online, and what an administrator does with them.
import t from 'tap';
import { choose as chooseItem, focused } from '../helpers/browser/admin.js';
import { violationsOn } from '../helpers/browser/axe.js';
import { startChromium } from '../helpers/browser/chromium.js';
import { desk } from '../helpers/browser/desk.js';
import { service } from '../helpers/service/service.js';

const browser = await startChromium(t);

t.test('members come and go in the list while it is open', async (t) => {
  const s = await service(t);
  const [ann, bob] = [await s.person('ann'), await s.person('bob')];
  await s.talkgroup('Fire 1', ann, bob);
  const { page, choose } = await desk(t, browser, s, ann);
  await choose('Members of', 'Fire 1');
  const dialog = page.getByRole('dialog', { name: 'Members of Fire 1' });
  await dialog.getByRole('heading', { name: 'Online: 1' }).waitFor();
  const radio = await bob.radio();
  await dialog.getByRole('listitem').filter({ hasText: 'bob' }).waitFor();
  await dialog.getByRole('heading', { name: 'Online: 2' }).waitFor();
  radio.socket.close(1000);
  await dialog.getByRole('listitem').filter({ hasText: 'bob' }).waitFor({ state: 'detached' });
  t.equal(await dialog.getByRole('heading', { name: 'All members' }).count(), 0, 'for administrators only');
});

t.test('a tile counts those who come and leave', async (t) => {
  const s = await service(t);
  const [ann, bob] = [await s.person('ann'), await s.person('bob')];
  await s.talkgroup('Fire 1', ann, bob);
  const { tile } = await desk(t, browser, s, ann);
  await tile('Fire 1').getByText('1 online').waitFor();
  const radio = await bob.radio();
  await tile('Fire 1').getByText('2 online').waitFor();
  radio.socket.close(1000);
  await tile('Fire 1').getByText('1 online').waitFor();
  // Of a talkgroup that comes later, too.
  const works = await s.talkgroup('Works', bob);
  await ann.call('POST', `/talkgroups/${works.id}/join`);
  await tile('Works').getByText('1 online').waitFor();
  await bob.radio();
  await tile('Works').getByText('2 online').waitFor();
});

t.test('an administrator adds a member, takes one out and revokes tokens', async (t) => {
  const s = await service(t);
  const [ann, bob] = [await s.person('ann', { role: 'admin' }), await s.person('bob')];
  const group = await s.talkgroup('Fire 1', ann);
  const radio = await bob.radio();
  const { page, choose } = await desk(t, browser, s, ann);
  await choose('Members of', 'Fire 1');
  const dialog = page.getByRole('dialog', { name: 'Members of Fire 1' });
  const field = dialog.getByRole('searchbox', { name: 'Add a user: start of the name' });
  await field.fill('bo');
  await dialog.getByRole('button', { name: 'Add bob', exact: true }).click();
  await radio.hears('TALKGROUP_JOINED', ({ talkgroup_id }) => talkgroup_id === group.id);
  const member = dialog
    .getByRole('listitem')
    .filter({ has: page.getByRole('button', { name: 'Actions for bob' }) });
  await chooseItem(member, 'Take out');
  const takeOut = page.getByRole('dialog', { name: 'Take \u2068bob\u2069 out of \u2068Fire 1\u2069?' });
  await takeOut.getByRole('button', { name: 'Cancel' }).click();
  await takeOut.waitFor({ state: 'detached' });
  await chooseItem(member, 'Take out');
  await takeOut.getByRole('button', { name: 'Take out' }).click();
  await radio.hears('TALKGROUP_LEFT', ({ talkgroup_id }) => talkgroup_id === group.id);
  await member.waitFor({ state: 'detached' });
  await focused(dialog.getByRole('button', { name: 'Actions for ann' }), 'the next row has the focus');
  await dialog.getByRole('button', { name: 'Add bob', exact: true }).click();
  await chooseItem(member, 'Revoke tokens');
  const revoke = page.getByRole('dialog', { name: 'Revoke the tokens of \u2068bob\u2069?' });
  await revoke.getByText('The user is logged out on every device at once').waitFor();
  await page.keyboard.press('Enter');
  await revoke.waitFor({ state: 'detached' });
  await radio.settled();
  t.equal(radio.socket.readyState, 1, 'Enter does not confirm');
  t.strictSame(await violationsOn(page), []);
  await chooseItem(member, 'Revoke tokens');
  await revoke.getByRole('button', { name: 'Revoke tokens' }).click();
  t.match(await radio.closes(), { code: 1008, reason: 'invalid token' });
  await dialog.getByText('The tokens are revoked.').waitFor();
});

t.test('a long list comes page by page', async (t) => {
  const s = await service(t);
  const ann = await s.person('ann', { role: 'admin' });
  const group = await s.talkgroup('Fire 1', ann);
  await s.sql`with made as (
      insert into users (username, password_hash) select 'radio ' || n, 'none' from generate_series(1, 120) n returning id)
    insert into memberships (user_id, talkgroup_id, site) select id, ${group.id}, 'depot' from made`;
  const { page, choose } = await desk(t, browser, s, ann);
  await choose('Members of', 'Fire 1');
  const rows = page.getByRole('button', { name: /^Actions for / });
  await rows.nth(49).waitFor();
  t.equal(await rows.count(), 50);
  const more = page.getByRole('button', { name: 'Show more' });
  await more.click();
  await rows.nth(99).waitFor();
  await more.click();
  await rows.nth(120).waitFor();
  await more.waitFor({ state: 'detached' }); // it says how many they are, at the same place
});
