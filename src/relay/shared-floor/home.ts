// Picks the relay that decides a talkgroup's floor, out of those with members there. Each relay reckons it for itself.

/** Mixes the bits of a 32-bit number (the last steps of MurmurHash3), so that near ids get weights far apart. */
function mix32(value: number): number {
  let mixed = value | 0;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

/** Weight of a relay for the talkgroup with this number, 0 to 2^32 - 1. */
export const weightOf = (relay: number, talkgroup: number): number =>
  mix32(Math.imul(relay, 0x9e3779b1) ^ Math.imul(talkgroup, 0x85ebca6b));

/**
 * The relay of greatest weight, the lower id of two with the same weight. `relays` are those that can be reached and have
 * members there, in any order, and the own one is always among them. One that ends soon is the home of no talkgroup that
 * another one can decide.
 */
export function homeOf(
  relays: readonly number[],
  talkgroup: number,
  isDraining: (relay: number) => boolean = () => false,
): number {
  const staying = relays.filter((relay) => !isDraining(relay));
  let home = 0;
  let best = -1;
  for (const relay of staying.length > 0 ? staying : relays) {
    const weight = weightOf(relay, talkgroup);
    if (weight < best || (weight === best && relay > home)) continue;
    best = weight;
    home = relay;
  }
  return home;
}
