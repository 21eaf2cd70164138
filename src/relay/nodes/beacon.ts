// Declares the beacon, by which relays know of each other.
import { U32 } from '../../protocol/bodies.js';
import { type Static, Type } from '../../typebox.js';
import { bodyReader } from './body.js';

/** Relays of which a beacon tells: four times as many as a cluster has. */
const HEARD_MAX = 256;
/** Keys of a relay: more than the two that it can have, for later versions. */
const KEYS_MAX = 16;

export type Beacon = Static<typeof Beacon>;
const Beacon = Type.Object({
  /** Whom the sender hears: id, the clock of the last beacon, and for how long (ms) that beacon has been there. */
  heard: Type.Array(Type.Tuple([U32, U32, U32]), { maxItems: HEARD_MAX }),
  /** true: it ends soon. */
  draining: Type.Optional(Type.Boolean()),
  /** The same for all relay threads of a node, which end together. Left out: the node has no other relay. */
  node: Type.Optional(U32),
  /** true: it wants the positions that others store. */
  watching: Type.Optional(Type.Boolean()),
  /** Tags of the keys whose tokens the sender accepts: during a rotation two. */
  keys: Type.Optional(Type.Array(U32, { maxItems: KEYS_MAX })),
  /** true: it enforces the encryption of talkgroups. */
  encrypts: Type.Boolean(),
  /** true: it records talkgroups of which `recording_days` is above 0. */
  records: Type.Optional(Type.Boolean()),
});

export const readBeacon = bodyReader(Beacon);
