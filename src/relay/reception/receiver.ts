// Describes what a reception uses: its session, and the parts of the relay.
import type { Fanout } from '../delivery/fanout.js';
import type { Holding } from '../delivery/holding.js';
import type { Counts } from '../figures/counts.js';
import type { LiveSession, Talkgroup } from '../members/members.js';
import type { Presence } from '../presence/presence.js';
import type { FairClock } from './fair-clock.js';

/** A session as its reception uses it. */
export interface Receiver extends LiveSession {
  /** Is told which ping (ms) the client answered. */
  readonly telling: { answered(sentAtMs: number): void };
  /** Frames of its own ever relayed in the talkgroup. */
  ownFrames(talkgroup: Talkgroup): number;
  /** Whether the only running burst in the talkgroup with this number is its own: own frames do not come back to it. */
  talksAlone(talkgroup: number): boolean;
  send(text: string): void;
  /** Calls `act` in the next turn of the loop. */
  later(act: () => void): void;
}

/** A receiver that owes an answer to a ping. */
export interface Unanswered {
  /** Number of its session. */
  readonly number: number;
  /** Called while the answer is due, after the sockets were read. */
  judge(fairMs: number): void;
  /** How late it is (ms), as section 4 of the protocol page counts it. */
  lagMs(fairMs: number): number;
}

export interface ReceptionServices {
  readonly limits: { readonly backlogMs: number; readonly lagPingMs: number };
  readonly fanout: Pick<Fanout, 'mayDropText'>;
  readonly holding: Pick<Holding, 'open'>;
  readonly presence: Pick<Presence, 'watch' | 'came' | 'went'>;
  readonly counts: Pick<Counts, 'behind' | 'lagging' | 'missed'>;
  /** Those that owe an answer to a ping. */
  readonly unanswered: { add(receiver: Unanswered): void; delete(receiver: Unanswered): void };
  readonly fair: FairClock;
  readonly nowMs: () => number;
  readonly log: { info(fields: object, message: string): void };
}
