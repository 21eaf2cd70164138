// Emergencies at the console: raised by holding a button, seen on every tab, acknowledged and cleared.
import t from 'tap';
import { HOLD_MS } from '../../src/console/alarms/raising.js';
import { startChromium } from '../helpers/browser/chromium.js';
import { desk } from '../helpers/browser/desk.js';
import { service } from '../helpers/service/service.js';

const browser = await startChromium(t);

t.test(
  'an emergency of a radio is an alert with name, talkgroup and place, until it is cleared',
  async (t) => {
    const s = await service(t);
    const [ann, bob] = [await s.person('ann', { role: 'admin' }), await s.person('bob', { serial: 'SN-1' })];
    const group = await s.talkgroup('Fire 1', ann, bob);
    const radio = await bob.radio();
    const { page } = await desk(t, browser, s, ann);
    await page.getByRole('tab', { name: 'Map' }).click();
    await radio.asks({ type: 'EMERGENCY_RAISE', talkgroup_id: group.id, lat: 52.52, lng: 13.405 });
    const alarms = page.getByRole('region', { name: 'Alarms' });
    const alert = alarms.getByRole('alert').filter({ hasText: 'Emergency of bob in Fire 1' });
    await alert.waitFor();
    await alarms.getByText('at 52.52000, 13.40500').waitFor();
    await radio.asks({ type: 'GPS_UPDATE', lat: 52.53, lng: 13.41, alt: 34 });
    await alarms.getByText('at 52.53000, 13.41000').waitFor();
    await alarms.getByText(/^raised \d+ s ago$/).waitFor();
    await alarms.getByRole('button', { name: 'Acknowledge' }).click();
    await radio.hears('EMERGENCY', ({ state }) => state === 'acknowledged');
    await alarms.getByText('(acknowledged)').waitFor();
    t.equal(await alarms.getByRole('button', { name: 'Acknowledge' }).count(), 0);
    await alarms.getByRole('button', { name: 'Clear' }).click();
    await radio.hears('EMERGENCY', ({ state }) => state === 'cleared');
    await alert.waitFor({ state: 'detached' });
  },
);

/** The first hold of a page lasts until the test ends it, however long a busy test needs for that. */
const SLOW_FIRST_HOLD = `{
  const { setTimeout } = globalThis;
  let isFirst = true;
  globalThis.setTimeout = (act, ms, ...rest) => {
    const isLong = isFirst && ms === ${HOLD_MS};
    if (isLong) isFirst = false;
    return setTimeout(act, isLong ? 3_600_000 : ms, ...rest);
  };
}`;

t.test('holding the button for 1.5 s raises an emergency, and a shorter press does not', async (t) => {
  const s = await service(t);
  const [ann, bob] = [await s.person('ann'), await s.person('bob')];
  await s.talkgroup('Fire 1', ann, bob);
  const radio = await bob.radio();
  const { page, button } = await desk(t, browser, s, ann, { init: SLOW_FIRST_HOLD });
  const emergency = button('Emergency in', 'Fire 1');
  await emergency.hover();
  await page.mouse.down();
  await page.getByText('Keep holding').waitFor();
  await page.mouse.up();
  await page.getByText('Keep holding').waitFor({ state: 'detached' });
  await emergency.focus();
  await page.keyboard.down('Enter');
  await radio.hears('EMERGENCY', ({ username, state }) => username === 'ann' && state === 'raised');
  await page.keyboard.up('Enter');
  const alarms = page.getByRole('region', { name: 'Alarms' });
  await alarms.getByRole('alert').filter({ hasText: 'Emergency of ann in Fire 1' }).waitFor();
  t.equal(
    await alarms.getByRole('button', { name: 'Acknowledge' }).count(),
    0,
    'only administrators acknowledge',
  );
  await alarms.getByRole('button', { name: 'Clear' }).click();
  await radio.hears('EMERGENCY', ({ state }) => state === 'cleared');
  t.notOk(
    radio.messages.some(({ type }) => type === 'EMERGENCY'),
    'the short press has raised none',
  );
});

t.test('a window that loses the focus cancels a held emergency button', async (t) => {
  const s = await service(t);
  const [ann, bob] = [await s.person('ann'), await s.person('bob')];
  await s.talkgroup('Fire 1', ann, bob);
  const { page, button } = await desk(t, browser, s, ann);
  await button('Emergency in', 'Fire 1').hover();
  await page.mouse.down();
  await page.getByText('Keep holding').waitFor();
  await page.evaluate(`dispatchEvent(new Event('blur'))`);
  await page.getByText('Keep holding').waitFor({ state: 'detached' });
  await page.mouse.up();
});

t.test('an emergency from before the login is shown, and one of a talkgroup left is removed', async (t) => {
  const s = await service(t);
  const [ann, bob] = [await s.person('ann'), await s.person('bob')];
  const group = await s.talkgroup('Fire 1', ann, bob);
  const radio = await bob.radio();
  await radio.asks({ type: 'EMERGENCY_RAISE', talkgroup_id: group.id });
  const { page } = await desk(t, browser, s, ann);
  const alert = page.getByRole('region', { name: 'Alarms' }).getByRole('alert');
  await alert.filter({ hasText: 'Emergency of bob in Fire 1' }).waitFor();
  await s.admin.delete(`/talkgroups/${group.id}/members/${ann.id}`);
  await alert.waitFor({ state: 'detached' });
  await page.getByText('You are in no talkgroup.').waitFor();
});
