// Requests the floor for one talk: before its first frame or with it, and again when the server could not decide.
import { START } from '../../protocol/frame.js';
import type { Ref } from '../../protocol/types.js';
import type { Clock } from '../clock.js';
import type { Encrypting } from './encrypting.js';
import type { Retry } from './retry.js';
import type { TalkOptions, TalkState } from './talk.js';
import type { Uplink } from './uplink.js';

/** What the requests need of their talk. */
export type AskingOwner = {
  state(): TalkState;
  enter(state: TalkState): void;
  readonly encrypting: Pick<Encrypting, 'isReady' | 'isRenewed' | 'crypto'>;
  /** The wait is over. The talk begins anew. */
  waited(): void;
};

export type Asking = {
  /** A FLOOR_REQUEST goes before all frames, which wait for the grant. */
  readonly asksFirst: boolean;
  /** The first frame is the request: no FLOOR_REQUEST goes before it. */
  readonly isByFrame: boolean;
  /** Requests the floor if the talk asks first, at once or when a wait is over. */
  begin(): void;
  /** The same for a talk that does not wait. */
  askFirst(): void;
  /** The next frame begins a burst. Sends the request that goes right before it, and returns the flags of the frame. */
  firstFrame(): number;
  /** The server could not decide, and the talk waits to ask again. */
  isWaiting(): boolean;
  wait(): void;
  cancelWait(): void;
  /** Gives up what was requested or granted and is not used. */
  release(): void;
};

/** Creates the requests of a talk. It has requested nothing. `ref` identifies its requests. */
export function createAsking(
  { talkgroupId, floor, priority, codec, ref }: TalkOptions & { ref: Ref },
  retry: Retry,
  uplink: Uplink,
  clock: Clock,
  owner: AskingOwner,
): Asking {
  const asksFirst = floor === 'request' || floor === 'queue';
  // A first frame has priority 1, no codec and no encryption. Other values need a request before it.
  const isPlain = priority === undefined && codec === undefined;
  const asksAlong = () => !asksFirst && !(isPlain && owner.encrypting.crypto === undefined);
  let cancelWait = () => {};
  return {
    asksFirst,
    get isByFrame() {
      return !asksFirst && !asksAlong();
    },
    begin() {
      if (retry.leftMs > 0) wait();
      else askFirst();
    },
    askFirst,
    firstFrame() {
      const isAlong = asksAlong();
      if (isAlong) ask();
      // It may have waited in the queue until its epoch was over. The relay keeps the grant, and the answer may come later.
      else if (asksFirst && owner.encrypting.isRenewed()) send();
      else if (!asksFirst) owner.enter({ kind: 'requested' });
      // A frame with START is a request itself. After a FLOOR_REQUEST that was denied, it would request the floor again.
      return isAlong || asksFirst ? 0 : START;
    },
    isWaiting,
    wait,
    cancelWait: () => cancelWait(),
    release() {
      const { kind } = owner.state();
      const isAsking = kind === 'requested' || kind === 'queued' || kind === 'granted';
      if (isAsking && !isWaiting()) {
        uplink.send(JSON.stringify({ type: 'FLOOR_RELEASE', talkgroup_id: talkgroupId }));
      }
    },
  };

  /** Frames need the talkgroup's number. Until it is known, a grant would be of no use, so the talk does not request it. */
  function askFirst(): void {
    if (!asksFirst || owner.state().kind !== 'idle' || uplink.isAwaited(talkgroupId)) return;
    if (owner.encrypting.isReady()) ask();
  }

  function ask(): void {
    send();
    owner.enter({ kind: 'requested' });
  }

  function send(): void {
    const question = { type: 'FLOOR_REQUEST', talkgroup_id: talkgroupId, queue: floor === 'queue', ref };
    uplink.ask(JSON.stringify({ ...question, priority, codec, crypto: owner.encrypting.crypto }));
  }

  function isWaiting(): boolean {
    const state = owner.state();
    return state.kind === 'requested' && state.retry_ms !== undefined;
  }

  function wait(): void {
    owner.enter({ kind: 'requested', retry_ms: retry.leftMs });
    sleep();
  }

  function sleep(): void {
    cancelWait();
    // A timer may fire up to 1 ms early. The server would drop the frames that waited.
    cancelWait = clock.after(retry.leftMs, () => (retry.leftMs > 0 ? sleep() : owner.waited()));
  }
}
