// Tells administrators by REST who listened to recordings.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { Database } from '../../db/client.js';
import { AppError } from '../../errors.js';
import { pageOf } from '../../http/paging.js';
import { answers } from '../../http/schemas.js';
import { readId, type UserId } from '../../ids.js';
import { READS_PRESET, ReadList, ReadQuery } from './schemas.js';
import { readReads } from './store.js';

/** GET /recordings/reads. */
export const readRoutes =
  ({ database }: { readonly database: Database }): FastifyPluginAsyncTypebox =>
  async (app) => {
    const list = {
      config: { access: 'admin' },
      schema: {
        operationId: 'listReads',
        summary: 'List who listened to recordings',
        description:
          'The newest first. The answer is always one page. An entry is deleted with its recording.',
        tags: ['recordings'],
        querystring: ReadQuery,
        response: answers(ReadList),
      },
    } as const;

    app.get('/recordings/reads', list, async ({ query, user, deadline }, reply) => {
      const limit = query.limit === undefined ? READS_PRESET : Number(query.limit);
      const wanted = {
        limit,
        before: query.before === undefined ? null : Number(query.before),
        recording: readId(query.recording_id),
        reader: readId<UserId>(query.reader_id),
      };
      const rows = await readReads(database, deadline, wanted, user.sub);
      if (rows === 'admin_only') throw new AppError('admin_only');
      reply.header('cache-control', 'no-store');
      return pageOf({ limit }, 'reads', { rows, idOf: ({ id }) => String(id) });
    });
  };
