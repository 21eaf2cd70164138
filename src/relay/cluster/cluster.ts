// Makes the relays of several nodes one service: tells the others what is said here and hears what is said there. Each
// relay knows its own sessions, and keeps a copy of what the others say of theirs.
import { type Notice, noticeOf, readNotice } from '../../db/notice.js';
import type { LatestFix } from '../../protocol/fix.js';
import { textOf } from '../../protocol/server-messages.js';
import type { Fanout } from '../delivery/fanout.js';
import type { EmergenciesElsewhere } from '../emergencies/elsewhere.js';
import { missedFrames } from '../floor/messages.js';
import { beginRemote, type RemoteServices } from '../floor/remote.js';
import type { Talkgroup } from '../members/members.js';
import { EVERY_RELAY, talkgroupSubject } from '../nodes/bus.js';
import { HEADER_BYTES, kinds } from '../nodes/header.js';
import { createNodes, type Nodes, type NodesOptions } from '../nodes/nodes.js';
import type { MembersPage } from '../presence/messages.js';
import type { Presence, PresenceElsewhere } from '../presence/presence.js';
import type { SharedOptions } from '../shared-floor/state.js';
import type { Settings } from './bodies.js';
import { type ClusterFigures, newClusterCounts } from './counts.js';
import { createFloors } from './floors.js';
import { readListing } from './listing.js';
import { createMembers } from './members.js';
import { type MovableSessions, Moves } from './moves/moves.js';
import { createFixes } from './positions/fixes.js';
import { createQuestions, type Questions } from './questions.js';
import { createStreams, type Streams } from './streams.js';

type OfNodes = 'relay' | 'database' | 'bus' | 'node' | 'keys' | 'records' | 'fair' | 'clock' | 'log';

export interface ClusterOptions extends Pick<NodesOptions, OfNodes> {
  /** The numbers of its messages about talkgroups follow this one. */
  readonly lastSeq: number;
  readonly fanout: Fanout;
  readonly remote: RemoteServices;
  readonly presence: Presence;
  readonly emergencies: EmergenciesElsewhere;
  /** What its shared floors decide with. */
  readonly floor: Pick<SharedOptions, 'counts' | 'limits' | 'onVerdicts'>;
  /** Times that the session of this relay with this number has moved. undefined: it is not here. */
  readonly movesOf: (session: number) => number | undefined;
  /** The sessions that may move to another relay. */
  readonly sessions: MovableSessions;
  /** Another relay has these settings, which are newer than ours. */
  readonly adopt: (talkgroup: Talkgroup, settings: Settings) => void;
  /** A change notification came from another relay. */
  readonly noticed: (notice: Notice) => void;
  /** Another relay has stored these positions. */
  readonly located: (fixes: readonly LatestFix[]) => void;
}

export type Cluster = ReturnType<typeof createCluster>;

