// Limits the unanswered requests of a user and the connections of an address.
import { BlockList, isIPv6, type Server, type Socket } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../errors.js';
import { createShares } from '../shares.js';
import { addressKey } from './address.js';

/**
 * Counts each request of an owner until its answer has been sent. This limits the memory of unread answers, while
 * unread.ts limits their time. An owner is a user, or a token until its user is verified. A request can count for several
 * owners. Throws `too_many_requests`.
 */
export function limitRequests({ REQUESTS_PER_USER }: { readonly REQUESTS_PER_USER: number }) {
  const owners = createShares<string>(REQUESTS_PER_USER);
  /** By connection: what ends the count of each of its requests. Node reports no close for a pipelined one. */
  const underWay = new WeakMap<Socket, Set<() => void>>();

  function requestsOf(socket: Socket): Set<() => void> {
    const known = underWay.get(socket);
    if (known !== undefined) return known;
    const requests = new Set<() => void>();
    underWay.set(socket, requests);
    socket.once('close', () => {
      for (const end of requests) end();
    });
    return requests;
  }

  return ({ raw: { socket } }: FastifyRequest, reply: FastifyReply, owner: string): void => {
    if (!owners.admits(owner)) throw new AppError('too_many_requests');
    if (socket.destroyed) return; // its close was perhaps reported already
    owners.take(owner);
    const requests = requestsOf(socket);
    const end = () => {
      if (requests.delete(end)) owners.giveBack(owner);
    };
    requests.add(end);
    reply.raw.once('close', end);
  };
}

/** One address may hold this share of all connections. It is large, because a fleet behind a carrier has one address. */
const ADDRESS_SHARE = 0.75;

/** Closes a connection beyond the share of its address. Connections of trusted proxies are not counted. */
export function limitConnections(
  server: Server,
  {
    connections,
    addressOf,
    onDropped,
  }: { connections: number; addressOf: ReturnType<typeof addressReader>; onDropped: () => void },
): void {
  const addresses = createShares<string>(Math.ceil(ADDRESS_SHARE * connections));
  server.on('connection', (socket: Socket) => {
    const address = addressOf(socket);
    if (address === undefined) return;
    if (!addresses.admits(address)) {
      onDropped();
      socket.destroy();
      return;
    }
    addresses.take(address);
    socket.once('close', () => addresses.giveBack(address));
  });
}

/** Reads the address key of a connection. undefined: it comes from a trusted proxy, which reports the addresses. */
export function addressReader(trustedProxies: readonly string[]) {
  const proxies = blockListOf(trustedProxies);
  return ({ remoteAddress: ip = '' }: Socket): string | undefined =>
    proxies.check(ip, familyOf(ip)) ? undefined : addressKey(ip);
}

/** `ranges` are addresses and CIDRs, checked before. */
function blockListOf(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [address = '', bits] = range.split('/');
    if (bits === undefined) list.addAddress(address, familyOf(address));
    else list.addSubnet(address, Number(bits), familyOf(address));
  }
  return list;
}

const familyOf = (ip: string) => (isIPv6(ip) ? 'ipv6' : 'ipv4');
