// Numbered speech, for tests that count frames instead of time, and clocks by which it can be timed on a busy machine.
import type { Test } from 'tap';
import { comesTrue, eventually } from '../eventually.js';
import type { Radio } from '../service/service.js';

export const FRAMES_PER_SECOND = 50;
/** An Opus packet of 20 ms. */
const PAYLOAD_BYTES = 60;

export type Speech = ReturnType<typeof speech>;

/**
 * Talks until it is stopped or the test ends: 50 frames a second, the text of each its number, from 0. When the test's
 * own process stands still, nothing is said, and it is not made up for.
 */
export function speech(
  t: Test,
  radio: Radio,
  { number }: { readonly number: number },
  bytes = PAYLOAD_BYTES,
) {
  const saidAtMs: number[] = [];
  const timer = setInterval(() => {
    const said = saidAtMs.push(performance.now()) - 1;
    radio.speaks(number, String(said).padEnd(bytes), { start: said === 0 });
  }, 1000 / FRAMES_PER_SECOND);
  const stop = () => clearInterval(timer);
  t.teardown(stop);
  return {
    talker: radio.session,
    talkgroup: number,
    /** Frames said so far. */
    said: () => saidAtMs.length,
    /** When this frame was said (monotonic ms). */
    saidAtMs: (frame: number) => saidAtMs[frame] ?? Number.NaN,
    /** The longest time between two frames since this one (ms): so long the test's own process stood still. */
    pauseMsSince: (frame: number) =>
      Math.max(...saidAtMs.slice(frame).map((atMs, index) => atMs - (saidAtMs[frame + index - 1] ?? atMs))),
    /** Resolves when so many more were said. */
    async goesOn(frames: number): Promise<void> {
      const end = saidAtMs.length + frames;
      await comesTrue(`frame ${end}`, () => saidAtMs.length >= end);
    },
    stop,
  };
}

/**
 * The relay's own clock, told to a radio that keeps up by its pings: they stand between the frames. It does not run
 * while the relay stands still, so what takes it 2.5 s takes 2.5 s of it on a busy machine, too.
 */
export function relayClock({ socket, frames }: Radio, { talker, talkgroup }: Speech) {
  const pings: { readonly frame: number; readonly ms: number }[] = [];
  socket.on('ping', (text: Buffer) => {
    const heard = frames.findLast((frame) => frame.sender === talker && frame.talkgroup === talkgroup);
    if (heard !== undefined) pings.push({ frame: Number(heard.text), ms: Number(text) });
  });

  /** When it relayed this frame (ms), reckoned from the pings on both sides of it. NaN before the later one came. */
  function at(frame: number): number {
    const after = pings.find((ping) => ping.frame >= frame);
    if (after === undefined) return Number.NaN;
    const before = pings.findLast((ping) => ping.frame < frame);
    if (before === undefined) return after.ms - ((after.frame - frame) * 1000) / FRAMES_PER_SECOND;
    const part = (frame - before.frame) / (after.frame - before.frame);
    return before.ms + part * (after.ms - before.ms);
  }

  return {
    /** Its time from one frame to another (ms). Waits until it is known, for which the speech must go on. */
    async between(from: number, to: number): Promise<number> {
      await comesTrue(`a ping behind frame ${to}`, () => !Number.isNaN(at(to)));
      return Math.round(at(to) - at(from));
    },
  };
}

/**
 * What `act` returns the first time that this process did not stand still for half a second meanwhile: that would be a
 * pause of all its radios. On a machine too busy for it, it fails after a while.
 */
export const undisturbed = <T>(talk: Speech, act: () => Promise<T>): Promise<T> =>
  eventually(async () => {
    const from = talk.said();
    const result = await act();
    const pauseMs = talk.pauseMsSince(from);
    if (pauseMs > 500) throw new Error(`the test itself stood still for ${pauseMs} ms`);
    return result;
  });
