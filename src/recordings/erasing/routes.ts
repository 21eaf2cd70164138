// Erases recordings by REST: one, or those of a talker or a talkgroup.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { Database } from '../../db/client.js';
import { AppError } from '../../errors.js';
import { answers, Ok, ok } from '../../http/schemas.js';
import { readId, type TalkgroupId, type UserId } from '../../ids.js';
import { idIn } from '../routes.js';
import { RecordingInPath, readSpan } from '../schemas.js';
import { Erasure, ErasureQuery } from './schemas.js';
import * as store from './store.js';

/** DELETE of recordings. */
export const erasingRoutes =
  ({ database }: { readonly database: Database }): FastifyPluginAsyncTypebox =>
  async (app) => {
    const tags = ['recordings'];
    const erases =
      'No client gets their speech and the names of their talkers any more, and within two minutes the tables do not have the speech. The entries stay in lists until they expire. Backups keep what they have.';

    const one = {
      config: { access: 'admin', refusals: ['recording_not_found', 'recording_held', 'outcome_unknown'] },
      schema: {
        operationId: 'eraseRecording',
        summary: 'Erase a recording',
        description:
          'No client gets its speech and the name of its talker any more, and within two minutes the tables do not have the speech. The entry stays in lists until it expires. Backups keep what they have. A legal hold keeps it from being erased.',
        tags,
        params: RecordingInPath,
        response: answers(Ok),
      },
    } as const;

    app.delete('/recordings/:id', one, async ({ params, actor, user, deadline }) => {
      const by = { ...actor, id: user.sub };
      const done = await store.eraseRecording(database, deadline, { id: idIn(params), by });
      if (done === 'admin_only') throw new AppError('admin_only');
      if (done === 'held') throw new AppError('recording_held');
      if (done === null) throw new AppError('recording_not_found');
      return ok;
    });

    const many = {
      config: { access: 'admin', refusals: ['outcome_unknown'] },
      schema: {
        operationId: 'eraseRecordings',
        summary: 'Erase the recordings of a talker or a talkgroup',
        description: `Send either \`user_id\` or \`talkgroup_id\`. A request erases at most 500, the oldest first: repeat it while \`more\` is true. Recordings under a legal hold are left out. ${erases}`,
        tags,
        querystring: ErasureQuery,
        response: answers(Erasure),
      },
    } as const;

    app.delete('/recordings', many, async ({ query, actor, user: caller, deadline, log }) => {
      const user = readId<UserId>(query.user_id);
      const talkgroup = readId<TalkgroupId>(query.talkgroup_id);
      const of = user === null ? talkgroup && { talkgroup } : talkgroup === null ? { user } : null;
      if (of === null)
        throw new AppError('bad_request', 'querystring must have either user_id or talkgroup_id');
      const by = { ...actor, id: caller.sub };
      const done = await store.eraseRecordings(database, deadline, { of, ...readSpan(query) }, by);
      if (done === 'admin_only') throw new AppError('admin_only');
      if (done.erased > 0) log.info({ by: caller.sub, count: done.erased }, 'recordings erased');
      return done;
    });
  };
