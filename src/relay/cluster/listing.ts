// Lists in turn the talkgroups with receivers here, so that the other relays notice what they did not hear.
//
// A relay numbers its messages about a talkgroup. A lost one shows with the next one, and a talkgroup where nothing more
// is said would stay wrong. So each relay says every 5 s the number of its last message about each talkgroup that it has
// receivers of, a twentieth of them with each beacon: 8 bytes each. A relay that knows another number asks.
import { BEACON_MS } from '../nodes/peers/peers.js';

/** Each talkgroup is listed once in so many beacons: in 5 s. */
const PARTS = 20;
/** A talkgroup that was not listed for this time (ms) may have lost its last receiver. */
export const UNLISTED_MS = PARTS * BEACON_MS + 2500;
/** Talkgroups in one message: 256 KiB. */
const ENTRIES_MAX = 32_768;
/** u32 number of the talkgroup, u32 number of the last message about it. */
const ENTRY_BYTES = 8;

/** Collects one part after the other. */
export class Listing {
  private part = 0;
  private entries: number[] = [];

  /** The talkgroup has receivers here. It is listed if it is its turn. */
  offer(number: number, seq: number): void {
    if (number % PARTS === this.part) this.entries.push(number, seq);
  }

  /** The messages that list this part. The next one begins. */
  next(): Uint8Array[] {
    const { entries } = this;
    this.entries = [];
    this.part = (this.part + 1) % PARTS;
    const messages: Uint8Array[] = [];
    for (let from = 0; from < entries.length; from += 2 * ENTRIES_MAX) {
      const piece = entries.slice(from, from + 2 * ENTRIES_MAX);
      const view = new DataView(new ArrayBuffer(4 * piece.length));
      for (const [index, value] of piece.entries()) view.setUint32(4 * index, value);
      messages.push(new Uint8Array(view.buffer));
    }
    return messages;
  }
}

/** Hands each entry to `hear`. false: the bytes are no listing. */
export function readListing(bytes: Uint8Array, hear: (number: number, seq: number) => void): boolean {
  if (bytes.byteLength % ENTRY_BYTES !== 0) return false;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 0; at < bytes.byteLength; at += ENTRY_BYTES) hear(view.getUint32(at), view.getUint32(at + 4));
  return true;
}
