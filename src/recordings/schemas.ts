// Declares recordings as clients see them.
import { AppError } from '../errors.js';
import { EXAMPLE } from '../examples.js';
import { limitInQuery, OnePage } from '../http/paging.js';
import { Id, idInPath, SHOWN_AS, shownId, TEXT_CHARACTERS_MAX, Timestamp } from '../http/schemas.js';
import { readId } from '../ids.js';
import { Codec, Crypto } from '../protocol/bodies.js';
import { recordingIdOf } from '../protocol/recording-id.js';
import { Type } from '../typebox.js';

/** The description counts for the whole, so the pages show it. */
export const Nullable = <T extends Parameters<typeof Type.Union>[0][number]>(type: T) =>
  Type.Union([type, Type.Null()], 'description' in type ? { description: String(type.description) } : {});

/** With what it has beside its known fields, as members got it. */
const Format = Type.Object(Codec.properties, { title: 'codec', additionalProperties: true });

export const Recording = Type.Object(
  {
    recording_id: Type.String({
      format: 'uuid',
      description: 'Follows from start, session, burst and piece. Ids sort by time.',
    }),
    talkgroup_id: Id,
    talkgroup_name: Type.String({ description: 'When the recording began.' }),
    session: Type.Integer(),
    burst: Type.Integer(),
    piece: Type.Integer({ description: 'From 0. A burst longer than 10 minutes has several.' }),
    user_id: Nullable(Id),
    username: Nullable(Type.String({ description: 'When the recording began. null: erased.' })),
    started_at: Timestamp,
    expires_at: Timestamp,
    duration_ms: Nullable(Type.Integer({ description: 'null without an end.' })),
    frames: Nullable(Type.Integer({ description: 'Frames that were relayed. null without an end.' })),
    stored_frames: Type.Integer(),
    missing: Nullable(
      Type.Integer({ description: 'Frames that were relayed and are not stored. null without an end.' }),
    ),
    missing_because: Type.Record(Type.String(), Type.Integer(), {
      description:
        'Missing frames by reason. `memory_full`: the memory for speech that waits was full. `storage_full`: the amount of `RECORDING_GB` was reached. `failed`: the database did not accept them. `too_many`: the user had too many bursts when this one began, and it was recorded once it had lasted 1 s. `erased`: an administrator erased them. The reason of some frames may be unknown.',
    }),
    code: Nullable(
      Type.String({
        description:
          'Why the burst ended, as in TALK_ENDED. `continues`: the next piece follows. `switched_off`: the talkgroup is not recorded any more. `unknown`: it has had no end for 11 minutes. null: no end so far.',
      }),
    ),
    priority: Type.Integer(),
    emergency: Type.Boolean(),
    codec: Type.Optional(Format),
    crypto: Type.Optional(Crypto),
    erased_at: Nullable(Timestamp),
    held: Type.Optional(
      Type.Boolean({
        description: 'A legal hold keeps it. Only administrators get this field.',
      }),
    ),
  },
  { title: 'Recording' },
);

const name = { startedAt: Date.parse(EXAMPLE.at), session: 1026, burst: 1, piece: 0 };
const example = {
  recording_id: recordingIdOf(name),
  talkgroup_id: EXAMPLE.talkgroup,
  talkgroup_name: 'Fire 1',
  ...{ session: name.session, burst: name.burst, piece: name.piece, user_id: EXAMPLE.user, username: 'ann' },
  ...{ started_at: EXAMPLE.at, expires_at: '2026-01-31T08:30:01.000Z', duration_ms: 4000 },
  ...{ frames: 200, stored_frames: 200, missing: 0, missing_because: {}, code: 'released' },
  ...{ priority: 1, emergency: false, erased_at: null },
};

export const OneRecording = Type.Object(
  { recording: Recording },
  { title: 'OneRecording', description: 'The recording.', examples: [{ recording: example }] },
);

