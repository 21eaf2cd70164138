// Finds what keeps people with disabilities from using a page, by the rules of WCAG 2.2 A and AA.
import axe from 'axe-core';
import type { Page } from 'playwright-core';

type Found = { id: string; impact?: string | null; nodes: { html: string; failureSummary?: string }[] };

const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

/** Each violation with the elements that it concerns. */
export async function violationsOn(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const found = (await page.evaluate(`axe.run({ runOnly: ${JSON.stringify(RULES)} })`)) as {
    violations: Found[];
  };
  return found.violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary = '' }) => `${id}: ${html.slice(0, 200)} ${failureSummary}`),
  );
}
