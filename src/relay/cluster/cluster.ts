// Makes the relays of several nodes one service: tells the others what is said here and hears what is said there. Each
// relay knows its own sessions, and keeps a copy of what the others say of theirs.
import { type Beacon, bodyOf, NO_BODY, readBody } from './bodies.js';
import { EVERY_RELAY, relaySubject, type Subject, talkgroupSubject } from './bus.js';
import { newClusterCounts } from './counts.js';
import { HEADER_BYTES, HeaderWriter, type Kind, kinds, newHeader, readHeader } from './header.js';
import { readListing } from './listing.js';
import { Moves } from './moves/moves.js';
import type { Cluster, ClusterOptions } from './options.js';
import { Stalls } from './peers/clock.js';
import { BEACON_MS, Peers } from './peers/peers.js';
import { ReachJudge } from './peers/reach.js';
import { RelayLog } from './peers/relay-log.js';
import { createFixes } from './positions/fixes.js';
import { createQuestions } from './questions.js';
import type { Shared } from './stage.js';
import type { Stream } from './stream.js';
import { createStreams, type Streams } from './streams.js';

/** Time (ms) between two beacons that answer others. */
const REPLY_MS = 20;
/** What waited while this relay stood still was sent in time. After a longer time (ms) it is old all the same. */
const STOOD_MS_MAX = 500;
/** Since its start (ms). The others answer its first beacon at once, and send four of their own by then. */
const SETTLED_MS = 4 * BEACON_MS;

