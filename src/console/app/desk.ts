// Builds the parts of the console for the account that is logged in, and connects them with the worker.
import { batch, computed, effect, type ReadonlySignal, type Signal, signal } from '@preact/signals';
import { systemClock } from '../../client/clock.js';
import type { Emergency } from '../../client/radio.js';
import { createSound } from '../../client/sound/sound.js';
import type { Sound } from '../../client/sound/sound-types.js';
import { createEmergencyTarget, type EmergencyTarget } from '../alarms/emergency-target.js';
import { CLEAR_HOLD_MS, createHeld, type Held, RAISE_HOLD_MS } from '../alarms/held.js';
import { type Alarms, createAlarms } from '../alarms/state.js';
import { builtFile } from '../built.js';
import { createFirstRun, type FirstRun } from '../first-run/state.js';
import { createKeys, type Keys } from '../keys/state.js';
import { createRecent, type Recent } from '../onair/recent.js';
import { createOnAir, type OnAir } from '../onair/state.js';
import { createLaterRecordings, type LaterRecordings } from '../recordings/later.js';
import { createLaterReplay, type LaterReplay } from '../replay/later.js';
import { createChoices } from '../settings/choices.js';
import { followTheme } from '../settings/page-look.js';
import { createSettings, type SettingsState } from '../settings/state.js';
import { createMicrophoneControl, type MicrophoneControl } from '../talk/microphone.js';
import { followSilence } from '../talk/silence.js';
import { createTalking, type Talking } from '../talk/state.js';
import { targetsOf } from '../talk/targets.js';
import { createGrid, type Grid } from '../talkgroups/grid.js';
import { createTalkgroups, type Talkgroups } from '../talkgroups/state.js';
import type { Changes, ConnectionView, FailedPart } from '../worker/messages.js';
import { createAway } from './away.js';
import type { Config } from './config.js';
import { createLink, type Link } from './link.js';
import { type Account, logOut } from './session.js';
import { texts } from './texts.js';
import { nowMs } from './ticking.js';

/** `mayRetry`: the next start may succeed. */
export type SoundState = 'off' | 'starting' | 'on' | { failed: string; mayRetry: boolean };

export type Desk = {
  readonly account: Account;
  readonly config: Config;
  readonly connection: ReadonlySignal<ConnectionView>;
  /** Since when there is no connection (Unix time, ms). null: it was never there. */
  readonly lostAtMs: ReadonlySignal<number | null>;
  /** The connection is back since less than AGAIN_MS. */
  readonly isAgain: ReadonlySignal<boolean>;
  /** To the worker: requests to the relay, and the messages that it passes on. */
  readonly link: Link;
  readonly talkgroups: Talkgroups;
  /** Who is on air. */
  readonly onAir: OnAir;
  /** The last ten talks. */
  readonly recent: Recent;
  readonly replay: LaterReplay['replay'];
  readonly recordings: LaterRecordings;
  /** How their tiles are arranged. */
  readonly grid: Grid;
  readonly talking: Talking;
  readonly alarms: Alarms;
  /** By talkgroup: the button that raises an emergency. */
  readonly raising: Held;
  readonly emergencyTarget: EmergencyTarget;
  /** By emergency: the buttons that acknowledge and clear it. */
  readonly answering: Held;
  /** The emergency that the map goes to as soon as it knows where that is. */
  readonly onMap: Signal<string | null>;
  /** The talkgroup of the tile with the focus. */
  readonly focused: Signal<string | null>;
  readonly keys: Keys;
  readonly settings: SettingsState;
  readonly firstRun: FirstRun;
  readonly sound: Sound;
  readonly soundState: ReadonlySignal<SoundState>;
  /** In a user gesture. */
  startSound(): void;
  readonly microphone: MicrophoneControl;
  /** The talkgroup whose members are shown. */
  readonly membersOf: Signal<string | null>;
  /** The user whose card administration opens when it is shown. */
  readonly cardOf: Signal<string | null>;
};

