// Runs one talk from the floor request to its end, following the relay's messages.

import type { RevokeCode } from '../../protocol/codes.js';
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
import { createAsking } from './asking.js';
import { type Denial, LOST, outcomeOf, REFUSALS, retryMsOf, UNSENT } from './denial.js';
import { createEncrypting } from './encrypting.js';
import { createOutgoing } from './outgoing.js';
import type { Retry } from './retry.js';
import type { TalkEvents, TalkHandle, TalkOptions, TalkOutcome, TalkState } from './talk.js';
import type { Uplink } from './uplink.js';

// The server ends a silent burst after 2 s. A burst that it never accepted gets no TALK_ENDED.
const ANSWER_MS_MAX = 5_000;
const NOTHING = new Uint8Array();

/** Creates a talk. If it requests the floor first, it does so now. `ref` identifies its requests. */
export function createTalk(
  options: TalkOptions & { ref: Ref; sendEarlier(): void },
  retry: Retry,
  uplink: Uplink,
  clock: Clock,
): TalkHandle {
  const { talkgroupId, floor = 'first_frame', ref } = options;
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
  const encrypting = createEncrypting(options, uplink, clock, { deny: finish, again });
  const asking = createAsking(options, retry, uplink, clock, {
    ...{ encrypting, state: () => state, enter, waited: again },
  });
  const { asksFirst } = asking;
  const outgoing = createOutgoing(talkgroupId, uplink, clock, {
    ...{ sendEarlier: options.sendEarlier, mustWait: asking.isWaiting, isReady: encrypting.isReady },
    ...{ encode: encrypting.encode, restarted: encrypting.endRun },
    mayLeave: () => uplink.isOpen && (!asksFirst || state.kind === 'granted' || state.kind === 'talking'),
    begins,
    closed,
    notMember,
  });

  if (uplink.isOpen) asking.begin();
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
    get leftMs() {
      return retry.leftMs;
    },
    send(payload, options) {
      if (!isEnding) outgoing.push(payload, false, options);
    },
    skip: outgoing.skip,
    end(payload = NOTHING, options) {
      if (isEnding) return;
      isEnding = true;
      outgoing.push(payload, true, options);
      if (asking.isWaiting()) finish(otherwise);
    },
    message,
    snapshot,
    partCame,
    flush: outgoing.flush,
    keyArrived: encrypting.keyArrived,
    connectionLost,
    connected,
    stop: () => finish(otherwise),
  };

  function begins(): number {
    otherwise = LOST;
    return asking.firstFrame();
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
        if (encrypting.isRejected(message, isEnding)) return true;
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
    return asking.isByFrame && outgoing.hasBegun && burst === null;
  }

  function isOurs({ session, burst: number }: Talker): boolean {
    return session === uplink.session && outgoing.hasBegun && (burst === null || burst === number);
  }

  function follow(answer: FloorAnswer): void {
    if (answer.type !== 'FLOOR_DENIED') retry.decided();
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
    const retryMs = retryMsOf(denial);
    const mayAskAgain = retryMs !== null && retry.undecided(retryMs);
    if (isEnding || !mayAskAgain) return finish(outcomeOf(denial));
    otherwise = outcomeOf(denial);
    outgoing.restart();
    asking.wait();
  }

  /** Begins anew: after a wait for the floor or for a key, or when the relay rejected the encryption of the frames. */
  function again(): void {
    restart();
    asking.askFirst();
    outgoing.flush();
  }

  function started({ burst: number, priority, emergency }: Talker): void {
    burst = number;
    encrypting.accepted();
    retry.decided();
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
    asking.askFirst();
    outgoing.flush();
  }

  function notMember(): void {
    finish({ kind: 'denied', code: 'not_member' });
  }

  function connectionLost(): void {
    asking.cancelWait();
    cancelTimer();
    outgoing.clear();
    if (isEnding) finish(otherwise);
  }

  function connected(resumed: Snapshot | null): void {
    const running = resumed?.talkers.find(isOurs);
    if (running) return started(running);
    restart();
    asking.begin();
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
    asking.release();
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
    asking.cancelWait();
    encrypting.stop();
    cancelTimer();
    resolve(outcome);
    enter(outcome);
  }
}
