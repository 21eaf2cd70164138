// Describes how bursts are recorded, as floor control and the moves of sessions use it.
import type { EndCode } from '../../protocol/codes.js';
import type { MovedTape, Tape } from '../delivery/tape.js';
import type { MovedBurst } from './moved-burst.js';
import type { Talk } from './talk.js';

export interface Taping {
  /** A burst begins here. null: it is not recorded. */
  begin(talk: Talk): Tape | null;
  /** A burst of another relay goes on here. undefined: it was not recorded there. */
  goOn(talk: Talk, moved: MovedTape | undefined): Tape | null;
  /** It may not. */
  endMoved(talk: Talk, moved: MovedBurst, code: EndCode): void;
}
