// Declares emergencies as clients see them, by REST and, with an event number, in the relay's EMERGENCY.

import { EXAMPLE } from '../examples.js';
import { InPages } from '../http/paging.js';
import { Id, Timestamp } from '../http/schemas.js';
import { Type } from '../typebox.js';

/** `raised`, then `acknowledged` by an administrator, then `cleared`. Only the first two are ever listed. */
const EmergencyState = Type.Enum(['raised', 'acknowledged', 'cleared'], {
  description: 'A list of open emergencies holds none that is `cleared`.',
});

const WHERE = 'Where the radio was when it raised the emergency. Absent when it did not know.';

export const Emergency = Type.Object(
  {
    emergency_id: Id,
    talkgroup_id: Id,
    user_id: Id,
    username: Type.String(),
    state: EmergencyState,
    lat: Type.Optional(Type.Number({ description: WHERE })),
    lng: Type.Optional(Type.Number({ description: WHERE })),
    alt: Type.Optional(Type.Number({ description: WHERE })),
    raised_at: Timestamp,
  },
  { title: 'Emergency' },
);

export const EmergencyList = InPages(
  { emergencies: Type.Array(Emergency) },
  {
    title: 'EmergencyList',
    description: 'The open emergencies.',
    examples: [
      {
        emergencies: [
          {
            emergency_id: EXAMPLE.emergency,
            talkgroup_id: EXAMPLE.talkgroup,
            user_id: EXAMPLE.user,
            username: 'ann',
            state: 'raised',
            lat: 52.52,
            lng: 13.405,
            alt: 34,
            raised_at: EXAMPLE.at,
          },
        ],
        next: null,
      },
    ],
  },
);
