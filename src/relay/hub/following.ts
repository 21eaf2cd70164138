// Lets the watches of positions and the tapes follow changes of rights and settings.
import type { Positions } from '../positions/positions.js';
import type { RightsChanges } from '../rights/settle.js';
import type { Tapes } from '../taping/tapes.js';

interface Followers {
  readonly positions: () => Positions;
  readonly tapes: Pick<Tapes, 'follow'>;
}

/** The same changes, of which the followers hear, too: behind what the sessions are told. */
export const following = (effects: RightsChanges, { positions, tapes }: Followers): RightsChanges => ({
  ...effects,
  withdrawn(membership) {
    positions().withdrawn(membership);
    effects.withdrawn(membership);
  },
  granted(membership) {
    effects.granted(membership);
    positions().granted(membership);
  },
  left(membership) {
    effects.left(membership);
    positions().left(membership);
  },
  changed(talkgroup) {
    effects.changed(talkgroup);
    tapes.follow(talkgroup);
  },
  deleted(talkgroup) {
    effects.deleted(talkgroup);
    for (const membership of talkgroup.memberships) positions().left(membership);
  },
});
