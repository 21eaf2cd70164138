// Turns held talk buttons into talks of the radio: begins at once, waits in the queue, tries again while it is held.
import type { Clock } from '../../client/clock.js';
import type {
  Radio,
  RadioError,
  TalkState as RadioTalkState,
  Talk,
  TalkOutcome,
} from '../../client/radio.js';
import type { Microphone } from '../../client/sound/sound-types.js';
import type { OverCode, RefusalCode, TalkState, TalkView } from './messages.js';

export type Presses = {
  press(talkgroupId: string): void;
  release(talkgroupId: string): void;
  /** Whether there is a microphone now. */
  microphone(microphone: Microphone | null): void;
  /** The radio is connected. */
  opened(): void;
  /** The radio is not connected any more. */
  closed(): void;
};

/** `isEncrypting`: whether the user wants to encrypt in the talkgroup. Where it is required, the radio does in any case. */
export type PressesOptions = { isEncrypting(talkgroupId: string): boolean };

/** One held button. */
type Press = {
  readonly talkgroupId: string;
  /** null: none is under way. */
  talk: Talk | null;
  state: TalkState;
  /** The floor was taken, so the next talk waits in the queue. */
  mustQueue: boolean;
  /** Of the last grant (ms). 0: none. */
  limitMs: number;
  /** When the burst began (Unix ms), which goes on over a lost connection. null: there is none. */
  sinceMs: number | null;
  cancelRetry: () => void;
};

// The server drops frames for 2 s after too many bursts.
const RETRY_MS = 2_000;
// Another talk may end at any time.
const BUSY_RETRY_MS = 1_000;
/** Refusals and ends that do not change by themselves, so another talk needs another press. */
const FINAL: ReadonlySet<RefusalCode | OverCode> = new Set([
  ...(['forbidden', 'listen_only', 'not_member', 'keys_forbidden', 'no_key', 'encryption_required'] as const),
  ...(['encryption_off', 'too_many_talkgroups', 'too_long', 'left', 'deleted', 'disabled'] as const),
]);

export function createPresses(
  radio: Pick<Radio, 'state' | 'talk'>,
  clock: Clock,
  unixMs: () => number,
  changed: (view: TalkView) => void,
  { isEncrypting }: PressesOptions = { isEncrypting: () => false },
): Presses {
  const presses = new Map<string, Press>();
  let microphone: Microphone | null = null;
  let isRecording = false;

  return {
    press(talkgroupId) {
      if (presses.has(talkgroupId)) return;
      const state: TalkState = { phase: 'asking' };
      const press = {
        talkgroupId,
        talk: null,
        state,
        mustQueue: false,
        limitMs: 0,
        sinceMs: null,
        cancelRetry: () => {},
      };
      presses.set(talkgroupId, press);
      begin(press);
    },
    release(talkgroupId) {
      const press = presses.get(talkgroupId);
      if (press === undefined) return;
      presses.delete(talkgroupId);
      record();
      end(press);
      changed({ talkgroupId, state: null });
    },
    microphone(now) {
      if (isRecording) microphone?.stop();
      isRecording = false;
      microphone = now;
      for (const press of presses.values()) beginAnew(press);
    },
    opened() {
      for (const press of presses.values()) if (press.talk === null) beginAnew(press);
    },
    closed() {
      for (const press of presses.values()) if (!isFinal(press)) refuse(press, 'not_connected', null);
    },
  };

  /** With `isAgain` the earlier refusal stays on show until there is an answer. */
  function begin(press: Press, isAgain = false): void {
    press.cancelRetry();
    if (microphone === null) return refuse(press, 'no_microphone', null);
    if (radio.state !== 'open') return refuse(press, 'not_connected', null);
    record();
    const { talkgroupId, mustQueue } = press;
    try {
      // The first frame is the request, so that no speech is lost.
      const floor = mustQueue ? 'queue' : 'first_frame';
      press.talk = radio.talk({ talkgroupId, floor, ...(isEncrypting(talkgroupId) && { encrypt: true }) });
    } catch (error) {
      const { code } = error as RadioError; // `talk` throws nothing else
      return refuse(press, code as RefusalCode, RETRY_MS);
    }
    const { talk } = press;
    if (!isAgain) enter(press, { phase: 'asking' });
    talk.on('state', (state) => press.talk === talk && follow(press, state));
  }

  function beginAnew(press: Press): void {
    if (isFinal(press)) return;
    end(press);
    begin(press);
  }

  function follow(press: Press, state: RadioTalkState): void {
    switch (state.kind) {
      case 'idle':
        // The burst has ended in silence, and the next packet begins another one.
        press.sinceMs = null;
        if (press.state.phase === 'talking') enter(press, { phase: 'asking' });
        break;
      case 'requested':
        if (press.state.phase === 'talking' || isCut(press)) enter(press, { phase: 'asking' });
        break;
      case 'queued':
        enter(press, { phase: 'queued', position: state.position, size: state.size });
        break;
      case 'granted':
        press.limitMs = state.max_talk_ms;
        break;
      case 'talking':
        if (press.state.phase === 'talking') break;
        press.sinceMs ??= unixMs();
        enter(press, { phase: 'talking', sinceMs: press.sinceMs, limitMs: press.limitMs });
        break;
      default:
        finish(press, state);
    }
  }

  function finish(press: Press, outcome: TalkOutcome): void {
    press.talk = null;
    press.limitMs = 0;
    press.sinceMs = null;
    if (outcome.kind !== 'denied') return ended(press, outcome.code);
    const { code, talker } = outcome;
    if (code === 'busy' && !press.mustQueue) {
      press.mustQueue = true;
      return begin(press, true);
    }
    refuse(press, code, code === 'busy' ? BUSY_RETRY_MS : RETRY_MS, talker?.username);
  }

  function ended(press: Press, code: OverCode): void {
    enter(press, { phase: 'over', code, isFinal: FINAL.has(code) });
    press.mustQueue = true;
    if (isFinal(press)) record();
    else retry(press, BUSY_RETRY_MS);
  }

  /** `retryMs` null: a change of the connection or of the microphone begins the next attempt. */
  function refuse(press: Press, code: RefusalCode, retryMs: number | null, talker?: string): void {
    enter(press, { phase: 'refused', code, talker: talker ?? null, isFinal: FINAL.has(code) });
    if (isFinal(press)) record();
    else if (retryMs !== null) retry(press, retryMs);
  }

  function retry(press: Press, ms: number): void {
    press.cancelRetry();
    press.cancelRetry = clock.after(ms, () => begin(press, true));
  }

  function enter(press: Press, state: TalkState): void {
    press.state = state;
    changed({ talkgroupId: press.talkgroupId, state });
  }

  function end(press: Press): void {
    press.cancelRetry();
    const { talk } = press;
    press.sinceMs = null;
    press.talk = null;
    talk?.end();
  }

  /** Records while a button is held that may still talk. */
  function record(): void {
    const isNeeded = [...presses.values()].some((press) => !isFinal(press));
    if (isNeeded === isRecording || microphone === null) return;
    isRecording = isNeeded;
    if (isNeeded) microphone.start(send);
    else microphone.stop();
  }

  function send(packet: Uint8Array): void {
    for (const { talk } of presses.values()) talk?.send(packet);
  }
}

const isCut = ({ state }: Press) => state.phase === 'refused' && state.code === 'not_connected';
const isFinal = ({ state }: Press) => 'isFinal' in state && state.isFinal;
