// The map tab of a console whose radio the test plays, and the colours of what it draws.
import { constants, inflateSync } from 'node:zlib';
import type { Browser, Page } from 'playwright-core';
import type { Test } from 'tap';
import { type Service, service as startService } from '../service/service.js';
import { desk } from './desk.js';
import { fakeRadioOf, putFakeRadio } from './fake-radio.js';

/** Unix time (ms). */
export const at = () => Date.now();

export const device = (n: number, fields: object = {}) => ({
  ...{ n, device_id: `device ${n}`, name: `SN-${n}`, user_id: `user ${n}`, username: `ann ${n}` },
  ...{ lat: 52.5 + n / 1000, lng: 13.4, alt: 30, updated_at: new Date(at()).toISOString() },
  ...fields,
});

export const watching = (devices: object[]) => ({
  ...{ type: 'WATCHING', devices, total: devices.length, part: 1, parts: 1 },
});

/** The service of all pages whose radio the test plays. */
export async function startMaps(t: Test, browser: Browser) {
  const shared = await startService(t);
  return { open: (own: Test, options: MapOptions = {}) => openMap(own, browser, shared, options) };
}

export interface MapOptions {
  /** Another map than the built-in one. */
  styleUrl?: string;
  isWebGlOff?: boolean;
  expected?: readonly RegExp[];
  settings?: Record<string, string>;
  before?: (page: Page) => Promise<void>;
  /** Default: `user`. */
  role?: 'admin' | 'user';
}

let pages = 0;

/** The map tab of a radio that the test plays. */
async function openMap(t: Test, browser: Browser, shared: Service, options: MapOptions) {
  const { styleUrl, isWebGlOff = false, expected = [], settings, role = 'user' } = options;
  const service = settings === undefined ? shared : await startService(t, settings);
  const ann = await service.person(`dispatcher ${pages++}`, { role });
  const before = async (page: Page) => {
    await options.before?.(page);
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

export const EMERGENCY_RED = 'c2131f';

/** Pixels of the open drawer, which covers the left of the map. */
export const DRAWER = 248;

/** The middle of what the drawer leaves of the map. */
export const MIDDLE = { share: 0.5, down: 0 };

/**
 * Red, green and blue of a pixel of the map as six hexadecimal digits: at this share of the width that the drawer leaves, and
 * so many pixels below half of the height. Default: away from the marker in the middle.
 */
export async function colourOf(page: Page, { share, down } = { share: 0.15, down: 0 }): Promise<string> {
  const box = await page.locator('canvas.maplibregl-canvas').boundingBox();
  if (box === null) return 'hidden';
  const x = box.x + DRAWER + (box.width - DRAWER) * share;
  const png = await page.screenshot({ clip: { x, y: box.y + box.height / 2 + down, width: 1, height: 1 } });
  const data = png.indexOf('IDAT');
  // The first of several chunks. Of one pixel every filter of PNG leaves the colour as it is, behind the filter's number.
  const chunk = png.subarray(data + 4, data + 4 + png.readUInt32BE(data - 4));
  return inflateSync(chunk, { finishFlush: constants.Z_SYNC_FLUSH }).subarray(1, 4).toString('hex');
}
