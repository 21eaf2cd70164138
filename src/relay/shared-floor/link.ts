// Describes what a floor that several relays share uses of what is above it: who decides it, and the messages.
import { NO_TURN } from '../../protocol/turn.js';
import type { Talkgroup } from '../members/members.js';
import type { Part, PartVerdicts, Placed, Settings } from './bodies.js';
import type { Turns } from './turns/turns.js';

/** Who shares the floor of a talkgroup, as this relay sees it now. */
export interface View {
  /** Id of the relay that decides. */
  readonly home: number;
  /** The relays with members there that can be reached, this one included. */
  readonly relays: readonly number[];
}

/** What a floor needs of the turns of its talkgroup. */
export type TurnsHere = Pick<
  Turns,
  'top' | 'seen' | 'played' | 'isPast' | 'grant' | 'withdraw' | 'interrupt'
>;

/** Of a talkgroup that no other relay can hear. */
export const NO_TURNS: TurnsHere = {
  top: NO_TURN,
  seen: NO_TURN,
  played: null,
  isPast: () => false,
  grant: () => 'ready',
  withdraw() {},
  interrupt() {},
};

/** The carrier of one relay. What it is told to send arrives once, late, or not at all. */
export interface FloorLink {
  /** Id of this relay. */
  readonly relay: number;
  view(talkgroup: Talkgroup): View;
  turns(talkgroup: Talkgroup): TurnsHere;
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
  /** There may be something to repeat from now on. */
  busy(): void;
}
