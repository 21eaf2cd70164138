// Declares the erasure of many recordings.
import { Type } from '../../typebox.js';
import { IdInQuery, TimeInQuery } from '../schemas.js';

export const ErasureQuery = Type.Object({
  user_id: IdInQuery('Erase recordings of this talker, or send `talkgroup_id`.'),
  talkgroup_id: IdInQuery('Erase recordings of this talkgroup, or send `user_id`.'),
  since: TimeInQuery('Only recordings that began then or later.'),
  until: TimeInQuery('Only recordings that began before.'),
});

export const Erasure = Type.Object(
  {
    erased: Type.Integer({ description: 'Recordings that this request erased, at most 500.' }),
    held: Type.Integer({
      description:
        'Of all recordings that the request means, the number of those that a legal hold keeps. 10000 means 10000 or more.',
    }),
    more: Type.Boolean({ description: 'Whether others are left: send the same request again.' }),
  },
  {
    title: 'Erasure',
    description: 'Success.',
    examples: [{ erased: 500, held: 0, more: true }],
  },
);
