// Controls the floor for live sessions: steps the pure machine of each talkgroup and carries out its outcomes.
import type { UserId } from '../ids.js';
import type { Ref } from '../protocol/bodies.js';
import type { EndCode, RevokeCode } from '../protocol/codes.js';
import { EMERGENCY } from '../protocol/frame.js';
import type { Fanout } from './delivery/fanout.js';
import type { Counts } from './figures/counts.js';
import type { Denial } from './figures/floor-counts.js';
import type { TalkLimits } from './floor/capacity.js';
import { FRAME_PRIORITY } from './floor/claim.js';
import { countStep } from './floor/count-step.js';
import { step } from './floor/machine.js';
import { type FloorEvent, holderOf, isIdle, type Outcome, type Removal, waitingOf } from './floor/state.js';
import { isInEmergency, type Membership, type Talkgroup } from './members/members.js';
import { say } from './messages.js';
import type { Session } from './session.js';
import type { Talk } from './talk.js';

export interface FloorsOptions {
  readonly fanout: Fanout;
  readonly counts: Counts;
  readonly sessions: ReadonlyMap<number, Session>;
  /** What is held of its burst reaches nobody. */
  readonly discard: (talk: Talk) => void;
  /** T1. */
  readonly talkSilenceMs: number;
  readonly talkLimits: TalkLimits;
  /** An outcome for this session threw: it alone ends, but not in the midst of a step. */
  readonly failLater: (session: Session, error: unknown) => void;
  readonly log: { error(fields: object, message: string): void };
}

/** What a session asks with; a first frame asks with priority 1 and does not wait. */
interface Asking {
  readonly priority: number;
  readonly queue: boolean;
  readonly ref: Ref | undefined;
}

export type Floors = ReturnType<typeof createFloors>;

