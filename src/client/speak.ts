// Speaks packets in time, as a microphone would deliver them.
import { type Clock, systemClock } from './clock.js';
import type { Talk } from './talking.js';

/** When packet `i` was due: `startedAtMs + i * packetMs`, by the clock given. */
export type Spoken = { startedAtMs: number; packetMs: number; packetsDue: number };

/**
 * Sends each packet at its own deadline and ends the burst with the last; stops early when the burst is over or
 * `signal` aborts, ending the burst. Packets half a second late are left out by the burst itself.
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
  const startedAtMs = clock.nowMs();
  let isOver = false;
  void talk.ended.then(() => {
    isOver = true;
  });
  for (const [i, packet] of packets.entries()) {
    // Measured from the start, not from the packet before: no error adds up, and a late timer is made up for.
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

async function until(dueAtMs: number, clock: Clock): Promise<void> {
  // Again and again: a timer may fire up to a millisecond early.
  for (let leftMs = dueAtMs - clock.nowMs(); leftMs > 0; leftMs = dueAtMs - clock.nowMs()) {
    await new Promise<void>((resolve) => clock.after(leftMs, resolve));
  }
}
