// Talkgroups and memberships as clients see them. The master secret is in none of these shapes.
import { type Static, Type } from 'typebox';
import { InPages, OnePage } from '../http/paging.js';
import { Id, IdInPath, Text, Timestamp } from '../http/schemas.js';

const Name = Text('Name of the talkgroup; need not be unique');

export type FloorMode = Static<typeof FloorMode>;
const FloorMode = Type.Enum(['open', 'single', 'broadcast'], {
  description:
    'open: everybody may talk at once; single: one talker; broadcast: one talker, an admin or who is in an emergency',
});

const MaxTalkMs = Type.Refine(
  Type.Integer({
    minimum: 0,
    maximum: 3_600_000,
    description: 'Longest talk in single and broadcast, in ms: at least 1000, or 0 for no limit',
  }),
  (ms) => ms === 0 || ms >= 1000,
  () => 'must be 0 or >= 1000',
);

export const NewTalkgroup = Type.Object({ name: Name, floor_mode: Type.Optional(FloorMode) });

/** What is left out stays as it is. */
export type TalkgroupSettings = Static<typeof TalkgroupSettings>;
export const TalkgroupSettings = Type.Partial(
  Type.Object({ name: Name, floor_mode: FloorMode, max_talk_ms: MaxTalkMs }),
);

export const Talkgroup = Type.Object({
  id: Id,
  name: Type.String(),
  rotation_counter: Type.Integer(),
  created_at: Timestamp,
});

export const OneTalkgroup = Type.Object({ talkgroup: Talkgroup });

export const TalkgroupList = InPages({
  talkgroups: Type.Array(Type.Object({ talkgroup_id: Id, talkgroup: Talkgroup })),
});

/** All talkgroups, with or without the caller as a member. */
export const TalkgroupDirectory = OnePage({ talkgroups: Type.Array(Talkgroup) });

export const Member = Type.Object({
  user_id: Id,
  site: Type.String(),
  user: Type.Object({
    id: Id,
    username: Type.String(),
    role: Type.Union([Type.Literal('admin'), Type.Literal('user')]),
  }),
});

/** As in IdInPath, a malformed one names nothing. */
export const MemberInPath = Type.Object({ ...IdInPath.properties, user_id: Type.String() });

export const MemberList = InPages({ members: Type.Array(Member) });
