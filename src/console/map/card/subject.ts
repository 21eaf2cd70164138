// Finds what a card is about: a device of the map, or an emergency of a user without one.
import type { CardOf } from '../choices.js';
import type { EmergencyMark } from '../fleet/emergencies.js';
import type { Device, Fleet } from '../fleet/fleet.js';
import type { Report } from './fields.js';

export interface Subject extends Report {
  /** Of the device. null: no device of the user is on the map. */
  readonly device: string | null;
  readonly deviceName: string;
  readonly username: string;
  readonly userId: string;
  /** NaN: no position is known. */
  readonly lat: number;
  readonly lng: number;
  /** Of this user, the open one. */
  readonly mark: EmergencyMark | null;
}

/** null: the device is not watched any more, or the emergency is over. */
export function subjectOf(card: CardOf, fleet: Fleet, marks: readonly EmergencyMark[]): Subject | null {
  if ('device' in card) {
    const device = fleet.devices.get(card.device);
    if (device === undefined) return null;
    const mark = marks.find(({ userId }) => userId !== '' && userId === device.userId);
    return of(device, mark ?? null);
  }
  const mark = marks.find(({ id }) => id === card.emergency);
  if (mark === undefined) return null;
  const device = newestOf(fleet, mark.userId);
  return device === null ? ofMark(mark) : of(device, mark);
}

/** An emergency is followed by the relay, so its place may be newer than that of the device. */
function of(device: Device, mark: EmergencyMark | null): Subject {
  const { id, name, username, userId, lat, lng, speed, course, accuracy, battery } = device;
  const { batteryAtMs, fixedAtMs } = device;
  const known = { device: id, deviceName: name, username, userId, battery, batteryAtMs, mark };
  if (mark !== null && mark.atMs > fixedAtMs) return { ...ofMark(mark), ...known };
  return { ...known, lat, lng, fixedAtMs, speed, course, accuracy };
}

function ofMark(mark: EmergencyMark): Subject {
  const { username, userId, lat, lng, atMs: fixedAtMs } = mark;
  return {
    ...{ device: null, deviceName: '', username, userId, lat, lng, fixedAtMs, mark },
    ...{ speed: null, course: null, accuracy: null, battery: null, batteryAtMs: 0 },
  };
}

function newestOf({ devices }: Fleet, userId: string): Device | null {
  let newest: Device | null = null;
  for (const device of devices.values())
    if (device.userId === userId && (newest === null || device.fixedAtMs > newest.fixedAtMs)) newest = device;
  return newest;
}
