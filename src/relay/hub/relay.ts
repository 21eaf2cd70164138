// Puts a relay together: sessions, their permissions and their talk, behind one listener.
import type { Notice } from '../../db/notice.js';
import { type Churn, createChurn } from '../delivery/churn.js';
import { createFanout } from '../delivery/fanout.js';
import { createHolding } from '../delivery/holding.js';
import { type Peer, type Publisher, SERVICE_TOPIC } from '../delivery/peer.js';
import { createEmergencies, type EmergencyWrites } from '../emergencies/emergencies.js';
import { type Counts, countClose, newCounts } from '../figures/counts.js';
import type { Present, PulseFigures } from '../figures/present.js';
import { createSampling, type Sampled } from '../figures/sampling.js';
import { type Authority, createLocalAuthority, type LocalAuthorityOptions } from '../floor/authority.js';
import { Bursts } from '../floor/bursts.js';
import { createFloorControl } from '../floor/control.js';
import { createOutcomes } from '../floor/outcomes.js';
import type { Talk } from '../floor/talk.js';
import type { Talkgroup, User } from '../members/members.js';
import { createPresence } from '../presence/presence.js';
import { FairClock } from '../reception/fair-clock.js';
import { createPings } from '../reception/pings.js';
import type { Unanswered } from '../reception/receiver.js';
import type { RequestServices } from '../requests/asker.js';
import { createRequests } from '../requests/requests.js';
import { createChanges } from '../rights/changes.js';
import { createRights, type Rights, type RightsReads } from '../rights/rights.js';
import { createParking } from '../session/parking.js';
import type { SessionLimits, SessionServices } from '../session/services.js';
import { Session } from '../session/session.js';
import { snapshotOf } from '../session/snapshot.js';
import { type Admission, type Claims, createAdmission, type Handshake, type Seat } from './admission.js';
import { createArrivals } from './arrivals.js';
import { drainAll } from './drain.js';
import { createFloors } from './floors.js';
import { createMoving } from './moving.js';
import { PULSE_MS, startPulse } from './pulse.js';
import { createSessions, type Sessions } from './sessions.js';
import { createSharing, type Joining, type Sharing, type SharingFigures } from './sharing.js';

export interface RelayOptions {
  /** null: the token is rejected. */
  readonly verifyToken: (token: string) => Claims | null;
  /** false: the database is not yet known to be ours to read. */
  readonly started: () => boolean;
  readonly reads: RightsReads;
  /** The next session number. null while there is none: before the start, and when the database gives no more. */
  readonly takeNumber: () => number | null;
  readonly publisher: Publisher;
  readonly limits: SessionLimits & {
    readonly lagPingMs: number;
    readonly sessionsParked: number;
    readonly drainMs: number;
    readonly socketsPerUser: number;
    readonly upgradesLoading: number;
    readonly upgradesWaiting: number;
  };
  readonly emergencyWrites: EmergencyWrites;
  readonly storeFix: RequestServices['storeFix'];
  readonly log: { info(fields: object, message: string): void; error(fields: object, message: string): void };
  /** Monotonic milliseconds. Tests hand it in. */
  readonly nowMs?: () => number;
  /** Makes the one that decides who has the floor. */
  readonly authorityOf?: ((options: LocalAuthorityOptions) => Authority) | undefined;
}

export interface Relay {
  readonly counts: Counts;
  readonly churn: Churn;
  /** For the metrics. */
  figures(): RelayNumbers;
  readonly verifyToken: RelayOptions['verifyToken'];
  /** Reads what the session of a verified token needs. Calls `done` exactly once, with null claims at once. */
  admit(handshake: Handshake, done: (admission: Admission<Session>) => void): void;
  /** The session says WELCOME on this socket. Must follow `done` in the same step. */
  open(seat: Seat<Session>, peer: Peer): void;
  /** A socket is gone. */
  closed(session: Session, code: number): void;
  /** A callback of this session threw: it alone ends. */
  fail(session: Session, error: unknown): void;
  notice(notice: Notice): Promise<void>;
  /** The same for a change that was made at this node: the other nodes hear of it, too. */
  tell(notice: Notice): Promise<void>;
  gap(): void;
  /** Shares talkgroups with the relays on this bus, from before the first session until `left`. */
  join(joining: Joining): void;
  /**
   * Sends GOAWAY to all and admits nobody any more. Resolves when every socket was closed with 1012, and every session
   * ended or is at another relay.
   */
  close(): Promise<void>;
  /** After `close`: the other relays know that this one ended. */
  left(): Promise<void>;
  /** After `close`: resolves when what was announced is stored, or half a second later. */
  stored(): Promise<void>;
}

/** Plain numbers. */
export interface RelayNumbers {
  readonly counts: Counts;
  readonly sampled: Sampled;
  readonly pulse: PulseFigures;
  readonly present: Present;
  /** null: without other relays. */
  readonly cluster: SharingFigures | null;
}

