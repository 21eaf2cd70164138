// Formats the figures of a goal in the same way for the page and the comparison.
import type { Goal } from './result.js';

/** Three digits, whole numbers and thousands as they are. A ratio (no unit) has three decimals. */
export function figure(value: number, unit: string): string {
  if (!Number.isFinite(value)) return 'not measured';
  if (Number.isInteger(value)) return value.toLocaleString('en');
  if (unit === '' && Math.abs(value) < 100) return value.toFixed(3);
  const decimals = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value))));
  return value.toLocaleString('en', {
    minimumFractionDigits: Math.min(decimals, 3),
    maximumFractionDigits: Math.min(decimals, 3),
  });
}

export const withUnit = (value: number, unit: string): string =>
  unit === '' || !Number.isFinite(value) ? figure(value, unit) : `${figure(value, unit)} ${unit}`;

/** `1.04 to 1.24`. Empty without quartiles. */
export function spreadOf({ low, high, unit }: Goal): string {
  return low === undefined || high === undefined ? '' : `${figure(low, unit)} to ${figure(high, unit)}`;
}

/** `at most 1.05`. Empty when it is only watched. */
export function targetOf({ atMost, atLeast, unit }: Goal): string {
  if (atMost !== undefined) return `at most ${withUnit(atMost, unit)}`;
  return atLeast === undefined ? '' : `at least ${withUnit(atLeast, unit)}`;
}