export function createCluster(options: ClusterOptions) {
  const { relay, bus, lastSeq, fanout, remote, presence, movesOf, clock, log } = options;
  const { nowMs } = clock;
  const counts = newClusterCounts();
  const nodes: Nodes = createNodes({
    ...{ ...options, counts },
    came(other) {
      streams.add(other);
      questions.askAll(other, streams.numbers());
    },
    went(other) {
      questions.forget(other);
      streams.drop(other);
    },
    drained: () => streams.changed(),
    connected() {
      for (const other of peers.up) questions.askAll(other, streams.numbers());
    },
    reached: (reach) => fanout.all(textOf({ type: 'REACH', reach })),
    forUs: ({ relay: from, kind }, bytes) => questions.receive(from, kind, bytes.subarray(HEADER_BYTES)),
    forAll: ({ relay: from, kind }, bytes) => receiveForAll(from, kind, bytes.subarray(HEADER_BYTES)),
    tick(at) {
      streams.tick(at);
      moves.tick(at);
      questions.tick();
    },
  });
  const { peers, writer, say, sayTo, later } = nodes;
  const isUp = (other: number) => peers.isUp(other);
  const moves = new Moves({ ...{ relay, counts, clock, isUp, say: sayTo }, sessions: options.sessions });
  const roster: PresenceElsewhere = {
    announced: (talkgroup, announcement) => streams.of(talkgroup)?.tellRoster(announcement),
    watching: (talkgroup) => streams.of(talkgroup)?.tellCount(),
  };
  const members = createMembers({ fanout, presence, roster, clock, say: sayTo });
  const { floors, repeats } = createFloors({
    ...{ ...options.floor, bursts: remote.bursts },
    ...{ relay, settled, movesOf, clock, log, say: sayTo },
    ask: (other, number) => questions.ask(other, number),
    streamOf: (talkgroup) => streams.of(talkgroup),
  });
  const questions: Questions = createQuestions({
    ...{ moves, members, floors, clock, later, say: sayTo },
    streamOf: (number) => streams.at(number),
    answered: (other, number) => streams.answered(other, number),
  });
  const { ask } = questions;
  const streams: Streams = createStreams({
    ...{ relay, bus, writer, lastSeq, counts, fanout, remote, presence, members, floors, clock, ask, later },
    ...{ settled, emergencies: options.emergencies, movesOf },
    turns: {
      ...{ relay, counts, bursts: remote.bursts, ready: floors.ready, holding: repeats.holding },
      begin: (...begun) => beginRemote(remote, ...begun),
      missed: ({ feed }, talker, frames) => remote.fanout.tell(feed, missedFrames(talker, frames)),
    },
    isUp: () => bus.carriesSome,
    isDraining: (other) => peers.isDraining(other),
    isNear: (other) => peers.isNear(other),
    up: () => peers.up,
    listen: (stream) =>
      nodes.listen(talkgroupSubject(stream.talkgroup.number), (header, bytes) => {
        const at = nowMs();
        stream.receive(header, bytes, nodes.delayMs(at), at);
        return true;
      }),
    list(listing) {
      if (bus.carriesSome && peers.up.length > 0) say(EVERY_RELAY, kinds.listing, listing);
    },
  });
  const fixes = createFixes({
    ...{ peers, counts, beacon: nodes.beacon, listen: nodes.listen, located: options.located },
    say: (subject, kind, body) => bus.carriesSome && say(subject, kind, body),
  });

  /**
   * Another relay has read newer settings: they count at once, whether our database can be reached or not, until a read
   * shows others. What a read did not show before is not believed again. Two relays could repeat it to each other for ever.
   */
  function settled(talkgroup: Talkgroup, settings: Settings): void {
    const { revision } = settings;
    if (revision <= talkgroup.revision || revision <= talkgroup.disproved) return;
    options.adopt(talkgroup, settings);
    // The name, too, may be another one.
    options.noticed(noticeOf({ kind: 'talkgroup_changed', talkgroup: talkgroup.id }));
  }

  function receiveForAll(from: number, kind: number, body: Uint8Array): boolean {
    const at = nowMs();
    if (kind === kinds.listing)
      return readListing(body, (number, seq) => streams.listed(from, number, seq, at));
    if (kind !== kinds.notice) return false;
    const notice = readNotice(Buffer.from(body).toString());
    if (notice !== null && notice.kind !== 'report_asked') options.noticed(notice);
    return true;
  }

  nodes.beacon();

  return {
    /** Id of this relay. */
    relay,
    /** A session is about to get their events. Resolves when the other relays have said what they have. null: at once. */
    expect: streams.expect,
    /** A session gets the talkgroup's events from now on. */
    came: streams.came,
    /** A session does not get them any more. */
    went: streams.went,
    /** What is said about the talkgroup. undefined: no session here gets its events. */
    streamOf: streams.of,
    /** Decides floors together with the other relays. */
    floors,
    /** Tells the others who came and left. */
    roster,
    /** Fetches sessions from other relays. */
    moves: moves as Pick<Moves, 'find' | 'take'>,
    /** Which other relays hear this one. */
    reach: nodes.reach,
    /** Hands a change notification to the other relays. */
    notice(notice: Notice): void {
      if (peers.up.length > 0) say(EVERY_RELAY, kinds.notice, Buffer.from(JSON.stringify(notice)));
    },
    /** A page of the members of all relays. null: no other relay has any. */
    membersPage(talkgroup: Talkgroup, after: number, limit: number): Promise<MembersPage> | null {
      const relays = streams.of(talkgroup)?.relays ?? [];
      return relays.length === 0 ? null : members.page(talkgroup, relays, after, limit);
    },
    /** Whether sessions here want the positions that other relays store. */
    watchFixes: fixes.watch,
    /** Whether such sessions are at another relay. */
    areFixesWanted: () => peers.areWatching,
    /** Hands stored positions to the relays with such sessions. Those for which `isUrgent` also before a relay has said so. */
    tellFixes: fixes.tell,
    /** Whether a relay of another node can be reached that goes on. */
    hasPeers: () => peers.areElsewhere,
    /** This relay ends soon: from now on others decide floors. */
    drain(): void {
      nodes.drain();
      streams.changed();
    },
    figures: (): ClusterFigures => ({
      ...nodes.figures(),
      counts,
      ...streams.figures(),
      floors: floors.counts,
    }),
    async close(): Promise<void> {
      repeats.close();
      questions.close();
      streams.close();
      await nodes.close();
    },
  };
}
