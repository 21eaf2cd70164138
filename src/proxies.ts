// Tells which address a client has that comes through proxies.
import { BlockList, isIP, isIPv6 } from 'node:net';

const familyOf = (address: string) => (isIPv6(address) ? 'ipv6' : 'ipv4');

/** Whether an address is that of a trusted proxy. `ranges` are addresses and CIDRs, checked before. */
export function trustIn(ranges: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const range of ranges) {
    const [address = '', bits] = range.split('/');
    if (bits === undefined) list.addAddress(address, familyOf(address));
    else list.addSubnet(address, Number(bits), familyOf(address));
  }
  return (address) => list.check(address, familyOf(address));
}

/**
 * The address of the peer, or the last one in `X-Forwarded-For` that is not that of a trusted proxy. Behind a proxy that reports
 * no address it is that of the proxy.
 */
export function clientAddress(
  isTrusted: (address: string) => boolean,
  { peer, forwardedFor }: { readonly peer: string; readonly forwardedFor: string },
): string {
  let address = peer;
  for (const before of forwardedFor.split(',').reverse()) {
    if (!isTrusted(address) || isIP(before.trim()) === 0) break;
    address = before.trim();
  }
  return address;
}

/** The text of an address of 4 or 16 bytes. An IPv4 address in an IPv6 socket is shown as what it is. */
export function addressText(bytes: Uint8Array): string {
  if (bytes.length === 4) return bytes.join('.');
  if (bytes.length !== 16) return 'unknown';
  const hex = Buffer.from(bytes).toString('hex');
  if (/^0{20}ffff/.test(hex)) return bytes.subarray(12).join('.');
  const { hostname } = new URL(`http://[${hex.match(/.{4}/g)?.join(':')}]`); // shortens it
  return hostname.slice(1, -1);
}
