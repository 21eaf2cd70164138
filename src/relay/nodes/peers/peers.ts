// Decides which other relays can be reached, from their beacons. It has no clock and sends nothing.
import type { Reach } from '../../../protocol/codes.js';
import type { Beacon } from '../beacon.js';
import { type Header, waysBetween, wholeMs } from '../header.js';
import { PeerClock, roundTripOf } from './clock.js';

/** Time (ms) between two beacons of a relay. */
export const BEACON_MS = 250;
/** A relay without a beacon for this time (ms) is down: three times the longest turn of the loop in a mass reconnect. */
export const DOWN_MS = 1500;
/** A relay that went down without a word is missed for this time (ms): its radios may come back to it. */
const MISSING_MS = 60_000;
/** Other relays that one reaches. Those of other nodes beyond it are ignored, and the reach is not whole. */
export const PEERS_MAX = 64;
/** Relays beyond that of which one knows. The reach is not whole, however many there are. */
const IGNORED_MAX = 64;

/** When no beacon came over the newest way of a relay for this time (ms), an older one counts: that one was wrong. */
const WRONG_MS = 1000;

interface Peer {
  readonly clock: PeerClock;
  /** The way of its last beacon. */
  way: number;
  /** Of its last beacon: its clock, ours, and our fair time (ms). */
  at: number;
  receivedAtMs: number;
  heardAtMs: number;
  isUp: boolean;
  /** It ends soon. */
  isDraining: boolean;
  /** It wants the positions that this relay stores. */
  isWatching: boolean;
  /** Of its node. null: it is the only relay there. */
  node: number | null;
  /** It accepts tokens that this relay accepts, too, or one of both does not tell its keys. */
  sharesKey: boolean;
  /** It enforces the encryption of talkgroups. */
  encrypts: boolean;
  /** It records speech. */
  records: boolean;
}

/** The times of one moment: monotonic ms, and the same without the time that this relay stood still. */
export interface Now {
  readonly nowMs: number;
  readonly fairMs: number;
}

/** Of the header of its message. */
type Sent = Pick<Header, 'way' | 'at'>;

export class Peers {
  private readonly peers = new Map<number, Peer>();
  private readonly own: number;
  private readonly node: number | null;
  private readonly keys: readonly number[];
  private isEnding = false;
  /** This relay wants the positions that others store. */
  isWatching = false;
  /** This relay records speech. */
  isRecording = false;
  /** Those that went down without a word, and when (fair ms). */
  private readonly missing = new Map<number, number>();
  /** Relays of this node that were heard. A node has at most 16, and starts none anew. */
  private readonly near = new Set<number>();
  /** Those beyond `PEERS_MAX`, and when they were last heard (fair ms). */
  private readonly ignored = new Map<number, number>();

  /**
   * `own` is the id of this relay. `node` is that of its relay threads, which end together. null: it is the only one. `keys`
   * are the tags of the keys that it accepts.
   */
  constructor(own: number, node: number | null = null, keys: readonly number[] = []) {
    this.own = own;
    this.node = node;
    this.keys = keys;
  }

  /** The ids of those that can be reached. */
  get up(): readonly number[] {
    return [...this.peers].flatMap(([relay, { isUp }]) => (isUp ? [relay] : []));
  }

  /** Those of this node that can be reached. */
  get siblings(): number {
    return [...this.near].filter((relay) => this.isUp(relay)).length;
  }

  /** Whether one can be reached that goes on when the node of this relay ends. */
  get areElsewhere(): boolean {
    for (const { isUp, isDraining, node } of this.peers.values())
      if (isUp && !isDraining && (node === null || node !== this.node)) return true;
    return false;
  }

  /** Whether one that can be reached wants the positions that this relay stores. */
  get areWatching(): boolean {
    for (const { isUp, isWatching } of this.peers.values()) if (isUp && isWatching) return true;
    return false;
  }

  /** Whether the relay is of this node. */
  isNear(relay: number): boolean {
    return this.near.has(relay);
  }

  private isFar = (relay: number): boolean => !this.near.has(relay);

  isUp(relay: number): boolean {
    return this.peers.get(relay)?.isUp === true;
  }

  /** Whether the relay, or this one, ends soon: it decides no floor where another relay can, and takes no session over. */
  isDraining(relay: number): boolean {
    return relay === this.own ? this.isEnding : this.peers.get(relay)?.isDraining === true;
  }

  /** Whether tokens of a key of the relay are accepted here, as far as is known. */
  sharesKey(relay: number): boolean {
    return this.peers.get(relay)?.sharesKey !== false;
  }

  /** Those that can be reached and accept no token that is accepted here. */
  get otherKeys(): number {
    return [...this.peers.values()].filter(({ isUp, sharesKey }) => isUp && !sharesKey).length;
  }

  /** Those that can be reached and do not enforce the encryption of talkgroups. */
  get unencrypting(): number {
    return [...this.peers.values()].filter(({ isUp, encrypts }) => isUp && !encrypts).length;
  }

  /** Those that can be reached and record nothing. */
  get unrecording(): number {
    return [...this.peers.values()].filter(({ isUp, records }) => isUp && !records).length;
  }

  /** This relay ends soon. */
  drain(): void {
    this.isEnding = true;
  }

