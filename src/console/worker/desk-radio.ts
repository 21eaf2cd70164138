// Drives the radio, the decoder and the encoder by the commands of the page, and reports what changes.

import { opusMs as packetMs } from '../../client/audio/opus.js';
import type { Clock } from '../../client/clock.js';
import type { Radio, RadioError, RadioOptions } from '../../client/radio.js';
import { giveHeard } from '../../client/sound/play-radio.js';
import type { Microphone, Voices } from '../../client/sound/sound-types.js';
import { createBatches } from './batches.js';
import type { DeskKeys, DeskKeysOptions } from './keys.js';
import { createLaterReplay } from './later-replay.js';
import { type Command, type Event, PASSED } from './messages.js';
import { createPresses } from './presses.js';
import type { Replay, ReplayParts } from './replay.js';
import { createViews } from './views.js';

/** The user is told when the codec takes longer (ms). Its file takes 5 s at 256 kbit/s. */
const CODEC_MS_MAX = 8_000;
/**
 * Frames of all talkgroups that come within 10 ms reach a browser in one write. With ten talkers at once it needs a quarter
 * less CPU time (docs/decisions/047). A single talkgroup would only be later.
 */
const COALESCE_MS = 10 as const;

export type DeskRadioParts = {
  createRadio(options: RadioOptions): Radio;
  createVoices(options: { targetMs: number }): Promise<Voices>;
  createMicrophone(options: Record<string, never>): Promise<Microphone>;
  openKeys(
    options: Pick<DeskKeysOptions, 'userId' | 'changed'> & { rest: string; token: string },
  ): Promise<DeskKeys>;
  /** Rejects without a network. */
  loadReplay(): Promise<(parts: ReplayParts) => Replay>;
  clock: Clock;
  /** Unix time (ms). */
  unixMs(): number;
  send(event: Event): void;
  codeOf(error: unknown): RadioError['code'];
};

export type DeskRadio = { take(command: Command): void };

/** Waits for `start` and the keys. Commands may come before. */
export function createDeskRadio(parts: DeskRadioParts): DeskRadio {
  let isStarting = false;
  let started: Started | null = null;
  // Without a radio there are no talkgroups, so the page has little to ask for.
  const early: Later[] = [];
  return {
    take(command) {
      if (command.kind === 'start') {
        if (isStarting) return;
        isStarting = true;
        begin(command).catch(() => parts.send({ kind: 'failed', part: 'radio' })); // TypeError: the address is none
      } else if (started === null) {
        early.push(command);
      } else {
        started.take(command);
      }
    },
  };

  async function begin(command: Start): Promise<void> {
    let keysChanged = () => {};
    const { rest, token, userId } = command;
    const keys = await parts.openKeys({ rest, token, userId, changed: () => keysChanged() });
    started = start(command, keys, parts);
    keysChanged = started.keysChanged;
    for (const one of early.splice(0)) started.take(one);
  }
}

type Start = Extract<Command, { kind: 'start' }>;
type Later = Exclude<Command, { kind: 'start' }>;
type Started = { take(command: Later): void; keysChanged(): void };

