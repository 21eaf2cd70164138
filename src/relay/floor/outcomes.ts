// Carries out the verdicts of the authority on the talks of this relay: who is told, and what a burst begins and ends.
import type { Talker } from '../../protocol/bodies.js';
import type { EndCode, RevokeCode } from '../../protocol/codes.js';
import { EMERGENCY } from '../../protocol/frame.js';
import type { Draft } from '../../protocol/server-messages.js';
import type { Ask } from '../delivery/ask.js';
import type { Fanout } from '../delivery/fanout.js';
import type { Counts } from '../figures/counts.js';
import { isInEmergency, type Talkgroup } from '../members/members.js';
import type { OnVerdicts, Verdict } from './authority.js';
import type { Bursts } from './bursts.js';
import {
  type FloorDenial,
  floorDenied,
  floorGranted,
  floorQueued,
  floorRevoked,
  runningBody,
  talkBody,
  talkEnded,
  talkerOf,
  talkStarted,
} from './messages.js';
import { resume } from './moved.js';
import { sessionOf } from './state.js';
import { forget, type Talk } from './talk.js';
import type { Taping } from './taping.js';

export interface OutcomesOptions {
  readonly fanout: Pick<Fanout, 'event'>;
  readonly counts: Pick<Counts, 'bursts' | 'dropped'>;
  readonly bursts: Bursts;
  readonly tapes: Taping;
  /** The talk of the session with this number in the talkgroup. */
  readonly talkOf: (session: number, talkgroup: Talkgroup) => Talk | undefined;
  /** Unix time (ms). */
  readonly unixMs: () => number;
  /** The buffered audio of its burst reaches no receiver. */
  readonly discard: (talk: Talk) => void;
  /** A question of the talk was answered after it was put: what waited behind it goes on. Called behind all verdicts. */
  readonly answered: (talk: Talk, ask: Ask, nowMs: number) => void;
  /** A verdict on the session with this number threw: only this session ends, but not in the midst of a decision. */
  readonly failLater: (session: number, error: unknown) => void;
}

type Denied = Extract<Verdict, { readonly kind: 'denied' }> & { readonly retryMs?: number };

