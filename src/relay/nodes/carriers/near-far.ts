// The bus of a relay thread in a cluster: over ports to the other threads of its node, over NATS to other nodes.
//
// What is said to all leaves both ways. NATS then also brings it to the other threads of the node, which subscribe there
// to hear other nodes. They drop it: a relay hears each other one over one way alone, so in order and once.
import { type Bus, type BusCounts, isOfOneRelay } from '../bus.js';
import { readRelay } from '../header.js';
import type { PortsBus } from './ports.js';

export interface NearFarOptions {
  /** To the other threads of this node. */
  readonly near: PortsBus;
  /** To the relays of other nodes. The other threads of this node are connected to it as well. */
  readonly far: Bus;
  /** Ids of the relays of this node, in memory that they share. 0: that one has none yet, and has said nothing. */
  readonly relays: Uint32Array<SharedArrayBuffer>;
}

/** Owns both ways: closes them. */
export function joinNearFar({ near, far, relays }: NearFarOptions): Bus {
  function isOfThisNode(bytes: Uint8Array): boolean {
    const relay = readRelay(bytes);
    if (relay === 0) return false;
    for (let at = 0; at < relays.length; at++) if (Atomics.load(relays, at) === relay) return true;
    return false;
  }

  return {
    /** false: neither way took it for any relay. */
    publish(subject, head, body, isNear = false) {
      const rest = body instanceof Uint8Array ? body : new Uint8Array(body); // one view for both ways
      const isHeardNear = near.isHeard(subject);
      const isTakenNear = isHeardNear && near.publish(subject, head, rest);
      // Of the subject of one relay, only that relay subscribes to it.
      if (isNear || (isHeardNear && isOfOneRelay(subject))) return isTakenNear;
      return far.publish(subject, head, rest) || isTakenNear;
    },
    subscribe(subject, receive) {
      const endNear = near.subscribe(subject, receive);
      const endFar = far.subscribe(subject, (bytes) => {
        if (!isOfThisNode(bytes)) receive(bytes);
      });
      return () => {
        endNear();
        endFar();
      };
    },
    get isUp() {
      return far.isUp;
    },
    get carriesSome() {
      return near.carriesSome;
    },
    joinsNodes: true,
    onChange: far.onChange,
    doubt: far.doubt,
    get counts() {
      return sumOf(near.counts, far.counts);
    },
    async close() {
      await Promise.all([near.close(), far.close()]);
    },
  };
}

/** A message that left both ways is counted twice. The ports never come up again, so NATS alone counts how often. */
const sumOf = (near: BusCounts, far: BusCounts): BusCounts => ({
  messagesOut: near.messagesOut + far.messagesOut,
  bytesOut: near.bytesOut + far.bytesOut,
  messagesIn: near.messagesIn + far.messagesIn,
  bytesIn: near.bytesIn + far.bytesIn,
  dropped: {
    down: near.dropped.down + far.dropped.down,
    backlog: near.dropped.backlog + far.dropped.backlog,
    rejected: near.dropped.rejected + far.dropped.rejected,
  },
  flushes: near.flushes + far.flushes,
  ups: far.ups,
});
