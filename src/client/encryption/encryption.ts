// Keeps what a radio knows about the encryption of each talkgroup, begins the runs of its talks, and opens what it hears.
import type { Crypto } from '../../protocol/types.js';
import type { Clock } from '../clock.js';
import { AHEAD_MAX, createEpochs, type Epochs, isCounter } from './epochs.js';
import type { EncryptionState, KeyStore } from './key-store.js';
import { createOpener, type Opened, type OpenerOwner } from './opening.js';
import { createReplayWindow, type ReplayWindow } from './replay.js';
import { beginRun, type Run } from './sealing.js';

/**
 * How a talk may begin now. `wait`: the key is asked for. `no_key`: there is none to wait for. `keys_behind`: the service has
 * only epochs from before one that this radio has used, as after the restore of a backup.
 */
export type Beginning =
  | { kind: 'clear' }
  | { kind: 'encrypted'; run: Run }
  | { kind: 'wait' }
  | { kind: 'refused'; code: 'no_key' | 'keys_behind' | 'keys_forbidden' | 'encryption_off' };

export type TalkEncryption = {
  /**
   * Begins a run, or asks for its key. `encrypt`: the app wants encryption also where it is not required. `newest`: with
   * the newest epoch that was announced, because the relay called the other one stale.
   */
  begin(talkgroupId: string, options: { encrypt: boolean; newest: boolean }): Beginning;
};

export type Encryption = TalkEncryption & {
  /** A snapshot, KEY_ROTATED or TALKGROUP_CHANGED. `isRotation`: the key is fetched within two thirds of `use_in_ms`. */
  follow(talkgroupId: string, state: EncryptionState, options: { isRotation: boolean }): void;
  /** The radio's own user. */
  connected(userId: string): void;
  /** A burst began, or was running in a snapshot. */
  started(burst: {
    talkgroupId: string;
    session: number;
    burst: number;
    userId: string;
    crypto: Crypto | undefined;
  }): void;
  /** Opens a frame now or when its key is there. The owner gets it, or hears that it could not be opened. */
  frame(talkgroupId: string, opened: Opened): void;
  /** Whether frames of the burst wait for a key. */
  isHolding(talkgroupId: string, session: number): boolean;
  /** Returns what became of the frames of the burst, and forgets it. Frames that still wait are missed. */
  ended(talkgroupId: string, session: number): { unopened: number; isCutOff: boolean };
  /** The user knows that the talkgroup was `required` and is not any more. */
  confirmClear(talkgroupId: string): void;
  /** Whether the talkgroup is `required`, or was and the user has not confirmed the change. */
  isRequired(talkgroupId: string): boolean;
  close(): void;
};

/** Receives what the radio opened. */
export type EncryptionOwner = OpenerOwner & {
  /** Whether this radio's user has an open emergency in the talkgroup. */
  hasEmergency(talkgroupId: string): boolean;
  /** A key of the talkgroup arrived. */
  keyArrived(talkgroupId: string): void;
  /** The service says that the user may not have the keys of a talkgroup that requires encryption. */
  forbidden(talkgroupId: string): void;
};

type Group = {
  state: EncryptionState;
  epochs: Epochs;
  window: ReplayWindow;
  wasRequired: boolean;
  opener: ReturnType<typeof createOpener>;
};

/** The relay takes an epoch for 5 s behind the use of its successor. The rest is for the way of the request. */
const STALE_GRACE_MS = 4_000;

