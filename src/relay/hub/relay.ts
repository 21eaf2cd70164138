// Puts a relay together: sessions, their permissions and their talk, behind one listener.
import type { Notice, Question } from '../../db/notice.js';
import { createChurn } from '../delivery/churn.js';
import { createFanout } from '../delivery/fanout.js';
import { createHolding } from '../delivery/holding.js';
import { createLoad } from '../delivery/load.js';
import { SERVICE_TOPIC } from '../delivery/peer.js';
import { createEmergencies } from '../emergencies/emergencies.js';
import { countClose, newCounts } from '../figures/counts.js';
import type { Present } from '../figures/present.js';
import { createSampling } from '../figures/sampling.js';
import { createLocalAuthority } from '../floor/authority.js';
import { Bursts } from '../floor/bursts.js';
import { createFloorControl } from '../floor/control.js';
import { createOutcomes } from '../floor/outcomes.js';
import type { Talk } from '../floor/talk.js';
import type { Membership, Talkgroup, User } from '../members/members.js';
import { createPositions, type Positions } from '../positions/positions.js';
import { createPresence } from '../presence/presence.js';
import { FairClock } from '../reception/fair-clock.js';
import { createPings } from '../reception/pings.js';
import type { Unanswered } from '../reception/receiver.js';
import { createRequests } from '../requests/requests.js';
import { createChanges } from '../rights/changes.js';
import { createRights, type Rights } from '../rights/rights.js';
import { createParking } from '../session/parking.js';
import type { SessionServices } from '../session/services.js';
import { Session } from '../session/session.js';
import { snapshotOf } from '../session/snapshot.js';
import { createTapes } from '../taping/tapes.js';
import { createAdmission } from './admission.js';
import { createArrivals } from './arrivals.js';
import { drainAll } from './drain.js';
import { following } from './following.js';
import { createMoving } from './moving.js';
import type { Relay, RelayOptions } from './options.js';
import { PULSE_MS, startPulse } from './pulse.js';
import { createRejections } from './rejections.js';
import { reportOf } from './report.js';
import { createSessions, type Sessions } from './sessions.js';
import { createSharing, type Sharing } from './sharing.js';

export type { Relay, RelayNumbers, RelayOptions } from './options.js';

