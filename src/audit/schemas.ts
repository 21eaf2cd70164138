// Declares the acts of administrators, dispatchers and commands, as the audit log lists them.
import { ACT_NAMES, type ACTS, type Act, WAYS } from '../db/acts.js';
import { EXAMPLE } from '../examples.js';
import { beforeInQuery, limitInQuery, PageBefore } from '../http/paging.js';
import { Id, shownId, Timestamp } from '../http/schemas.js';
import { encryptions, floorModes } from '../protocol/codes.js';
import { type Static, type TSchema, Type } from '../typebox.js';

export const isAct = (text: string): text is Act => (ACT_NAMES as readonly string[]).includes(text);

/** Acts of a page without `limit`. */
export const ACTS_PRESET = 100;

export const ActQuery = Type.Object({
  limit: limitInQuery({ maximum: 200, preset: ACTS_PRESET }),
  before: beforeInQuery('an act'),
  user_id: Type.Optional(
    shownId('Only acts by this user, and acts done to this user or to a device of this user.', EXAMPLE.user),
  ),
  act: Type.Optional(
    Type.Refine(
      Type.String({ description: 'Only acts of this kind, such as `device_disabled`.' }),
      isAct,
      () => 'must be an act',
    ),
  ),
});

type DetailKey = (typeof ACTS)[Act][number] | 'username' | 'serial' | 'talkgroup';

/** What is not here is not sent. */
const details = {
  username: Type.String({ description: 'Name of the user at that time.' }),
  serial: Type.String({ description: 'Serial of the device.' }),
  talkgroup: Type.String({ description: 'Name of the talkgroup at that time.' }),
  talkgroups: Type.Array(Type.String(), { description: 'Names of the talkgroups that an import added.' }),
  dispatcher: Type.Boolean({ description: 'An import made the user a dispatcher.' }),
  serial_before: Type.String({ description: 'Serial of the device that the user had before.' }),
  expires_at: Type.String({ description: 'When the setup code expires.' }),
  setup_code: Type.Boolean({ description: 'An import made a setup code for the user.' }),
  tokens_kept: Type.Boolean({ description: 'The radios of the user stayed logged in.' }),
  name: Type.String({ description: 'The new name.' }),
  site: Type.String({ description: 'The new site.' }),
  floor_mode: Type.Enum([...floorModes]),
  max_talk_ms: Type.Integer(),
  encryption: Type.Enum([...encryptions]),
  clear_emergency: Type.Boolean(),
  recording_days: Type.Integer(),
  rotation_counter: Type.Integer({ description: 'After the rotation.' }),
  restored: Type.Boolean({ description: 'The counter was raised for a restored database.' }),
  recordings_lost: Type.Boolean({ description: 'Encrypted recordings lost their keys.' }),
  holder_id: Id,
  epochs: Type.Integer({ description: 'Number of epochs of which the keys were exported.' }),
  secrets: Type.Integer({ description: 'Number of master secrets.' }),
  emergency_id: Id,
  recording_id: Id,
  recordings: Type.Integer({ description: 'Number of recordings.' }),
  since: Timestamp,
  until: Timestamp,
  hold_id: Id,
  from: Timestamp,
  to: Timestamp,
  reason: Type.String({ description: 'Why the legal hold was created.' }),
  rows: Type.Integer({ description: 'Number of rows in the backup.' }),
  taken_at: Timestamp,
} satisfies Record<DetailKey, TSchema>;

const Nullable = (description: string) => Type.Union([Id, Type.Null()], { description });

export type OneAct = Static<typeof OneAct>;
export const OneAct = Type.Object(
  {
    id: Type.Integer({
      minimum: 1,
      description: 'Orders the acts. Acts at the same time may have either order.',
    }),
    at: Timestamp,
    by_id: Nullable('The user that acted. null for a command and for the service.'),
    by_name: Type.String({
      description: 'The username, or `command` with the account of the system, or `service`.',
    }),
    way: Type.Enum([...WAYS], { description: '`service` adds the first administrator.' }),
    act: Type.String({ description: 'Kind of the act. A later version may have more.' }),
    user_id: Nullable('The user that the act was done to.'),
    device_id: Nullable('The device.'),
    talkgroup_id: Nullable('The talkgroup.'),
    details: Type.Partial(Type.Object(details)),
  },
  { title: 'Act' },
);

export const ActList = PageBefore(
  {
    acts: Type.Array(OneAct),
  },
  {
    title: 'ActList',
    description: 'One page of the acts, the newest first.',
    examples: [
      {
        acts: [
          {
            ...{ id: 4711, at: EXAMPLE.at, by_id: EXAMPLE.user, by_name: 'admin', way: 'rest' },
            ...{ act: 'device_disabled', user_id: null, device_id: EXAMPLE.device, talkgroup_id: null },
            details: { serial: 'SN-1' },
          },
        ],
        next: null,
      },
    ],
  },
);
