// Declares talkgroups and memberships as clients see them. No schema has the master secret.

import { EXAMPLE } from '../examples.js';
import { InPages, listingQuery, OneListing, OnePage } from '../http/paging.js';
import { Id, idInPath, shownId, Text, Timestamp } from '../http/schemas.js';
import { encryptions, floorModes } from '../protocol/codes.js';
import { type Static, Type } from '../typebox.js';

const Name = Text('1 to 128 visible characters with single spaces between them. Need not be unique.');

const FloorMode = Type.Enum(floorModes, {
  description:
    'open: several talkers at once. single: one talker. broadcast: one talker, an administrator or in an emergency.',
});

const Encryption = Type.Enum(encryptions, {
  description:
    'off: clear audio only. allowed: each talker chooses. required: clear audio is rejected, and only members that may have keys hear and talk.',
});

const ClearEmergency = Type.Boolean({
  description: 'Where encryption is required: whether a talker with an open emergency may talk in the clear.',
});

const RecordingDays = Type.Integer({
  minimum: 0,
  maximum: 3650,
  description:
    'How long its speech is kept, in days. 0: it is not recorded. Stored recordings keep their time after a change.',
});

const MaxTalkMs = Type.Refine(
  Type.Integer({
    minimum: 0,
    maximum: 3_600_000,
    description: 'Longest talk burst in single and broadcast, in ms: 0 for no limit, or 1000 to 3600000.',
  }),
  (ms) => ms === 0 || ms >= 1000,
  () => 'must be 0 or >= 1000',
);

export const NewTalkgroup = Type.Object(
  { name: Name, floor_mode: Type.Optional(FloorMode) },
  { title: 'NewTalkgroup', examples: [{ name: 'Fire 1', floor_mode: 'single' }] },
);

/** What is left out stays as it is. */
export type TalkgroupSettings = Static<typeof TalkgroupSettings>;
export const TalkgroupSettings = Type.Partial(
  Type.Object({
    name: Name,
    floor_mode: FloorMode,
    max_talk_ms: MaxTalkMs,
    encryption: Encryption,
    clear_emergency: ClearEmergency,
    recording_days: RecordingDays,
  }),
  { title: 'TalkgroupSettings', examples: [{ floor_mode: 'broadcast', max_talk_ms: 60_000 }] },
);

export const Talkgroup = Type.Object(
  {
    id: Id,
    name: Type.String(),
    rotation_counter: Type.Integer({ description: 'Clients derive the current key from it. Starts at 0.' }),
    created_at: Timestamp,
  },
  { title: 'Talkgroup' },
);

const example = { id: EXAMPLE.talkgroup, name: 'Fire 1', rotation_counter: 0, created_at: EXAMPLE.at };

export const OneTalkgroup = Type.Object(
  { talkgroup: Talkgroup },
  { title: 'OneTalkgroup', description: 'The talkgroup.', examples: [{ talkgroup: example }] },
);

export const TalkgroupList = InPages(
  { talkgroups: Type.Array(Type.Object({ talkgroup_id: Id, talkgroup: Talkgroup })) },
  {
    title: 'TalkgroupList',
    description: "The caller's talkgroups.",
    examples: [{ talkgroups: [{ talkgroup_id: EXAMPLE.talkgroup, talkgroup: example }], next: null }],
  },
);

/** All talkgroups, with or without the caller as a member. */
export const TalkgroupDirectory = OnePage(
  { talkgroups: Type.Array(Talkgroup) },
  {
    title: 'TalkgroupDirectory',
    description: 'One page of all talkgroups.',
    examples: [{ talkgroups: [example], next: EXAMPLE.talkgroup }],
  },
);

/** A talkgroup as administrators see it. */
export const ManagedTalkgroup = Type.Object(
  {
    id: Id,
    number: Type.Integer({ description: 'Stands for the talkgroup in audio frames.' }),
    name: Type.String(),
    rotation_counter: Type.Integer(),
    floor_mode: FloorMode,
    max_talk_ms: Type.Integer({
      description: 'Longest talk burst in single and broadcast, in ms. 0: no limit.',
    }),
    encryption: Encryption,
    clear_emergency: ClearEmergency,
    recording_days: RecordingDays,
    members: Type.Integer({ description: 'Number of members.' }),
    created_at: Timestamp,
  },
  { title: 'ManagedTalkgroup' },
);

/** The columns that the list of administrators is sorted by. */
export const MANAGED_COLUMNS = {
  number: 'number',
  name: 'text',
  floor_mode: 'text',
  max_talk_ms: 'number',
  encryption: 'text',
  members: 'number',
  created_at: 'number',
} as const;

export const ManagedQuery = listingQuery({ columns: MANAGED_COLUMNS, found: 'the name', maximum: 200 });

export const ManagedTalkgroupList = OneListing(
  { talkgroups: Type.Array(ManagedTalkgroup) },
  {
    title: 'ManagedTalkgroupList',
    description: 'One page of all talkgroups with their settings.',
    examples: [
      {
        talkgroups: [
          {
            ...example,
            ...{ number: 7, floor_mode: 'single', max_talk_ms: 60_000 },
            ...{ encryption: 'required', clear_emergency: true, recording_days: 30, members: 12 },
          },
        ],
        next: EXAMPLE.talkgroup,
      },
    ],
  },
);

export const Member = Type.Object(
  {
    user_id: Id,
    site: Type.String({ description: "Site of the user's device at the time of joining, else `unknown`." }),
    user: Type.Object({
      id: Id,
      username: Type.String(),
      role: Type.Union([Type.Literal('admin'), Type.Literal('user')]),
    }),
  },
  { title: 'Member' },
);

export const TalkgroupInPath = idInPath('Id of the talkgroup.', EXAMPLE.talkgroup);

export const DeletionQuery = Type.Object({
  forget_recordings: Type.Optional(
    Type.Enum(['true'], {
      description: '`true`: also when no client can open its encrypted recordings any more.',
    }),
  ),
});

/** As in TalkgroupInPath, a malformed one names nothing. */
export const MemberInPath = Type.Object({
  ...TalkgroupInPath.properties,
  user_id: shownId('Id of the user.', EXAMPLE.user),
});

export const MemberList = InPages(
  { members: Type.Array(Member) },
  {
    title: 'MemberList',
    description: 'The members of the talkgroup.',
    examples: [
      {
        members: [
          {
            user_id: EXAMPLE.user,
            site: 'Depot',
            user: { id: EXAMPLE.user, username: 'ann', role: 'user' },
          },
        ],
        next: null,
      },
    ],
  },
);
