// Describes what a floor that several relays share uses of the cluster: who decides it, the messages, and what plays here.
import type { EndCode } from '../../protocol/codes.js';
import type { Turn } from '../../protocol/turn.js';
import type { Claim } from '../floor/claim.js';
import type { Talkgroup } from '../members/members.js';
import type { Part, PartVerdicts, Settings } from './parts.js';

/** Who shares the floor of a talkgroup, as this relay sees it now. */
export interface View {
  /** Id of the relay that decides. */
  readonly home: number;
  /** The relays with members there that can be reached, this one included. */
  readonly relays: readonly number[];
}

/** A grant: its turn, the last turn that had begun before it, and how that one ended. */
export interface Placed {
  readonly turn: Turn;
  readonly after: Turn;
  readonly afterCode: EndCode;
}

/** A burst of another relay that plays here. */
export interface PlayedTalk {
  readonly relay: number;
  readonly claim: Claim;
  readonly turn: Turn;
  /** When it began (monotonic ms). */
  readonly startedAtMs: number;
  /** When its last frame came here, or its start (monotonic ms). */
  readonly frameAtMs: number;
}

/** The order in which bursts of one talkgroup play here. */
export interface Turns {
  /** The highest turn that plays or ended here. */
  readonly top: Turn;
  /** The same, with what is held back. */
  readonly seen: Turn;
  /** The burst of another relay that plays here. */
  readonly played: PlayedTalk | null;
  /** No burst with this turn can begin here any more. */
  isPast(turn: Turn): boolean;
  /**
   * A session of this relay has the floor. `ready`: it may begin now. `held`: `SharedAuthority.ready` is called when it may.
   * `past`: it never may. The same grant may be asked for again and again. `rank` is that of its claim.
   */
  grant(placed: Placed, rank: number, nowMs: number): 'ready' | 'held' | 'past';
  /** The grant was given up, or taken away, before it was ready. */
  withdraw(turn: Turn): void;
  /** Ends the burst of another relay that plays here: a session of this relay begins without the word of a home. */
  interrupt(nowMs: number): void;
}

/** The carrier of one relay. What it is told to send arrives once, late, or not at all. */
export interface FloorLink {
  /** Id of this relay. */
  readonly relay: number;
  view(talkgroup: Talkgroup): View;
  turns(talkgroup: Talkgroup): Turns;
  settings(talkgroup: Talkgroup): Settings;
  /** Another relay has read newer settings. Calls `change` of the authority before it returns. */
  adopt(talkgroup: Talkgroup, settings: Settings): void;
  sendPart(talkgroup: Talkgroup, to: number, part: Part): void;
  sendVerdicts(talkgroup: Talkgroup, to: number, verdicts: PartVerdicts): void;
  /** Asks a relay for its part. */
  want(talkgroup: Talkgroup, to: number, settings: Settings): void;
  /** Another relay takes this one for the home. Asks the relay that decides, as this one sees it, what it has there. */
  doubt(talkgroup: Talkgroup, home: number): void;
  /** The running burst of a session of this relay goes on with another turn: the other relays are told. */
  renewed(talkgroup: Talkgroup, session: number, placed: Placed, nowMs: number): void;
  /** Times that this session of this relay has moved to another one. undefined: it is not here. */
  moves?(session: number): number | undefined;
  /** A floor was made anew out of the parts of all relays. */
  rebuilt?(): void;
  /** A message about a floor shows that its relay takes another one for the home than this relay does. */
  differed?(): void;
}
