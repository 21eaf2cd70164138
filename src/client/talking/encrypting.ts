// Decides how the runs of one talk are encrypted, waits for their keys, and encodes their frames.
import { encodeFrame } from '../../protocol/frame.js';
import type { Crypto, Ref, ServerMessageOf } from '../../protocol/types.js';
import type { Clock } from '../clock.js';
import type { ClearFrame, Run } from '../encryption/sealing.js';
import { outcomeOf, RESTARTS } from './denial.js';
import type { TalkOptions, TalkOutcome } from './talk.js';
import type { Uplink } from './uplink.js';

export type Encrypting = {
  /** How the present run is encrypted. undefined: it is not, or nothing is decided. */
  readonly crypto: Crypto | undefined;
  /**
   * Whether the talk may begin or go on. Draws the salt of a run in the step before its first request or frame. Denies the
   * talk if it cannot be encrypted.
   */
  isReady(): boolean;
  /**
   * Whether the epoch changed since the request, which then goes out again with another salt. Only before the first frame
   * of a run.
   */
  isRenewed(): boolean;
  encode(frame: ClearFrame): Uint8Array<ArrayBuffer>;
  /** The sequence begins at 0 again, so the next run has another salt. */
  endRun(): void;
  /** The relay announced the burst. */
  accepted(): void;
  /** Whether the ERROR rejects the present run. Then the talk begins another one, unless it `isEnding`. */
  isRejected(error: ServerMessageOf<'ERROR'>, isEnding: boolean): boolean;
  /** A key of the talkgroup arrived. */
  keyArrived(): void;
  /** The talk is over. */
  stop(): void;
};

// A key comes within a round trip, or after a wait that the server set.
const KEY_MS_MAX = 5_000;
/** Runs that the relay rejects one after the other. */
const RUNS_MAX = 5;

/** `deny` ends the talk, `again` begins it anew. `ref` identifies its requests. */
export function createEncrypting(
  { talkgroupId, encrypt = false, ref }: TalkOptions & { ref: Ref },
  uplink: Uplink,
  clock: Clock,
  { deny, again }: { deny: (outcome: TalkOutcome) => void; again: () => void },
): Encrypting {
  /** Of the frames since the sequence began at 0. null: they are clear. undefined: not decided, no frame was sent. */
  let run: Run | null | undefined;
  let rejectedRuns = 0;
  let needsNewest = false;
  let cancelWait: (() => void) | null = null;
  return {
    get crypto() {
      return run?.crypto;
    },
    isReady() {
      if (run !== undefined) return true;
      const beginning = uplink.encryption.begin(talkgroupId, { encrypt, newest: needsNewest });
      switch (beginning.kind) {
        case 'wait':
          cancelWait ??= clock.after(KEY_MS_MAX, () => deny({ kind: 'denied', code: 'no_key' }));
          return false;
        case 'refused':
          deny({ kind: 'denied', code: beginning.code });
          return false;
        case 'clear':
          run = null;
          break;
        case 'encrypted':
          run = beginning.run;
      }
      stop();
      return true;
    },
    isRenewed() {
      if (!run) return false;
      const beginning = uplink.encryption.begin(talkgroupId, { encrypt, newest: needsNewest });
      if (beginning.kind !== 'encrypted' || beginning.run.crypto.epoch === run.crypto.epoch) return false;
      run = beginning.run;
      return true;
    },
    encode: (frame) => (run ? run.seal(frame) : encodeFrame(frame)),
    endRun() {
      run = undefined;
    },
    accepted() {
      rejectedRuns = 0;
    },
    isRejected(error, isEnding) {
      const isOurs = error.ref === undefined || error.ref === ref;
      if (!RESTARTS.has(error.code) || !run || !isOurs) return false;
      rejectedRuns += 1;
      needsNewest = error.code === 'stale_epoch';
      if (isEnding || rejectedRuns >= RUNS_MAX) deny(outcomeOf(error));
      else again();
      return true;
    },
    keyArrived() {
      if (cancelWait) again();
    },
    stop,
  };

  function stop(): void {
    cancelWait?.();
    cancelWait = null;
  }
}
