// Joins the relay to the other relays: what the cluster needs of this relay, and what this relay tells the cluster.

import { type Notice, noticeOf, readNotice } from '../../db/notice.js';
import { type Histogram, LOOP_DELAYS_MS, newHistogram, observe } from '../../histogram.js';
import type { Member } from '../../protocol/bodies.js';
import type { LatestFix } from '../../protocol/fix.js';
import { textOf } from '../../protocol/server-messages.js';
import type { Clock } from '../clock.js';
import type { Settings } from '../cluster/bodies.js';
import type { Bus } from '../cluster/bus.js';
import { createCluster } from '../cluster/cluster.js';
import type { ClusterFigures } from '../cluster/counts.js';
import type { MovableSessions } from '../cluster/moves/moves.js';
import type { Cluster } from '../cluster/options.js';
import type { Fanout } from '../delivery/fanout.js';
import type { Emergencies } from '../emergencies/emergencies.js';
import type { UnsavedEmergency } from '../emergencies/messages.js';
import type { Bursts } from '../floor/bursts.js';
import { runningBody } from '../floor/messages.js';
import { beginRemote, type RemoteBurst, type RemoteServices } from '../floor/remote.js';
import type { Talk } from '../floor/talk.js';
import type { LiveSession, Membership, Talkgroup, User } from '../members/members.js';
import { joinPages, type MembersPage } from '../presence/messages.js';
import type { Presence, PresenceElsewhere } from '../presence/presence.js';
import type { FairClock } from '../reception/fair-clock.js';
import type { RightsChanges } from '../rights/settle.js';
import type { Floors, FloorsCounts } from './floors.js';

export interface SharingOptions extends RemoteServices {
  readonly bursts: Bursts;
  readonly floors: Floors;
  readonly fanout: Fanout;
  readonly presence: Presence;
  readonly clock: Clock;
  readonly fair: FairClock;
  /** Those of this relay, which are made after this. */
  readonly emergencies: () => Emergencies;
  /** Times that the session with this number has moved. undefined: it is not here. */
  readonly movesOf: (session: number) => number | undefined;
  /** The sessions that may move to another relay. */
  readonly movable: () => MovableSessions;
  /** Another relay has these settings, which are newer than ours. */
  readonly adopt: (talkgroup: Talkgroup, settings: Settings) => void;
  /** A change notification came from another relay. */
  readonly noticed: (notice: Notice) => void;
  /** Another relay has stored these positions. */
  readonly located: (fixes: readonly LatestFix[]) => void;
  readonly log: { info(fields: object, message: string): void; error(fields: object, message: string): void };
}

/** What joins a relay to others: its id, which no other relay of the database ever has, that database, and the bus. */
export interface Joining {
  readonly relay: number;
  /** Tag of the database, u32. */
  readonly database: number;
  readonly bus: Bus;
  /** Of all relay threads of the process, u32. null: this is its only relay. */
  readonly node: number | null;
  /** Tags (u32) of the keys whose tokens it accepts. */
  readonly keys: readonly number[];
  /** The numbers of its messages about talkgroups follow this one. Left out: 0. */
  readonly lastSeq?: number;
}

/** Plain numbers. */
export interface SharingFigures extends ClusterFigures {
  readonly floors: FloorsCounts;
  /** How long messages of other relays were on their way, sampled. */
  readonly delay: Histogram;
}

/** What became known of the members of other relays while they were asked for. */
interface Asking {
  readonly talkgroup: Talkgroup;
  /** The last that was told of each session. null: it left. */
  readonly told: Map<number, Member | null>;
  /** Names were lost. */
  isRecounted: boolean;
}

export type Sharing = ReturnType<typeof createSharing>;

