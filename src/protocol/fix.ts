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

const ISO_8601 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/;

/** Whether it is a time in ISO 8601 with a zone, at most 60 s ahead and at most 7 days back. */
export function isTimeOfFix(text: string, nowMs = Date.now()): boolean {
  const atMs = ISO_8601.test(text) ? Date.parse(text) : Number.NaN;
  return atMs <= nowMs + AHEAD_MS_MAX && atMs >= nowMs - BACK_MS_MAX; // false for NaN
}

/** What a client reports, for the device with this id. */
export function reportedFix(
  deviceId: DeviceId,
  { lat, lng, alt, speed, course, accuracy, battery, at }: Motion & Reported,
): ReportedFix {
  return {
    ...{ deviceId, lat, lng, alt },
    ...(speed !== undefined && { speed }),
    ...(course !== undefined && { course }),
    ...(accuracy !== undefined && { accuracy }),
    ...(battery !== undefined && { battery }),
    ...(at !== undefined && { atMs: Date.parse(at) }),
  };
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
