// Declares who listened to recordings, as administrators see it.
import { EXAMPLE } from '../../examples.js';
import { beforeInQuery, limitInQuery, PageBefore } from '../../http/paging.js';
import { Id, Timestamp } from '../../http/schemas.js';
import { Type } from '../../typebox.js';
import { EXAMPLE_ID, IdInQuery, Nullable } from '../schemas.js';

/** Entries of a page without `limit`. */
export const READS_PRESET = 100;

export const ReadQuery = Type.Object({
  recording_id: IdInQuery('Only those of this recording.'),
  reader_id: IdInQuery('Only those of this user.'),
  limit: limitInQuery({ maximum: 200, preset: READS_PRESET }),
  before: beforeInQuery('an entry'),
});

const Read = Type.Object(
  {
    id: Type.Integer({ minimum: 1, description: 'Orders the entries.' }),
    at: Timestamp,
    reader_id: Type.Union([Id, Type.Null()], { description: 'The user. null: a command.' }),
    reader_name: Type.String({
      description: 'The username, or `command` with the account of the system.',
    }),
    recording_id: Id,
    of_key: Type.Boolean({ description: 'The reader got the key of the recording. Otherwise its frames.' }),
    talkgroup_id: Nullable(Id),
    talkgroup_name: Nullable(Type.String({ description: 'When the recording began.' })),
  },
  { title: 'Read' },
);

export const ReadList = PageBefore(
  {
    reads: Type.Array(Read),
  },
  {
    title: 'ReadList',
    description: 'One page, the newest first.',
    examples: [
      {
        reads: [
          {
            ...{ id: 17, at: EXAMPLE.at, reader_id: EXAMPLE.user, reader_name: 'ann' },
            recording_id: EXAMPLE_ID,
            of_key: false,
            ...{ talkgroup_id: EXAMPLE.talkgroup, talkgroup_name: 'Fire 1' },
          },
        ],
        next: null,
      },
    ],
  },
);
