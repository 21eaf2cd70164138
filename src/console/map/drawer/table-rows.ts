// The rows of the table beside the map: found by a part of the name, sorted, one page of them.
import type { Device, Fleet } from '../fleet/fleet.js';

export const TABLE_ROWS = 25;

export type SortedBy = 'name' | 'age' | 'speed';

export interface TablePage {
  readonly devices: readonly Device[];
  /** Of all pages. */
  readonly found: number;
  /** From 0. Below what was asked for when there are fewer pages. */
  readonly page: number;
  readonly pages: number;
}

export interface Wanted {
  /** Anywhere in the name of the user or of the device. */
  readonly find: string;
  readonly page: number;
  readonly sortedBy: SortedBy;
  /** The pointer or the focus is in the table, so no row may move. */
  readonly isHeld: boolean;
  /** Unix time (ms). */
  readonly nowMs: number;
}

export interface TableRows {
  page(wanted: Wanted): TablePage;
}

// 5,000 names take a few ms to sort, so it is done when the set of devices changes and not with every position.
const collator = new Intl.Collator(undefined, { numeric: true });
/** Ages and speeds change with every batch. Rows that move each second cannot be read. */
const ORDER_MS = 5000;

export function createTableRows(fleet: Fleet): TableRows {
  let edition = -1;
  let sortedBy: SortedBy = 'name';
  let sortedAtMs = 0;
  let sorted: Device[] = [];

  function sort(wanted: Wanted): void {
    const isOtherSet = fleet.edition !== edition;
    const isOld = sortedBy !== 'name' && !wanted.isHeld && Math.abs(wanted.nowMs - sortedAtMs) >= ORDER_MS;
    if (!isOtherSet && wanted.sortedBy === sortedBy && !isOld) return;
    // Devices that came or left while the table is held change nothing else in it.
    const isKept = wanted.isHeld && wanted.sortedBy === sortedBy && edition !== -1;
    sorted = isKept ? kept(sorted, fleet) : [...fleet.devices.values()].sort(orders[wanted.sortedBy]);
    if (isKept) return;
    ({ sortedBy, nowMs: sortedAtMs } = wanted);
    edition = fleet.edition;
  }

  return {
    page(wanted) {
      sort(wanted);
      const text = wanted.find.trim().toLocaleLowerCase();
      const matching = sorted.filter(
        ({ username, name }) =>
          text === '' ||
          username.toLocaleLowerCase().includes(text) ||
          name.toLocaleLowerCase().includes(text),
      );
      const pages = Math.max(1, Math.ceil(matching.length / TABLE_ROWS));
      const page = Math.min(wanted.page, pages - 1);
      const devices = matching.slice(page * TABLE_ROWS, (page + 1) * TABLE_ROWS);
      return { devices, found: matching.length, page, pages };
    },
  };
}

/** In the order of before, without those that left, and with new ones at the end. */
function kept(before: readonly Device[], { devices }: Fleet): Device[] {
  const known = new Set(before);
  const came = [...devices.values()].filter((device) => !known.has(device)).sort(byName);
  return [...before.filter((device) => devices.get(device.id) === device), ...came];
}

function byName(a: Device, b: Device): number {
  return collator.compare(a.username, b.username) || a.key - b.key;
}

const orders: Readonly<Record<SortedBy, (a: Device, b: Device) => number>> = {
  name: byName,
  /** The newest first. Without a position: last. */
  age: (a, b) => order(b.fixedAtMs, a.fixedAtMs) || byName(a, b),
  /** The fastest first. Without a speed: last. */
  speed: (a, b) => order(b.speed ?? -1, a.speed ?? -1) || byName(a, b),
};

// A difference would be NaN for two times of minus infinity.
const order = (a: number, b: number) => (a === b ? 0 : a < b ? -1 : 1);
