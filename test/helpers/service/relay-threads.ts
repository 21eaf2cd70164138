// Radios on a relay thread that the test chooses.
import type { Person, Radio } from './service.js';

/** A relay takes session numbers in blocks of this many, one block after the other. */
const BLOCK = 1024;

/** The block of the radio's session: radios with the same are on the same thread. As long as no thread has had 1,024. */
export const threadOf = ({ session }: Pick<Radio, 'session'>): number => Math.floor(session / BLOCK);

/** A radio of the person on this thread. Linux chooses, so it connects until it is there. */
export async function radioOn(thread: number, person: Pick<Person, 'radio'>): Promise<Radio> {
  for (;;) {
    const radio = await person.radio();
    if (threadOf(radio) === thread) return radio;
    radio.socket.close(1000);
    await radio.closes();
  }
}

/** Two relay threads, found by somebody who connects until both have answered. */
export async function twoThreads(scout: Pick<Person, 'radio'>): Promise<readonly [number, number]> {
  const found: number[] = [];
  while (found.length < 2) {
    const radio = await scout.radio();
    if (!found.includes(threadOf(radio))) found.push(threadOf(radio));
    radio.socket.close(1000);
    await radio.closes();
  }
  const [one = 0, other = 0] = found;
  return [one, other];
}
