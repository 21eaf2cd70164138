// Hands positions that this relay has stored to the relays where sessions watch, and takes those of the others.
//
// At most once, and nothing waits: what the bus does not take is dropped, and the next position of the device replaces it.

import type { DeviceId } from '../../../ids.js';
import type { LatestFix } from '../../../protocol/fix.js';
import { bodyOf } from '../../nodes/body.js';
import { POSITIONS, type Subject } from '../../nodes/bus.js';
import { HEADER_BYTES, type Kind, kinds } from '../../nodes/header.js';
import type { Nodes } from '../../nodes/nodes.js';
import type { Peers } from '../../nodes/peers/peers.js';
import { FIXES_MAX, type Fixes, readBody } from '../bodies.js';
import type { ClusterCounts } from '../counts.js';

export interface FixesOptions {
  readonly peers: Peers;
  readonly counts: ClusterCounts;
  /** Tells the others at once what this relay wants. */
  readonly beacon: () => void;
  /** false: the bus did not take it. */
  readonly say: (subject: Subject, kind: Kind, body: Uint8Array) => boolean;
  readonly listen: Nodes['listen'];
  /** Another relay has stored these. */
  readonly located: (fixes: readonly LatestFix[]) => void;
}

export function createFixes({ peers, counts, beacon, say, listen, located }: FixesOptions) {
  let end: (() => void) | null = null;

  function receive(bytes: Uint8Array): boolean {
    const body = readBody('fixes', bytes);
    if (body !== null) located(body.fixes.map(fixOf));
    return body !== null;
  }

  return {
    /** The sessions of this relay want the positions that others store, or do not any more. */
    watch(isWanted: boolean): void {
      if (isWanted === peers.isWatching) return;
      peers.isWatching = isWanted;
      if (isWanted) end = listen(POSITIONS, (_header, bytes) => receive(bytes.subarray(HEADER_BYTES)));
      else end?.();
      beacon();
    },

    /** While no other relay wants them, only the urgent ones leave: one look-up for each. */
    tell(stored: readonly LatestFix[], isUrgent: (fix: LatestFix) => boolean): void {
      if (peers.up.length === 0) return;
      const fixes = peers.areWatching ? stored : stored.filter(isUrgent);
      for (let from = 0; from < fixes.length; from += FIXES_MAX) {
        const part = fixes.slice(from, from + FIXES_MAX);
        if (!say(POSITIONS, kinds.fixes, bodyOf({ fixes: part.map(rowOf) })))
          counts.fixesDropped += part.length;
      }
    },
  };
}

type Row = Fixes['fixes'][number];

const rowOf = ({ deviceId, lat, lng, alt, speed, course, accuracy, battery, atMs }: LatestFix): Row => [
  ...([deviceId, lat, lng, alt] as const),
  ...([speed, course, accuracy, battery, atMs] as const),
];

const fixOf = ([deviceId, lat, lng, alt, speed, course, accuracy, battery, atMs]: Row): LatestFix => ({
  deviceId: deviceId as DeviceId, // the schema has checked that it is an id
  ...{ lat, lng, alt, speed, course, accuracy, battery, atMs },
});
