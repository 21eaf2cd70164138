// Writes trails, emergencies and talkers as the features that the map draws.
import type { EmergencyMark } from './fleet/emergencies.js';
import type { Device } from './fleet/fleet.js';
import { freshnessOf } from './fleet/freshness.js';
import type { TalkerMark } from './fleet/talkers.js';
import { linesOf } from './fleet/trail.js';
import { ageColours, emergencyColour, talkColour } from './style.js';
import { texts } from './texts.js';

export interface DrawnTrail {
  readonly device: Device;
  /** The trail of an emergency is red and goes back 10 minutes. */
  readonly isAlarm: boolean;
}

export const ALARM_TRAIL_MS = 600_000;

/** A line for each part of the trail. The points of it are shown for an emergency. */
export function trailFeatures({ device, isAlarm }: DrawnTrail, nowMs: number) {
  const { key, trail, fixedAtMs } = device;
  const lines = linesOf(trail, isAlarm ? nowMs - ALARM_TRAIL_MS : undefined);
  const colour = isAlarm ? emergencyColour : (ageColours[freshnessOf(nowMs - fixedAtMs)] ?? ageColours[3]);
  const feature = <G extends object>(geometry: G) => ({
    type: 'Feature' as const,
    id: key,
    properties: { colour },
    geometry,
  });
  return [
    feature({ type: 'MultiLineString' as const, coordinates: lines }),
    ...(isAlarm ? [feature({ type: 'MultiPoint' as const, coordinates: lines.flat() })] : []),
  ];
}

export function emergencyFeature({ id, lng, lat, username, isAcknowledged }: EmergencyMark) {
  return {
    type: 'Feature' as const,
    properties: { emergency: id, name: username, isAcknowledged },
    geometry: { type: 'Point' as const, coordinates: [lng, lat] },
  };
}

export function talkerFeature({ lng, lat, username, isAlarm }: TalkerMark) {
  const words = texts.talking(username);
  return {
    type: 'Feature' as const,
    properties: { words, isAlarm, colour: talkColour },
    geometry: { type: 'Point' as const, coordinates: [lng, lat] },
  };
}
