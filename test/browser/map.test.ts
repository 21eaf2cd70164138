// The map in a real browser, drawn by software where there is no graphics card.
import type { Page } from 'playwright-core';
import t, { type Test } from 'tap';
import { violationsOn } from '../helpers/browser/axe.js';
import { startChromium } from '../helpers/browser/chromium.js';
import { desk } from '../helpers/browser/desk.js';
import { fakeRadioOf, putFakeRadio } from '../helpers/browser/fake-radio.js';
import { eventually } from '../helpers/eventually.js';
import { service as startService } from '../helpers/service/service.js';

const browser = await startChromium(t, { hasWebGl: true });

/** Unix time (ms). */
const at = () => Date.now();

const device = (n: number, fields: object = {}) => ({
  ...{ n, device_id: `device ${n}`, name: `SN-${n}`, user_id: `user ${n}`, username: `ann ${n}` },
  ...{ lat: 52.5 + n / 1000, lng: 13.4, alt: 30, updated_at: new Date(at()).toISOString() },
  ...fields,
});

const watching = (devices: object[]) => ({
  ...{ type: 'WATCHING', devices, total: devices.length, part: 1, parts: 1 },
});

t.test('the table and the map show a device, and its next position', async (t) => {
  const { page, radio } = await openMap(t);
  t.match(await radio.asked('WATCH'), { talkgroup_ids: [radio.talkgroupId], interval_ms: 1000 });
  await radio.tell(watching([device(1, { username: '<b>"ann"</b> \u200f🚒' }), device(2)]));
  const table = page.getByRole('table', { name: 'Positions' });
  const row = table.getByRole('row').filter({ hasText: '<b>"ann"</b> \u200f🚒' });
  await row.getByText('52.50100').waitFor();
  await row.getByText('13.40000').waitFor();
  t.match(await row.textContent(), /\d+ s, live/);
  await radio.tell({ type: 'POSITIONS', server_time: at(), fixes: [[1, 52.6, 13.5, 120_000, null, null]] });
  t.equal(await row.getByText('52.60000').count(), 0, 'an older position changes nothing');
  await radio.tell({ type: 'POSITIONS', server_time: at() + 1000, fixes: [[1, -1.5, -0.25, 0, 3, 90]] });
  await row.getByText('-1.50000').waitFor();
  await row.getByText('-0.25000').waitFor();
  await drawn(page);
  t.strictSame(await violationsOn(page), []);
});

t.test('UNWATCH is sent when another tab is shown, and WATCH again when the map comes back', async (t) => {
  const { page, radio } = await openMap(t);
  await radio.asked('WATCH');
  await page.getByRole('tab', { name: 'Talkgroups' }).click();
  await radio.asked('UNWATCH');
  await page.getByRole('tab', { name: 'Map' }).click();
  await radio.asked('WATCH', 2);
  await radio.reconnected();
  await radio.asked('WATCH', 3);
});

t.test('an emergency is followed, and stands first in the table', async (t) => {
  const { page, radio } = await openMap(t);
  await radio.asked('WATCH');
  await radio.tell(watching([device(1), device(2)]));
  await radio.emergency({ emergency_id: 'e1', user_id: 'user 2', username: 'ann 2' });
  const rows = page.getByRole('table', { name: 'Positions' }).getByRole('row');
  await rows.nth(1).getByText('Emergency').waitFor();
  t.match(await rows.nth(1).textContent(), /ann 2/);
  await radio.tell({
    ...{ type: 'EMERGENCY_POSITION', emergency_id: 'e1', talkgroup_id: radio.talkgroupId },
    ...{ user_id: 'user 2', device_id: 'device 2', lat: 48.1, lng: 11.5, alt: 500 },
    updated_at: new Date(at() + 1000).toISOString(),
  });
  await rows.nth(1).getByText('48.10000').waitFor();
  await drawn(page);
});

