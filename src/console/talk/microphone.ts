// Opens and closes the microphone of the page, and knows why there is none.
import { type ReadonlySignal, type Signal, signal } from '@preact/signals';
import type { MicrophoneReason, Sound } from '../sound/sound-types.js';

/** `closed`: not asked for yet, or only opened by a press. `lost`: it was open, and the device went away. */
export type MicrophoneState = 'closed' | 'asking' | 'open' | 'lost' | MicrophoneReason;

export type MicrophoneControl = {
  readonly state: ReadonlySignal<MicrophoneState>;
  /** Asks the user if need be. Does nothing while it is open. */
  open(): void;
  close(): void;
};

type Port = Awaited<ReturnType<Sound['openMicrophone']>>;

/** `give` passes the port on to the worker, null when there is no microphone any more. `lost`: the device went away. */
export function createMicrophoneControl(
  sound: Pick<Sound, 'openMicrophone' | 'closeMicrophone' | 'onMicrophoneLost'>,
  { give, lost }: { give(port: Port | null): void; lost(): void },
): MicrophoneControl {
  const state: Signal<MicrophoneState> = signal('closed');
  sound.onMicrophoneLost = () => {
    if (state.peek() !== 'open') return;
    sound.closeMicrophone();
    state.value = 'lost';
    lost();
    give(null);
  };
  return {
    state,
    open() {
      if (state.peek() === 'open' || state.peek() === 'asking') return;
      state.value = 'asking';
      sound.openMicrophone().then(opened, (error: { reason?: MicrophoneReason }) => {
        state.value = error.reason ?? 'failed';
      });
    },
    close() {
      if (state.peek() === 'open') {
        sound.closeMicrophone();
        give(null);
      }
      state.value = 'closed';
    },
  };

  function opened(port: Port): void {
    // Closed while the user was asked.
    if (state.peek() === 'closed') return sound.closeMicrophone();
    state.value = 'open';
    give(port);
  }
}
