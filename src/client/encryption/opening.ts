// Opens the frames that a radio receives in one talkgroup. What does not open is counted, and never played.
import { burstKey, SUITE } from '../../protocol/encryption.js';
import { ENCRYPTED, END, type Frame } from '../../protocol/frame.js';
import {
  decodeSframeHeader,
  deriveSframeKey,
  KEY_IDS,
  metadataFrom,
  type SframeKey,
} from '../../protocol/sframe.js';
import type { Crypto } from '../../protocol/types.js';
import type { Clock } from '../clock.js';
import type { Epochs } from './epochs.js';
import type { KeyStore } from './key-store.js';
import type { ReplayWindow } from './replay.js';
import { saltBytes } from './sealing.js';

/**
 * How a burst is protected. `clear`: it is not. `encrypted`: what is played was sealed by its talker, or by a member that
 * pretends to be the talker. `cannot_open`: this radio lacks the key, or frames were changed, and plays none of those.
 */
export type LockKind = 'encrypted' | 'clear' | 'cannot_open';

/**
 * Why a frame was not played. `no_key`: its key did not come within 500 ms. `old_epoch`: its epoch is over. `keys_behind`: all
 * epochs of the service are from before one that this radio has used, as after the restore of a backup. `suite`: an
 * encryption that this radio does not know. `changed`: not as its talker sealed it. `repeated`: heard before. `clear`: not
 * encrypted in an encrypted burst. `unannounced`: encrypted in a burst that announced nothing.
 */
export type UnopenedReason =
  | 'no_key'
  | 'old_epoch'
  | 'keys_behind'
  | 'suite'
  | 'changed'
  | 'repeated'
  | 'clear'
  | 'unannounced';

/** A frame on its way to the app. `sequence`: unwrapped, of an opened frame the one that its talker sealed. */
export type Opened = { frame: Frame; sequence: number; receivedAtMs: number };

export type OpenerOwner = {
  opened(talkgroupId: string, opened: Opened): void;
  /** The first frame of a burst that was not opened for this reason. */
  unopened(talkgroupId: string, first: { session: number; burst: number; reason: UnopenedReason }): void;
  lock(talkgroupId: string, lock: { session: number; burst: number; kind: LockKind }): void;
  /** No frame of the session waits for its key any more. */
  released(talkgroupId: string, session: number): void;
};

type Burst = {
  session: number;
  burst: number;
  userId: string;
  crypto: Crypto | undefined;
  /** Derived with the first frame. */
  key: SframeKey | null;
  held: Opened[];
  reasons: Set<UnopenedReason>;
  unopened: number;
  hasOpened: boolean;
  hasEnd: boolean;
  lock: LockKind;
  cancelWait: () => void;
};

/** A frame may wait so long for its key (RFC 9605, section 9.3, leaves it to the application). */
const WAIT_MS_MAX = 500;
/** 500 ms of frames of 10 ms. What comes beyond is missed. */
const HELD_FRAMES_MAX = 50;
/** Sessions whose bursts were shown as clear without an announcement. Beyond it they are shown again. */
const STRAYS_MAX = 64;