export const RecordingList = OnePage(
  { recordings: Type.Array(Recording) },
  {
    title: 'RecordingList',
    description: 'One page of recordings.',
    examples: [{ recordings: [example], next: null }],
  },
);

export const IdInQuery = (description: string) =>
  Type.Optional(
    Type.Refine(
      Type.String({ description, [SHOWN_AS]: { type: 'string', format: 'uuid' } }),
      (text) => readId(text) !== null,
      () => 'must be an id',
    ),
  );

export const Time = (description: string) =>
  Type.Refine(
    Type.String({ description, [SHOWN_AS]: { type: 'string', format: 'date-time' } }),
    (text) => readTime(text) !== null,
    () => 'must be a time in ISO 8601 with a zone',
  );

export const TimeInQuery = (description: string) => Type.Optional(Time(description));

const TIME = /^(\d{4}-\d\d-\d\d)T([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/;

/** Unix time (ms). null: no time with a zone, or one before 1970. */
export function readTime(text: string): number | null {
  const [, day = ''] = TIME.exec(text) ?? [];
  // JavaScript reads the 30th of February as a day in March.
  if (day === '' || !isDay(day)) return null;
  const atMs = Date.parse(text);
  return atMs >= 0 ? Math.floor(atMs) : null;
}

function isDay(day: string): boolean {
  const at = new Date(`${day}T00:00:00Z`);
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(day);
}

/** The span in a query, in Unix time (ms). Refuses one that ends before it begins. */
export function readSpan({ since, until }: { readonly since?: string; readonly until?: string }) {
  const time = (text: string | undefined) => (text === undefined ? null : readTime(text));
  const span = { since: time(since), until: time(until) };
  if (span.since !== null && span.until !== null && span.since > span.until)
    throw new AppError('bad_request', 'querystring/since must not be after querystring/until');
  return span;
}

export const RecordingQuery = Type.Object({
  talkgroup_id: IdInQuery('The talkgroup. Only an administrator may leave it out.'),
  user_id: IdInQuery('Only recordings of this talker.'),
  talker: Type.Optional(
    Type.String({
      maxLength: TEXT_CHARACTERS_MAX,
      description: 'Only recordings of the talker with this username, exactly as it was then.',
    }),
  ),
  since: TimeInQuery('Only recordings that began then or later.'),
  until: TimeInQuery('Only recordings that began before.'),
  emergency: Type.Optional(
    Type.Enum(['true'], { description: '`true`: only calls of users with an open emergency.' }),
  ),
  order: Type.Optional(
    Type.Enum(['newest', 'oldest'], { description: 'Which come first. Without it the newest.' }),
  ),
  limit: limitInQuery({ maximum: 200, preset: 100 }),
  after: IdInQuery(
    'The page begins after this id, which need not exist any more. Send `next` of the last page.',
  ),
});

export const EXAMPLE_ID = example.recording_id;

export const RecordingInPath = idInPath('Id of the recording.', EXAMPLE_ID);

export const KeyQuery = Type.Object({
  holder_id: shownId('An accepted key holder of the caller.', EXAMPLE.holder),
});

export const RecordingKey = Type.Object(
  {
    recording_id: Id,
    enc: Type.String({ description: 'Encapsulated key (HPKE), 65 bytes in base64url.' }),
    sealed: Type.String({ description: 'The encrypted key of the burst, 48 bytes in base64url.' }),
  },
  {
    title: 'RecordingKey',
    description: 'The key of the burst, sealed for the key holder.',
    examples: [
      {
        recording_id: example.recording_id,
        enc: 'BGsX0fLhLEJH-Lzm5WOkQPJ3A32BLeszoPShOUXYmMKWT-NC4v4af5uO5-tKfA-eFivOM1drMV7Oy7ZAaDe_UfU',
        sealed: 'oKGio6SlpqeoqaqrrK2ur6ChoqOkpaanqKmqq6ytrq-goaKjpKWmp6ipqqusra6v',
      },
    ],
  },
);
