// Serves recordings by REST: list, one, its frames.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { Database } from '../db/client.js';
import { AppError } from '../errors.js';
import { firstOrNext, pageOf } from '../http/paging.js';
import { answers, answersWithBytes } from '../http/schemas.js';
import { readId, type TalkgroupId, type UserId } from '../ids.js';
import { readRecordingId } from '../protocol/recording-id.js';
import { framesIn, recordingOf } from './reading/shown.js';
import { type Access, readRecording, readRecordings, readSpeech } from './reading/store.js';
import { OneRecording, RecordingInPath, RecordingList, RecordingQuery, readSpan } from './schemas.js';

export interface RecordingOptions {
  readonly database: Database;
  readonly access: Access;
  /** The speech of a recording was read. */
  readonly wasRead: () => void;
}

/** Recordings that are read at once on a node, of up to 4 MiB each, and no two of them for the same user. */
const DOWNLOADS_MAX = 4;

/** The routes under /recordings. */
export const recordingRoutes =
  ({ database, access, wasRead }: RecordingOptions): FastifyPluginAsyncTypebox =>
  async (app) => {
    const tags = ['recordings'];
    const hears =
      'A member hears what was said since it joined, and of a time in which encryption was required only with the keys of that time. An administrator hears everything.';

    const list = {
      config: { access: 'user', refusals: ['talkgroup_not_found'], badRequests: ['unstorable_text'] },
      schema: {
        operationId: 'listRecordings',
        summary: 'List the recordings of a talkgroup',
        description: `The answer is always one page, the newest first. ${hears}`,
        tags,
        querystring: RecordingQuery,
        response: answers(RecordingList),
      },
    } as const;

    app.get('/recordings', list, async ({ query, user, deadline }, reply) => {
      const page = firstOrNext(query);
      const rows = await readRecordings(
        database,
        deadline,
        { user: user.sub, access },
        {
          talkgroup: readId(query.talkgroup_id) as TalkgroupId | null,
          user: readId(query.user_id) as UserId | null,
          talker: query.talker ?? null,
          ...readSpan(query),
          isEmergency: query.emergency !== undefined,
          isOldestFirst: query.order === 'oldest',
          page,
        },
      );
      if (rows === null && query.talkgroup_id === undefined)
        throw new AppError('bad_request', 'querystring must have talkgroup_id');
      if (rows === null) throw new AppError('talkgroup_not_found');
      reply.header('cache-control', 'no-store');
      return pageOf(page, 'recordings', {
        rows: rows.map(recordingOf),
        idOf: ({ recording_id }) => recording_id,
      });
    });

    const one = {
      config: { access: 'user', refusals: ['recording_not_found'] },
      schema: {
        operationId: 'getRecording',
        summary: 'Read one recording',
        description: hears,
        tags,
        params: RecordingInPath,
        response: answers(OneRecording),
      },
    } as const;

    app.get('/recordings/:id', one, async ({ params, user, deadline }, reply) => {
      const id = idIn(params);
      const found = await readRecording(database, deadline, { user: user.sub, access }, id);
      if (found === null) throw new AppError('recording_not_found');
      reply.header('cache-control', 'no-store');
      return { recording: recordingOf(found) };
    });

    const frames = {
      // Fastify would run the handler for HEAD as well, and note that the caller listened.
      exposeHeadRoute: false,
      config: {
        access: 'user',
        refusals: ['recording_not_found', 'recording_erased', 'too_many_downloads', 'outcome_unknown'],
      },
      schema: {
        operationId: 'getRecordingFrames',
        summary: 'Hear a recording',
        description: `The frames as they were relayed, encrypted ones as well. The service notes who listened, at most once in 10 minutes for each user. ${hears}`,
        tags,
        params: RecordingInPath,
        response: answersWithBytes(
          'The frames as clients get them, in their order. In front of each is its length, a big-endian number of two bytes.',
        ),
      },
    } as const;

    const downloading = new Set<UserId>();
    app.get('/recordings/:id/frames', frames, async ({ params, user, deadline }, reply) => {
      const id = idIn(params);
      if (downloading.has(user.sub) || downloading.size >= DOWNLOADS_MAX)
        throw new AppError('too_many_downloads');
      downloading.add(user.sub);
      const found = await readSpeech(database, deadline, { user: user.sub, access }, id).finally(() => {
        downloading.delete(user.sub);
      });
      if (found === null) throw new AppError('recording_not_found');
      if (found === 'erased') throw new AppError('recording_erased');
      wasRead();
      return reply
        .header('cache-control', 'no-store')
        .header('accept-ranges', 'none')
        .type('application/octet-stream')
        .send(framesIn(id, found));
    });
  };

/** A malformed id names nothing. */
export function idIn({ id }: { readonly id: string }): string {
  if (readRecordingId(id) === null) throw new AppError('recording_not_found');
  return id;
}
