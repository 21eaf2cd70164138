// Writes what a device reports in words. What it does not report is a dash.
import { ageText } from '../../app/ages.js';
import { freshnesses, freshnessOf } from '../fleet/freshness.js';
import { texts as places } from '../places/texts.js';
import { texts } from '../texts.js';

const { card: words } = texts;
const { directions } = places;

/** What a card shows of a place. Times are Unix ms of the server. */
export interface Report {
  /** m/s */
  readonly speed: number | null;
  /** Degrees from north. */
  readonly course: number | null;
  /** m */
  readonly accuracy: number | null;
  /** Per cent. */
  readonly battery: number | null;
  readonly batteryAtMs: number;
  readonly fixedAtMs: number;
}

/** Whole km/h. */
export const kmhText = (speed: number | null): string =>
  speed === null ? words.none : String(Math.round(speed * 3.6));

export const speedText = (speed: number | null): string =>
  speed === null ? words.none : words.kmh(kmhText(speed));

export function courseText(course: number | null): string {
  if (course === null) return words.none;
  const degrees = Math.round(course) % 360;
  return words.degrees(degrees, directions[Math.round(degrees / 45) % 8] ?? '');
}

/** POSITIONS does not have the battery, so it may be older than the place. Its age is then shown. */
export function batteryText({ battery, batteryAtMs, fixedAtMs }: Report, nowMs: number): string {
  if (battery === null) return words.none;
  const percent = Math.round(battery);
  return batteryAtMs < fixedAtMs
    ? words.percentAt(percent, ageText(nowMs - batteryAtMs))
    : words.percent(percent);
}

export function ageWords(fixedAtMs: number, nowMs: number): string {
  if (!Number.isFinite(fixedAtMs)) return words.none;
  const ageMs = nowMs - fixedAtMs;
  return words.aged(ageText(ageMs), freshnesses[freshnessOf(ageMs)] ?? 'very old');
}

/** To five digits, which is about a metre. */
export const placeText = (lat: number, lng: number): string => `${lat.toFixed(5)}, ${lng.toFixed(5)}`;