export function createRelay(options: RelayOptions): Relay {
  const { verifyToken, limits, clock, log, authorityOf = createLocalAuthority } = options;
  const { nowMs, unixMs } = clock;
  const churn = createChurn(nowMs);
  const fanout = createFanout(options.publisher, churn, clock);
  const counts = newCounts();
  const sampling = createSampling(clock);
  const fair = new FairClock(PULSE_MS);
  const handshakesMax = limits.upgradesLoading + limits.upgradesWaiting;
  const unanswered = new Set<Unanswered>();
  let closing = false;

  const sessions: Sessions = createSessions({
    ...{ counts, clock, unanswered },
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
    ...{ clock, fair, unanswered, log },
    sessions: sessions.byNumber,
    pingMs: limits.lagPingMs,
    fail: sessions.failNumber,
  });
  const { behindFrame } = pings;
  const holding = createHolding({ fanout, counts, behindFrame, left: sampling.left, clock, log });
  const { loadWindowMs: windowMsMax, loadPercent } = limits;
  const load = createLoad({ clock, windowMsMax, busyFrom: loadPercent / 100, hold: holding.follow });
  const bursts = new Bursts(() => pulse.wake());
  const tapes = createTapes({ clock, memoryBytes: limits.recordingBytes, handOver: options.taped, log });
  const onVerdicts = createOutcomes({
    ...{ fanout, counts, bursts, tapes, unixMs },
    talkOf: sessions.talkOf,
    discard: (talk: Talk) => holding.discard(talk.feed, talk),
    answered: sessions.answered,
    failLater: sessions.failLater,
  });
  const shared = { counts: counts.floor, limits, onVerdicts };
  const floor = createFloorControl({
    authority: authorityOf({ ...shared, bursts }),
    onVerdicts,
    bursts,
    talkSilenceMs: limits.talkSilenceMs,
    log,
  });
  const presence = createPresence(fanout);
  const remote = { bursts, fanout, sampling, holding, tapes, nowMs };
  const sharing: Sharing = createSharing({
    ...{ remote, fanout, presence, shared, fair, clock, log },
    records: limits.recordingBytes > 0,
    floor: () => floor,
    movesOf: (session) => sessions.byNumber.get(session)?.moves,
    movable: () => moving.movable,
    emergencies: () => emergencies,
    noticed: (notice) => void noticed(notice),
    adopt: (talkgroup, settings) => rights.adopt(talkgroup, settings),
    located: (fixes) => positions.located(fixes),
  });
  const rejections = createRejections({ nowMs, log });
  const changes = createChanges({
    ...{ fanout, floor, nowMs, log },
    followEmergencies: (...shown) => emergencies.follow(...shown),
    refused({ number, user, issuedAt }, close) {
      const arrival = sessions.byNumber.get(number)?.arrival ?? null;
      if (arrival === null) return; // it came from another relay and has had no connection here
      rejections.keep({ user: user.id, issuedAt, address: arrival.address, client: arrival.client }, close);
    },
    fail: sessions.failNumber,
  });
  const rights: Rights = createRights({
    reads: options.reads,
    changes: following(sharing.following(changes), { positions: () => positions, tapes }),
    clock,
    batch: limits.upgradesLoading,
    waitingMax: handshakesMax,
    log,
  });
  const { talkgroups } = rights;
  const positions: Positions = createPositions({
    ...{ publisher: options.publisher, fanout, clock, log },
    reads: options.positionReads,
    raisers: rights.raisers,
    counts: counts.positions,
    wants: (isWanted) => sharing.cluster()?.watchFixes(isWanted),
  });
  /** undefined: it has no bus. */
  const reach = () => sharing.cluster()?.reach();
  const report = ({ user, talkgroup }: Question) =>
    reportOf({
      ...{ user: rights.users.get(user), ...rejections.of(user), reach: reach() },
      relays: 1 + (sharing.cluster()?.figures().peers ?? 0),
      talkgroup: talkgroup === null ? undefined : talkgroups.get(talkgroup),
      sessionOf: (number) => sessions.byNumber.get(number),
      leftMs: (session) => parking.leftMs(session, nowMs()),
      ...{ keepMs: limits.resumeMs, nowMs: nowMs(), unixMs: unixMs() },
    });
  function noticed(notice: Notice | Question): Promise<void> {
    if (notice.kind === 'report_asked') return options.storeReport(notice.id, report(notice));
    positions.noticed(notice);
    return rights.noticed(notice);
  }
  const emergencies = createEmergencies({
    writes: options.emergencyWrites,
    talkgroups,
    fanout,
    floor,
    noticed: (notice) => void rights.noticed(notice),
    tell: (talkgroup, told) => sharing.cluster()?.streamOf(talkgroup)?.tellEmergency(told),
    clock,
    log,
  });
  const { fail } = sessions;
  const snapshot = (membership: Membership) =>
    snapshotOf(membership, { bursts, online: fanout.online(membership.talkgroup.feed), nowMs: nowMs() });
  function readAgain({ id }: Talkgroup, msMax: number, session: Session, act: (nowMs: number) => void): void {
    let isOver = false;
    const goOn = () => {
      if (isOver) return;
      isOver = true;
      clock.stop(timer);
      if (!session.isOver) sessions.attempt(session, () => act(nowMs()));
    };
    const timer = clock.after(msMax, goOn);
    void rights.readAgain(id).then(goOn);
  }
  const services: SessionServices<Session> = {
    limits,
    ...{ fanout, counts, sampling, bursts, floor, holding },
    presence: sharing.presence,
    parking,
    snapshot,
    reach,
    texts: createRequests({
      floor,
      emergencies,
      membersPage: sharing.membersPage,
      snapshot,
      talkgroups,
      storeFix: options.storeFix,
      readAgain,
      ...{ positions, limits, counts, unixMs, fail, log },
    }),
    unanswered: {
      add(receiver) {
        unanswered.add(receiver);
        pulse.wake();
      },
      delete: (receiver) => unanswered.delete(receiver),
    },
    fair,
    ...{ nowMs, unixMs },
    later: sessions.later,
    ended: sessions.end,
    log,
  };
  const newSession = (number: number, user: User) => new Session(services, number, user);
  const moving = createMoving({
    ...{ sessions, parking, newSession, floor, emergencies, sharing, remote, counts, limits, log },
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
    ...{ newSession, sessions, parking, nowMs, counts, log },
    rejections,
    socketsPerUser: limits.socketsPerUser,
  });
  const pulse = startPulse({
    ...{ clock, fair, fanout, floor, sampling, pings, unanswered, log },
    isAlone: () => sharing.cluster() === null && authorityOf === createLocalAuthority,
    fail: sessions.failNumber,
    often: [rights.expire, tapes.tick, (_now, lateMs) => load.measure(lateMs)],
    seldom: [sharing.presence.announce, (now) => parking.expire(now)],
  });

  const present = (live = fanout.hearers(SERVICE_TOPIC)): Present => ({
    ...{ sessions: live, parked: sessions.byNumber.size - live },
    ...{ users: rights.users.size, talkgroups: talkgroups.size, watchers: positions.watchers() },
    ...floor.figures(),
  });

  return {
    counts,
    churn,
    figures: () => ({
      counts,
      sampled: sampling.sampled,
      pulse: pulse.figures,
      load: load.figures,
      present: present(),
      cluster: sharing.cluster()?.figures() ?? null,
    }),
    verifyToken,
    admit: admission.admit,
    open: admission.open,
    closed(session, code) {
      countClose(counts, code);
      session.closed(code);
    },
    fail,
    async notice(notice) {
      sharing.cluster()?.notice(notice);
      return noticed(notice);
    },
    noticed: async (notice) => noticed(notice),
    gap() {
      positions.gap();
      rights.gap();
    },
    located(fixes, tellsOthers) {
      try {
        if (tellsOthers) sharing.cluster()?.tellFixes(fixes, positions.isFollowed);
        positions.located(fixes);
      } catch (error) {
        log.error({ err: error }, 'stored positions not told'); // a bug, by which no report may fail that is stored
      }
    },
    wantsFixes: (tellsOthers) =>
      positions.isWanted || (tellsOthers && sharing.cluster()?.areFixesWanted() === true),
    tapesStored: tapes.stored,
    join: sharing.join,
    async close() {
      closing = true;
      sharing.cluster()?.drain();
      await drainAll({
        sessions: sessions.byNumber,
        msMax: limits.drainMs,
        mayMove: limits.resumeMs > 0 && sharing.cluster()?.hasPeers() === true,
        tell: fanout.all,
        close: (session, close) => sessions.attempt(session, () => session.close(close)),
        clock,
      });
      rights.close();
      positions.close();
      pulse.stop();
      tapes.flush();
      holding.close();
    },
    left: sharing.close,
    stored: emergencies.close,
  };
}
