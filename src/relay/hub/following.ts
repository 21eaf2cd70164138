// Lets the watches of positions follow the permissions of their sessions.
import type { Positions } from '../positions/positions.js';
import type { RightsChanges } from '../rights/settle.js';

/** The same changes, of which the watches hear, too: behind what the sessions are told. */
export const followingPositions = (effects: RightsChanges, positions: () => Positions): RightsChanges => ({
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
  deleted(talkgroup) {
    effects.deleted(talkgroup);
    for (const membership of talkgroup.memberships) positions().left(membership);
  },
});
