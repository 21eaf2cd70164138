// The conversation with the relay about positions: WATCH, again after each reconnect, and UNWATCH.
import { type ReadonlySignal, signal } from '@preact/signals';

export type WatchMessage =
  | { readonly type: 'WATCH'; readonly talkgroup_ids: readonly string[]; readonly interval_ms: number }
  | { readonly type: 'UNWATCH' };

export interface WatchPort {
  /** Rejects with an error that has the `code` of the relay, or of the radio when it is not connected. */
  request(message: WatchMessage): Promise<unknown>;
}

export type WatchState =
  | { readonly phase: 'off' | 'asking' | 'watching' }
  /** The relay has rejected it. It is asked again when `isPassing`. */
  | { readonly phase: 'rejected'; readonly code: string; readonly isPassing: boolean };

export interface Watch {
  readonly state: ReadonlySignal<WatchState>;
  /** Replaces what was watched before. An empty list ends it. */
  watch(talkgroupIds: readonly string[]): void;
  /** The radio is connected, for the first time or anew. */
  connected(): void;
  disconnected(): void;
  /** The tab is closed or hidden. */
  stop(): void;
}

/** The most talkgroups of one WATCH. */
export const WATCHED_TALKGROUPS = 32;
/** A batch a second keeps the lag of the map below that of the eye, at 35 bytes a moving device. */
const INTERVAL_MS = 1000;
/** The relay takes two WATCH a second. */
const AGAIN_MS = 2000;

const PASSING = new Set(['rate_limited', 'unavailable', 'timeout', 'internal']);

export function createWatch(
  port: WatchPort,
  /** Runs later. Returns a function that cancels it. */
  after: (ms: number, run: () => void) => () => void,
): Watch {
  const state = signal<WatchState>({ phase: 'off' });
  let wanted: readonly string[] = [];
  let isConnected = false;
  let isAsked = false;
  let asking = 0;
  let cancelAgain: (() => void) | null = null;

  function renew(): void {
    cancelAgain?.();
    cancelAgain = null;
    // An answer to an earlier message says nothing about this one.
    asking += 1;
    if (!isConnected) {
      isAsked = false;
      state.value = { phase: wanted.length > 0 ? 'asking' : 'off' };
    } else if (wanted.length > 0) void ask(asking);
    else leave();
  }

  async function ask(own: number): Promise<void> {
    state.value = { phase: 'asking' };
    isAsked = true;
    try {
      await port.request({ type: 'WATCH', talkgroup_ids: wanted, interval_ms: INTERVAL_MS });
      if (own === asking) state.value = { phase: 'watching' };
    } catch (error) {
      if (own === asking) rejected(codeOf(error));
    }
  }

  function rejected(code: string): void {
    // `connected` asks again.
    if (code === 'disconnected') return;
    const isPassing = PASSING.has(code);
    state.value = { phase: 'rejected', code, isPassing };
    if (isPassing) cancelAgain = after(AGAIN_MS, renew);
  }

  function leave(): void {
    state.value = { phase: 'off' };
    if (!isAsked) return;
    isAsked = false;
    // A rejection changes nothing: the connection was lost, and with it what was watched.
    port.request({ type: 'UNWATCH' }).catch(() => undefined);
  }

  return {
    state,
    watch(talkgroupIds) {
      wanted = talkgroupIds.slice(0, WATCHED_TALKGROUPS);
      renew();
    },
    connected() {
      isConnected = true;
      renew();
    },
    disconnected() {
      if (!isConnected) return;
      isConnected = false;
      renew();
    },
    stop() {
      wanted = [];
      renew();
    },
  };
}

function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : null;
  return typeof code === 'string' ? code : 'internal';
}
