// Declares why a radio may hear nothing, as administrators see it.
import { EXAMPLE } from '../../examples.js';
import { Id, Timestamp } from '../../http/schemas.js';
import { type Static, Type } from '../../typebox.js';
import { findingCodes } from './finding.js';

export const DiagnosisQuery = Type.Object({
  talkgroup_id: Type.Optional(
    Type.String({ description: 'The talkgroup in question. Without it, all talkgroups of the user.' }),
  ),
});

const maybe = (description: string) => Type.Union([Timestamp, Type.Null()], { description });
const Node = Type.String({ description: 'The node: its host, its process, and a mark of this start.' });
const Client = Type.Union([Type.String(), Type.Null()], {
  description: 'Name of the app, as it sent it. null: it sent none.',
});

const Session = Type.Object({
  node: Node,
  thread: Type.String({ description: 'Relay thread of the node.' }),
  session: Type.Integer(),
  since: Timestamp,
  resumed: Type.Boolean(),
  detached_since: maybe('The connection was lost then. null: there is one.'),
  address: Type.Union([Type.String(), Type.Null()], {
    description: 'null: the session has had no connection at this node.',
  }),
  client: Client,
  round_trip_ms: Type.Union([Type.Integer(), Type.Null()], {
    description: 'Of the last answered ping. null: none was answered.',
  }),
  heard_at: Timestamp,
  audio_paused_since: maybe('null: audio is not paused.'),
  missed: Type.Integer({ description: 'Frames that were left out since the pause began.' }),
  exceptions: Type.Array(
    Type.Object({
      talkgroup_id: Id,
      mode: Type.Enum(['talk', 'listen', 'events', 'none']),
      window_ms: Type.Union([Type.Integer(), Type.Null()]),
    }),
    { description: 'Talkgroups in another mode than `talk`, or with a window. At most 20.' },
  ),
  last_refusal: Type.Union(
    [
      Type.Object({
        code: Type.String(),
        talkgroup_id: Type.Union([Type.String(), Type.Null()]),
        at: Timestamp,
      }),
      Type.Null(),
    ],
    { description: 'The last ERROR or FLOOR_DENIED. null: there was none.' },
  ),
  reach: Type.Union([Type.Enum(['whole', 'partial', 'alone']), Type.Null()], {
    description: 'Which other nodes this one reaches. null: it has no NATS.',
  }),
  relays: Type.Integer({ description: 'Relay threads of all nodes that this one reaches, with itself.' }),
});

const Rejection = Type.Object({
  node: Node,
  at: Timestamp,
  code: Type.Integer({ description: 'Close code.' }),
  reason: Type.String(),
  issued_at: Type.String({ format: 'date-time', description: 'When the token was issued, ISO 8601, UTC' }),
  address: Type.String(),
  client: Client,
});

export type Diagnosis = Static<typeof Diagnosis>;
export const Diagnosis = Type.Object(
  {
    findings: Type.Array(
      Type.Object({
        code: Type.Enum(findingCodes),
        text: Type.String(),
        action: Type.String({ description: 'The way to mend it.' }),
      }),
      { description: 'The likeliest cause first. Never empty.' },
    ),
    sessions: Type.Array(Session, {
      description: 'At most 32 of a relay thread, those with a connection first.',
    }),
    rejected: Type.Array(Rejection, {
      description:
        'Connections with a token of the user that were closed at once, or with 1008 later. The newest first.',
    }),
    relays: Type.Object({
      asked: Type.Integer({ description: 'Nodes that were asked.' }),
      answered: Type.Integer({ description: 'Nodes that answered within a second.' }),
    }),
  },
  {
    title: 'Diagnosis',
    description: 'Why a radio of the user may hear nothing.',
    examples: [
      {
        findings: [
          {
            code: 'events_only',
            text: 'The radio of 17 has Fire 1 in mode events and gets no audio there.',
            action: 'The app must subscribe in mode talk or listen.',
          },
        ],
        sessions: [
          {
            node: 'radio-1 4711 1xk3f9',
            thread: 'relay',
            session: 17,
            since: EXAMPLE.at,
            resumed: false,
            detached_since: null,
            address: '192.0.2.7',
            client: 'acme-android/3.2',
            round_trip_ms: 40,
            heard_at: EXAMPLE.at,
            audio_paused_since: null,
            missed: 0,
            exceptions: [{ talkgroup_id: EXAMPLE.talkgroup, mode: 'events', window_ms: null }],
            last_refusal: null,
            reach: null,
            relays: 1,
          },
        ],
        rejected: [],
        relays: { asked: 1, answered: 1 },
      },
    ],
  },
);
