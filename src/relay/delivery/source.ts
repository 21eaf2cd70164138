// Describes a talker as delivery uses it.
import type { Peer } from './peer.js';

/** One session that talks in one talkgroup. */
export interface Source {
  /** Number of its session. */
  readonly sender: number;
  /** null while the session has none. */
  readonly socket: Peer | null;
  /** Whether its audio may still be delivered. */
  mayTalk(): boolean;
}