/** Until `join`, and without it for ever, the relay is alone: one comparison for each session that comes or goes. */
export function createSharing(options: SharingOptions) {
  const { bursts, fanout, floors, presence, clock, fair, nowMs, log } = options;
  const delay = newHistogram(LOOP_DELAYS_MS);
  let cluster: Cluster<Talkgroup> | null = null;
  /** Talkgroups whose members other relays are asked for. */
  const asking = new Set<Asking>();
  const elsewhere: PresenceElsewhere = {
    announced: (talkgroup, announcement) => cluster?.streamOf(talkgroup)?.tellRoster(announcement),
    watching: (talkgroup) => cluster?.streamOf(talkgroup)?.tellCount(),
  };

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
  /** Id of this relay. null: it is alone. */
  let id: number | null = null;

  return {
    /** From now on talkgroups are shared with the other relays. Before the first session. */
    join({ relay, database, bus, node, keys, lastSeq = 0 }: Joining): void {
      id = relay;
      const joined: Cluster<Talkgroup> = createCluster<Talkgroup>({
        ...{ relay, database, bus, node, keys, lastSeq, clock, log },
        fairMs: () => fair.at(nowMs()),
        stage: {
          online: ({ feed }) => fanout.onlineHere(feed),
          running: (talkgroup) => [...bursts.in(talkgroup)].map(runningBody),
          begin: (...begun) => beginRemote(options, ...begun),
          page(talkgroup, after, limit) {
            presence.tellNow(talkgroup, elsewhere);
            return presence.page(talkgroup, after, limit);
          },
          isHere: (session) => options.movesOf(session) !== undefined,
          movesOf: (session) => options.movesOf(session) ?? 0,
          sessions: options.movable(),
          counted(talkgroup) {
            presence.recounted(talkgroup);
            for (const one of asking) if (one.talkgroup === talkgroup) one.isRecounted = true;
          },
          settings: ({ revision, floorMode, maxTalkMs, encryption, emergencyMayBeClear }) => ({
            ...{ revision, floor_mode: floorMode, max_talk_ms: maxTalkMs, encryption },
            clear_emergency: emergencyMayBeClear,
          }),
          settled,
          isWatched: presence.isWatched,
          watchedElsewhere: presence.watchedElsewhere,
          toldElsewhere(talkgroup, joined, left) {
            presence.toldElsewhere(talkgroup, joined, left);
            for (const one of asking) {
              if (one.talkgroup !== talkgroup) continue;
              for (const session of left) one.told.set(session, null);
              for (const member of joined) one.told.set(member.session, member);
            }
          },
          emergencies: options.emergencies().elsewhere,
          floor: floors.join({
            relay,
            cluster: () => joined,
            movesOf: options.movesOf,
            settled: (talkgroup, { revision, mode, maxTalkMs, encryption, mayBeClear }) =>
              settled(talkgroup, {
                ...{ revision, floor_mode: mode, max_talk_ms: maxTalkMs },
                ...(encryption !== undefined && { encryption }),
                ...(mayBeClear !== undefined && { clear_emergency: mayBeClear }),
              }),
          }),
          noticed(text) {
            const notice = readNotice(text);
            if (notice !== null && notice.kind !== 'report_asked') options.noticed(notice);
          },
          reached: (reach) => fanout.all(textOf({ type: 'REACH', reach })),
          located: options.located,
          delayed: (ms) => observe(delay, ms),
        },
      });
      cluster = joined;
    },

    /** Presence, of which the cluster hears, too. */
    presence: {
      watch(talkgroup: Talkgroup): void {
        presence.watch(talkgroup);
        elsewhere.watching(talkgroup);
      },
      /** Called once a second. */
      announce: () => presence.announce(cluster === null ? null : elsewhere),
      came(session: LiveSession, membership: Membership): void {
        presence.came(session, membership);
        cluster?.came(membership.talkgroup);
      },
      went(session: LiveSession, membership: Membership): void {
        presence.went(session, membership);
        cluster?.went(membership.talkgroup);
      },
    },

    /** A session of the user is about to come. Resolves when the other relays have said what they have. null: at once. */
    ready: ({ memberships }: User): Promise<void> | null =>
      cluster?.expect([...memberships.values()].map(({ talkgroup }) => talkgroup)) ?? null,

    /** Tells the other relays of a change of an emergency that is not stored yet. */
    tellEmergency: (talkgroup: Talkgroup, told: UnsavedEmergency) =>
      cluster?.streamOf(talkgroup)?.tellEmergency(told),

    relay: () => id,

    /** Whether the positions that other relays store are wanted here. */
    watchFixes: (isWanted: boolean) => cluster?.watchFixes(isWanted),

    /** Whether another relay wants those that are stored here. */
    areFixesWanted: () => cluster?.areFixesWanted() === true,

    /** Hands them to the relays that want them. Those for which `isUrgent` are handed over also before a relay has said so. */
    tellFixes: (fixes: readonly LatestFix[], isUrgent: (fix: LatestFix) => boolean) =>
      cluster?.tellFixes(fixes, isUrgent),

    /** Fetches sessions from other relays. null: the relay is alone. */
    moves: () => cluster?.moves ?? null,

    /** The burst of a session that goes to another relay is played here as one of that relay. */
    handOver: (to: number, talk: Talk, played: RemoteBurst) =>
      cluster?.streamOf(talk.talkgroup)?.handOver(to, played.talker, played, nowMs()),

    /** A session went to another relay. Before that relay has it the others are told, so that it counts once. */
    movedOn(talkgroup: Talkgroup): void {
      presence.tellNow(talkgroup, elsewhere);
      cluster?.streamOf(talkgroup)?.tellCount();
    },

    /** A session came here from another relay, and its burst there goes on or has ended. */
    cameHere: (talkgroup: Talkgroup, session: number) => cluster?.streamOf(talkgroup)?.cameHere(session),

    /** Whether another relay can be reached that goes on. */
    hasPeers: () => cluster?.hasPeers() === true,

    /** The relay ends soon. */
    drain: () => cluster?.drain(),

    /** Which other relays hear this one. undefined: it has no bus. */
    reach: () => cluster?.reach(),

    /** Hands the change notification to the other relays. */
    notice: (notice: Notice) => cluster?.notice(JSON.stringify(notice)),

    /** A page of the members of all relays. At once when no other relay has any. */
    membersPage(talkgroup: Talkgroup, after: number, limit: number): MembersPage | Promise<MembersPage> {
      const asked = cluster?.membersElsewhere(talkgroup, after, limit) ?? null;
      if (asked === null) return presence.page(talkgroup, after, limit);
      const meanwhile: Asking = { talkgroup, told: new Map(), isRecounted: false };
      asking.add(meanwhile);
      return asked.then((answers) => {
        asking.delete(meanwhile);
        // The page may lack what was lost: PRESENCE names nobody next, and the client asks again.
        if (meanwhile.isRecounted || !answers.isWhole) presence.recounted(talkgroup);
        // As it is now: what was announced meanwhile must be in it.
        const own = presence.page(talkgroup, after, limit);
        const { told } = meanwhile;
        const others = answers.told.map(({ members, more }) => ({
          members: members.filter(({ session }) => !told.has(session)),
          next: more ? 0 : null,
        }));
        const came = [...told.values()]
          .filter((one) => one !== null)
          .filter(({ session }) => session > after);
        const { members, next } = joinPages([own, ...others, { members: came, next: null }], limit);
        return { online: fanout.online(talkgroup.feed), members, next };
      });
    },

    /** The same for changes of talkgroups. */
    following(effects: RightsChanges): RightsChanges {
      return {
        ...effects,
        changed(talkgroup) {
          cluster?.streamOf(talkgroup)?.tellSettings();
          effects.changed(talkgroup);
          cluster?.changed(talkgroup);
        },
        deleted(talkgroup) {
          cluster?.deleted(talkgroup);
          effects.deleted(talkgroup);
        },
      };
    },

    /** null: the relay is alone. */
    figures(): SharingFigures | null {
      return cluster === null ? null : { ...cluster.figures(), floors: floors.counts, delay };
    },

    async close() {
      floors.close();
      await cluster?.close();
    },
  };
}
