// Carries out the verdicts of the authority on the talks of this relay: who is told, and what a burst begins and ends.
import type { EndCode, RevokeCode } from '../../protocol/codes.js';
import { EMERGENCY } from '../../protocol/frame.js';
import type { Fanout } from '../delivery/fanout.js';
import type { Counts } from '../figures/counts.js';
import type { Denial } from '../figures/floor-counts.js';
import { isInEmergency, type Talkgroup } from '../members/members.js';
import type { OnVerdicts, Verdict } from './authority.js';
import type { Bursts } from './bursts.js';
import {
  floorDenied,
  floorGranted,
  floorQueued,
  floorRevoked,
  runningBody,
  talkEnded,
  talkStarted,
} from './messages.js';
import type { MovedBurst } from './moved-burst.js';
import { forget, type Talk, takeRef } from './talk.js';

export interface OutcomesOptions {
  readonly fanout: Pick<Fanout, 'event'>;
  readonly counts: Pick<Counts, 'bursts'>;
  readonly bursts: Bursts;
  /** The talk of the session with this number in the talkgroup. */
  readonly talkOf: (session: number, talkgroup: Talkgroup) => Talk | undefined;
  /** The buffered audio of its burst reaches no receiver. */
  readonly discard: (talk: Talk) => void;
  /** A verdict on the session with this number threw: only this session ends, but not in the midst of a decision. */
  readonly failLater: (session: number, error: unknown) => void;
}

/** No verdict closes a session at once, so no further decision begins meanwhile. */
export function createOutcomes(options: OutcomesOptions): OnVerdicts {
  const { fanout, counts, bursts, talkOf, discard, failLater } = options;

  function carryOut(talk: Talk, verdict: Verdict, nowMs: number): void {
    switch (verdict.kind) {
      case 'granted':
        return grant(talk, verdict.holder.priority, verdict.holder.talkMsMax, nowMs);
      case 'started':
        return start(talk, nowMs);
      case 'denied':
        return verdict.isFirstFrame ? denyFrame(talk, verdict.code, nowMs) : deny(talk, verdict.code, nowMs);
      case 'queued':
        talk.claim = 'waits';
        return talk.session.send(floorQueued(talk, verdict, takeRef(talk)));
      case 'revoked':
        return revoke(talk, verdict.code, nowMs);
      case 'ended':
        return end(talk, verdict.code, nowMs);
      case 'changed':
        talk.priority = verdict.holder.priority;
        talk.emergencyFlag = verdict.holder.claim.inEmergency ? EMERGENCY : 0;
        return;
      case 'gone':
        // A grant returned before its first frame, and a place given up, are announced to nobody.
        return forget(talk);
    }
  }

  function grant(talk: Talk, priority: number, talkMsMax: number, nowMs: number): void {
    const { session, membership } = talk;
    if (talk.burst === 0) {
      talk.burst = session.nextBurst();
      talk.starts.take(nowMs);
    }
    if (talk.claim !== 'talks') talk.claim = 'has';
    talk.isMuted = false;
    talk.priority = priority;
    talk.emergencyFlag = isInEmergency(membership) ? EMERGENCY : 0;
    const ref = takeRef(talk);
    if (talk.hasAsked || membership.talkgroup.floorMode !== 'open')
      session.send(floorGranted(talk, talkMsMax, ref));
  }

  function start(talk: Talk, nowMs: number): void {
    talk.claim = 'talks';
    if (talk.moved !== null) return resume(talk, talk.moved, nowMs);
    talk.startedAt = Date.now();
    talk.startedAtMs = nowMs;
    talk.relayedBefore = talk.relayed;
    bursts.add(talk);
    counts.bursts++;
    fanout.event(talk.feed, (event) => talkStarted(talk, event));
    talk.feed.elsewhere?.started(runningBody(talk));
  }

  /** It was announced when it began. As after every return, T1 begins again, unless it ran on before. */
  function resume(talk: Talk, moved: MovedBurst, nowMs: number): void {
    talk.startedAt = Date.parse(moved.started_at);
    talk.startedAtMs = nowMs - moved.age_ms;
    talk.relayedBefore = talk.relayed - moved.frames;
    talk.relayedAtReturn = talk.relayed;
    talk.sequence = moved.sequence;
    talk.lastFrameAtMs = moved.has_returned ? nowMs - moved.silent_ms : nowMs;
    bursts.add(talk);
  }

  /** At its rate only: a client that sends nothing but STARTs must not make the relay talk. */
  function denyFrame(talk: Talk, code: Denial, nowMs: number): void {
    if (talk.session.mayBeTold(nowMs)) deny(talk, code, nowMs);
    else silence(talk, nowMs);
  }

  function deny(talk: Talk, code: Denial, nowMs: number): void {
    silence(talk, nowMs);
    const talker = code === 'forbidden' ? undefined : talkerBefore(talk);
    talk.session.send(floorDenied(talk.talkgroup.id, { code, ref: takeRef(talk), talker }));
  }

  /** The frames after a denial are dropped without a message, until the talker begins again. */
  function silence(talk: Talk, nowMs: number): void {
    if (talk.claim === 'asks') talk.claim = 'none';
    talk.hasAsked = talk.claim === 'waits'; // a first frame of a queued session is denied, and its place is kept
    if (!talk.hasAsked) talk.codec = null;
    talk.mute(nowMs);
  }

  /** The burst in the way. In `open`, where many talk: the oldest burst of the same user, if there is one. */
  function talkerBefore({ talkgroup, membership }: Talk): Talk | undefined {
    for (const other of bursts.in(talkgroup))
      if (talkgroup.floorMode !== 'open' || other.membership === membership) return other;
    return undefined;
  }

  function revoke(talk: Talk, code: RevokeCode, nowMs: number): void {
    const { talkgroup } = talk;
    // Before the message: its audio must not be heard afterwards. Silence takes nothing that was said.
    if (code !== 'silence') discard(talk);
    const isUntold = code === 'silence' && talkgroup.floorMode === 'open'; // TALK_ENDED says it, and no floor is lost
    if (!isUntold) talk.session.send(floorRevoked(talk, code));
    if (code !== 'silence') talk.mute(nowMs);
    if (talk.claim !== 'talks') forget(talk); // else its burst ends next
  }

  function end(talk: Talk, code: EndCode, nowMs: number): void {
    bursts.delete(talk);
    fanout.event(talk.feed, (event) => talkEnded(talk, event, code, nowMs - talk.startedAtMs));
    talk.feed.elsewhere?.ended(talk, code, nowMs - talk.startedAtMs);
    forget(talk);
  }

  return (talkgroup, verdicts, nowMs) => {
    for (const verdict of verdicts) {
      const session = sessionOf(verdict);
      const talk = talkOf(session, talkgroup);
      if (talk === undefined) continue;
      try {
        carryOut(talk, verdict, nowMs);
      } catch (error) {
        // A bug. It is neither the fault of the session that caused the decision nor of those whose verdicts follow.
        failLater(session, error);
      }
    }
  };
}

const sessionOf = (verdict: Verdict) =>
  'holder' in verdict ? verdict.holder.claim.session : verdict.session;
