// A relay in virtual time: the one of the service, on a clock, a bus and a database that a history moves.
import { inspect } from 'node:util';
import { type EndCode, ends, type FloorMode } from '../../../src/protocol/codes.js';
import { readBurst, readSender } from '../../../src/protocol/frame.js';
import type { Clock, Timer } from '../../../src/relay/clock.js';
import type { Peer } from '../../../src/relay/delivery/peer.js';
import type { Relay } from '../../../src/relay/hub/relay.js';
import type { Talkgroup } from '../../../src/relay/members/members.js';
import { type Bus, newBusCounts, type Subject, talkgroupSubject } from '../../../src/relay/nodes/bus.js';
import { kinds } from '../../../src/relay/nodes/header.js';
import { relayAlone } from '../relay/relay-alone.js';
import { type Directory, TALKGROUP } from './directory.js';
import { inside, type Playing } from './inside.js';
import type { Judge } from './judge.js';
import type { Radio } from './radio.js';
import type { Network, Random, Schedule, Station } from './world.js';

export interface NodeOptions {
  readonly schedule: Schedule;
  readonly network: Network;
  readonly judge: Judge;
  readonly directory: Directory;
  /** Of the network, of reads and of stops. */
  readonly random: Random;
  readonly takeNumber: () => number;
  /** Added to the clock of this relay (ms), and how fast it runs. */
  readonly origin: number;
  readonly rate: number;
}

interface Due extends Timer {
  isOff: boolean;
}

interface Sent {
  readonly subject: Subject;
  readonly bytes: Uint8Array;
}

/** A read of the database takes this time (ms) at most. */
const READ_MS_MAX = 3;
const OF_TALKGROUP = talkgroupSubject(TALKGROUP);
const EVENTS = `e${TALKGROUP}`;
const AUDIO = `a${TALKGROUP}`;

export class Node implements Station {
  readonly id: number;
  readonly options: NodeOptions;
  readonly relay: Relay;
  /** Those of its sessions that did not end, by their numbers. */
  readonly sessions = new Map<number, Radio>();
  isDead = false;
  /** When it last went on after a stop (virtual ms), and for how long (ms) it stood before. */
  wokeAtMs = Number.NEGATIVE_INFINITY;
  lastStoodMs = 0;
  /** Sessions of it get the talkgroup's events: the others are told. */
  isHere = false;
  private stoppedAtMs = 0;
  /** What is due since it stopped. */
  private readonly due: (() => void)[] = [];
  private readonly subscribed = new Map<Subject, Set<(bytes: Uint8Array) => void>>();
  private readonly topics = new Map<string, Set<Peer>>();

  constructor(id: number, options: NodeOptions) {
    this.id = id;
    this.options = options;
    const { directory, judge, network, takeNumber } = options;
    network.join(this);
    this.relay = relayAlone(
      { fail: (message, fields) => judge.fail('C0', `relay ${id} logs: ${message}: ${inspect(fields)}`) },
      {
        reads: {
          accountsOf: (users) => this.read(() => directory.accounts(users)),
          talkgroupsOf: () => this.read(directory.talkgroups),
        },
        takeNumber,
        publisher: {
          publish: (topic, message) => {
            this.published(topic, message);
            return true;
          },
          numSubscribers: (topic) => this.at(topic).size,
        },
        emergencyWrites: {
          raise: (talkgroup, row) => this.read(() => directory.writes.raise(talkgroup, row)),
          acknowledge: () => directory.writes.acknowledge(),
          clear: (id) => this.read(() => directory.writes.clear(id)),
        },
        clock: this.clock(),
        limits: { resumeMs: 60_000, sessionsParked: 1000, upgradesWaiting: 1000, lagPingMs: 60_000 },
      },
    );
    this.relay.join({ relay: id, database: 1, bus: this.bus(), node: null, keys: [] });
  }

  at(topic: string): Set<Peer> {
    let peers = this.topics.get(topic);
    if (peers === undefined) {
      peers = new Set();
      this.topics.set(topic, peers);
    }
    return peers;
  }

  forget(peer: Peer): void {
    for (const peers of this.topics.values()) peers.delete(peer);
  }

  // Time

  now(): number {
    return this.options.origin + this.options.schedule.now() * this.options.rate;
  }

  /** When it stands still, after that. */
  whenRunning(act: () => void): void {
    if (this.isDead) return;
    if (this.options.network.isStopped(this.id)) this.due.push(act);
    else act();
  }

  private clock(): Clock {
    const { schedule, rate } = this.options;
    const run = (timer: Due, act: () => void) => {
      this.whenRunning(() => {
        if (!timer.isOff) act();
      });
    };
    return {
      nowMs: () => this.now(),
      idleMs: () => this.now(),
      unixMs: () => 1e12 + schedule.now(),
      after(delayMs, act) {
        const timer = { isOff: false, unref() {} };
        schedule.in(delayMs / rate, () => run(timer, act));
        return timer;
      },
      every(periodMs, act) {
        const timer = { isOff: false, unref() {} };
        const next = () =>
          run(timer, () => {
            schedule.in(periodMs / rate, next);
            act();
          });
        schedule.in(periodMs / rate, next);
        return timer;
      },
      stop(timer) {
        (timer as Due).isOff = true; // of the two above
      },
      soon: (act, ...given) => schedule.in(0, () => this.whenRunning(() => act(...given))),
    };
  }

