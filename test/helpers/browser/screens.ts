// Every screen of the console, with everything on it that there can be, judged by the rules of WCAG 2.2.
import type { Browser } from 'playwright-core';
import type { Test } from 'tap';
import { type Service, service } from '../service/service.js';
import { rowOf } from './admin.js';
import { type Desk, desk, leaveFirstRun, openPage, openSettings } from './desk.js';
import { isNarrow, judge, type Look } from './looks.js';

/** Of administration, with a row of each. */
const parts = [
  ['Users', 'bob'],
  ['Devices', 'SN-1'],
  ['Talkgroups', 'Works'],
] as const;

/** Two talkgroups with everything that a tile can show, and one that is quiet. */
async function busyService(t: Test) {
  const s = await service(t);
  const [ann, bob] = [await s.person('ann', { role: 'admin' }), await s.person('bob', { serial: 'SN-1' })];
  const busy = await s.talkgroupWith({ name: 'Fire 1', floor_mode: 'single' }, ann, bob);
  const open = await s.talkgroup('Police North with a rather long name', ann, bob);
  await s.talkgroupWith({ name: 'Works', floor_mode: 'broadcast' }, ann);
  const radio = await bob.radio();
  const speaking = setInterval(() => radio.speaks(busy.number, 'word'), 200);
  t.teardown(() => clearInterval(speaking));
  radio.speaks(busy.number, 'word', { start: true });
  await radio.asks({ type: 'EMERGENCY_RAISE', talkgroup_id: open.id, lat: 52.52, lng: 13.405 });
  return { s, ann };
}

/**
 * Logs in, first with a wrong password, hears, talks, sees an emergency and the map, and opens every other screen. The
 * browser asks about the microphone and has WebGL.
 */
export async function judgeEveryScreen(t: Test, browser: Browser, look: Look): Promise<void> {
  const { s, ann } = await busyService(t);
  const options = { context: { ...look, reducedMotion: 'reduce' as const } };
  await login(t, s, browser, look, options);
  const opened = await desk(t, browser, s, ann, { ...options, withoutMicrophone: true });
  const { page, context, button } = opened;
  await page.getByRole('button', { name: 'Open the microphone' }).waitFor();
  await judge(t, page, 'first-run', look);
  await leaveFirstRun(page);
  if (isNarrow(look)) await judgeGroups(t, opened, look);
  else await page.getByText('bob is talking').waitFor();
  await judge(t, page, 'notice', look);
  await context.grantPermissions(['microphone']);
  await page.getByRole('button', { name: 'Allow the microphone' }).click();
  if (isNarrow(look)) await page.getByRole('tab', { name: 'Groups' }).click();
  await button('Mute', 'Fire 1').click();
  await button('Select', 'Works').click();
  await button('Talk in', 'Works').focus();
  await page.keyboard.down('Enter');
  await page.getByText('Works: Talk now').first().waitFor({ state: 'attached' });
  await judge(t, page, 'talkgroups', look);
  await page.keyboard.up('Enter');
  await openSettings(page);
  await page.getByRole('button', { name: 'Log out everywhere' }).waitFor();
  await judge(t, page, 'settings', look);
  await openMembers(t, opened, look);
  await judge(t, page, 'members', look);
  await page.keyboard.press('Escape');
  await page.getByRole('tab', { name: 'Map' }).click();
  if (look.viewport.width < 1280) {
    await judge(t, page, 'map-closed', look);
    await page.getByRole('button', { name: 'Positions', exact: true }).click();
  }
  await page.getByRole('row').filter({ hasText: 'bob' }).waitFor();
  await judge(t, page, 'map', look);
  await page.getByRole('button', { name: 'Show bob on the map' }).press('Enter');
  await page.getByRole('region', { name: 'Card of bob' }).waitFor();
  await judge(t, page, 'map-card', look);
  await openAdmin(opened, look);
  for (const [part, row] of parts) {
    await page.getByRole('button', { name: part, exact: true }).click();
    await rowOf(page, row);
    await judge(t, page, `admin-${part.toLowerCase()}`, look);
  }
}

/** Of a phone: the list of talkgroups, in which bob talks. */
async function judgeGroups(t: Test, { page }: Desk, look: Look) {
  await page.getByRole('tab', { name: 'Groups' }).click();
  await page.getByText('bob is talking').waitFor();
  await judge(t, page, 'groups', look);
  await page.getByRole('tab', { name: 'Talk' }).click();
}

/** A phone has them in its menu, for the talkgroup that it talks to. */
async function openMembers(t: Test, { page, menu, choose }: Desk, look: Look) {
  if (!isNarrow(look)) {
    await page.getByRole('tab', { name: 'Talkgroups' }).click();
    await menu('Fire 1');
    await judge(t, page, 'tile-menu', look);
    await choose('Members of', 'Fire 1');
    await page.getByRole('button', { name: 'Actions for bob' }).waitFor();
    return;
  }
  await page.getByRole('button', { name: /, Account$/ }).click();
  await page.getByRole('menuitem', { name: 'Members of Works' }).click();
  await page.getByRole('button', { name: 'Actions for ann' }).waitFor();
}

async function openAdmin({ page }: Desk, look: Look) {
  if (!isNarrow(look)) return page.getByRole('tab', { name: 'Admin' }).click();
  await page.getByRole('button', { name: /, Account$/ }).click();
  await page.getByRole('menuitem', { name: 'Admin' }).click();
}

async function login(
  t: Test,
  s: Service,
  browser: Browser,
  look: Look,
  options: Parameters<typeof openPage>[3],
) {
  const { page } = await openPage(t, browser, s, { ...options, expected: [/status of 401/] });
  await page.getByRole('textbox', { name: 'Username' }).fill('nobody');
  await page.getByRole('textbox', { name: 'Password' }).fill('wrong');
  await page.getByRole('button', { name: 'Log in' }).click();
  await page.getByText('Wrong username or password.').waitFor();
  await judge(t, page, 'login', look);
}
