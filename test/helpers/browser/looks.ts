// Judges a screen of the console by the rules of WCAG 2.2, in light and dark, wide and as narrow as a phone.
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import type { Test } from 'tap';
import { violationsOn } from './axe.js';

/** Screenshots are kept where SCREENSHOTS says, to be looked at. */
const folder = process.env.SCREENSHOTS ?? (await mkdtemp(join(tmpdir(), 'console-')));

export type Look = { colorScheme: 'light' | 'dark'; viewport: { width: number; height: number } };

export const looks: readonly Look[] = (['light', 'dark'] as const).flatMap((colorScheme) =>
  [1280, 390].map((width) => ({ colorScheme, viewport: { width, height: width > 600 ? 800 : 844 } })),
);

/** Below 700 px the console has the layout for phones. */
export const isNarrow = ({ viewport }: Look): boolean => viewport.width < 700;

export const titleOf = ({ colorScheme, viewport }: Look) => `${colorScheme} at ${viewport.width} px`;

/** Of a page with that look. `what` names the screen. */
export async function judge(t: Test, page: Page, what: string, look: Look): Promise<void> {
  const name = `${what}-${look.colorScheme}-${look.viewport.width}`;
  await page.getByRole('main').first().waitFor(); // the layout for phones comes with the first narrow window
  await page.screenshot({ path: join(folder, `${name}.png`) });
  t.strictSame(await violationsOn(page), [], name);
  const [wide, screen] = await page.evaluate<[number, number]>(
    '[document.documentElement.scrollWidth, innerWidth]',
  );
  t.ok(wide <= screen, `${name} does not scroll sideways: ${wide} of ${screen}`);
  const [end, height] = await page.evaluate<[number, number]>(
    "[document.querySelector('[data-region=emergency]')?.getBoundingClientRect().bottom ?? 0, innerHeight]",
  );
  t.ok(end <= height, `${name} shows the emergency button whole: ${end} of ${height}`);
}