export function createFloors(options: FloorsOptions) {
  const { fanout, counts, sessions, discard, talkSilenceMs, talkLimits, failLater, log } = options;
  /** Talkgroups in which somebody has the floor or waits for it, or did a moment ago: a burst may be one frame. */
  const active = new Set<Talkgroup>();

  /** One event of one talkgroup. No outcome closes a session at once, so nothing comes back in here meanwhile. */
  function act(talkgroup: Talkgroup, event: FloorEvent, nowMs: number, ref?: Ref): void {
    const before = talkgroup.floor;
    const after = step(before, event, nowMs, talkLimits);
    countStep(counts.floor, { before, event, after, nowMs });
    talkgroup.floor = after.floor;
    active.add(talkgroup);
    const asker = 'claim' in event ? event.claim.session : null;
    for (const outcome of after.outcomes) {
      const session = sessionOf(outcome);
      const talk = sessions.get(session)?.talkAt(talkgroup);
      if (talk === undefined) continue;
      try {
        if (outcome.kind === 'denied' && event.kind === 'frame') denyFrame(talk, outcome.code, nowMs);
        else carryOut(talk, outcome, nowMs, session === asker ? ref : undefined);
      } catch (error) {
        // A bug. Whoever caused this step is as innocent of it as those whose outcomes follow.
        failLater(talk.session, error);
      }
    }
  }

  /** May be told only so often: whoever sends nothing but STARTs must not make us talk. */
  function denyFrame(talk: Talk, code: Denial, nowMs: number): void {
    if (talk.session.mayBeTold(nowMs)) deny(talk, code, nowMs, undefined);
    else silence(talk, nowMs);
  }

  function carryOut(talk: Talk, outcome: Outcome, nowMs: number, ref: Ref | undefined): void {
    switch (outcome.kind) {
      case 'granted':
        return grant(talk, outcome.holder.priority, outcome.holder.talkMsMax, nowMs, ref);
      case 'started':
        return start(talk, nowMs);
      case 'denied':
        return deny(talk, outcome.code, nowMs, ref);
      case 'queued':
        return talk.session.send(say.floorQueued(talk, outcome, ref));
      case 'revoked':
        return revoke(talk, outcome.code, nowMs);
      case 'ended':
        return end(talk, outcome.code, nowMs);
      case 'changed':
        talk.priority = outcome.holder.priority;
        talk.emergencyFlag = outcome.holder.claim.inEmergency ? EMERGENCY : 0;
    }
  }

  function grant(talk: Talk, priority: number, talkMsMax: number, nowMs: number, ref: Ref | undefined): void {
    const { session, membership } = talk;
    if (talk.burst === 0) {
      talk.burst = session.nextBurst();
      talk.starts.take(nowMs);
    }
    talk.isMuted = false;
    talk.priority = priority;
    talk.emergencyFlag = isInEmergency(membership) ? EMERGENCY : 0;
    if (talk.hasAsked || membership.talkgroup.floorMode !== 'open')
      session.send(say.floorGranted(talk, talkMsMax, ref));
  }

  function start(talk: Talk, nowMs: number): void {
    const { talkgroup } = talk;
    talk.isTalking = true;
    talk.startedAt = Date.now();
    talk.startedAtMs = nowMs;
    talk.relayedBefore = talk.relayed;
    talkgroup.talking.add(talk);
    counts.bursts++;
    fanout.event(talkgroup.feed, (event) => say.talkStarted(talk, event));
  }

  function deny(talk: Talk, code: Denial, nowMs: number, ref: Ref | undefined): void {
    silence(talk, nowMs);
    const talker = code === 'forbidden' ? undefined : talkerBefore(talk);
    talk.session.send(say.floorDenied(talk.talkgroup.id, { code, ref, talker }));
  }

  /** The frames that follow a refusal are dropped without a word, until the talker begins anew. */
  function silence(talk: Talk, nowMs: number): void {
    talk.hasAsked = waits(talk); // a first frame of one that waits is refused, its place is kept
    if (!talk.hasAsked) talk.codec = null;
    talk.mute(nowMs);
  }

  function revoke(talk: Talk, code: RevokeCode, nowMs: number): void {
    const { talkgroup } = talk;
    // Before it is told: what it sent must not be heard afterwards. Silence takes nothing that was said.
    if (code !== 'silence') discard(talk);
    const isUntold = code === 'silence' && talkgroup.floorMode === 'open'; // TALK_ENDED says it; no floor is lost
    if (!isUntold) talk.session.send(say.floorRevoked(talk, code));
    if (code !== 'silence') talk.mute(nowMs);
    if (!talk.isTalking) forget(talk); // else its burst ends next
  }

  function end(talk: Talk, code: EndCode, nowMs: number): void {
    const { talkgroup } = talk;
    talkgroup.talking.delete(talk);
    fanout.event(talkgroup.feed, (event) => say.talkEnded(talk, event, code, nowMs - talk.startedAtMs));
    forget(talk);
  }

  function forget(talk: Talk): void {
    talk.burst = 0;
    talk.isTalking = false;
    talk.hasAsked = false;
    talk.codec = null;
  }

  const claimOf = ({ session, membership }: Talk, priority: number) => ({
    session: session.number,
    user: membership.user.id,
    priority,
    isAdmin: membership.user.isAdmin,
    inEmergency: isInEmergency(membership),
  });

  /** Gives up what the talk has or waits for. */
  function release(talk: Talk, code: 'released' | 'silence', nowMs: number): void {
    if (!hasPart(talk)) return;
    act(talk.talkgroup, { kind: 'release', session: talk.session.number, code }, nowMs);
    settle(talk);
  }

  /** A grant given back before its first frame, and a place left in the queue, are nobody's news. */
  function settle(talk: Talk): void {
    const isHolder = holderOf(talk.talkgroup.floor, talk.session.number) !== undefined;
    if (!isHolder && !waits(talk)) forget(talk);
  }

  function remove(talk: Talk, code: Removal, nowMs: number): void {
    if (!hasPart(talk)) return;
    act(talk.talkgroup, { kind: 'removed', session: talk.session.number, code }, nowMs);
    settle(talk);
  }

  function expireIn(talkgroup: Talkgroup, nowMs: number): void {
    for (const talk of talkgroup.talking) {
      // While its socket is dead T1 stands still: the floor is kept for the return, however long it had been silent.
      const isCounted = talk.session.isLive || hasReturnedSilent(talk);
      if (isCounted && nowMs - talk.lastFrameAtMs >= talkSilenceMs) release(talk, 'silence', nowMs);
    }
    act(talkgroup, { kind: 'tick' }, nowMs);
    if (isIdle(talkgroup.floor)) active.delete(talkgroup);
  }

  return {
    /** Talkgroups with a floor that is not free, or was not a moment ago, for who looks at them all. */
    active: active as ReadonlySet<Talkgroup>,

    /** The first frame of a burst; `talk.isTalking` says afterwards whether it is relayed. */
    begin(talk: Talk, nowMs: number): void {
      act(talk.talkgroup, { kind: 'frame', claim: claimOf(talk, FRAME_PRIORITY) }, nowMs);
    },

    /** FLOOR_REQUEST: answered FLOOR_GRANTED, FLOOR_DENIED or FLOOR_QUEUED in this step. */
    request(talk: Talk, { priority, queue, ref }: Asking, nowMs: number): void {
      talk.hasAsked = true;
      talk.isMuted = false;
      const event = { kind: 'request', claim: claimOf(talk, priority), queue } as const;
      act(talk.talkgroup, event, nowMs, ref);
    },

    release,

    /** The right to talk there is gone. */
    remove,

    /** The sockets of a user send too much: of the bursts with these memberships the one that began last ends. */
    endNewest(memberships: Iterable<Membership>, nowMs: number): void {
      let newest: Talk | null = null;
      for (const membership of memberships) {
        for (const talk of membership.talkgroup.talking) {
          const isNewer = newest === null || talk.startedAtMs >= newest.startedAtMs;
          if (talk.membership === membership && isNewer) newest = talk;
        }
      }
      if (newest !== null) remove(newest, 'rate_limited', nowMs);
    },

    /** The socket died: in `open`, and `forGood`, everything ends; else it is kept for a while. */
    lose(talk: Talk, forGood: boolean, nowMs: number): void {
      if (!hasPart(talk)) return;
      act(talk.talkgroup, { kind: 'lost', session: talk.session.number, forGood }, nowMs);
      settle(talk);
    },

    /** Its session has another socket, and is told what may have gone into the old one; what it lost meanwhile it lost. */
    returned(talk: Talk, nowMs: number): void {
      settle(talk);
      if (!hasPart(talk)) return;
      if (talk.isTalking && !hasReturnedSilent(talk)) {
        // T1 begins anew, for its next frame is a round trip away.
        talk.lastFrameAtMs = nowMs;
        talk.relayedAtReturn = talk.relayed;
      }
      act(talk.talkgroup, { kind: 'returned', session: talk.session.number }, nowMs);
    },

    /** All bursts end before anybody is dismissed, and nobody is granted what is gone. */
    close(talkgroup: Talkgroup, nowMs: number): void {
      // The last in the queue first: nobody moves up.
      for (const { session } of [...talkgroup.floor.waiting].reverse())
        act(talkgroup, { kind: 'removed', session, code: 'deleted' }, nowMs);
      for (const { claim } of talkgroup.floor.holders)
        act(talkgroup, { kind: 'removed', session: claim.session, code: 'deleted' }, nowMs);
    },

    /** Its floor mode or talk limit is another one now. */
    change(talkgroup: Talkgroup, nowMs: number): void {
      const { floorMode, maxTalkMs } = talkgroup;
      act(talkgroup, { kind: 'settings', mode: floorMode, maxTalkMs }, nowMs);
    },

    /** An emergency of the user there was raised or cleared. */
    followEmergency(talkgroup: Talkgroup, user: UserId, inEmergency: boolean, nowMs: number): void {
      const numbers = new Set<number>();
      for (const membership of talkgroup.memberships) {
        if (membership.user.id !== user) continue;
        for (const { number } of membership.user.sessions) numbers.add(number);
      }
      act(talkgroup, { kind: 'emergency', sessions: numbers, inEmergency }, nowMs);
    },

    /** Ends what took too long: T1, T2, unused grants, floors kept for a return. Called after the sockets were read. */
    expire(nowMs: number): void {
      for (const talkgroup of active) {
        try {
          expireIn(talkgroup, nowMs);
        } catch (error) {
          // A bug: the timers of the other talkgroups go on.
          log.error({ talkgroup: talkgroup.id, err: error }, 'talkgroup timers failed');
        }
      }
    },
  };
}

/** It returned and sent no frame since: T1 runs, and neither another death of its socket nor another return stops it. */
const hasReturnedSilent = ({ relayed, relayedAtReturn }: Talk) => relayed === relayedAtReturn;

/** The burst in the way: in `open`, where many talk, the oldest one of the same user, if there is one. */
function talkerBefore({ talkgroup, membership }: Talk): Talk | undefined {
  for (const other of talkgroup.talking)
    if (talkgroup.floorMode !== 'open' || other.membership === membership) return other;
  return undefined;
}

/** Whether it stands in the queue for the floor. */
const waits = ({ session, membership }: Talk) =>
  waitingOf(membership.talkgroup.floor, session.number) !== undefined;

/** Whether it has the floor or waits for it. */
export const hasPart = (talk: Talk) => talk.burst !== 0 || waits(talk);

const sessionOf = (outcome: Outcome) =>
  'holder' in outcome ? outcome.holder.claim.session : outcome.session;
