// Declares legal holds as clients see them.
import { EXAMPLE } from '../../examples.js';
import { OnePage } from '../../http/paging.js';
import { Id, idInPath, Text, Timestamp } from '../../http/schemas.js';
import { Type } from '../../typebox.js';
import { readTime } from '../schemas.js';

const TimeInBody = (description: string) =>
  Type.Refine(
    Type.String({ description: `${description} ISO 8601 with a zone.` }),
    (text) => readTime(text) !== null,
    () => 'must be a time in ISO 8601 with a zone',
  );

const example = {
  hold_id: 'c4b0f6d2-8a17-4e59-b3d1-6f2e9a7c5048',
  talkgroup_id: EXAMPLE.talkgroup,
  talkgroup_name: 'Fire 1',
  ...{ from: '2025-12-31T14:00:00.000Z', to: '2025-12-31T15:00:00.000Z', reason: 'Case 4711' },
  ...{ created_by: EXAMPLE.user, created_by_name: 'admin', created_at: EXAMPLE.at },
};

export const NewHold = Type.Object(
  {
    talkgroup_id: Type.String({ description: 'Id of the talkgroup. It may have been deleted.' }),
    from: TimeInBody('The hold covers recordings of which some was said then or later.'),
    to: TimeInBody('And some before. It is not in the future.'),
    reason: Text('Why, 1 to 128 characters. Administrators see it.'),
  },
  {
    examples: [
      {
        ...{ talkgroup_id: example.talkgroup_id, from: example.from, to: example.to },
        reason: example.reason,
      },
    ],
  },
);

const Hold = Type.Object(
  {
    hold_id: Id,
    talkgroup_id: Id,
    talkgroup_name: Type.String({ description: 'When the hold was created.' }),
    from: Timestamp,
    to: Timestamp,
    reason: Type.String(),
    created_by: Id,
    created_by_name: Type.String(),
    created_at: Timestamp,
  },
  { title: 'Hold' },
);

export const OneHold = Type.Object(
  { hold: Hold },
  { title: 'OneHold', description: 'The legal hold.', examples: [{ hold: example }] },
);

export const HoldList = OnePage(
  { holds: Type.Array(Hold) },
  {
    title: 'HoldList',
    description: 'One page of legal holds.',
    examples: [{ holds: [example], next: null }],
  },
);

export const HoldInPath = idInPath('Id of the legal hold.', example.hold_id);
