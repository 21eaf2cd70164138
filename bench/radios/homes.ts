// Says which of two nodes decides the floor of a talkgroup, as the relays reckon it themselves.
//
// The bench must know it to tell a decision on the own node from one on another, and no message says it.

/** Session numbers of a relay come in blocks of this many. The first number of its first block is its id. */
const BLOCK = 1_024;

/** Id of the relay that gave this session number, as long as it has given fewer than 1,024. */
export const relayOf = (session: number): number => Math.floor(session / BLOCK) * BLOCK;

/** The index of the relay that decides in this talkgroup, of relays that all have members there. */
export function homeAmong(relays: readonly number[], talkgroup: number): number {
  const weights = relays.map((relay) => weightOf(relay, talkgroup));
  return weights.indexOf(Math.max(...weights));
}

/** The last steps of MurmurHash3. */
function weightOf(relay: number, talkgroup: number): number {
  let mixed = Math.imul(relay, 0x9e3779b1) ^ Math.imul(talkgroup, 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
