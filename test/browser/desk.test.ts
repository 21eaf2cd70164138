// The desk of a dispatcher with 30 talkgroups, two talkers and two alarms: what is in sight at once.
import t from 'tap';
import { busyDesk } from '../helpers/browser/busy-desk.js';
import { startChromium } from '../helpers/browser/chromium.js';
import { judge, type Look } from '../helpers/browser/looks.js';

const browser = await startChromium(t);

/** Regions that keep their size whatever happens in them (CSS px). */
const regions = {
  header: { x: 0, y: 0, width: 1280, height: 44 },
  strip: { x: 0, y: 44, width: 1280, height: 52 },
  view: { x: 0, y: 96, width: 980, height: 640 },
  alarms: { x: 981, y: 96, width: 299, height: 380 },
  'last-ten': { x: 981, y: 476, width: 299, height: 260 },
  dock: { x: 0, y: 736, width: 1280, height: 64 },
};

for (const colorScheme of ['light', 'dark'] as const) {
  const look: Look = { colorScheme, viewport: { width: 1280, height: 800 } };
  t.test(`the regions of a busy desk have their places, ${colorScheme}`, async (t) => {
    const { page } = await busyDesk(t, browser, { context: look });
    await page.getByText('georg07').first().waitFor();
    for (const [region, expected] of Object.entries(regions))
      t.strictSame(await page.locator(`[data-region="${region}"]`).boundingBox(), expected, region);
    await judge(t, page, 'desk', look);
  });
}