  /**
   * A beacon came. A relay is up when it hears us, too. `up`: it is from now on. `one_way`: it must hear a beacon of ours
   * first, of the last `DOWN_MS`. `down`: it was up, and does not hear us any more. `ignored`: it is not listened to from
   * now on, because there are too many. `known`: nothing changed.
   */
  heard(
    relay: number,
    { heard, draining = false, watching = false, node, keys = [], encrypts, records = false }: Beacon,
    { way, at }: Sent,
    { nowMs, fairMs }: Now,
  ): 'up' | 'down' | 'one_way' | 'known' | 'ignored' {
    let peer = this.peers.get(relay);
    if (peer === undefined) {
      const isNear = node !== undefined && node === this.node;
      // The threads of a node wait for each other, and are fewer than that.
      if (this.peers.size >= PEERS_MAX && !isNear) return this.ignore(relay, fairMs);
      if (isNear) this.near.add(relay);
      this.ignored.delete(relay);
      peer = {
        ...{ clock: new PeerClock(), way, at, isUp: false, isDraining: false, isWatching: false },
        ...{ node: node ?? null, sharesKey: true, encrypts, records },
        receivedAtMs: nowMs,
        heardAtMs: fairMs,
      };
      this.peers.set(relay, peer);
    }
    peer.isDraining = draining;
    peer.isWatching = watching;
    peer.encrypts = encrypts;
    peer.records = records;
    peer.sharesKey =
      keys.length === 0 || this.keys.length === 0 || keys.some((key) => this.keys.includes(key));
    peer.way = way;
    peer.at = at;
    peer.receivedAtMs = nowMs;
    peer.heardAtMs = fairMs;
    const echo = heard.find(([id]) => id === this.own);
    // A server that stood still sends old beacons: they do not say that their relay hears us now, and old speech comes with them.
    const isOld = echo !== undefined && roundTripOf(echo[1], echo[2], nowMs) >= DOWN_MS;
    if (echo === undefined || (isOld && !peer.isUp)) {
      // As long as it is there and does not hear us it is missed.
      if (this.missing.has(relay)) this.missing.set(relay, fairMs);
      if (!peer.isUp) return 'one_way';
      // It heard nothing of us for DOWN_MS: what we ask it does not arrive.
      peer.isUp = false;
      this.missing.set(relay, fairMs);
      return 'down';
    }
    const [, ownAt, heldMs] = echo;
    const wasUp = peer.isUp;
    this.missing.delete(relay);
    if (!wasUp) peer.clock.reset();
    peer.isUp = true;
    peer.clock.answered(at, ownAt, heldMs, nowMs);
    return wasUp ? 'known' : 'up';
  }

  private ignore(relay: number, fairMs: number): 'ignored' | 'known' {
    const isKnown = this.ignored.has(relay);
    if (isKnown || this.ignored.size < IGNORED_MAX) this.ignored.set(relay, fairMs);
    return isKnown ? 'known' : 'ignored';
  }

  /** It said that it ends. true: it was up. */
  left(relay: number): boolean {
    const wasUp = this.isUp(relay);
    this.peers.delete(relay);
    this.ignored.delete(relay);
    this.missing.delete(relay);
    return wasUp;
  }

  /** Those that are down from now on. Must be called after the sockets were read. */
  expire({ fairMs }: Now): readonly number[] {
    const gone = [...this.peers].filter(([, { heardAtMs }]) => fairMs - heardAtMs >= DOWN_MS);
    for (const [relay, { isUp }] of gone) {
      this.peers.delete(relay);
      if (isUp) this.missing.set(relay, fairMs);
    }
    for (const [relay, heardAtMs] of this.ignored)
      if (fairMs - heardAtMs >= DOWN_MS) this.ignored.delete(relay);
    for (const [relay, sinceMs] of this.missing)
      if (fairMs - sinceMs >= MISSING_MS) this.missing.delete(relay);
    return gone.flatMap(([relay, { isUp }]) => (isUp ? [relay] : []));
  }

  /** Relays of other nodes that were there are missing, and none at all was heard for `DOWN_MS`. */
  get isSilent(): boolean {
    return [...this.missing.keys()].some(this.isFar) && ![...this.peers.keys()].some(this.isFar);
  }

  /**
   * Whether a message of it comes over an older way than its last beacon. A relay that changes its NATS server leaves
   * messages in the old one, and these come when that server goes on: what they say is over.
   */
  isOvertaken(relay: number, way: number, nowMs: number): boolean {
    const peer = this.peers.get(relay);
    if (peer === undefined) return false;
    return waysBetween(peer.way, way) < 0 && nowMs - peer.receivedAtMs < WRONG_MS;
  }

  /** Whether one is missing or ignored, or all are. When one of another node is, the relays of this node do not count. */
  get reach(): Reach {
    if (this.missing.size === 0 && this.ignored.size === 0) return 'whole';
    const isNearOnly = this.ignored.size === 0 && ![...this.missing.keys()].some(this.isFar);
    const reached = isNearOnly ? this.up : this.up.filter(this.isFar);
    return reached.length === 0 ? 'alone' : 'partial';
  }

  /** How long (ms) a message of it was on its way. */
  delayMs(relay: number, at: number, nowMs: number): number {
    return this.peers.get(relay)?.clock.delayMs(at, nowMs) ?? 0;
  }

  /** What our beacon says: whom we hear, when they said it, and for how long (ms) it was here. */
  heardNow(nowMs: number): Beacon {
    const heard = [...this.peers].map(([relay, { at, receivedAtMs }]): [number, number, number] => [
      relay,
      at,
      wholeMs(nowMs - receivedAtMs),
    ]);
    return {
      heard,
      encrypts: true,
      ...(this.isRecording && { records: true }),
      ...(this.isEnding && { draining: true }),
      ...(this.isWatching && { watching: true }),
      ...(this.node !== null && { node: this.node }),
      ...(this.keys.length > 0 && { keys: [...this.keys] }),
    };
  }
}