function start(
  { url, token, jitterMs }: Start,
  keys: DeskKeys,
  { createRadio, createVoices, createMicrophone, loadReplay, clock, unixMs, send, codeOf }: DeskRadioParts,
): Started {
  const radio = createRadio({ url, token, clock, keys: keys.store, client: 'console' });
  const views = createViews(radio);
  const batches = createBatches(
    {
      connection: views.connection,
      keys: keys.view,
      talkgroup: views.talkgroup,
      send: (changes) => send({ kind: 'changes', ...changes }),
    },
    clock,
  );
  /** Talkgroups in which the user wants to encrypt. */
  const encrypting = new Set<string>();
  const presses = createPresses(radio, clock, unixMs, batches.talk, {
    isEncrypting: (id) => encrypting.has(id),
  });
  /** By talkgroup of which PRESENCE was requested: whether its audio was requested in common writes. */
  const watched = new Map<string, boolean>();
  let wantedPort: Extract<Command, { kind: 'microphone' }>['port'] = null;
  /** Before `open` the radio requests anew what it holds. */
  let isWatching = false;
  let voices: Voices | null = null;
  const replay = createLaterReplay(loadReplay, { radio, voices: () => voices, packetMs, clock, send });
  const voicesReady = createVoices({ targetMs: jitterMs });
  const microphoneReady = createMicrophone({});
  let isLate = false;
  const cancelLate = clock.after(CODEC_MS_MAX, () => {
    isLate = true;
    send({ kind: 'failed', part: 'codec' });
  });
  voicesReady.then(
    (ready) => {
      voices = ready;
      cancelLate();
      if (isLate) send({ kind: 'failed', part: null });
    },
    () => {
      cancelLate();
      send({ kind: 'failed', part: 'voices' });
    },
  );

  giveHeard(radio, () => voices);
  radio.on('open', (welcome) => {
    views.opened(welcome, unixMs());
    presses.opened();
    batches.connection();
    isWatching = true;
    watchNew();
  });
  radio.on('waiting', ({ delayMs, ...close }) => lost(close, unixMs() + delayMs));
  radio.on('stopped', (close) => lost(close, null));
  radio.on('reach', batches.connection);
  radio.on('talkgroups', () => {
    for (const id of views.changed()) batches.talkgroup(id);
    if (isWatching) watchNew();
  });
  radio.on('talk_started', (talker) => {
    views.talkStarted(talker);
    batches.talkgroup(talker.talkgroup_id);
  });
  radio.on('talk_ended', (end) => {
    const burst = views.talkEnded(end, unixMs());
    if (burst !== null) batches.recent(burst);
    if (burst?.callId !== undefined) void replay.heard();
    batches.talkgroup(end.talkgroup_id);
  });
  radio.on('lock', ({ talkgroupId }) => batches.talkgroup(talkgroupId));
  radio.on('unopened', (first) => {
    views.unopened(first);
    batches.talkgroup(first.talkgroupId);
  });
  radio.on('lag', ({ talkgroupId }) => batches.talkgroup(talkgroupId));
  radio.on('missed', ({ talkgroupId }) => batches.talkgroup(talkgroupId));
  radio.on('emergency', (emergency) => {
    batches.emergency(emergency);
    // It changes the running bursts of the user, and the relay does not announce that by itself.
    batches.talkgroup(emergency.talkgroup_id);
  });
  radio.on('emergency_position', ({ emergency }) => batches.emergency(emergency));
  radio.on('presence', ({ talkgroup_id }) => batches.talkgroup(talkgroup_id));
  radio.on('message', (message) => {
    if (PASSED.has(message.type)) send({ kind: 'message', message });
    if (message.type !== 'GOAWAY') return;
    views.draining();
    batches.connection();
  });
  batches.connection();
  batches.keys();
  return { take, keysChanged: batches.keys };

  function lost(close: { code: number; reason: string }, retryAtMs: number | null): void {
    isWatching = false;
    views.closed(close, retryAtMs);
    presses.closed();
    batches.connection();
  }

  function take(command: Later): void {
    switch (command.kind) {
      case 'voice':
        voicesReady.then((ready) => ready.attach(command.talkgroupId, command.port)).catch(failedAlready);
        break;
      case 'no_voice':
        voicesReady.then((ready) => ready.detach(command.talkgroupId)).catch(failedAlready);
        break;
      case 'microphone':
        listenTo(command.port);
        break;
      case 'talk':
        replay.interrupt(); // before the microphone hears it
        presses.press(command.talkgroupId);
        break;
      case 'release':
        presses.release(command.talkgroupId);
        break;
      case 'raise':
        answer(command.id, raise(command.talkgroupId));
        break;
      case 'request':
        answer(command.id, radio.request(command.message));
        break;
      case 'encrypt':
        encrypt(command.talkgroupId, command.isOn);
        break;
      case 'confirm_clear':
        radio.confirmClear(command.talkgroupId);
        batches.talkgroup(command.talkgroupId);
        break;
      case 'register':
        register(command);
        break;
      case 'accept':
        accept(command);
        break;
      case 'forget_holder':
        keys.forget().catch(failedAlready);
        break;
      case 'replay':
      case 'pause_replay':
        replay.take(command);
        break;
      case 'reconnect':
        radio.reconnect();
        batches.connection();
    }
  }

  /** The key is asked for now, so that the first word does not wait for it. */
  function encrypt(talkgroupId: string, isOn: boolean): void {
    if (!isOn) return void encrypting.delete(talkgroupId);
    encrypting.add(talkgroupId);
    const { encryption, talk_counter } = radio.talkgroups.get(talkgroupId) ?? {};
    if (encryption === 'allowed' && talk_counter !== undefined) keys.store.want(talkgroupId, talk_counter);
  }

  function register({ id, password, name }: Extract<Command, { kind: 'register' }>): void {
    keys.register({ password, name }).then(
      (registration) => send({ kind: 'registered', id, registration }),
      // The code could not be loaded, or the browser stores nothing more.
      ({ message }: Error) => send({ kind: 'registered', id, registration: { error: message, status: 0 } }),
    );
  }

  function accept({ id, holderId, password }: Extract<Command, { kind: 'accept' }>): void {
    keys.accept({ holderId, password }).then(
      (rejection) => send({ kind: 'accepted', id, rejection }),
      // The code could not be loaded.
      ({ message }: Error) => send({ kind: 'accepted', id, rejection: { error: message, status: 0 } }),
    );
  }

  function listenTo(port: Extract<Command, { kind: 'microphone' }>['port']): void {
    wantedPort = port;
    if (port === null) return presses.microphone(null);
    microphoneReady.then(
      (microphone) => {
        if (port !== wantedPort) return; // it was closed while the codec was loaded
        microphone.attach(port);
        presses.microphone(microphone);
      },
      () => send({ kind: 'failed', part: 'microphone' }),
    );
  }

  /**
   * Tiles show how many are online, and without PRESENCE they would show how many were when the talkgroup came. With
   * several talkgroups the relay joins their frames: see COALESCE_MS.
   */
  function watchNew(): void {
    const isJoined = radio.talkgroups.size > 1;
    const talkgroupIds = [...radio.talkgroups.keys()].filter((id) => watched.get(id) !== isJoined);
    for (const id of watched.keys()) if (!radio.talkgroups.has(id)) watched.delete(id);
    if (talkgroupIds.length === 0) return;
    for (const id of talkgroupIds) watched.set(id, isJoined);
    const hold = isJoined ? { coalesceMs: COALESCE_MS } : {};
    // RadioError: the radio requests the choice again with the next connection, but not one that the relay has rejected.
    radio.subscribe({ talkgroupIds, mode: 'talk', presence: true, ...hold }).catch(() => {
      for (const id of talkgroupIds) watched.delete(id);
    });
  }

  async function raise(talkgroupId: string) {
    const emergency_id = await radio.emergency.raise({ talkgroupId });
    return { type: 'OK', ref: 0, emergency_id } as const;
  }

  function answer(id: number, answered: ReturnType<Radio['request']>): void {
    answered.then(
      (message) => send({ kind: 'answer', id, message }),
      (error: Error) => {
        const { message } = error;
        send({ kind: 'answer', id, error: { code: codeOf(error), message } });
      },
    );
  }
}

/** `failed` was sent when the promise was rejected first. A holder that stays in the database is forgotten the next time. */
function failedAlready(): void {}
