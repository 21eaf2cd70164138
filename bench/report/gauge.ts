// A figure against its target in a line of a table: the target as an upright line, the good side shaded.
import type { Goal } from '../figures/result.js';
import { type Html, html } from './html.js';

const WIDTH = 132;
const HEIGHT = 16;
/** Where the target stands. The rest is room for what is beyond it. */
const TARGET_AT = 88;
const DOT = 4;

/** null for what is only watched. */
export function gauge({ value, low = value, high = value, atMost, atLeast }: Goal): Html | null {
  const target = atMost ?? atLeast;
  if (target === undefined || !Number.isFinite(value)) return null;
  const at = (figure: number) => {
    const place = target === 0 ? TARGET_AT + figure : (figure / target) * TARGET_AT;
    return Math.round(10 * Math.min(WIDTH - DOT, Math.max(DOT, place))) / 10;
  };
  const [goodFrom, goodTo] = atMost !== undefined ? [0, TARGET_AT] : [TARGET_AT, WIDTH];
  const middle = HEIGHT / 2;
  return html`<svg class="gauge" viewBox="0 0 ${WIDTH} ${HEIGHT}" aria-hidden="true">
<rect x="0" y="${middle - 4}" width="${WIDTH}" height="8" fill="#f1f1f1"/>
<rect x="${goodFrom}" y="${middle - 4}" width="${goodTo - goodFrom}" height="8" fill="#cfe3d8"/>
<rect x="${at(low)}" y="${middle - 2}" width="${at(high) - at(low)}" height="4" fill="#7f8c99"/>
<rect x="${TARGET_AT - 1}" y="0" width="2" height="${HEIGHT}" fill="#1a1a1a"/>
<circle cx="${at(value)}" cy="${middle}" r="${DOT}" fill="#0b4f9e" stroke="#fff"/>
</svg>`;
}
