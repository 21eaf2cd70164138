// Makes the relays of several nodes one service for talkgroups in the floor mode `open`: tells the others what is said
// here and hears what is said there. Each relay knows its own sessions, and keeps a copy of what the others say of theirs.

import type { Reach } from '../../protocol/codes.js';
import { type Beacon, bodyOf, type MembersTold, NO_BODY, readBody } from './bodies.js';
import { type Bus, EVERY_RELAY, relaySubject, type Subject, talkgroupSubject } from './bus.js';
import { Stalls } from './clock.js';
import { type ClusterFigures, newClusterCounts } from './counts.js';
import { HEADER_BYTES, HeaderWriter, type Kind, kinds, newHeader, readHeader } from './header.js';
import { BEACON_MS, DOWN_MS, Peers } from './peers.js';
import { createQuestions } from './questions.js';
import type { Shared, Stage } from './stage.js';
import { Stream } from './stream.js';

export interface ClusterOptions<Talkgroup extends Shared> {
  /** Id of this relay: no other relay ever has it. */
  readonly relay: number;
  readonly bus: Bus;
  readonly stage: Stage<Talkgroup>;
  /** Monotonic ms. */
  readonly nowMs: () => number;
  /** The same without the time that this relay stood still. */
  readonly fairMs: () => number;
  readonly log: {
    info(fields: object, message: string): void;
    error(fields: object, message: string): void;
  };
}

/** From best to worst. */
const REACHES: readonly Reach[] = ['whole', 'partial', 'alone'];
/** Time (ms) between two changes that are told, unless it becomes worse. */
const REACH_MS = 5000;
/** Time (ms) between two beacons that answer others. */
const REPLY_MS = 20;

interface Joined<Talkgroup extends Shared> {
  readonly stream: Stream<Talkgroup>;
  /** Ends the subscription. */
  readonly stop: () => void;
}

export interface Cluster<Talkgroup extends Shared> {
  /** A session gets the talkgroup's events from now on. */
  came(talkgroup: Talkgroup): void;
  /** A session does not get them any more. */
  went(talkgroup: Talkgroup): void;
  /** Its floor mode may have changed. */
  changed(talkgroup: Talkgroup): void;
  /** It is deleted. */
  deleted(talkgroup: Talkgroup): void;
  /** What is said about the talkgroup. undefined: no session here gets its events. */
  streamOf(talkgroup: Talkgroup): Stream<Talkgroup> | undefined;
  /** Which other relays hear this one. */
  reach(): Reach;
  /** Hands a change notification to the other relays. */
  notice(text: string): void;
  /** Members at the other relays, a page of each that answers in time. null: there are no such relays. */
  membersElsewhere(
    talkgroup: Talkgroup,
    after: number,
    limit: number,
  ): Promise<readonly MembersTold[]> | null;
  figures(): ClusterFigures;
  close(): Promise<void>;
}

