// Repeats what may have been lost of shared floors, and ends waits that are over, while there is such a thing.
import type { Clock, Timer } from '../clock.js';
import type { Talkgroup } from '../members/members.js';
import type { SharedAuthority } from './authority.js';
import type { Turns } from './turns/turns.js';

/** Time (ms) between two looks at what must be repeated or is held back. */
const REPEAT_MS = 20;

export interface RepeatsOptions {
  readonly floors: () => Pick<SharedAuthority, 'repeating' | 'repeat'>;
  readonly clock: Clock;
  readonly log: { error(fields: object, message: string): void };
}

/** Without a timer while there is nothing. */
export function createRepeats({ floors, clock, log }: RepeatsOptions) {
  const { nowMs } = clock;
  /** Those that hold something back. */
  const waiting = new Set<Turns>();
  let timer: Timer | null = null;
  let isClosed = false;

  /** One that fails leaves the others alone. */
  function guarded(talkgroup: Talkgroup, act: () => void): void {
    try {
      act();
    } catch (error) {
      log.error({ talkgroup: talkgroup.id, err: error }, 'a shared floor failed');
    }
  }

  function repeat(): void {
    for (const turns of waiting)
      guarded(turns.talkgroup, () => {
        if (!turns.tick(nowMs())) waiting.delete(turns);
      });
    let isNeeded = waiting.size > 0;
    for (const talkgroup of floors().repeating()) {
      isNeeded = true;
      guarded(talkgroup, () => floors().repeat(talkgroup, nowMs()));
    }
    if (isNeeded || timer === null) return;
    clock.stop(timer);
    timer = null;
  }

  /**
   * Something may have to be repeated. The first repetition ends the timer when there is nothing: a question here would walk
   * all floors, and a relay that comes or goes asks it for each floor.
   */
  function busy(): void {
    if (timer === null && !isClosed) timer = clock.every(REPEAT_MS, repeat);
  }

  return {
    busy,
    /** These hold something back. */
    holding(turns: Turns): void {
      waiting.add(turns);
      busy();
    },
    close(): void {
      isClosed = true;
      if (timer !== null) clock.stop(timer);
      timer = null;
    },
  };
}
