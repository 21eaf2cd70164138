// Describes what is known of a radio that may hear nothing, and of what the findings are made.
import type { RejectionFacts, SessionFacts } from '../../db/session-reports.js';
import type { Reach } from '../../protocol/codes.js';
import type { OneUser } from '../schemas.js';
import type { InQuestion } from './store.js';

export interface FoundSession extends SessionFacts {
  readonly node: string;
  readonly thread: string;
  readonly reach: Reach | null;
  /** Relay threads that its own one reaches, with itself. */
  readonly relays: number;
}

export interface FoundRejection extends RejectionFacts {
  readonly node: string;
}

/** All times are those of the database, as ISO 8601 with milliseconds, so that they can be compared as texts. */
export interface Facts {
  readonly shown: OneUser;
  /** null: the question names none. */
  readonly talkgroup: InQuestion | null;
  /** Nodes. */
  readonly asked: number;
  readonly answered: number;
  /** Relay threads that answered, and the most that one of them knows of. */
  readonly relays: { readonly answered: number; readonly known: number };
  /** Nodes that reach none of the others, although others answered. */
  readonly alone: readonly string[];
  readonly sessions: readonly FoundSession[];
  /** The newest first. */
  readonly rejected: readonly FoundRejection[];
  /** When a session of the user was last opened. null: no relay knows of one. */
  readonly admittedAt: string | null;
  /** When audio was last relayed in the talkgroup. null: no relay knows of any. */
  readonly audioAt: string | null;
  readonly unixMs: number;
}
