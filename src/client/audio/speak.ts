// Sends prepared packets at the speed of live speech, as a microphone would deliver them.
import { type Clock, systemClock } from '../clock.js';
import type { Talk } from '../talking/talk.js';

/** Packet `i` was due at `startedAtMs + i * packetMs`, by the given clock. */
export type Spoken = { startedAtMs: number; packetMs: number; packetsDue: number };

const ASKING = new Set<Talk['state']['kind']>(['idle', 'requested', 'queued']);

/**
 * Sends each packet at its due time and ends the talk with the last one. If the talk requests the floor first, the first
 * packet is due at the grant. Stops early when the talk ends or `signal` aborts. The talk drops packets that are more
 * than 500 ms late.
 */
export async function speak({
  talk,
  packets,
  packetMs,
  clock = systemClock,
  signal,
}: {
  talk: Talk;
  packets: readonly Uint8Array[];
  packetMs: number;
  clock?: Clock;
  signal?: AbortSignal | undefined;
}): Promise<Spoken> {
  await untilAllowed(talk, signal);
  const startedAtMs = clock.nowMs();
  let isOver = false;
  void talk.ended.then(() => {
    isOver = true;
  });
  for (const [i, packet] of packets.entries()) {
    // Measured from the start and not from the packet before, so that errors of timers do not add up.
    const dueAtMs = startedAtMs + i * packetMs;
    await until(dueAtMs, clock);
    if (isOver || signal?.aborted) {
      talk.end();
      return { startedAtMs, packetMs, packetsDue: i };
    }
    if (i < packets.length - 1) talk.send(packet, { capturedAtMs: dueAtMs });
    else talk.end(packet, { capturedAtMs: dueAtMs });
  }
  return { startedAtMs, packetMs, packetsDue: packets.length };
}

/** Resolves when the floor is granted or denied. A talk that requests it with its first frame does not wait. */
function untilAllowed(talk: Talk, signal: AbortSignal | undefined): Promise<void> {
  const isAsking = () => talk.floor !== 'first_frame' && ASKING.has(talk.state.kind);
  return new Promise((resolve) => {
    if (!isAsking() || signal?.aborted) return resolve();
    const done = () => {
      stop();
      signal?.removeEventListener('abort', done); // it may live as long as the app
      resolve();
    };
    const stop = talk.on('state', () => {
      if (!isAsking()) done();
    });
    signal?.addEventListener('abort', done, { once: true });
  });
}

async function until(dueAtMs: number, clock: Clock): Promise<void> {
  // In a loop, because a timer may fire up to 1 ms early.
  for (let leftMs = dueAtMs - clock.nowMs(); leftMs > 0; leftMs = dueAtMs - clock.nowMs()) {
    await new Promise<void>((resolve) => clock.after(leftMs, resolve));
  }
}
