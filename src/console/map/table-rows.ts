// The rows of the table beside the map: emergencies first, then by name, one page of them.
import type { Device, Fleet } from './fleet.js';

export const TABLE_ROWS = 25;

export interface TablePage {
  readonly devices: readonly Device[];
  /** Of all pages. */
  readonly found: number;
  /** From 0. Below what was asked for when there are fewer pages. */
  readonly page: number;
  readonly pages: number;
}

export interface TableRows {
  page(wanted: { start: string; page: number; emergencyUsers: ReadonlySet<string> }): TablePage;
}

// 5,000 names take a few ms to sort, so it is done when the set of devices changes and not with every position.
const collator = new Intl.Collator();

export function createTableRows(fleet: Fleet): TableRows {
  let edition = -1;
  let sorted: Device[] = [];
  return {
    page({ start, page, emergencyUsers }) {
      if (fleet.edition !== edition) {
        edition = fleet.edition;
        sorted = [...fleet.devices.values()].sort(byName);
      }
      const prefix = start.toLocaleLowerCase();
      const matching = sorted.filter(
        ({ username, name }) =>
          prefix === '' ||
          username.toLocaleLowerCase().startsWith(prefix) ||
          name.toLocaleLowerCase().startsWith(prefix),
      );
      const first = matching.filter(({ userId }) => emergencyUsers.has(userId));
      const ordered = [...first, ...matching.filter(({ userId }) => !emergencyUsers.has(userId))];
      const pages = Math.max(1, Math.ceil(ordered.length / TABLE_ROWS));
      const shown = Math.min(page, pages - 1);
      const devices = ordered.slice(shown * TABLE_ROWS, (shown + 1) * TABLE_ROWS);
      return { devices, found: ordered.length, page: shown, pages };
    },
  };
}

function byName(a: Device, b: Device): number {
  return collator.compare(a.username, b.username) || a.key - b.key;
}
