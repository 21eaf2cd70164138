// Runs one talk from the floor request to its end, following the relay's messages.

import type { RevokeCode } from '../../protocol/codes.js';
import { START } from '../../protocol/frame.js';
import type {
  FloorAnswer,
  Ref,
  ServerMessage,
  ServerMessageOf,
  Snapshot,
  TalkEnded,
  Talker,
} from '../../protocol/types.js';
import type { Clock } from '../clock.js';
import { createEmitter } from '../events.js';
import { type Denial, outcomeOf, REFUSALS, retryMsOf } from './denial.js';
import { createOutgoing } from './outgoing.js';
import type { TalkEvents, TalkHandle, TalkOptions, TalkOutcome, TalkState } from './talk.js';
import type { Uplink } from './uplink.js';

// The server ends a silent burst after 2 s. A burst that it never accepted gets no TALK_ENDED.
const ANSWER_MS_MAX = 5_000;
const NOTHING = new Uint8Array();
const UNSENT: TalkOutcome = { kind: 'ended', code: 'unsent' };
const LOST: TalkOutcome = { kind: 'ended', code: 'lost' };

/** Creates a talk. If it requests the floor first, it does so now. `ref` identifies its requests. */
export function createTalk(
  { talkgroupId, floor = 'first_frame', priority, codec, ref }: TalkOptions & { ref: Ref },
  uplink: Uplink,
  clock: Clock,
): TalkHandle {
  const asksFirst = floor !== 'first_frame';
  // A first frame has priority 1 and no codec. Other values need a request before it.
  const asksAlong = !asksFirst && (priority !== undefined || codec !== undefined);
  const events = createEmitter<TalkEvents>();
  let state: TalkState = { kind: 'idle' };
  let burst: number | null = null;
  let isEnding = false;
  let isOver = false;
  /** The outcome if no further message about the talk arrives. */
  let otherwise = UNSENT;
  let cancelTimer = () => {};
  let resolve: (outcome: TalkOutcome) => void = () => {};
  const ended = new Promise<TalkOutcome>((settle) => {
    resolve = settle;
  });
  const outgoing = createOutgoing(talkgroupId, uplink, clock, {
    mustWait: () => state.kind === 'requested' && state.retry_ms !== undefined,
    mayLeave: () => uplink.isOpen && (!asksFirst || state.kind === 'granted' || state.kind === 'talking'),
    begins,
    closed,
    notMember,
  });

  if (uplink.isOpen) askFirst();
  return {
    talkgroupId,
    floor,
    ended,
    on: events.on,
    get state() {
      return state;
    },
    get isOver() {
      return isOver;
    },
    get dropped() {
      return outgoing.dropped;
    },
    send(payload, options) {
      if (!isEnding) outgoing.push(payload, false, options);
    },
    skip: outgoing.skip,
    end(payload = NOTHING, options) {
      if (isEnding) return;
      isEnding = true;
      outgoing.push(payload, true, options);
    },
    message,
    snapshot,
    partCame,
    connectionLost,
    connected,
    stop: () => finish(otherwise),
  };

  /** Frames need the talkgroup's number. Until it is known, a grant would be of no use, so the talk does not request it. */
  function askFirst(): void {
    if (asksFirst && state.kind === 'idle' && !uplink.isAwaited(talkgroupId)) ask();
  }

  function ask(): void {
    const question = { type: 'FLOOR_REQUEST', talkgroup_id: talkgroupId, queue: floor === 'queue', ref };
    uplink.ask(JSON.stringify({ ...question, priority, codec }));
    enter({ kind: 'requested' });
  }

  function begins(): number {
    otherwise = LOST;
    if (asksAlong) ask();
    else if (!asksFirst) enter({ kind: 'requested' });
    // A frame with START is a request itself. After a FLOOR_REQUEST that was denied, it would request the floor again.
    return asksAlong || asksFirst ? 0 : START;
  }

  function closed(hasLeft: boolean): void {
    if (isOver) return;
    if (hasLeft) expectEnd();
    else giveUp();
  }

  function message(message: ServerMessage): boolean {
    switch (message.type) {
      case 'FLOOR_GRANTED':
      case 'FLOOR_QUEUED':
      case 'FLOOR_DENIED':
        if (!isAnswer(message)) return false;
        follow(message);
        return true;
      case 'FLOOR_REVOKED':
        if (message.burst !== burst) return false;
        revoked(message.code);
        return true;
      case 'TALK_STARTED':
        if (!isOurs(message) || state.kind === 'talking') return false;
        started(message);
        return true;
      case 'TALK_ENDED':
        if (message.burst !== burst || message.session !== uplink.session) return false;
        endedByServer(message);
        return true;
      case 'ERROR':
        if (!isRefused(message)) return false;
        deny(message);
        return true;
      case 'TALKGROUP_LEFT':
        finish(otherwise.kind === 'revoked' ? otherwise : { kind: 'ended', code: message.reason });
        return false;
      default:
        return false;
    }
  }

  /** A new place in the queue, and the answer to a first frame, have no `ref`. */
  function isAnswer(message: FloorAnswer): boolean {
    if (message.ref !== undefined) return message.ref === ref;
    return state.kind === 'queued' || isFirstFrameOpen();
  }

  function isRefused(message: ServerMessageOf<'ERROR'>): boolean {
    if (message.ref !== undefined) return message.ref === ref;
    return message.talkgroup_id !== undefined && isFirstFrameOpen() && REFUSALS.has(message.code);
  }

  function isFirstFrameOpen(): boolean {
    return !asksFirst && !asksAlong && outgoing.hasBegun && burst === null;
  }

  function isOurs({ session, burst: number }: Talker): boolean {
    return session === uplink.session && outgoing.hasBegun && (burst === null || burst === number);
  }

  function follow(answer: FloorAnswer): void {
    switch (answer.type) {
      case 'FLOOR_GRANTED': {
        const { priority, max_talk_ms } = answer;
        burst = answer.burst;
        enter({ kind: 'granted', burst, priority, max_talk_ms });
        break;
      }
      case 'FLOOR_QUEUED':
        enter({ kind: 'queued', position: answer.position, size: answer.size });
        break;
      case 'FLOOR_DENIED':
        deny(answer);
    }
  }

  function deny(denial: Denial): void {
    const retry_ms = retryMsOf(denial);
    if (retry_ms === null || isEnding) return finish(outcomeOf(denial));
    otherwise = outcomeOf(denial);
    outgoing.restart();
    enter({ kind: 'requested', retry_ms });
    cancelTimer();
    cancelTimer = clock.after(retry_ms, askAgain);
  }

  function askAgain(): void {
    restart();
    askFirst();
    outgoing.flush();
  }

  function started({ burst: number, priority, emergency }: Talker): void {
    burst = number;
    enter({ kind: 'talking', burst, priority, emergency });
  }

  function revoked(code: RevokeCode): void {
    otherwise = { kind: 'revoked', code };
    if (state.kind !== 'talking') return finish(otherwise);
    // The counts come with TALK_ENDED, which follows.
    isEnding = true;
    outgoing.clear();
    expectEnd();
  }

  function endedByServer({ code, frames, duration_ms }: TalkEnded): void {
    const counts = { frames, duration_ms };
    if (otherwise.kind === 'revoked') {
      finish({ ...otherwise, ...counts });
    } else if (isEnding || asksFirst) {
      finish({ kind: 'ended', code, ...counts });
    } else if (code === 'silence') {
      // The pause was longer than TALK_SILENCE_MS. The next frame begins another burst of the same talk.
      otherwise = { kind: 'ended', code, ...counts };
      restart();
    } else if (code === 'released') {
      // A frame sent before `silence` arrived began another burst. The START of the next frame then ended that burst.
      burst = null;
      enter({ kind: 'requested' });
    } else {
      finish({ kind: 'ended', code, ...counts });
    }
  }

  function snapshot(snapshot: Snapshot): void {
    const running = snapshot.talkers.find(isOurs);
    const isWhole = snapshot.talkers.length >= snapshot.talkers_total;
    if (running) {
      if (state.kind !== 'talking') started(running);
    } else if (state.kind === 'talking' && isWhole) {
      // The burst ended, and the radio missed TALK_ENDED.
      if (isEnding || asksFirst) finish(otherwise);
      else restart();
    }
  }

  function partCame(): void {
    if (isOver || uplink.isAwaited(talkgroupId)) return;
    if (state.kind === 'idle' && uplink.numberOf(talkgroupId) === null) return notMember();
    askFirst();
    outgoing.flush();
  }

  function notMember(): void {
    finish({ kind: 'denied', code: 'not_member' });
  }

  function connectionLost(): void {
    cancelTimer();
    outgoing.clear();
    if (isEnding) finish(otherwise);
  }

  function connected(resumed: Snapshot | null): void {
    const running = resumed?.talkers.find(isOurs);
    if (running) return started(running);
    restart();
    askFirst();
  }

  function restart(): void {
    outgoing.restart();
    burst = null;
    if (state.kind !== 'idle') enter({ kind: 'idle' });
  }

  function expectEnd(): void {
    cancelTimer();
    cancelTimer = clock.after(ANSWER_MS_MAX, () => finish(otherwise));
  }

  function giveUp(): void {
    const isAsking = state.kind === 'requested' || state.kind === 'queued' || state.kind === 'granted';
    if (isAsking) uplink.send(JSON.stringify({ type: 'FLOOR_RELEASE', talkgroup_id: talkgroupId }));
    finish(otherwise);
  }

  function enter(next: TalkState): void {
    state = next;
    events.emit('state', next);
  }

  function finish(outcome: TalkOutcome): void {
    if (isOver) return;
    isOver = true;
    isEnding = true;
    outgoing.clear();
    cancelTimer();
    resolve(outcome);
    enter(outcome);
  }
}
