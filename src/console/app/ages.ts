// Writes durations for readers.
import { texts } from './texts.js';

const { age } = texts;

/** `seconds` below a minute, then whole minutes, hours and days. Never negative: clocks may differ. */
export function ageText(ms: number): string {
  const s = Math.max(0, Math.floor(ms / 1000));
  if (s < 60) return age.seconds(s);
  if (s < 3600) return age.minutes(Math.floor(s / 60));
  if (s < 86_400) return age.hours(Math.floor(s / 3600));
  return age.days(Math.floor(s / 86_400));
}

/** As `1:05`, for what is counted second by second. */
export function clockText(ms: number): string {
  const s = Math.max(0, Math.floor(ms / 1000));
  return `${Math.floor(s / 60)}:${String(s % 60).padStart(2, '0')}`;
}

const MINUTE_MS = 60_000;

/** `9 s`, from a minute on `1:05`. A short burst is `1 s`. */
export function durationText(ms: number): string {
  const rounded = Math.max(1_000, Math.round(ms / 1_000) * 1_000);
  return rounded < MINUTE_MS ? ageText(rounded) : clockText(rounded);
}
