// Keeps the devices that sessions of this relay watch, each once, and the latest position of each.
import type { DeviceRow } from '../../directory/records.js';
import type { DeviceId } from '../../ids.js';
import { AHEAD_MS_MAX, type LatestFix } from '../../protocol/fix.js';

/** Is told which of its devices have a new position. */
export interface Follower {
  moved(device: Device): void;
}

/** A watched device. */
export interface Device {
  readonly id: DeviceId;
  /** Stands for the device in POSITIONS. This relay gives no other device the same. */
  readonly n: number;
  /** As last read. */
  row: Omit<DeviceRow, 'fix'>;
  fix: LatestFix | null;
  /** Number of its last change, of all changes of devices here. */
  change: number;
  readonly followers: Set<Follower>;
  /** Lists that have it. */
  lists: number;
}

/** How far back (ms) `changeBefore` looks: the longest interval, and the time that a lost message takes to show. */
const MARKS_MS = 20_000;
const MARK_MS = 1000;

export type Devices = ReturnType<typeof createDevices>;

/** `unixMs` is the time by which positions are ahead. */
export function createDevices(unixMs: () => number) {
  const byId = new Map<DeviceId, Device>();
  let lastNumber = 0;
  let lastChange = 0;
  /** What the last change was at these times, the oldest first: one a second. */
  const marks: { readonly atMs: number; readonly change: number }[] = [];

  return {
    get lastChange() {
      return lastChange;
    },

    /** The device, which one more list has from now on. */
    hold({ fix, ...row }: DeviceRow): Device {
      let device = byId.get(row.id);
      if (device === undefined) {
        lastNumber = (lastNumber + 1) % 2 ** 32; // u32
        const lists = { followers: new Set<Follower>(), lists: 0 };
        device = { id: row.id, n: lastNumber, row, fix: null, change: 0, ...lists };
        byId.set(row.id, device);
      }
      device.lists++;
      return device;
    },

    /** One list less has it. */
    release(device: Device): void {
      device.lists--;
      if (device.lists === 0) byId.delete(device.id);
    },

    /** A position was stored. One look-up when no session watches the device. An older one than the known changes nothing. */
    located(fix: LatestFix): void {
      const device = byId.get(fix.deviceId);
      if (device === undefined || (device.fix !== null && !isNews(fix, device.fix, unixMs()))) return;
      device.fix = fix;
      device.change = ++lastChange;
      for (const follower of device.followers) follower.moved(device);
    },

    /** Called often. */
    mark(nowMs: number): void {
      if (nowMs - (marks.at(-1)?.atMs ?? Number.NEGATIVE_INFINITY) < MARK_MS) return;
      marks.push({ atMs: nowMs, change: lastChange });
      while (marks.length > MARKS_MS / MARK_MS) marks.shift();
    },

    /** The last change that a receiver certainly got which had all until `ms` ago. */
    changeBefore(ms: number, nowMs: number): number {
      return marks.findLast(({ atMs }) => nowMs - atMs >= ms)?.change ?? 0;
    },
  };
}

/**
 * A position may come twice, from the main thread and over the bus. One without a time may replace one that is ahead, and
 * any replaces one that is further ahead than a report may be.
 */
export const isNews = (fix: LatestFix, known: LatestFix, unixMs: number): boolean =>
  fix.atMs > known.atMs ||
  known.atMs > unixMs + AHEAD_MS_MAX ||
  (fix.atMs === known.atMs && (fix.lat !== known.lat || fix.lng !== known.lng));