export function createRelay(options: RelayOptions): Relay {
  const { verifyToken, limits, log, authorityOf = createLocalAuthority } = options;
  const { nowMs = () => performance.now() } = options;
  const churn = createChurn(nowMs);
  const fanout = createFanout(options.publisher, churn);
  const counts = newCounts();
  const sampling = createSampling(nowMs);
  const fair = new FairClock(PULSE_MS);
  const handshakesMax = limits.upgradesLoading + limits.upgradesWaiting;
  const unanswered = new Set<Unanswered>();
  let closing = false;

  const sessions: Sessions = createSessions({
    counts,
    unanswered,
    unresumable: (session) => parking.forget(session),
    ended: ({ user }) => rights.drop(user.id),
    log,
  });
  const parking = createParking<Session>({
    keepMs: limits.resumeMs,
    max: limits.sessionsParked,
    maxOfUser: limits.socketsPerUser,
    relay: () => sharing.relay(),
    giveUp: (session) => sessions.attempt(session, () => session.end('disconnected')),
    counts,
  });
  const pings = createPings({
    ...{ nowMs, fair, unanswered, log },
    sessions: sessions.byNumber,
    pingMs: limits.lagPingMs,
    fail: sessions.failNumber,
  });
  const holding = createHolding({ fanout, counts, nowMs, log });
  const bursts = new Bursts();
  const onVerdicts = createOutcomes({
    ...{ fanout, counts, bursts },
    talkOf: sessions.talkOf,
    discard: (talk: Talk) => holding.discard(talk.feed, talk),
    answered: sessions.answered,
    failLater: sessions.failLater,
  });
  const floors = createFloors({
    ...{ authorityOf, limits, bursts, onVerdicts, fanout, nowMs, log },
    counts: counts.floor,
  });
  const floor = createFloorControl({
    authority: floors.authority,
    onVerdicts,
    bursts,
    talkSilenceMs: limits.talkSilenceMs,
    log,
  });
  const presence = createPresence(fanout);
  const remote = { bursts, fanout, sampling, pings, holding, nowMs };
  const sharing: Sharing = createSharing({
    ...{ ...remote, floors, presence, fair, log },
    movesOf: (session) => sessions.byNumber.get(session)?.moves,
    movable: () => moving.movable,
    emergencies: () => emergencies,
    noticed: (notice) => void rights.notice(notice),
  });
  const rights: Rights = createRights({
    reads: options.reads,
    changes: sharing.following(
      createChanges({
        fanout,
        floor,
        followEmergencies: (...shown) => emergencies.follow(...shown),
        nowMs,
        fail: sessions.failNumber,
        log,
      }),
    ),
    nowMs,
    batch: limits.upgradesLoading,
    waitingMax: handshakesMax,
    log,
  });
  const { talkgroups } = rights;
  const emergencies = createEmergencies({
    writes: options.emergencyWrites,
    talkgroups,
    fanout,
    floor,
    noticed: (notice) => void rights.notice(notice),
    tell: sharing.tellEmergency,
    nowMs,
    log,
  });
  const { fail } = sessions;
  const snapshot = (talkgroup: Talkgroup) => snapshotOf(talkgroup, bursts, fanout.online(talkgroup.feed));
  const services: SessionServices<Session> = {
    limits,
    ...{ fanout, counts, sampling, pings, bursts, floor, holding },
    presence: sharing.presence,
    parking,
    snapshot,
    reach: sharing.reach,
    texts: createRequests({
      floor,
      emergencies,
      membersPage: sharing.membersPage,
      snapshot,
      talkgroups,
      storeFix: options.storeFix,
      ...{ limits, counts, fail, log },
    }),
    unanswered,
    fair,
    nowMs,
    later: sessions.later,
    ended: sessions.end,
    log,
  };
  const newSession = (number: number, user: User) => new Session(services, number, user);
  const moving = createMoving({
    ...{ sessions, parking, newSession, floor, floors, emergencies, sharing, remote, counts, limits, log },
    closing: () => closing,
  });
  const admission = createAdmission({
    started: options.started,
    closing: () => closing,
    load: rights.load,
    arrive: createArrivals({ ready: sharing.ready, drop: rights.drop, waitingMax: handshakesMax, log })
      .arrive,
    takeNumber: options.takeNumber,
    seek: moving.seek,
    ...{ newSession, sessions, parking, counts, log },
    socketsPerUser: limits.socketsPerUser,
  });
  const pulse = startPulse({
    ...{ nowMs, fair, fanout, floor, sampling, pings, unanswered, log },
    fail: sessions.failNumber,
    often: () => rights.expire(),
    seldom: [sharing.presence.announce, (now) => parking.expire(now)],
  });

  function present(): Present {
    const live = fanout.hearers(SERVICE_TOPIC);
    return {
      sessions: live,
      parked: sessions.byNumber.size - live,
      users: rights.users.size,
      talkgroups: talkgroups.size,
      ...floor.figures(),
    };
  }

  return {
    counts,
    churn,
    figures: () => ({
      counts,
      sampled: sampling.sampled,
      pulse: pulse.figures,
      present: present(),
      cluster: sharing.figures(),
    }),
    verifyToken,
    admit: admission.admit,
    open: admission.open,
    closed(session, code) {
      countClose(counts, code);
      session.closed(code);
    },
    fail,
    notice: async (notice) => rights.notice(notice),
    async tell(notice) {
      sharing.notice(notice);
      return rights.notice(notice);
    },
    gap: rights.gap,
    join: sharing.join,
    async close() {
      closing = true;
      sharing.drain();
      await drainAll({
        sessions: sessions.byNumber,
        msMax: limits.drainMs,
        mayMove: limits.resumeMs > 0 && sharing.hasPeers(),
        tell: fanout.all,
        close: (session, close) => sessions.attempt(session, () => session.close(close)),
      });
      rights.close();
      pulse.stop();
      holding.close();
    },
    left: sharing.close,
    stored: emergencies.close,
  };
}
