// Describes a position of a device on its way through the service, and the times that a device may give for one.
import type { DeviceId } from '../ids.js';

/** What a device may say beside where it is. */
export interface Motion {
  /** Metres per second. */
  readonly speed?: number;
  /** Degrees, clockwise from north. */
  readonly course?: number;
  /** Metres. */
  readonly accuracy?: number;
  /** Per cent. */
  readonly battery?: number;
}

/** A position to store. */
export interface ReportedFix extends Motion {
  readonly deviceId: DeviceId;
  readonly lat: number;
  readonly lng: number;
  readonly alt: number;
  /** When the device was there (Unix ms), as the device says. Without it: now. */
  readonly atMs?: number;
}

/** A stored position that is the latest of its device. */
export interface LatestFix {
  readonly deviceId: DeviceId;
  readonly lat: number;
  readonly lng: number;
  readonly alt: number;
  readonly speed: number | null;
  readonly course: number | null;
  readonly accuracy: number | null;
  readonly battery: number | null;
  /** Its `updated_at` (Unix ms). Of two positions of a device the one with the greater number is the latest. */
  readonly atMs: number;
}

/** A clock may be ahead by this time (ms). */
export const AHEAD_MS_MAX = 60_000;
/** A device may send what it could not send for this time (ms). */
export const BACK_MS_MAX = 7 * 24 * 3_600_000;

// What libraries write: without seconds, with a comma, with a short zone, with small letters.
const ISO_8601 = /^(\d{4}-\d\d-\d\d)t(\d\d:\d\d)(:\d\d)?([.,]\d{1,9})?(z|([+-]\d\d):?(\d\d)?)$/i;

/** The moment (Unix ms) of a time in ISO 8601 with a zone. NaN: it is none. */
function momentOf(text: string): number {
  const [, day, minute, second = ':00', fraction = '', zone, hours, minutes = '00'] =
    ISO_8601.exec(text) ?? [];
  if (fraction !== '' && !text.includes(second, 16)) return Number.NaN; // a part of a minute
  const offset = hours === undefined ? zone?.toUpperCase() : `${hours}:${minutes}`;
  return Date.parse(`${day}T${minute}${second}${fraction.replace(',', '.')}${offset}`);
}

/** Whether it is a time in ISO 8601 with a zone, at most 7 days back. */
export const isTimeOfFix = (text: string, nowMs = Date.now()): boolean =>
  momentOf(text) >= nowMs - BACK_MS_MAX; // false for NaN

/** Bounds of what a device may say beside where it is. Devices say -1 or 360 where they do not know: that is left out. */
export const motionBounds = {
  speed: [0, 500],
  course: [0, 360],
  accuracy: [0, 100_000],
  battery: [0, 100],
} as const satisfies Record<keyof Motion, readonly [min: number, max: number]>;

/** What a client reports, for the device with this id. A time further ahead than a clock may be counts as now. */
export function reportedFix(
  deviceId: DeviceId,
  { lat, lng, alt, at, ...said }: Motion & Reported,
  nowMs = Date.now(),
): ReportedFix {
  const atMs = at === undefined ? Number.NaN : momentOf(at);
  return {
    ...{ deviceId, lat, lng, alt },
    ...motionOf(said),
    ...(atMs <= nowMs + AHEAD_MS_MAX && { atMs }),
  };
}

/** The same without what is out of bounds. */
function motionOf(said: Motion): Motion {
  const known: { -readonly [Name in keyof Motion]: number } = {};
  for (const name of Object.keys(motionBounds) as (keyof Motion)[]) {
    const [min, max] = motionBounds[name];
    const value = said[name];
    if (value !== undefined && value >= min && value <= max) known[name] = value;
  }
  if (known.course === 360) known.course = 0;
  return known;
}

interface Reported {
  readonly lat: number;
  readonly lng: number;
  readonly alt: number;
  readonly at?: string;
}

/** The position as messages and REST have it: what the device did not say is left out. */
export function fixBody({ lat, lng, alt, speed, course, accuracy, battery, atMs }: LatestFix) {
  return {
    ...{ lat, lng, alt },
    ...(speed !== null && { speed }),
    ...(course !== null && { course }),
    ...(accuracy !== null && { accuracy }),
    ...(battery !== null && { battery }),
    updated_at: new Date(atMs).toISOString(),
  };
}
