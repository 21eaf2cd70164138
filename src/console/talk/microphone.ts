// Opens and closes the microphone of the page, and knows why there is none.
import { type ReadonlySignal, type Signal, signal } from '@preact/signals';
import type { MicrophoneReason, Sound } from '../../client/sound/sound-types.js';

/** `closed`: not asked for yet, or only opened by a press. `lost`: it was open, and the device went away. */
export type MicrophoneState = 'closed' | 'asking' | 'open' | 'lost' | MicrophoneReason;

export type MicrophoneControl = {
  readonly state: ReadonlySignal<MicrophoneState>;
  /** The peak of the last 100 ms, from 0 to 1. 0 while it is closed. */
  readonly level: ReadonlySignal<number>;
  /** The chosen device is missing, and the default one is open. */
  readonly isReplaced: ReadonlySignal<boolean>;
  /** Asks the user if need be. Does nothing while it is open. */
  open(): void;
  close(): void;
  /** Opens the chosen device in place of the present one. Does nothing while it is closed. */
  change(): void;
};

type Port = Awaited<ReturnType<Sound['openMicrophone']>>;

type SoundOfMicrophone = Pick<
  Sound,
  'openMicrophone' | 'closeMicrophone' | 'onMicrophoneLost' | 'onMicrophoneLevel' | 'isMicrophoneReplaced'
>;

export type MicrophoneOwner = {
  /** Empty: the default device. */
  deviceId(): string;
  /** Passes the port on to the worker, null when there is no microphone any more. */
  give(port: Port | null): void;
  /** The device went away. */
  lost(): void;
};

export function createMicrophoneControl(
  sound: SoundOfMicrophone,
  { deviceId, give, lost }: MicrophoneOwner,
): MicrophoneControl {
  const state: Signal<MicrophoneState> = signal('closed');
  const level = signal(0);
  const isReplaced = signal(false);
  sound.onMicrophoneLevel = (peak) => {
    if (state.peek() === 'open') level.value = peak;
  };
  sound.onMicrophoneLost = () => {
    if (state.peek() !== 'open') return;
    sound.closeMicrophone();
    state.value = 'lost';
    level.value = 0;
    lost();
    give(null);
  };
  return {
    ...{ state, level, isReplaced },
    open,
    close,
    change() {
      if (state.peek() !== 'open') return;
      close();
      open();
    },
  };

  function open(): void {
    if (state.peek() === 'open' || state.peek() === 'asking') return;
    state.value = 'asking';
    sound.openMicrophone(deviceId()).then(opened, (error: { reason?: MicrophoneReason }) => {
      state.value = error.reason ?? 'failed';
    });
  }

  function close(): void {
    if (state.peek() === 'open') {
      sound.closeMicrophone();
      give(null);
    }
    state.value = 'closed';
    level.value = 0;
  }

  function opened(port: Port): void {
    // Closed while the user was asked.
    if (state.peek() === 'closed') return sound.closeMicrophone();
    state.value = 'open';
    isReplaced.value = sound.isMicrophoneReplaced;
    give(port);
  }
}
