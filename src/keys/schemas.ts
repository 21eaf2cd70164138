// Declares the rotation counter, from which clients derive the current key. No schema has the master secret.
import { Type } from 'typebox';
import { EXAMPLE } from '../examples.js';
import { Id, shownId } from '../http/schemas.js';

/** Query of GET. */
export const TalkgroupQuery = Type.Object({
  talkgroup_id: shownId('Id of the talkgroup.', EXAMPLE.talkgroup),
});

/** Body of POST. */
export const OfTalkgroup = Type.Object(
  { talkgroup_id: Type.String({ description: 'Id of the talkgroup.' }) },
  { title: 'OfTalkgroup', examples: [{ talkgroup_id: EXAMPLE.talkgroup }] },
);

export const Rotation = Type.Object(
  {
    talkgroup_id: Id,
    rotation_counter: Type.Integer({ description: 'Clients derive the current key from it. Starts at 0.' }),
  },
  {
    title: 'Rotation',
    description: 'The counter.',
    examples: [{ talkgroup_id: EXAMPLE.talkgroup, rotation_counter: 3 }],
  },
);
