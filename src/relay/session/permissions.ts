// Follows the permissions of a session in a talkgroup: what it hears, and what it has of the floor.
import type { Holding } from '../delivery/holding.js';
import type { FloorControl } from '../floor/control.js';
import type { Talk } from '../floor/talk.js';
import { type Membership, mayBeClear } from '../members/members.js';
import type { Reception } from '../reception/reception.js';

/** A session as its permissions change it. */
interface Permitted {
  readonly reception: Pick<Reception, 'unhear' | 'followKeys'>;
  /** No client can resume it any more. */
  readonly isOver: boolean;
  talkAt(number: number): Talk | undefined;
  /** Calls `act` in the next turn of the loop. */
  later(act: () => void): void;
}

interface PermissionServices {
  readonly floor: Pick<FloorControl, 'withdraw' | 'remove'>;
  readonly holding: Pick<Holding, 'discard'>;
  readonly nowMs: () => number;
}

/** The membership is withdrawn: it hears nothing, and asks for nothing. */
export function withdraw(session: Permitted, membership: Membership, services: PermissionServices): void {
  session.reception.unhear(membership);
  const talk = session.talkAt(membership.talkgroup.number);
  if (talk === undefined) return;
  services.holding.discard(talk.feed, talk);
  services.floor.withdraw(talk, services.nowMs());
}

/** Whether it gets the talkgroup's audio may have changed. Without that it has no part of the floor. */
export function followKeys(session: Permitted, membership: Membership, services: PermissionServices): void {
  session.reception.followKeys(membership);
  const talk = session.talkAt(membership.talkgroup.number);
  if (talk === undefined || membership.mayHear || mayBeClear(membership)) return;
  // Also while it asks: a talker that always asks for what it has would keep its burst.
  const texts = services.floor.remove(talk, 'mode', services.nowMs());
  if (texts.length === 0) return;
  session.later(() => {
    if (!session.isOver) for (const text of texts) text(services.nowMs());
  });
}