/** `Connected again` is shown for this time, then `Connected`. */
const AGAIN_MS = 10_000;
/** Until the rights of the account are asked for again, when the service did not answer. */
const RIGHTS_MS = 5_000;

/** null until the configuration is loaded. */
export const desk: Signal<Desk | null> = signal(null);

const CONNECTING: ConnectionView = {
  ...{ state: 'connecting', close: null, retryAtMs: null, resumed: null },
  ...{ isDraining: false, reach: 'whole', clockOffsetMs: 0, opened: 0 },
};

/** Starts the worker and its radio. The desk stays until the page is left. */
export function createDesk(account: Account, config: Config): Desk {
  const settings = createSettings(localStorage);
  const sound = createSound({ workletsUrl: builtFile('../client/sound/worklets.ts') });
  /** Of the page. The sound also needs the worker. */
  const playing: Signal<SoundState> = signal('off');
  const failedPart: Signal<FailedPart | null> = signal(null);
  const soundState = computed(() =>
    failedPart.value === null
      ? playing.value
      : { failed: texts.sound.failedPart[failedPart.value], mayRetry: false },
  );
  const connection = signal(CONNECTING);
  const lostAtMs: Signal<number | null> = signal(null);
  const isAgain = signal(false);
  const isSilent = signal(false);
  followTheme(settings.settings);
  const worker = new Worker(builtFile('worker/radio-worker.ts'), { type: 'module' });
  const link = createLink(worker, {
    changed,
    failed(part) {
      failedPart.value = part;
    },
    replay: (event) => calls.replay.peek()?.take(event),
  });
  worker.addEventListener('message', ({ data }) => link.take(data));

  const talkgroups = createTalkgroups(sound, createChoices(localStorage, account.userId), {
    added(talkgroupId) {
      const port = sound.add(talkgroupId);
      link.send({ kind: 'voice', talkgroupId, port }, [port]);
    },
    encrypts: (talkgroupId, isOn) => link.send({ kind: 'encrypt', talkgroupId, isOn }),
    removed(talkgroupId) {
      sound.remove(talkgroupId);
      link.send({ kind: 'no_voice', talkgroupId });
    },
  });
  const away = createAway(() => talkgroups.tiles.peek());
  let endAgain = () => {};
  let endReading = () => {};
  void readRights();
  const alarms = createAlarms({
    tone: sound.tone,
    clock: systemClock,
    isRepeated: () => account.mayDispatch.peek(),
    readAll: async () => (await account.rest.get<{ emergencies: Emergency[] }>('/emergencies')).emergencies,
  });
  const onAir = createOnAir(systemClock, Date.now);
  const recent = createRecent();
  const grid = createGrid({
    ...{ talkgroups, alarms: alarms.open, nowMs, clock: systemClock },
    ...{ shelf: localStorage, userId: account.userId },
  });
  const focused: Signal<string | null> = signal(null);
  const ids = computed(() => new Set(talkgroups.tiles.value.map(({ id }) => id)));
  const emergencyTarget = createEmergencyTarget(
    computed(() => {
      const [first = null] = targetsOf({
        selected: talkgroups.selected.value.map(({ id }) => id),
        focused: focused.value,
        all: talkgroups.tiles.value.map(({ id }) => id),
      });
      return first;
    }),
    ids,
  );
  const isConnected = computed(() => connection.value.state === 'open');
  const microphone = createMicrophoneControl(sound, {
    deviceId: () => settings.settings.peek().microphoneId,
    give: (port) => link.send({ kind: 'microphone', port }, port === null ? [] : [port]),
    lost: () => talking.interrupt('microphone'),
  });
  const talking = createTalking(
    {
      send: link.send,
      tone: sound.tone,
      pressed: microphone.open,
      released() {
        if (settings.settings.peek().isMicrophoneOnDemand) microphone.close();
      },
    },
    systemClock,
    { isConnected, isSilent },
  );
  const calls = createLaterReplay({ link, sound, talkgroups, talking, settings });
  followSilence({ level: microphone.level, states: talking.states, isSilent }, systemClock);
  const keys = createKeys({
    rest: account.rest,
    isAdmin: account.role === 'admin',
    register: link.register,
    accept: link.accept,
    forget: () => link.send({ kind: 'forget_holder' }),
  });
  link.onMessage(keys.message);
  const parts = { account, connection, talkgroups, soundState, settings, calls, keys };
  const recordings = createLaterRecordings(parts);
  const { jitterMs } = settings.settings.peek();
  const { token, userId } = account;
  link.send({ kind: 'start', url: config.ws_url, rest: location.origin, token, userId, jitterMs });
  addEventListener('online', () => link.send({ kind: 'reconnect' }));
  effect(() => talkgroups.split(settings.settings.value.listening !== 'both'));
  effect(() => grid.order.hold('key', talking.isHeld.value));

  return {
    ...{ account, config, connection, lostAtMs, isAgain, link, talkgroups, onAir, recent, recordings },
    ...{ replay: calls.replay, grid, talking, alarms, keys, settings, sound, soundState, microphone },
    ...{ focused, emergencyTarget },
    firstRun: createFirstRun({
      isConnected,
      hasTalkgroup: computed(() => talkgroups.tiles.value.length > 0),
      isSetUp: computed(() => settings.settings.value.isSetUp),
    }),
    raising: createHeld(RAISE_HOLD_MS, systemClock),
    answering: createHeld(CLEAR_HOLD_MS, systemClock),
    onMap: signal(null),
    startSound,
    membersOf: signal(null),
    cardOf: signal(null),
  };

  function changed(changes: Changes): void {
    batch(() => {
      if (changes.connection !== undefined) takeConnection(changes.connection);
      keys.take(changes);
      talkgroups.take(changes);
      if (connection.peek().state !== 'open') away.changed(changes.talkgroups.map(({ id }) => id));
      onAir.take(changes);
      recent.take(changes.recent);
      void calls.heard(changes.recent);
      alarms.take(changes);
      talking.take(changes.talks);
    });
    const { state, close } = connection.peek();
    const reason = close?.reason;
    if (state === 'stopped' && (reason === 'invalid token' || reason === 'unknown user')) logOut(reason);
  }

  function takeConnection(next: ConnectionView): void {
    const [was, is] = [connection.peek().state === 'open', next.state === 'open'];
    if (was && !is) {
      lostAtMs.value = Date.now();
      away.lost();
    }
    if (!was && is) {
      away.back();
      void readRights();
    }
    if (next.close !== null && is && next.opened !== connection.peek().opened) {
      isAgain.value = true;
      endAgain();
      endAgain = systemClock.after(AGAIN_MS, () => {
        isAgain.value = false;
      });
    }
    connection.value = next;
  }

  /** The right may have come meanwhile. Who loses it is logged out. */
  async function readRights(): Promise<void> {
    endReading();
    if (account.role === 'admin') return;
    const me = await account.rest.get<{ user: { dispatcher: boolean } }>('/me').catch(() => null);
    if (me !== null) account.mayDispatch.value = me.user.dispatcher;
    else endReading = systemClock.after(RIGHTS_MS, () => void readRights());
  }

  function startSound(): void {
    const state = playing.peek();
    if (state === 'starting' || state === 'on') return;
    playing.value = 'starting';
    sound.start().then(
      () => {
        playing.value = 'on';
        setOutputs();
      },
      (error: Error) => {
        playing.value = { failed: error.message, mayRetry: true };
      },
    );
  }

  /** An output that is no longer there leaves its talkgroups on the default one. */
  function setOutputs(): void {
    const { listening, selectedOutput, unselectedOutput } = settings.settings.peek();
    if (listening !== 'outputs') return;
    for (const [which, id] of [
      ['selected', selectedOutput],
      ['unselected', unselectedOutput],
    ] as const)
      sound.setOutput(which, id).catch(() => {}); // NotFoundError: the device was unplugged
  }
}
