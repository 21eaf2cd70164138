// Follows whether the user hears, and tells until when.
import { computed, effect, type ReadonlySignal } from '@preact/signals';
import type { ConnectionView } from '../worker/messages.js';
import type { Missed } from './missed.js';

/** How often it is kept that the user still hears, in case the page is closed (ms). */
const OFTEN_MS = 10_000;

/** Until the page is left. */
export function followHearing({
  connection,
  soundState,
  missed,
}: {
  connection: ReadonlySignal<ConnectionView>;
  /** `on`: the user hears. */
  soundState: ReadonlySignal<unknown>;
  missed: Pick<Missed, 'heard' | 'lost' | 'back'>;
}): void {
  const isHearing = computed(() => connection.value.state === 'open' && soundState.value === 'on');
  let was = false;
  /** Unix time (ms) of the server at the start of the monotonic clock. It is read with each connection. */
  let originMs = 0;
  let opened = 0;
  const serverMs = () => originMs + performance.now();
  effect(() => {
    const { clockOffsetMs, opened: count } = connection.value;
    if (count === opened) return;
    opened = count;
    originMs = Date.now() + clockOffsetMs - performance.now();
  });
  effect(() => {
    const is = isHearing.value;
    if (is && !was) missed.back(serverMs());
    // The connection had been silent for some time before it was given up.
    if (was && !is) missed.lost(connection.peek().heardUntilMs ?? serverMs());
    was = is;
  });
  const still = () => {
    if (was) missed.heard(serverMs());
  };
  setInterval(still, OFTEN_MS);
  addEventListener('pagehide', still);
}
