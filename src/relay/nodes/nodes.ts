// One relay among the relays of all nodes: who can be reached, and messages from and to them.
import { type Histogram, LOOP_DELAYS_MS, newHistogram, observe } from '../../histogram.js';
import type { Reach } from '../../protocol/codes.js';
import type { Clock } from '../clock.js';
import { type Beacon, readBeacon } from './beacon.js';
import { bodyOf, NO_BODY } from './body.js';
import { type Bus, type BusCounts, EVERY_RELAY, relaySubject, type Subject } from './bus.js';
import {
  HEADER_BYTES,
  type Header,
  HeaderWriter,
  type Kind,
  kinds,
  newHeader,
  readHeader,
} from './header.js';
import { Stalls } from './peers/clock.js';
import { BEACON_MS, Peers } from './peers/peers.js';
import { ReachJudge } from './peers/reach.js';
import { type Log, RelayLog } from './peers/relay-log.js';

/** Time (ms) between two beacons that answer others. */
const REPLY_MS = 20;
/** What waited while this relay stood still was sent in time. After a longer time (ms) it is old all the same. */
const STOOD_MS_MAX = 500;
/** Since its start (ms). The others answer its first beacon at once, and send four of their own by then. */
const SETTLED_MS = 4 * BEACON_MS;

/** Messages that are not taken. */
export interface NodeCounts {
  /** They cannot be read, or are of an unknown kind. */
  unreadable: number;
  /** Of relays of another database. */
  otherDatabase: number;
  /** Of relays that are not up. */
  strange: number;
  /** That a relay sent over an earlier connection than others that came before. */
  overtaken: number;
}

/** Takes a message of a relay that is up. false: it cannot be read. `header` and `bytes` are valid until the return. */
export type Receive = (header: Header, bytes: Uint8Array) => boolean;

export interface NodesOptions {
  /** Id of this relay: no other relay ever has it. */
  readonly relay: number;
  /** Tag (u32) of the database that gave the id. The same at its other relays, and another one at those of another. */
  readonly database: number;
  readonly bus: Bus;
  /** Of all relay threads of the process, u32. null: this is its only relay. */
  readonly node: number | null;
  /** Tags (u32) of the keys whose tokens this relay accepts. None: it does not tell them. */
  readonly keys: readonly number[];
  /** This relay records speech. */
  readonly records: boolean;
  readonly counts: NodeCounts;
  /** Time without the time that this relay stood still. */
  readonly fair: { at(nowMs: number): number };
  readonly clock: Clock;
  readonly log: Log;
  /** The relay can be reached from now on. */
  readonly came: (relay: number) => void;
  /** It cannot be reached any more. */
  readonly went: (relay: number) => void;
  /** A relay ends soon, or goes on. */
  readonly drained: () => void;
  /** The bus was away: what was said meanwhile is lost, on both sides. */
  readonly connected: () => void;
  /** Other relays are heard that were not, or the other way round. */
  readonly reached: (reach: Reach) => void;
  /** A message to this relay alone. */
  readonly forUs: Receive;
  /** A message to every relay. */
  readonly forAll: Receive;
  /** With each beacon. */
  readonly tick: (nowMs: number) => void;
}

/** Plain numbers. */
export interface NodesFigures {
  readonly bus: BusCounts;
  readonly isUp: boolean;
  /** The bus joins nodes, and not only the threads of one. */
  readonly joinsNodes: boolean;
  /** It runs long enough to have heard of every other relay that can be reached. */
  readonly isSettled: boolean;
  /** Always 1, so that the sum for several threads is their number. */
  readonly relays: number;
  /** Other relays that can be reached. */
  readonly peers: number;
  /** Those of them that are relay threads of this node. */
  readonly siblings: number;
  /** Those of them that accept none of the keys of this relay. */
  readonly otherKeys: number;
  /** Those of them that do not enforce the encryption of talkgroups. */
  readonly unencrypting: number;
  /** Those of them that record nothing. */
  readonly unrecording: number;
  /** 1 for the reach that radios are sent, 0 for the others. */
  readonly reach: Readonly<Record<Reach, number>>;
  /** How long messages of other relays were on their way, sampled. */
  readonly delay: Histogram;
}

export type Nodes = ReturnType<typeof createNodes>;

