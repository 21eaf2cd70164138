// The devices on the map: who they are, where they were last, and since when.
import { extend, interrupt, newTrail, type Trail } from './trail.js';
import type { EmergencyPosition, FixRow, Positions, Watched, Watching } from './wire.js';

/** One object a device, written in place: 5,000 of them change every second. */
export interface Device {
  /** Of its marker. Positive, never used again. */
  readonly key: number;
  readonly id: string;
  name: string;
  userId: string;
  /** The name of the device when it has no user. */
  username: string;
  /** NaN: no position is known. */
  lat: number;
  lng: number;
  /** Unix time (ms) of the server. */
  fixedAtMs: number;
  /** m/s, null: unknown. */
  speed: number | null;
  /** Degrees from north, null: unknown. */
  course: number | null;
  /** m, null: unknown. */
  accuracy: number | null;
  /** Per cent, null: unknown. POSITIONS does not have it. */
  battery: number | null;
  /** When the battery was so (Unix ms of the server). */
  batteryAtMs: number;
  readonly trail: Trail;
}

export interface Fleet {
  /** By device id. */
  readonly devices: ReadonlyMap<string, Device>;
  /** Counts changes of the set of devices or of a name, so that a sorted copy knows when it is old. */
  readonly edition: number;
  /** Devices that the relay has and does not send, because there are too many. */
  readonly unsent: number;
  /** Points that full trails have lost. */
  readonly droppedPoints: number;
  /** A part of a list, or devices that came later. */
  watching(message: Watching): void;
  /** `isOnlyList`: one talkgroup is watched, so a device that left it is not watched any more. */
  positions(message: Positions, isOnlyList: boolean): void;
  /** False: the device is not watched. */
  emergency(message: EmergencyPosition): boolean;
  /** Nothing is watched for a while: trails must not join what was before to what comes after. */
  interrupt(): void;
}

export function createFleet(): Fleet {
  const devices = new Map<string, Device>();
  const byNumber = new Map<number, Device>();
  /** Of the snapshot that is arriving. null: none is. */
  let seen: Set<string> | null = null;
  let lastKey = 0;
  let edition = 0;
  let unsent = 0;
  let droppedPoints = 0;

  function remove(device: Device): void {
    devices.delete(device.id);
    edition += 1;
  }

  function place(device: Device, lng: number, lat: number, atMs: number): boolean {
    // The same position comes by POSITIONS and by EMERGENCY_POSITION. The later one wins.
    if (atMs < device.fixedAtMs) return false;
    device.lng = lng;
    device.lat = lat;
    device.fixedAtMs = atMs;
    const before = device.trail.dropped;
    extend(device.trail, lng, lat, atMs);
    droppedPoints += device.trail.dropped - before;
    return true;
  }

  function list(one: Watched): void {
    let device = devices.get(one.device_id);
    if (device === undefined) {
      lastKey += 1;
      device = newDevice(lastKey, one.device_id);
      devices.set(device.id, device);
    }
    const username = one.username ?? one.name;
    if (device.name !== one.name || device.username !== username) edition += 1;
    device.name = one.name;
    device.userId = one.user_id ?? '';
    device.username = username;
    byNumber.set(one.n, device);
    seen?.add(device.id);
    if (one.lat === undefined || one.lng === undefined || one.updated_at === undefined) return;
    const atMs = Date.parse(one.updated_at);
    takeBattery(device, one.battery, atMs);
    if (!place(device, one.lng, one.lat, atMs)) return;
    device.speed = one.speed ?? null;
    device.course = one.course ?? null;
    device.accuracy = one.accuracy ?? null;
  }

  function move([n, lat, lng, ageMs, speed, course]: FixRow, serverTimeMs: number): void {
    const device = byNumber.get(n);
    if (device === undefined) return;
    if (!place(device, lng, lat, serverTimeMs - ageMs)) return;
    device.speed = speed;
    device.course = course;
    device.accuracy = null;
  }

  return {
    devices,
    get edition() {
      return edition;
    },
    get unsent() {
      return unsent;
    },
    get droppedPoints() {
      return droppedPoints;
    },
    watching({ devices: listed, total, part, parts, talkgroup_id }) {
      const isWhole = talkgroup_id === undefined;
      if (isWhole && part === 1) {
        byNumber.clear();
        seen = new Set();
        edition += 1;
      }
      for (const one of listed) list(one);
      if (!isWhole || part < parts || seen === null) return;
      for (const device of [...devices.values()]) if (!seen.has(device.id)) remove(device);
      unsent = Math.max(0, total - seen.size);
      seen = null;
    },
    positions({ fixes, gone = [], server_time, talkgroup_id }, isOnlyList) {
      for (const fix of fixes) move(fix, server_time);
      if (talkgroup_id !== undefined && !isOnlyList) return;
      for (const n of gone) {
        const device = byNumber.get(n);
        byNumber.delete(n);
        if (device !== undefined) remove(device);
      }
    },
    emergency({ device_id, lat, lng, updated_at, speed = null, course = null, accuracy = null, battery }) {
      const device = devices.get(device_id);
      if (device === undefined) return false;
      const atMs = Date.parse(updated_at);
      takeBattery(device, battery, atMs);
      if (!place(device, lng, lat, atMs)) return false;
      Object.assign(device, { speed, course, accuracy });
      return true;
    },
    interrupt() {
      for (const { trail } of devices.values()) interrupt(trail);
    },
  };
}

function newDevice(key: number, id: string): Device {
  const unknown = { lat: Number.NaN, lng: Number.NaN, fixedAtMs: Number.NEGATIVE_INFINITY };
  const named = { name: '', userId: '', username: '' };
  const unreported = { speed: null, course: null, accuracy: null, battery: null, batteryAtMs: 0 };
  return { key, id, ...named, ...unknown, ...unreported, trail: newTrail() };
}

function takeBattery(device: Device, battery: number | undefined, atMs: number): void {
  if (battery === undefined || atMs < device.batteryAtMs) return;
  device.battery = battery;
  device.batteryAtMs = atMs;
}
