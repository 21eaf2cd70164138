// Talkgroups and memberships as clients see them. The master secret is in none of these shapes.
import { Type } from 'typebox';
import { Id, Text, Timestamp } from '../http/schemas.js';

export const NewTalkgroup = Type.Object({ name: Text('Name of the talkgroup; need not be unique') });

export const Talkgroup = Type.Object({
  id: Id,
  name: Type.String(),
  rotation_counter: Type.Integer(),
  created_at: Timestamp,
});

export const OneTalkgroup = Type.Object({ talkgroup: Talkgroup });

export const TalkgroupList = Type.Object({
  talkgroups: Type.Array(Type.Object({ talkgroup_id: Id, talkgroup: Talkgroup })),
});

export const Member = Type.Object({
  user_id: Id,
  site: Type.String(),
  user: Type.Object({
    id: Id,
    username: Type.String(),
    role: Type.Union([Type.Literal('admin'), Type.Literal('user')]),
  }),
});

export const MemberList = Type.Object({ members: Type.Array(Member) });