t.test('without WebGL the tab says so and the table works', async (t) => {
  const { page, radio } = await openMap(t, { isWebGlOff: true });
  await page.getByText('This browser cannot draw the map because WebGL is missing.').waitFor();
  await radio.asked('WATCH');
  await radio.tell(watching([device(1)]));
  await page.getByRole('table', { name: 'Positions' }).getByText('52.50100').waitFor();
  t.strictSame(await violationsOn(page), []);
});

t.test('a map of a blocked origin is named with the remedy, and the built-in one is shown', async (t) => {
  const styleUrl = 'https://tiles.example/style.json';
  const { page } = await openMap(t, { styleUrl, expected: [/tiles\.example/] });
  await page.getByText('The map needs https://tiles.example').waitFor();
  await page.getByText('MAP_ORIGINS').waitFor();
  await page.getByText('The built-in outline of the land is shown.').waitFor();
  await drawn(page);
});

t.test('5,000 moving markers take at most 16 ms of main thread a batch', async (t) => {
  const { page, radio } = await openMap(t);
  await radio.asked('WATCH');
  const BATCHES = 20;
  await radio.fleet({ devices: 5000 });
  await page.getByText('5,000 devices').waitFor();
  await drawn(page);
  const row = page.getByRole('table', { name: 'Positions' }).getByRole('row').nth(1);
  const place = await row.textContent();
  await busyMs(page, 3000); // the first drawing
  const before = (await busyMs(page, 5000)) / 5;
  const end = await radio.moving();
  const moving = (await busyMs(page, BATCHES * 1000)) / BATCHES;
  t.not(await row.textContent(), place, 'the devices have moved');
  await end();
  await busyMs(page, 2000); // the last batch
  const after = (await busyMs(page, 5000)) / 5;
  const perBatch = moving - (before + after) / 2;
  const figures = [perBatch, moving, before, after].map((ms) => ms.toFixed(1));
  t.comment(
    `main thread: ${figures[0]} ms a batch. A second: ${figures[1]} ms with it, ${figures[2]} and ${figures[3]} ms without`,
  );
  t.ok(perBatch <= 16);
});

interface MapOptions {
  /** Another map than the built-in one. */
  styleUrl?: string;
  isWebGlOff?: boolean;
  expected?: readonly RegExp[];
}

/** The map tab of a radio that the test plays. */
async function openMap(t: Test, { styleUrl, isWebGlOff = false, expected = [] }: MapOptions = {}) {
  const service = await startService(t);
  const ann = await service.person('ann');
  const before = async (page: Page) => {
    await putFakeRadio(page);
    if (styleUrl !== undefined) {
      await page.route('**/console/config.json', async (route) => {
        const response = await route.fetch();
        await route.fulfill({ response, json: { ...(await response.json()), map_style_url: styleUrl } });
      });
    }
    if (isWebGlOff) {
      await page.addInitScript('HTMLCanvasElement.prototype.getContext = () => null');
    }
  };
  const { page } = await desk(t, browser, service, ann, { expected, withoutMicrophone: true, before });
  await page.getByRole('tab', { name: 'Map' }).click();
  await page.getByRole('table', { name: 'Positions' }).waitFor();
  return { page, radio: fakeRadioOf(page) };
}

/** The map has drawn something: its canvas is there, and no trouble is told. */
async function drawn(page: Page): Promise<void> {
  await page.locator('canvas.maplibregl-canvas').waitFor();
  await eventually(async () => {
    if ((await page.getByText('Loading the map').count()) > 0) throw new Error('the map is loading');
  });
}

/** CPU time (ms) of the main thread of the page during `ms`. */
async function busyMs(page: Page, ms: number): Promise<number> {
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  const taskMs = async () => {
    const { metrics } = await session.send('Performance.getMetrics');
    return 1000 * (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN);
  };
  const before = await taskMs();
  await page.waitForTimeout(ms);
  const after = await taskMs();
  await session.detach();
  return after - before;
}
