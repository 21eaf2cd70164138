// The map tab with the real relay: a position that a device reports is shown, and an emergency is followed.
import t from 'tap';
import { startChromium } from '../helpers/browser/chromium.js';
import { desk } from '../helpers/browser/desk.js';
import { service as startService } from '../helpers/service/service.js';

const browser = await startChromium(t, { hasWebGl: true });

t.test('a position reported by REST moves the device on the map tab', async (t) => {
  const service = await startService(t);
  const ann = await service.person('ann');
  const bob = await service.person('bob <b>', { serial: 'SN-1' });
  const { id } = await service.talkgroup('Fire 1', ann, bob);
  await bob.post(`/devices/${bob.device}/gps`, { lat: 52.52, lng: 13.405, alt: 34 });
  const { page } = await desk(t, browser, service, ann, { withoutMicrophone: true });
  await page.getByRole('tab', { name: 'Map' }).click();
  const row = page.getByRole('table', { name: 'Positions' }).getByRole('row').filter({ hasText: 'bob <b>' });
  await row.getByText('52.52000').waitFor();
  await row.getByText('13.40500').waitFor();
  await bob.post(`/devices/${bob.device}/gps`, { lat: -33.9, lng: 151.2, alt: 0, speed: 3 });
  await row.getByText('-33.90000').waitFor();
  await row.getByText('151.20000').waitFor();

  const radio = await bob.radio();
  t.teardown(() => radio.socket.terminate());
  const { emergency_id } = await radio.asks({ type: 'EMERGENCY_RAISE', talkgroup_id: id });
  await row.getByText('Emergency').waitFor();
  await bob.post(`/devices/${bob.device}/gps`, { lat: -33.8, lng: 151.1, alt: 0 });
  await row.getByText('-33.80000').waitFor();

  await radio.asks({ type: 'EMERGENCY_CLEAR', emergency_id });
  await bob.delete(`/talkgroups/${id}/leave`);
  await row.waitFor({ state: 'detached' });
});

t.test('a user in no talkgroup reads why the map is empty', async (t) => {
  const service = await startService(t);
  const ann = await service.person('ann');
  const { page } = await desk(t, browser, service, ann, { withoutMicrophone: true });
  await page.getByRole('tab', { name: 'Map' }).click();
  await page.getByText('You are in no talkgroup.').waitFor();
});