export function createOpener(
  {
    talkgroupId,
    keys,
    mayHaveKeys,
    clock,
    epochs,
    window,
    isRequired,
  }: {
    talkgroupId: string;
    keys: KeyStore | undefined;
    /** Whether to ask for keys. */
    mayHaveKeys: () => boolean;
    clock: Clock;
    epochs: Epochs;
    window: ReplayWindow;
    /** Whether clear speech is unexpected in the talkgroup. */
    isRequired: () => boolean;
  },
  owner: OpenerOwner,
) {
  /** By session: its last burst. */
  const bursts = new Map<number, Burst>();
  /** By session: its last burst that was not announced and shown as clear. */
  const strays = new Map<number, number>();
  return {
    started({
      session,
      burst,
      userId,
      crypto,
    }: Pick<Burst, 'session' | 'burst' | 'userId' | 'crypto'>): void {
      const known = bursts.get(session);
      if (known?.burst === burst) return;
      known?.cancelWait();
      const started: Burst = {
        ...{ session, burst, userId, crypto, key: null, held: [], reasons: new Set<UnopenedReason>() },
        ...{
          unopened: 0,
          hasOpened: false,
          hasEnd: false,
          lock: crypto ? 'encrypted' : 'clear',
          cancelWait() {},
        },
      };
      bursts.set(session, started);
      if (crypto && faultOf(crypto)) started.lock = 'cannot_open';
      owner.lock(talkgroupId, { session, burst, kind: started.lock });
      if (crypto && started.lock === 'encrypted' && mayHaveKeys() && !keyOf(started, crypto))
        keys?.want(talkgroupId, crypto.epoch);
    },
    frame(opened: Opened): void {
      const { frame } = opened;
      const burst = bursts.get(frame.sender);
      const isEncrypted = (frame.flags & ENCRYPTED) !== 0;
      if (!burst || burst.burst !== frame.burst || !burst.crypto) {
        if (!isEncrypted) takeClear(burst, opened);
        else if (burst?.burst === frame.burst) refuse(burst, 'unannounced');
        else
          owner.unopened(talkgroupId, { session: frame.sender, burst: frame.burst, reason: 'unannounced' });
      } else if (!isEncrypted) {
        // The relay could write an END without speech, too. So it ends nothing here, and the burst is shown as cut off.
        if (frame.payload.byteLength > 0) refuse(burst, 'clear');
      } else take(burst, burst.crypto, opened);
    },
    keyArrived(): void {
      for (const burst of bursts.values()) {
        if (burst.held.length > 0 && burst.crypto && keyOf(burst, burst.crypto)) release(burst, burst.crypto);
      }
    },
    isHolding: (session: number) => (bursts.get(session)?.held.length ?? 0) > 0,
    ended(session: number): { unopened: number; isCutOff: boolean; hasOpened: boolean } {
      const burst = bursts.get(session);
      bursts.delete(session);
      if (!burst) return { unopened: 0, isCutOff: false, hasOpened: false };
      burst.cancelWait();
      burst.unopened += burst.held.length;
      const { unopened, hasOpened } = burst;
      return { unopened, hasOpened, isCutOff: hasOpened && !burst.hasEnd };
    },
    close(): void {
      for (const burst of bursts.values()) burst.cancelWait();
    },
  };

  /** A relay that lies could play it beside an encrypted burst of the same talker, or where no listener expects clear speech. */
  function takeClear(burst: Burst | undefined, opened: Opened): void {
    const { sender: session, burst: number, payload } = opened.frame;
    const isAnnounced = burst?.burst === number;
    const isUnexpected = burst?.crypto !== undefined || isRequired();
    if (!isAnnounced && isUnexpected && payload.byteLength > 0 && strays.get(session) !== number) {
      if (strays.size >= STRAYS_MAX) strays.clear();
      strays.set(session, number);
      owner.lock(talkgroupId, { session, burst: number, kind: 'clear' });
    }
    owner.opened(talkgroupId, opened);
  }

  /** Why no frame of the burst can be opened, whatever keys come. */
  function faultOf(crypto: Crypto): UnopenedReason | null {
    if (!keys) return 'no_key';
    if (crypto.suite !== SUITE || saltBytes(crypto) === null) return 'suite';
    if (epochs.isAccepted(crypto.epoch)) return null;
    return epochs.isServiceBehind ? 'keys_behind' : 'old_epoch';
  }

  function take(burst: Burst, crypto: Crypto, opened: Opened): void {
    const fault = burst.hasOpened ? null : faultOf(crypto);
    if (fault) return refuse(burst, fault);
    const key = burst.held.length === 0 ? keyOf(burst, crypto) : null;
    if (key) open(burst, crypto, key, opened);
    else hold(burst, crypto, opened);
  }

  function keyOf(burst: Burst, crypto: Crypto): SframeKey | null {
    if (burst.key) return burst.key;
    const secret = keys?.secretFor(talkgroupId, crypto.epoch);
    const salt = saltBytes(crypto);
    if (!keys || !secret || !salt) return null;
    const { userId } = burst;
    const baseKey = burstKey(keys.primitives, { secret, salt, talkgroupId, userId, counter: crypto.epoch });
    burst.key = deriveSframeKey(keys.primitives, { baseKey, keyId: crypto.epoch % KEY_IDS });
    return burst.key;
  }

  function hold(burst: Burst, crypto: Crypto, opened: Opened): void {
    if (burst.reasons.has('no_key') || burst.held.length >= HELD_FRAMES_MAX) return refuse(burst, 'no_key');
    if (burst.held.length === 0) {
      keys?.want(talkgroupId, crypto.epoch);
      burst.cancelWait = clock.after(WAIT_MS_MAX, () => giveUp(burst));
    }
    // The payload is a view of the socket's message, which the client owns.
    burst.held.push(opened);
  }

  function release(burst: Burst, crypto: Crypto): void {
    burst.cancelWait();
    for (const opened of burst.held.splice(0)) if (burst.key) open(burst, crypto, burst.key, opened);
    owner.released(talkgroupId, burst.session);
  }

  function giveUp(burst: Burst): void {
    for (const _ of burst.held.splice(0)) refuse(burst, 'no_key');
    owner.released(talkgroupId, burst.session);
  }

  function open(burst: Burst, crypto: Crypto, key: SframeKey, { frame, receivedAtMs }: Opened): void {
    const header = decodeSframeHeader(frame.payload);
    const isFitting =
      header && (header.counter & 0xffff) === frame.sequence && frame.epoch === (crypto.epoch & 0xff);
    const payload = isFitting ? key.open(metadataFrom(frame), frame.payload) : null;
    if (!header || !payload) return refuse(burst, 'changed');
    // The key is of the talker, too. Under the salt alone a member could use up the counters of another one's run.
    const run = `${crypto.salt} ${burst.userId}`;
    if (!window.isNew(run, header.counter)) return refuse(burst, 'repeated');
    window.opened(run, header.counter);
    epochs.heard(crypto.epoch);
    // The key came after frames were given up.
    if (burst.reasons.delete('no_key') && burst.reasons.size === 0) show(burst, 'encrypted');
    burst.hasOpened = true;
    burst.hasEnd = (frame.flags & END) !== 0;
    const opened = { ...frame, flags: frame.flags & ~ENCRYPTED, payload };
    owner.opened(talkgroupId, { frame: opened, sequence: header.counter, receivedAtMs });
  }

  function refuse(burst: Burst, reason: UnopenedReason): void {
    burst.unopened += 1;
    if (burst.reasons.has(reason)) return;
    burst.reasons.add(reason);
    const { session, burst: number } = burst;
    owner.unopened(talkgroupId, { session, burst: number, reason });
    show(burst, 'cannot_open');
  }

  function show(burst: Burst, kind: LockKind): void {
    if (burst.lock === kind) return;
    burst.lock = kind;
    owner.lock(talkgroupId, { session: burst.session, burst: burst.burst, kind });
  }
}