/** `keys` undefined: the radio has no keys. It talks in the clear and opens nothing. */
export function createEncryption(
  keys: KeyStore | undefined,
  clock: Clock,
  owner: EncryptionOwner,
): Encryption {
  const groups = new Map<string, Group>();
  let ownId = '';
  const stopListening = keys?.onChange((talkgroupId, missing) => {
    const group = groups.get(talkgroupId);
    if (missing) group?.epochs.missing(missing);
    group?.opener.keyArrived();
    owner.keyArrived(talkgroupId);
  });

  return {
    follow(talkgroupId, state, { isRotation }) {
      const group = groupOf(talkgroupId);
      const before = group.epochs.talkCounter;
      group.epochs.follow(state);
      const couldHave = group.state.may_have_keys;
      Object.assign(group.state, settingsOf(state));
      if (couldHave === false && group.state.may_have_keys) keys?.retry?.();
      if (state.may_have_keys === false && !mayHaveKeys(group.state)) owner.forbidden(talkgroupId);
      if (group.state.encryption === 'required' && !group.wasRequired) {
        group.wasRequired = true;
        remember(talkgroupId, group);
      }
      if (!keys || group.state.encryption === 'off' || group.state.encryption === undefined) return;
      if (!mayHaveKeys(group.state)) return;
      // In `allowed` a radio may never need a key, so it asks when it does. A radio that has keys keeps them current.
      const isUser = group.state.encryption === 'required' || keys.secretFor(talkgroupId, before) !== null;
      if (!isUser) return;
      // The last third is for those who were told to come again.
      const withinMs = isRotation ? ((state.use_in_ms ?? 0) * 2) / 3 : 0;
      // The newest first: the answer has those before it, too.
      for (const counter of new Set([group.epochs.newest, group.epochs.talkCounter])) {
        if (counter >= 0 && !keys.secretFor(talkgroupId, counter)) keys.want(talkgroupId, counter, withinMs);
      }
    },
    connected(userId) {
      ownId = userId;
    },
    begin(talkgroupId, options) {
      const chosen = choose(talkgroupId, options);
      if (chosen.kind !== 'secret') return chosen;
      const { secret, counter } = chosen;
      // A secret is chosen with a key store alone.
      const { primitives } = keys as KeyStore;
      return {
        kind: 'encrypted',
        run: beginRun(primitives, { secret, talkgroupId, userId: ownId, counter }),
      };
    },
    started({ talkgroupId, ...burst }) {
      const { epochs, opener, state } = groupOf(talkgroupId);
      const { talkCounter } = epochs;
      // Where nothing else asks, a burst of an earlier epoch shows that the relay may have said too high a counter.
      if (burst.crypto && burst.crypto.epoch < talkCounter && mayHaveKeys(state))
        keys?.want(talkgroupId, talkCounter);
      opener.started(burst);
    },
    frame(talkgroupId, opened) {
      groupOf(talkgroupId).opener.frame(opened);
    },
    isHolding: (talkgroupId, session) => groups.get(talkgroupId)?.opener.isHolding(session) ?? false,
    ended(talkgroupId, session) {
      const group = groupOf(talkgroupId);
      const ended = group.opener.ended(session);
      for (const counter of group.epochs.expired()) keys?.forget(talkgroupId, counter);
      if (ended.hasOpened) remember(talkgroupId, group);
      return ended;
    },
    confirmClear(talkgroupId) {
      const group = groupOf(talkgroupId);
      group.wasRequired = group.state.encryption === 'required';
      remember(talkgroupId, group);
    },
    isRequired: (talkgroupId) => groups.get(talkgroupId)?.wasRequired ?? false,
    close() {
      stopListening?.();
      for (const { opener } of groups.values()) opener.close();
    },
  };

  function isWanted(talkgroupId: string, encrypt: boolean): boolean {
    const group = groups.get(talkgroupId);
    if (encrypt || group?.state.encryption === 'required') return true;
    // A relay that lies could say that it is allowed or off now, and hear what is said then.
    return keys !== undefined && group?.wasRequired === true;
  }

  function choose(
    talkgroupId: string,
    { encrypt, newest }: { encrypt: boolean; newest: boolean },
  ): Exclude<Beginning, { kind: 'encrypted' }> | { kind: 'secret'; secret: Uint8Array; counter: number } {
    if (!isWanted(talkgroupId, encrypt)) return { kind: 'clear' };
    const { state, epochs } = groupOf(talkgroupId);
    if (state.encryption === 'off') return { kind: 'refused', code: 'encryption_off' };
    const counter = newest ? epochs.newest : epochs.talkCounter;
    const found = counter >= 0 && keys ? secretNear(talkgroupId, counter, epochs) : null;
    if (found) return { kind: 'secret', ...found };
    // A life before a cipher. Unless the talkgroup forbids it, an emergency without a key is talked in the clear.
    const isEmergency = !encrypt && state.clear_emergency !== false && owner.hasEmergency(talkgroupId);
    if (isEmergency) return { kind: 'clear' };
    if (!mayHaveKeys(state)) return { kind: 'refused', code: 'keys_forbidden' };
    if (!keys) return { kind: 'refused', code: 'no_key' };
    if (epochs.isServiceBehind) return { kind: 'refused', code: 'keys_behind' };
    for (const one of new Set([epochs.newest, counter])) if (one >= 0) keys.want(talkgroupId, one);
    return { kind: 'wait' };
  }

  /**
   * Of the epoch. If it is not there, of the one before while the relay takes that: 5 s behind the use of its successor.
   * Else of a later one that was announced, which the relay takes too: a new member gets no earlier one.
   */
  function secretNear(
    talkgroupId: string,
    counter: number,
    { usedSinceMs, newest }: Epochs,
  ): { secret: Uint8Array; counter: number } | null {
    const isBeforeTaken = clock.nowMs() - usedSinceMs <= STALE_GRACE_MS;
    const latest = Math.max(counter + 1, newest - AHEAD_MAX + 1);
    const later = Array.from({ length: newest - latest + 1 }, (_, i) => latest + i);
    for (const one of [counter, ...(isBeforeTaken ? [counter - 1] : []), ...later]) {
      const secret = keys?.secretFor(talkgroupId, one);
      if (secret) return { secret, counter: one };
    }
    return null;
  }

  function groupOf(talkgroupId: string): Group {
    const known = groups.get(talkgroupId);
    if (known) return known;
    const remembered = recall(talkgroupId);
    const hasKey = (counter: number) => keys?.secretFor(talkgroupId, counter) != null;
    const epochs = createEpochs(clock, remembered, hasKey);
    const window = createReplayWindow(remembered.salts);
    const state: EncryptionState = {};
    const opener = createOpener(
      {
        ...{ talkgroupId, keys, clock, epochs, window },
        mayHaveKeys: () => mayHaveKeys(state),
        isRequired: () => group.wasRequired,
      },
      owner,
    );
    const group: Group = { state, epochs, window, wasRequired: remembered.required, opener };
    groups.set(talkgroupId, group);
    return group;
  }

  function remember(talkgroupId: string, { epochs, window, wasRequired }: Group): void {
    const { talkCounter: counter, proven } = epochs;
    const kept: Remembered = { required: wasRequired, counter, proven, salts: window.entries() };
    keys?.memory?.write(talkgroupId, JSON.stringify(kept));
  }

  function recall(talkgroupId: string): Remembered {
    const text = keys?.memory?.read(talkgroupId);
    return text ? readRemembered(text) : NOTHING;
  }
}

/** Without the permission a request for keys is in vain, and a user must not be asked for a password. */
const mayHaveKeys = ({ encryption, may_have_keys }: EncryptionState): boolean =>
  encryption !== 'required' || may_have_keys !== false;

const settingsOf = ({ encryption, may_have_keys, clear_emergency }: EncryptionState): EncryptionState => ({
  ...(encryption !== undefined && { encryption }),
  ...(may_have_keys !== undefined && { may_have_keys }),
  ...(clear_emergency !== undefined && { clear_emergency }),
});

/** `proven`: without it, as an earlier release wrote it, the service may disprove the counter. */
type Remembered = { required: boolean; counter: number; proven: number; salts: [string, number][] };

const NOTHING: Remembered = { required: false, counter: -1, proven: -1, salts: [] };

function readRemembered(text: string): Remembered {
  try {
    const { required, counter, proven, salts } = JSON.parse(text) as Remembered;
    return {
      required: required === true,
      counter: isCounter(counter) ? counter : -1,
      proven: isCounter(proven) ? proven : -1,
      salts: Array.isArray(salts) ? salts : [],
    };
  } catch {
    return NOTHING; // SyntaxError: a file that was cut off
  }
}