export function createNodes(options: NodesOptions) {
  const { relay, database, bus, node, keys, records, counts, fair, clock, log } = options;
  const { nowMs } = clock;
  const writer = new HeaderWriter(relay, database);
  const peers = new Peers(relay, node, keys);
  peers.isRecording = records;
  const header = newHeader();
  const stalls = new Stalls();
  const relayLog = new RelayLog(database, counts, log);
  const startedAtMs = nowMs();
  const judge = new ReachJudge(startedAtMs);
  const delay = newHistogram(LOOP_DELAYS_MS);
  /** Of the last reply, or of the next one. */
  let repliedAtMs = Number.NEGATIVE_INFINITY;
  let isSampling = false;
  let isClosed = false;

  const say = (subject: Subject, kind: Kind, body: Uint8Array): boolean =>
    bus.publish(subject, writer.write(kind, 0, nowMs(), 0), body);

  function beacon(): void {
    if (bus.carriesSome) say(EVERY_RELAY, kinds.beacon, bodyOf(peers.heardNow(nowMs())));
  }

  /** A throw ends the work that caused it, and neither other work nor the process. */
  function guarded(act: () => void): void {
    if (isClosed) return;
    try {
      act();
    } catch (error) {
      relayLog.failed(header.relay, error, nowMs());
    }
  }

  /** A server that was left may send what it still has, also back to this relay, which it does not know any more. */
  const isOver = () => header.relay === relay || peers.isOvertaken(header.relay, header.way, nowMs());

  function take(bytes: Uint8Array, receive: Receive): void {
    if (isClosed || !readHeader(bytes, header)) counts.unreadable++;
    else if (header.database !== database) relayLog.otherDatabase(header);
    else if (isOver()) counts.overtaken++;
    else {
      try {
        if (!receive(header, bytes)) counts.unreadable++;
      } catch (error) {
        relayLog.failed(header.relay, error, nowMs());
      }
    }
  }

  const ofPeer =
    (receive: Receive): Receive =>
    (header, bytes) => {
      if (peers.isUp(header.relay)) return receive(header, bytes);
      counts.strange++;
      return true;
    };

  const subscribe = (subject: Subject, receive: Receive) =>
    bus.subscribe(subject, (bytes) => take(bytes, receive));

  const forAll = ofPeer(options.forAll);
  function receiveForAll(header: Header, bytes: Uint8Array): boolean {
    const { kind, relay: from } = header;
    if (kind === kinds.leave) {
      lose(from, peers.left(from));
      return true;
    }
    if (kind !== kinds.beacon) return forAll(header, bytes);
    const body = readBeacon(bytes.subarray(HEADER_BYTES));
    if (body !== null) hear(from, body);
    return body !== null;
  }

  function hear(from: number, body: Beacon): void {
    const wasDraining = peers.isDraining(from);
    const news = peers.heard(from, body, header, now());
    if (peers.isDraining(from) !== wasDraining) options.drained();
    if (!peers.sharesKey(from)) relayLog.otherKeys(from);
    if (news === 'known') return;
    if (news === 'ignored') return relayLog.ignored(from);
    if (news === 'down') lose(from, true);
    if (news === 'up') {
      relayLog.reached(from, true, nowMs());
      options.came(from);
    }
    reply();
  }

  /** A relay that came hears us sooner so. Those that come within `REPLY_MS` of a reply get the next one together. */
  function reply(): void {
    const atMs = nowMs();
    if (repliedAtMs > atMs) return; // the next one is due
    repliedAtMs = Math.max(atMs, repliedAtMs + REPLY_MS);
    if (repliedAtMs === atMs) beacon();
    else clock.after(repliedAtMs - atMs, () => guarded(beacon));
  }

  function lose(other: number, wasUp: boolean): void {
    options.went(other);
    if (wasUp) relayLog.reached(other, false, nowMs());
  }

  const now = () => ({ nowMs: nowMs(), fairMs: fair.at(nowMs()) });

  function tick(): void {
    const at = now();
    stalls.sample(at.nowMs - at.fairMs);
    isSampling = true;
    beacon();
    for (const other of peers.expire(at)) lose(other, true);
    const { reach, isInDoubt } = judge.judge(peers, bus.isUp, at);
    if (reach !== null) {
      log.info({ reach }, 'reach changed');
      options.reached(reach);
    }
    if (isInDoubt) bus.doubt();
    options.tick(at.nowMs);
    relayLog.tick(at.nowMs);
  }

  const later = (act: () => void) => clock.soon(guarded, act);
  const ends = [subscribe(relaySubject(relay), ofPeer(options.forUs)), subscribe(EVERY_RELAY, receiveForAll)];
  // After the sockets were read: what waited in them while this relay stood still was sent in time.
  const timer = clock.every(BEACON_MS, () => later(tick));
  writer.setWay(bus.counts.ups);
  bus.onChange((isUp) => {
    if (!isUp) return;
    writer.setWay(bus.counts.ups);
    beacon();
    options.connected();
  });

  return {
    peers,
    /** For messages with numbers, and frames. */
    writer,
    say,
    /** Says something to one relay. */
    sayTo: (other: number, kind: Kind, body: Uint8Array) => say(relaySubject(other), kind, body),
    /** Hears what relays that are up say. The answer ends it. */
    listen: (subject: Subject, receive: Receive) => subscribe(subject, ofPeer(receive)),
    /** Tells the others at once what this relay hears and wants. */
    beacon,
    /** Calls `act` at the end of this turn of the loop. Nothing is called after `close`. */
    later,

    /** How long (ms) the message under way was on its way, without the time, up to STOOD_MS_MAX, that this relay itself stood still lately. */
    delayMs(at: number): number {
      const ms = peers.delayMs(header.relay, header.at, at);
      if (isSampling) {
        isSampling = false;
        observe(delay, ms);
      }
      return Math.max(0, ms - Math.min(STOOD_MS_MAX, stalls.latelyMs(at - fair.at(at))));
    },

    /** Which other relays hear this one. */
    reach: (): Reach => judge.now,

    /** This relay ends soon. */
    drain(): void {
      peers.drain();
      beacon();
    },

    figures: (): NodesFigures => ({
      bus: bus.counts,
      isUp: bus.isUp,
      joinsNodes: bus.joinsNodes,
      isSettled: nowMs() - startedAtMs >= SETTLED_MS,
      relays: 1,
      peers: peers.up.length,
      siblings: peers.siblings,
      otherKeys: peers.otherKeys,
      unencrypting: peers.unencrypting,
      unrecording: peers.unrecording,
      reach: judge.figures,
      delay,
    }),

    /** The others hear that this relay ended. */
    async close(): Promise<void> {
      clock.stop(timer);
      say(EVERY_RELAY, kinds.leave, NO_BODY);
      isClosed = true;
      for (const end of ends) end();
      await bus.close();
    },
  };
}
