// Where the talkers are: the newest position of a device of each user who talks.
import type { EmergencyMark } from './emergencies.js';
import type { Device } from './fleet.js';

export interface TalkerMark {
  readonly username: string;
  readonly lat: number;
  readonly lng: number;
  /** In an emergency that is open. */
  readonly isAlarm: boolean;
}

/** Those with a place. `talking`: usernames, which are unique in a service. */
export function talkersOn(
  talking: ReadonlySet<string>,
  devices: Iterable<Device>,
  marks: readonly EmergencyMark[],
): TalkerMark[] {
  if (talking.size === 0) return [];
  const found = new Map<string, TalkerMark & { atMs: number }>();
  for (const { userId, username, lat, lng, fixedAtMs: atMs } of devices) {
    // A device without a user has its own name.
    if (userId === '' || !talking.has(username) || Number.isNaN(lat)) continue;
    if (atMs > (found.get(username)?.atMs ?? Number.NEGATIVE_INFINITY))
      found.set(username, { username, lat, lng, atMs, isAlarm: false });
  }
  for (const { username, lat, lng, atMs } of marks)
    if (talking.has(username)) found.set(username, { username, lat, lng, atMs, isAlarm: true });
  return [...found.values()].map(({ username, lat, lng, isAlarm }) => ({ username, lat, lng, isAlarm }));
}