  private read<Row>(rows: () => Row | Promise<Row>): Promise<Row> {
    const { schedule, random } = this.options;
    return new Promise((resolve) => {
      schedule.in(random.between(0.3, READ_MS_MAX), () => {
        const read = rows();
        this.whenRunning(() => resolve(read));
      });
    });
  }

  // The bus

  private bus(): Bus {
    const { network, judge } = this.options;
    const counts = { ...newBusCounts(), ups: 1 };
    return {
      publish: (subject, head, body) => {
        const bytes = new Uint8Array(head.byteLength + body.byteLength);
        bytes.set(head);
        bytes.set(body instanceof Uint8Array ? body : new Uint8Array(body), head.byteLength);
        if (head[0] === kinds.part || head[0] === kinds.verdicts) judge.partsSent++;
        network.publish(this.id, subject, { subject, bytes });
        return true;
      },
      subscribe: (subject, receive) => {
        const known = this.subscribed.get(subject) ?? new Set();
        this.subscribed.set(subject, known.add(receive));
        if (subject === OF_TALKGROUP) this.holds(true);
        return () => {
          known.delete(receive);
          if (known.size > 0) return;
          this.subscribed.delete(subject);
          if (subject === OF_TALKGROUP) this.holds(false);
        };
      },
      isUp: true,
      carriesSome: true,
      joinsNodes: true,
      onChange() {},
      doubt() {},
      counts,
      async close() {},
    };
  }

  private holds(isHere: boolean): void {
    this.isHere = isHere;
    const { judge } = this.options;
    judge.membersChanged();
    if (isHere) return;
    judge.emptied(this);
    inside.forget(this.id);
  }

  hears(topic: string): boolean {
    return this.subscribed.has(topic as Subject);
  }

  receive(message: unknown): void {
    const { subject, bytes } = message as Sent; // of `publish`
    // Each receiver has a buffer of its own, as over a network.
    for (const receive of this.subscribed.get(subject) ?? []) receive(bytes.slice());
  }

  stop(): void {
    const { network } = this.options;
    if (network.isStopped(this.id)) return;
    this.stoppedAtMs = this.now();
    network.stop(this.id);
  }

  wake(): void {
    this.lastStoodMs = this.now() - this.stoppedAtMs;
    this.wokeAtMs = this.options.schedule.now();
    for (const radio of this.sessions.values()) radio.excuse();
  }

  /** Its sockets are read before its timers: it stood still while it waited for them. */
  woke(): void {
    for (const act of this.due.splice(0)) act();
  }

  kill(): void {
    const { network, judge } = this.options;
    this.isDead = true;
    network.leave(this.id);
    judge.killed(this);
  }

  // What its members hear

  /** From the topics of the talkgroup, once for all members. */
  published(topic: string, message: string | ArrayBuffer): void {
    if (topic === AUDIO && typeof message !== 'string') {
      const view = new DataView(message);
      this.options.judge.played(this, this.nameOf(readSender(view), readBurst(view)));
    }
    if (topic !== EVENTS || typeof message !== 'string' || !message.includes('"TALK_')) return;
    const { type, session, burst, code, frames } = JSON.parse(message);
    const name = this.nameOf(Number(session), Number(burst));
    if (type === 'TALK_STARTED') this.options.judge.began(this, name);
    else if (type === 'TALK_ENDED') this.options.judge.ended(this, name, endCode(code), Number(frames));
  }

  private nameOf(session: number, burst: number) {
    return { relay: this.options.judge.relayOfSession(session), session, burst };
  }

  // What the judge asks

  /** As its sessions have it. null: none of them is a member. */
  private get talkgroup(): Talkgroup | null {
    for (const { membership } of this.sessions.values()) if (membership !== null) return membership.talkgroup;
    return null;
  }

  get mode(): FloorMode {
    return this.talkgroup?.floorMode ?? 'open';
  }

  get revision(): number {
    return this.talkgroup?.revision ?? 0;
  }

  get view() {
    return inside.view(this.id);
  }

  get order(): Playing | null {
    return inside.order(this.id);
  }

  /** By a home. A user in an emergency begins without one, when none answers. */
  isGranted({ number, claim }: Radio): boolean {
    return (claim === 'has' || claim === 'talks') && inside.placedOf(this.id, number) !== null;
  }

  queued(): number {
    return this.relay.figures().present.queued;
  }
}

function endCode(code: unknown): EndCode {
  const known = ends.find((one) => one === code);
  if (known === undefined) throw new Error(`no code of an end: ${code}`);
  return known;
}