/** No verdict closes a session at once, so no further decision begins meanwhile. */
export function createOutcomes(options: OutcomesOptions): OnVerdicts {
  const { fanout, counts, bursts, tapes, unixMs, talkOf, discard, answered, failLater } = options;
  /** Questions that the present decision answered late. */
  let late: { readonly talk: Talk; readonly ask: Ask }[] = [];

  function carryOut(talk: Talk, verdict: Verdict, nowMs: number): void {
    switch (verdict.kind) {
      case 'granted':
        return grant(talk, verdict.holder.priority, verdict.holder.talkMsMax, nowMs);
      case 'started':
        return start(talk, nowMs);
      case 'denied':
        return deny(talk, verdict, nowMs);
      case 'queued':
        talk.claim = 'waits';
        return talk.session.send(floorQueued(talk, verdict, answer(talk, 'request')?.ref));
      case 'revoked':
        return revoke(talk, verdict.code, nowMs);
      case 'ended':
        return end(talk, verdict.code, nowMs);
      case 'changed':
        talk.priority = verdict.holder.priority;
        talk.emergencyFlag = verdict.holder.claim.inEmergency ? EMERGENCY : 0;
        return;
      case 'gone':
        // A grant returned before its first frame, and a place given up, are not announced.
        return forget(talk);
    }
  }

  /** What the verdict answers. null: it was not asked for, or is no answer to what is asked. */
  function answer(talk: Talk, kind: 'frame' | 'request'): Ask | null {
    const { ask } = talk;
    if (ask === null || ask.isHeld || ask.isFirstFrame !== (kind === 'frame')) return null;
    talk.ask = null;
    if (ask.isLate) late.push({ talk, ask });
    return ask;
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
    const ref = answer(talk, 'request')?.ref;
    if (talk.hasAsked || membership.talkgroup.floorMode !== 'open')
      session.send(floorGranted(talk, talkMsMax, ref));
  }

  function start(talk: Talk, nowMs: number): void {
    answer(talk, 'frame');
    talk.claim = 'talks';
    talk.expect();
    talk.cryptoBefore = null;
    if (talk.moved !== null) {
      resume(talk, talk.moved, nowMs);
      bursts.add(talk);
      talk.tape = tapes.goOn(talk, talk.moved.recording);
      return;
    }
    talk.lastFrameAtMs = nowMs; // T1 did not run while it asked
    talk.startedAt = unixMs();
    talk.startedAtMs = nowMs;
    talk.relayedBefore = talk.relayed;
    talk.feed.turns?.starting(talk, nowMs);
    bursts.add(talk);
    talk.tape = tapes.begin(talk);
    counts.bursts++;
    fanout.event(talk.feed, (event) => talkStarted(talk, event));
    talk.feed.elsewhere?.started(runningBody(talk));
  }

  function deny(talk: Talk, denied: Denied, nowMs: number): void {
    const { code, isFirstFrame } = denied;
    const ask = answer(talk, isFirstFrame ? 'frame' : 'request');
    if (isFirstFrame && ask === null) return; // what it asked was withdrawn
    if (!isFirstFrame && talk.crypto !== null) talk.isMutedToRequest = true;
    silence(talk, nowMs);
    // A denial that no socket hears: the first frame after the return asks again.
    if (ask?.isLate && !talk.session.isLive) talk.isMuted = false;
    if (code === 'retry_later') return denyForNow(talk, denied, ask, nowMs);
    if (ask?.isFirstFrame) counts.dropped.denied += ask.discardPress();
    const talker = code === 'forbidden' ? undefined : talkerBefore(talk);
    tell(talk, { code, ref: ask?.ref, talker }, isFirstFrame, nowMs);
  }

  /** Muted by the clock alone: a talker whose button is still pressed then asks again. Each press that waited gets its own answer. */
  function denyForNow(
    talk: Talk,
    { code, retryMs, isFirstFrame }: Denied,
    ask: Ask | null,
    nowMs: number,
  ): void {
    talk.isMuted = false;
    talk.mutedUntilMs = Math.max(talk.mutedUntilMs, nowMs + (retryMs ?? 0));
    const { frames, presses } = ask?.discardFrames() ?? { frames: 0, presses: 0 };
    counts.dropped.unanswered += frames;
    tell(talk, { code, ref: ask?.ref, retryMs }, isFirstFrame, nowMs);
    for (let press = 0; press < presses; press++) tell(talk, { code, ref: undefined, retryMs }, true, nowMs);
  }

  /** About a frame at its rate only: a client that sends nothing but STARTs must not make the relay talk. */
  function tell(
    { session, talkgroup }: Talk,
    denial: FloorDenial,
    isFirstFrame: boolean,
    nowMs: number,
  ): void {
    if (isFirstFrame && !session.mayBeTold(nowMs)) return;
    session.refuse(denial.code, talkgroup.id, floorDenied(talkgroup.id, denial));
  }

  /** The frames after a denial are dropped without a message, until the talker begins again. */
  function silence(talk: Talk, nowMs: number): void {
    if (talk.claim === 'asks') talk.claim = 'none';
    talk.hasAsked = talk.claim === 'waits'; // a first frame of a queued session is denied, and its place is kept
    if (!talk.hasAsked) {
      talk.codec = null;
      talk.crypto = null;
    }
    talk.mute(nowMs);
  }

  /** The burst in the way. In `open`, where many talk: the oldest burst of the same user, if there is one. */
  function talkerBefore({ talkgroup, membership }: Talk): Draft<Talker> | undefined {
    const isOpen = talkgroup.floorMode === 'open';
    for (const other of bursts.in(talkgroup))
      if (!isOpen || other.membership === membership) return talkBody(other);
    for (const { talker } of bursts.remoteIn(talkgroup))
      if (!isOpen || talker.user_id === membership.user.id) return talkerOf(talker);
    return undefined;
  }

  function revoke(talk: Talk, code: RevokeCode, nowMs: number): void {
    const { talkgroup } = talk;
    // A grant that was overtaken ends at its first frame.
    const asked = answer(talk, 'frame');
    if (asked !== null) counts.dropped.denied += asked.discardPress();
    // Before the message: its audio must not be heard afterwards. Silence takes nothing that was said.
    if (code !== 'silence') discard(talk);
    const isUntold = code === 'silence' && talkgroup.floorMode === 'open'; // TALK_ENDED says it, and no floor is lost
    if (!isUntold) talk.session.send(floorRevoked(talk, code));
    if (code !== 'silence') talk.mute(nowMs);
    if (talk.claim !== 'talks') forget(talk); // else its burst ends next
  }

  function end(talk: Talk, code: EndCode, nowMs: number): void {
    bursts.delete(talk);
    const durationMs = nowMs - talk.startedAtMs;
    const name = { talkgroup_id: talk.talkgroup.id, session: talk.session.number, burst: talk.burst };
    fanout.event(talk.feed, (event) => talkEnded(name, event, { code, durationMs, frames: talk.frames }));
    talk.feed.elsewhere?.ended(talk, code, durationMs);
    talk.tape?.ended(code, durationMs, talk.frames);
    talk.tape = null;
    const { crypto } = talk;
    forget(talk);
    talk.cryptoBefore = code === 'silence' ? crypto : null;
    talk.feed.turns?.over(nowMs);
  }

  function goOn(nowMs: number): void {
    if (late.length === 0) return;
    const answers = late;
    late = []; // what goes on may ask again
    for (const { talk, ask } of answers) {
      try {
        answered(talk, ask, nowMs);
      } catch (error) {
        failLater(talk.session.number, error);
      }
    }
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
    goOn(nowMs);
  };
}
