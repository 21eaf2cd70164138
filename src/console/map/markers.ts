// What changes on the map between two drawings: the smallest difference, because each entry costs main thread time.
import type { Device } from './fleet/fleet.js';
import { freshnessOf } from './fleet/freshness.js';

export interface MarkerFeature {
  readonly type: 'Feature';
  readonly id: number;
  readonly geometry: { readonly type: 'Point'; readonly coordinates: [number, number] };
  readonly properties: { readonly age: number; readonly name: string; readonly course: number };
}

/** As MapLibre's `updateData` takes it. */
export interface MarkerDiff {
  readonly add: MarkerFeature[];
  readonly update: {
    readonly id: number;
    readonly newGeometry?: MarkerFeature['geometry'];
    readonly addOrUpdateProperties?: { readonly key: string; readonly value: number | string }[];
  }[];
  readonly remove: number[];
}

export interface Seen {
  /** Unix time (ms) of the server. */
  readonly nowMs: number;
  /** A pixel or two, in degrees of longitude. A smaller move of a circle of 12 pixels is not seen. */
  readonly stepDegrees: number;
  /** [west, south, east, north]. Markers that stay outside are not moved. */
  readonly bounds: readonly [number, number, number, number];
}

export interface Markers {
  /** Since the last call. Empty lists: nothing is to be drawn. */
  diff(devices: ReadonlyMap<string, Device>, seen: Seen): MarkerDiff;
  /** The map has lost what was drawn, as with a new style. */
  forget(): void;
}

interface Drawn {
  readonly device: Device;
  lng: number;
  lat: number;
  age: number;
  name: string;
  course: number;
}

export function createMarkers(): Markers {
  const drawn = new Map<string, Drawn>();
  return {
    diff(devices, seen) {
      const diff: MarkerDiff = { add: [], update: [], remove: [] };
      for (const [id, { device }] of drawn) {
        if (devices.get(id) === device) continue;
        drawn.delete(id);
        diff.remove.push(device.key);
      }
      for (const device of devices.values()) {
        if (Number.isNaN(device.lat)) continue;
        const known = drawn.get(device.id);
        if (known === undefined) {
          const age = freshnessOf(seen.nowMs - device.fixedAtMs);
          const { lng, lat, username: name } = device;
          drawn.set(device.id, { device, lng, lat, age, name, course: courseOf(device) });
          diff.add.push(featureOf(device, age));
        } else change(known, seen, diff.update);
      }
      return diff;
    },
    forget: () => drawn.clear(),
  };
}

function featureOf(device: Device, age: number): MarkerFeature {
  return {
    type: 'Feature',
    id: device.key,
    geometry: pointAt(device.lng, device.lat),
    properties: { age, name: shortName(device.username), course: courseOf(device) },
  };
}

/** m/s: 2 km/h. The course of a slower device is mostly an error of the receiver. */
const SPEED_MIN = 2 / 3.6;
/** Degrees. A triangle that turns by less is not seen to turn. */
const COURSE_STEP = 15;

/** In steps of 15 degrees. -1: the device rests, or does not say where it goes. */
function courseOf({ speed, course }: Device): number {
  if (course === null || (speed ?? 0) <= SPEED_MIN) return -1;
  return (Math.round(course / COURSE_STEP) * COURSE_STEP) % 360;
}

function change(known: Drawn, { nowMs, stepDegrees, bounds }: Seen, updates: MarkerDiff['update']): void {
  const { device } = known;
  const { lng, lat } = device;
  // A pixel is fewer degrees of latitude away from the equator.
  const stepLat = stepDegrees * Math.max(0.05, Math.cos((lat * Math.PI) / 180));
  const isSeen = isInside(lng, lat, bounds) || isInside(known.lng, known.lat, bounds);
  const isMoved =
    (Math.abs(lng - known.lng) >= stepDegrees || Math.abs(lat - known.lat) >= stepLat) && isSeen;
  const age = freshnessOf(nowMs - device.fixedAtMs);
  const course = courseOf(device);
  const isChanged =
    age !== known.age || device.username !== known.name || (isSeen && course !== known.course);
  if (!isMoved && !isChanged) return;
  updates.push({
    id: device.key,
    ...(isMoved && { newGeometry: pointAt(lng, lat) }),
    ...(isChanged && {
      addOrUpdateProperties: [
        { key: 'age', value: age },
        { key: 'name', value: shortName(device.username) },
        { key: 'course', value: course },
      ],
    }),
  });
  known.age = age;
  known.name = device.username;
  if (isChanged) known.course = course;
  if (isMoved) {
    known.lng = lng;
    known.lat = lat;
  }
}

const pointAt = (lng: number, lat: number): MarkerFeature['geometry'] => ({
  type: 'Point',
  coordinates: [lng, lat],
});

function isInside(lng: number, lat: number, [west, south, east, north]: Seen['bounds']): boolean {
  return lng >= west && lng <= east && lat >= south && lat <= north;
}

/** A label of one line. The table has the whole name. */
function shortName(name: string): string {
  const characters = [...name];
  return characters.length <= 24 ? name : `${characters.slice(0, 23).join('')}…`;
}