export function createCluster<Talkgroup extends Shared>(
  options: ClusterOptions<Talkgroup>,
): Cluster<Talkgroup> {
  const { relay, database, bus, node, keys, lastSeq, stage, nowMs, fairMs, log } = options;
  const counts = newClusterCounts();
  const writer = new HeaderWriter(relay, database);
  writer.setWay(bus.counts.ups);
  const peers = new Peers(relay, node, keys);
  const header = newHeader();
  const stalls = new Stalls();
  const relayLog = new RelayLog(database, counts, log);
  const moves = new Moves({
    ...{ relay, counts, nowMs, sessions: stage.sessions },
    isUp: (other) => peers.isUp(other),
    say: (other, kind, body) => say(relaySubject(other), kind, body),
  });
  const later = (act: () => void) => void setImmediate(guarded, act);
  const questions = createQuestions<Talkgroup>({
    ...{ moves, nowMs, page: stage.page, floor: stage.floor },
    streamOf: (number) => streams.at(number),
    say: (other, kind, body) => say(relaySubject(other), kind, body),
    later,
    answered: (other, number) => streams.answered(other, number),
  });
  const { ask } = questions;
  const streams: Streams<Talkgroup> = createStreams<Talkgroup>({
    ...{ relay, bus, writer, lastSeq, stage, counts, nowMs, ask, later },
    isUp: () => bus.carriesSome,
    isDraining: (other) => peers.isDraining(other),
    isNear: (other) => peers.isNear(other),
    up: () => peers.up,
    listen: (stream) =>
      subscribe(talkgroupSubject(stream.talkgroup.number), (bytes) => receiveAboutTalkgroup(stream, bytes)),
    list: (listing) => {
      if (bus.carriesSome && peers.up.length > 0) say(EVERY_RELAY, kinds.listing, listing);
    },
  });
  let repliedAtMs = Number.NEGATIVE_INFINITY;
  let isSampling = false;
  const judge = new ReachJudge(nowMs());
  let isClosed = false;

  const now = () => ({ nowMs: nowMs(), fairMs: fairMs() });
  const say = (subject: Subject, kind: Kind, body: Uint8Array) =>
    bus.publish(subject, writer.write(kind, 0, nowMs(), 0), body);
  function beacon(): void {
    if (bus.carriesSome) say(EVERY_RELAY, kinds.beacon, bodyOf(peers.heardNow(nowMs())));
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
      relayLog.failed(header.relay, error, nowMs());
    }
  }

  /** A server that was left may send what it still has, also back to this relay, which it does not know any more. */
  const isOver = () => header.relay === relay || peers.isOvertaken(header.relay, header.way, nowMs());

  const subscribe = (subject: Subject, receive: (bytes: Uint8Array) => void) =>
    bus.subscribe(subject, (bytes) => {
      if (isClosed || !readHeader(bytes, header)) counts.unreadable++;
      else if (header.database !== database) relayLog.otherDatabase(header);
      else if (isOver()) counts.overtaken++;
      else guarded(receive, bytes);
    });

  /** How long the message under way was on its way, without the time, up to STOOD_MS_MAX, that this relay itself stood still lately. */
  function delayMs(at: number): number {
    const ms = peers.delayMs(header.relay, header.at, at);
    if (isSampling) {
      isSampling = false;
      stage.delayed(ms);
    }
    return Math.max(0, ms - Math.min(STOOD_MS_MAX, stalls.latelyMs(at - fairMs())));
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
    if (kind === kinds.listing) return receiveListing(from, bytes.subarray(HEADER_BYTES));
    if (kind === kinds.notice) return receiveNotice(from, bytes.subarray(HEADER_BYTES));
    const body = kind === kinds.beacon ? readBody('beacon', bytes.subarray(HEADER_BYTES)) : null;
    if (body === null) counts.unreadable++;
    else hear(from, body);
  }

  function receiveListing(from: number, body: Uint8Array): void {
    const at = nowMs();
    if (!peers.isUp(from)) counts.strange++;
    else if (!readListing(body, (number, seq) => streams.listed(from, number, seq, at))) counts.unreadable++;
  }

  function receiveNotice(from: number, body: Uint8Array): void {
    if (peers.isUp(from)) stage.noticed(Buffer.from(body).toString());
    else counts.strange++;
  }

  function hear(from: number, body: Beacon): void {
    const wasDraining = peers.isDraining(from);
    const news = peers.heard(from, body, header, now());
    if (peers.isDraining(from) !== wasDraining) streams.changed();
    if (!peers.sharesKey(from)) relayLog.otherKeys(from);
    if (news === 'known') return;
    if (news === 'ignored') return relayLog.ignored(from);
    if (news === 'down') lose(from, true);
    if (news === 'up') {
      relayLog.reached(from, true, nowMs());
      streams.add(from);
      questions.askAll(from, streams.numbers());
    }
    // It hears us sooner, and so do those that came at the same time.
    if (nowMs() - repliedAtMs < REPLY_MS) return;
    repliedAtMs = nowMs();
    beacon();
  }

  function lose(other: number, wasUp: boolean): void {
    questions.forget(other);
    streams.drop(other);
    if (wasUp) relayLog.reached(other, false, nowMs());
  }

  function tick(): void {
    const at = now();
    stalls.sample(at.nowMs - at.fairMs);
    isSampling = true;
    beacon();
    for (const other of peers.expire(at)) lose(other, true);
    const { reach, isInDoubt } = judge.judge(peers, bus.isUp, at);
    if (reach !== null) {
      log.info({ reach }, 'reach changed');
      stage.reached(reach);
    }
    if (isInDoubt) bus.doubt();
    streams.tick(at.nowMs);
    moves.tick(at.nowMs);
    relayLog.tick(at.nowMs);
    questions.tick();
  }

  const fixes = createFixes({
    ...{ peers, counts, beacon },
    say: (subject, kind, body) => bus.carriesSome && say(subject, kind, body),
    subscribe: (subject, receive) =>
      subscribe(subject, (bytes) => receive(header.relay, bytes.subarray(HEADER_BYTES))),
    located: stage.located,
  });
  const ends = [subscribe(relaySubject(relay), receiveForUs), subscribe(EVERY_RELAY, receiveForAll)];
  // After the sockets were read: what waited in them while this relay stood still was sent in time.
  const startedAtMs = nowMs();
  const timer = setInterval(() => setImmediate(guarded, tick), BEACON_MS);
  bus.onChange((isUp) => {
    if (!isUp) return;
    writer.setWay(bus.counts.ups);
    beacon();
    // What was said meanwhile is lost, on both sides.
    for (const other of peers.up) questions.askAll(other, streams.numbers());
  });
  beacon();

  return {
    expect: streams.expect,
    came: streams.came,
    went: streams.went,
    changed: (talkgroup) => streams.of(talkgroup)?.changed(),
    deleted: (talkgroup) => streams.of(talkgroup)?.deleted(),
    streamOf: streams.of,
    reach: () => judge.now,
    notice(text) {
      if (peers.up.length > 0) say(EVERY_RELAY, kinds.notice, Buffer.from(text));
    },
    membersElsewhere(talkgroup, after, limit) {
      const relays = streams.of(talkgroup)?.relays ?? [];
      return relays.length === 0
        ? null
        : questions.members(relays, { number: talkgroup.number, after, limit });
    },
    ask: ({ number }, other) => questions.ask(other, number),
    tellFloor: (other, name, body) => say(relaySubject(other), kinds[name], bodyOf(body)),
    play: () => streams.play(nowMs()),
    watchFixes: fixes.watch,
    areFixesWanted: () => peers.areWatching,
    tellFixes: fixes.tell,
    moves,
    hasPeers: () => peers.areElsewhere,
    drain() {
      peers.drain();
      beacon();
      streams.changed();
    },
    figures: () => ({
      bus: bus.counts,
      isUp: bus.isUp,
      joinsNodes: bus.joinsNodes,
      isSettled: nowMs() - startedAtMs >= SETTLED_MS,
      relays: 1,
      counts,
      peers: peers.up.length,
      siblings: peers.siblings,
      otherKeys: peers.otherKeys,
      unencrypting: peers.unencrypting,
      reach: judge.figures,
      ...streams.figures(),
    }),
    async close() {
      clearInterval(timer);
      questions.close();
      streams.close();
      say(EVERY_RELAY, kinds.leave, NO_BODY);
      isClosed = true;
      for (const end of ends) end();
      await bus.close();
    },
  };
}
