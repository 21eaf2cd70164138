// Divides the limit of open files (ulimit -n) between connections to the relay, connections to REST and the rest.
import { readFileSync } from 'node:fs';

/**
 * File descriptors for everything but these connections: database, log, threads and metrics (about 60 after the start),
 * and connections that are being rejected.
 */
export const DESCRIPTORS_RESERVED = 200;
/** More than any number of phones of one service needs at once. */
const REST_CONNECTIONS_PRESET = 10_000;
/** Where the limit is low, radios get three times as much as REST: they stay connected. */
const REST_SHARE = 1 / 4;

/** The limit of open files and sockets of this process. Infinity when the system sets or reports no limit. */
export function descriptorsMax(): number {
  try {
    const [, max] = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return Number(max ?? Number.POSITIVE_INFINITY);
  } catch {
    // Expected where there is no /proc, as on macOS. 'unlimited' is no number.
    const { userLimits } = process.report.getReport() as { userLimits?: { open_files?: { soft?: unknown } } };
    const soft = Number(userLimits?.open_files?.soft);
    return Number.isNaN(soft) ? Number.POSITIVE_INFINITY : soft;
  }
}

export interface Shares {
  readonly SOCKETS_MAX: number;
  readonly REST_CONNECTIONS: number;
}

/** The settings as given. An undefined one gets the rest of the limit, at most `most`. */
export function shareDescriptors(
  given: { readonly SOCKETS_MAX?: number; readonly REST_CONNECTIONS?: number },
  max: number,
  most: number,
): Shares {
  const free = max - DESCRIPTORS_RESERVED;
  const rest =
    given.REST_CONNECTIONS ?? Math.max(1, Math.min(REST_CONNECTIONS_PRESET, Math.floor(free * REST_SHARE)));
  return {
    REST_CONNECTIONS: rest,
    SOCKETS_MAX: given.SOCKETS_MAX ?? Math.max(1, Math.min(most, free - rest)),
  };
}

/** The error text when the shares exceed the limit, else null. */
export function excessOf({ SOCKETS_MAX, REST_CONNECTIONS }: Shares, max: number): string | null {
  const needed = SOCKETS_MAX + REST_CONNECTIONS + DESCRIPTORS_RESERVED;
  if (needed <= max) return null;
  return (
    `${SOCKETS_MAX} sockets, ${REST_CONNECTIONS} REST connections and ${DESCRIPTORS_RESERVED} other files are ` +
    `${needed} open files, and the limit (ulimit -n) is ${max}. ` +
    'Raise the limit, or lower SOCKETS_MAX and REST_CONNECTIONS.'
  );
}