export function createCluster<Talkgroup extends Shared>(
  options: ClusterOptions<Talkgroup>,
): Cluster<Talkgroup> {
  const { relay, bus, stage, nowMs, fairMs, log } = options;
  const counts = newClusterCounts();
  const writer = new HeaderWriter(relay);
  const peers = new Peers(relay);
  const joined = new Map<number, Joined<Talkgroup>>();
  /** Talkgroups where sessions came or went since the last tick. */
  const changing = new Set<Stream<Talkgroup>>();
  const header = newHeader();
  const stalls = new Stalls();
  const questions = createQuestions<Talkgroup>({
    streamOf: (number) => joined.get(number)?.stream,
    page: stage.page,
    say: (other, kind, body) => say(relaySubject(other), kind, body),
    later: (act) => void setImmediate(guarded, act),
    nowMs,
  });
  const { ask } = questions;
  let repliedAtMs = Number.NEGATIVE_INFINITY;
  let isSampling = false;
  let reach: Reach = 'whole';
  let reachAtMs = Number.NEGATIVE_INFINITY;
  /** When the bus was last up (monotonic ms). */
  let upAtMs = nowMs();
  let isClosed = false;

  const now = () => ({ nowMs: nowMs(), fairMs: fairMs() });
  const say = (subject: Subject, kind: Kind, body: Uint8Array) =>
    bus.publish(subject, writer.write(kind, 0, nowMs(), 0), body);
  function beacon(): void {
    if (bus.isUp) say(EVERY_RELAY, kinds.beacon, bodyOf(peers.heardNow(nowMs())));
  }

  /** A throw ends the message that caused it, and neither the others nor the process. */
  function guarded<Arguments extends unknown[]>(
    act: (...given: Arguments) => void,
    ...given: Arguments
  ): void {
    if (isClosed) return;
    try {
      act(...given);
    } catch (error) {
      log.error({ err: error }, 'cluster message failed');
    }
  }

  const subscribe = (subject: Subject, receive: (bytes: Uint8Array) => void) =>
    bus.subscribe(subject, (bytes) => {
      if (!isClosed && readHeader(bytes, header)) guarded(receive, bytes);
      else counts.unreadable++;
    });

  /** How long the message under way was on its way, without the time that this relay itself stood still lately. */
  function delayMs(at: number): number {
    const ms = peers.delayMs(header.relay, header.at, at);
    if (isSampling) {
      isSampling = false;
      stage.delayed(ms);
    }
    return Math.max(0, ms - stalls.latelyMs(at - fairMs()));
  }

  function receiveAboutTalkgroup(stream: Stream<Talkgroup>, bytes: Uint8Array): void {
    if (!peers.isUp(header.relay)) {
      counts.strange++;
      return;
    }
    const at = nowMs();
    stream.receive(header, bytes, delayMs(at), at);
  }

  function receiveForUs(bytes: Uint8Array): void {
    const { kind, relay: from } = header;
    if (!peers.isUp(from)) counts.strange++;
    else if (!questions.receive(from, kind, bytes.subarray(HEADER_BYTES))) counts.unreadable++;
  }

  function receiveForAll(bytes: Uint8Array): void {
    const { kind, relay: from } = header;
    if (kind === kinds.leave) return lose(from, peers.left(from));
    if (kind === kinds.notice) return receiveNotice(from, bytes.subarray(HEADER_BYTES));
    const body = kind === kinds.beacon ? readBody('beacon', bytes.subarray(HEADER_BYTES)) : null;
    if (body === null) counts.unreadable++;
    else hear(from, body);
  }

  function receiveNotice(from: number, body: Uint8Array): void {
    if (peers.isUp(from)) stage.noticed(Buffer.from(body).toString());
    else counts.strange++;
  }

  function hear(from: number, body: Beacon): void {
    const news = peers.heard(from, body, header.at, now());
    if (news === 'known') return;
    if (news === 'up') {
      log.info({ relay: from }, 'relay reached');
      for (const number of joined.keys()) ask(from, number);
    }
    // It hears us sooner, and so do those that came at the same time.
    if (nowMs() - repliedAtMs < REPLY_MS) return;
    repliedAtMs = nowMs();
    beacon();
  }

  function lose(other: number, wasUp: boolean): void {
    questions.forget(other);
    for (const { stream } of joined.values()) stream.drop(other);
    if (wasUp) log.info({ relay: other }, 'relay not reached any more');
  }

  function join(talkgroup: Talkgroup): Joined<Talkgroup> {
    const stream = new Stream({ bus, writer, stage, counts, nowMs, ask }, talkgroup);
    const stop = subscribe(talkgroupSubject(talkgroup.number), (bytes) =>
      receiveAboutTalkgroup(stream, bytes),
    );
    const one = { stream, stop };
    joined.set(talkgroup.number, one);
    for (const other of peers.up) ask(other, talkgroup.number);
    return one;
  }

  function leave({ stream, stop }: Joined<Talkgroup>): void {
    changing.delete(stream);
    joined.delete(stream.talkgroup.number);
    stream.close();
    stop();
  }

  function streamOf(talkgroup: Talkgroup): Stream<Talkgroup> | undefined {
    const stream = joined.get(talkgroup.number)?.stream;
    return stream?.talkgroup === talkgroup ? stream : undefined;
  }

  /** The stream of the talkgroup. The last member may have left memory, and another one come: that is another object. */
  function joinedTo(talkgroup: Talkgroup): Joined<Talkgroup> {
    const known = joined.get(talkgroup.number);
    if (known?.stream.talkgroup === talkgroup) return known;
    if (known !== undefined) leave(known);
    return join(talkgroup);
  }

  /** A change of the NATS server takes less than DOWN_MS, and is not told. */
  function judgeReach(at: number): void {
    if (bus.isUp) upAtMs = at;
    const now = at - upAtMs >= DOWN_MS ? 'alone' : peers.reach;
    const isWorse = REACHES.indexOf(now) > REACHES.indexOf(reach);
    if (now === reach || (!isWorse && at - reachAtMs < REACH_MS)) return;
    reach = now;
    reachAtMs = at;
    log.info({ reach }, 'reach changed');
    stage.reached(reach);
  }

  function tick(): void {
    const at = now();
    stalls.sample(at.nowMs - at.fairMs);
    isSampling = true;
    beacon();
    for (const other of peers.expire(at)) lose(other, true);
    judgeReach(at.nowMs);
    for (const stream of changing) {
      if (stage.online(stream.talkgroup) > 0) stream.tellCount();
      else leave(joinedTo(stream.talkgroup));
    }
    changing.clear();
    for (const { stream } of joined.values()) if (stream.isShared) stream.watch(at.nowMs);
  }

  const ends = [subscribe(relaySubject(relay), receiveForUs), subscribe(EVERY_RELAY, receiveForAll)];
  // After the sockets were read: what waited in them while this relay stood still was sent in time.
  const timer = setInterval(() => setImmediate(guarded, tick), BEACON_MS);
  bus.onChange((isUp) => {
    if (!isUp) return;
    beacon();
    // What was said meanwhile is lost, on both sides.
    for (const other of peers.up) for (const number of joined.keys()) ask(other, number);
  });
  beacon();

  return {
    came(talkgroup) {
      changing.add(joinedTo(talkgroup).stream.moved());
    },
    went(talkgroup) {
      const stream = streamOf(talkgroup);
      if (stream !== undefined) changing.add(stream.moved());
    },
    changed: (talkgroup) => streamOf(talkgroup)?.changed(),
    deleted: (talkgroup) => streamOf(talkgroup)?.deleted(),
    streamOf,
    reach: () => reach,
    notice(text) {
      if (peers.up.length > 0) say(EVERY_RELAY, kinds.notice, Buffer.from(text));
    },
    membersElsewhere(talkgroup, after, limit) {
      const relays = streamOf(talkgroup)?.relays ?? [];
      return relays.length === 0
        ? null
        : questions.members(relays, { number: talkgroup.number, after, limit });
    },
    figures() {
      let shared = 0;
      for (const { stream } of joined.values()) if (stream.isShared) shared++;
      return {
        bus: bus.counts,
        isUp: bus.isUp,
        counts,
        peers: peers.up.length,
        talkgroups: joined.size,
        shared,
      };
    },
    async close() {
      clearInterval(timer);
      questions.close();
      for (const one of [...joined.values()]) leave(one);
      say(EVERY_RELAY, kinds.leave, NO_BODY);
      isClosed = true;
      for (const end of ends) end();
      await bus.close();
    },
  };
}
