// Declares the counts of missed recordings as clients see them.
import { EXAMPLE } from '../../examples.js';
import { Id, Timestamp } from '../../http/schemas.js';
import { Type } from '../../typebox.js';
import { Time } from '../schemas.js';
import { COUNT_MAX } from './store.js';

const Count = (description: string, minimum: number) =>
  Type.Integer({ description, minimum, maximum: COUNT_MAX });

export const MissedList = Type.Object(
  {
    since: Type.String({
      format: 'date-time',
      description: 'From when on they were counted: the given time, or 24 hours ago when that is later.',
    }),
    talkgroups: Type.Array(
      Type.Object({
        talkgroup_id: Id,
        recordings: Count(`Recordings of others. ${COUNT_MAX} means ${COUNT_MAX} or more.`, 1),
        emergencies: Count(
          `Recordings of others with an open emergency of their talker, also beyond the first ${COUNT_MAX}. ${COUNT_MAX} means ${COUNT_MAX} or more.`,
          0,
        ),
        first_at: Timestamp,
        last_at: Timestamp,
      }),
      { description: 'Those with a missed recording, in the order of their ids.' },
    ),
  },
  {
    title: 'MissedList',
    description: 'Counts for each talkgroup.',
    examples: [
      {
        since: EXAMPLE.at,
        talkgroups: [
          {
            ...{ talkgroup_id: EXAMPLE.talkgroup, recordings: 12, emergencies: 1 },
            ...{ first_at: EXAMPLE.at, last_at: EXAMPLE.at },
          },
        ],
      },
    ],
  },
);

export const MissedQuery = Type.Object({
  since: Time(
    'When the caller last had live audio, at most 24 h back. Recordings that began then or later count. A call that began before is left out, also when the connection broke in it.',
  ),
  until: Type.Optional(Time('When it had live audio again. Without it until now.')),
});
