// Turns a client address into the key that limits per address count by.
import { isIPv4, isIPv6 } from 'node:net';

/** Key of all texts that are not an address, which only a proxy can report. They share one set of limits. */
const UNREADABLE = 'unreadable';

/**
 * The whole IPv4 address, or the first 64 bits of an IPv6 address, because a client chooses the rest. `ip` is undefined
 * when the connection was reset.
 */
export function addressKey(ip: string | undefined): string {
  const address = (ip ?? '').replace(/^::ffff:(?=[\d.]+$)/i, ''); // how a socket for both families shows IPv4
  // A copy: a piece of a header keeps the whole of it in memory, and keys are kept long.
  if (isIPv4(address)) return address.split('.').join('.');
  return isIPv6(address) ? `${groupsOf(address).slice(0, 4).join(':')}::/64` : UNREADABLE;
}

/** All eight, each without leading zeros. */
function groupsOf(ip: string): string[] {
  const [withoutZone = ''] = ip.split('%');
  // In brackets, lower case, and with the longest run of zeros, if there is one, as `::`.
  const canonical = new URL(`http://[${withoutZone}]`).hostname.slice(1, -1);
  const [left = [], right = []] = canonical.split('::').map((half) => half.split(':').filter(Boolean));
  return [...left, ...Array<string>(8 - left.length - right.length).fill('0'), ...right];
}
