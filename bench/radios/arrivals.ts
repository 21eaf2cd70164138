// Connects radios at a steady rate by the clock, from as many source addresses as their number needs.
import { around, nowMs } from '../machine/clock.js';
import type { Member } from './member.js';

export interface Arrivals<Radio> {
  readonly users: readonly Member[];
  /** Of the first of them. It chooses the source address. */
  readonly firstIndex: number;
  readonly perSecond: number;
  readonly connect: (member: Member, localAddress: string) => Radio;
}

const BATCH_MS = 10;
/** Radios under way. Beyond it none sets out, because a server that cannot follow is not to be drowned here. */
const UNDER_WAY_MAX = 500;

/** Resolves when all have joined. Rejects when one could not. */
export async function arrive<Radio extends { readonly joined: Promise<void> }>({
  users,
  firstIndex,
  perSecond,
  connect,
}: Arrivals<Radio>): Promise<readonly Radio[]> {
  const radios: Radio[] = [];
  const startMs = nowMs();
  let joined = 0;
  let failure: Error | null = null;
  for (let batch = 1; joined < users.length; batch++) {
    await around(startMs + batch * BATCH_MS);
    if (failure !== null) throw failure;
    const due = Math.min((batch * BATCH_MS * perSecond) / 1000, joined + UNDER_WAY_MAX, users.length);
    while (radios.length < due) {
      const member = users[radios.length];
      if (member === undefined) break;
      const radio = connect(member, sourceAddress(firstIndex + radios.length));
      radios.push(radio);
      radio.joined.then(
        () => joined++,
        (error: Error) => (failure = error),
      );
    }
  }
  return radios;
}

/**
 * With some 7,000 of an address's 28,232 ports taken, also by what was closed within the last minute, the kernel's search
 * for a free one takes milliseconds.
 */
const RADIOS_PER_ADDRESS = 1_000;

/** Any of 127.0.0.0/8 is this machine. 127.0.0.1 is left to everything else. */
export const sourceAddress = (index: number) => `127.0.0.${2 + Math.floor(index / RADIOS_PER_ADDRESS)}`;
