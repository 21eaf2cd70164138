// What counts as one address where requests are limited by where they come from.
import { isIPv4, isIPv6 } from 'node:net';

/** Of an address that is none, as only a proxy can report; they share what one address may. */
const UNREADABLE = 'unreadable';

/**
 * An IPv4 address as it is; of an IPv6 address the first 64 bits, for the rest is its user's to choose. undefined: of a
 * connection that was reset meanwhile.
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
