// Serves the deletion of talkgroups by REST.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { Database } from '../../db/client.js';
import { noticeOf, type Tell } from '../../db/notice.js';
import { AppError } from '../../errors.js';
import { confirm } from '../../http/confirm.js';
import { readTalkgroupId } from '../../http/paths.js';
import { answers, Ok, ok } from '../../http/schemas.js';
import { DeletionQuery, TalkgroupInPath } from '../schemas.js';
import { deleteTalkgroup } from './store.js';

export interface DeletionOptions {
  readonly database: Database;
  readonly tell: Tell;
}

/** DELETE /talkgroups/:id. */
export const deletionRoutes =
  ({ database, tell }: DeletionOptions): FastifyPluginAsyncTypebox =>
  async (app) => {
    const remove = {
      config: {
        access: 'admin',
        refusals: ['talkgroup_not_found', 'recordings_encrypted', 'outcome_unknown', 'relay_unconfirmed'],
      },
      schema: {
        operationId: 'deleteTalkgroup',
        summary: 'Delete a talkgroup',
        description:
          'Deletes all its memberships too. Connected members receive TALKGROUP_LEFT. Its recordings stay, and only administrators hear them. The keys of encrypted ones are destroyed, so the service asks for `forget_recordings=true` while there are some.',
        tags: ['talkgroups'],
        params: TalkgroupInPath,
        querystring: DeletionQuery,
        response: answers(Ok),
      },
    } as const;

    app.delete('/talkgroups/:id', remove, async ({ params, query, actor: by, deadline }) => {
      const talkgroup = readTalkgroupId(params.id);
      const mayForget = query.forget_recordings !== undefined;
      const notice = noticeOf({ kind: 'talkgroup_deleted', talkgroup });
      const outcome = await deleteTalkgroup(database, deadline, { talkgroup, mayForget, notice, by });
      if (outcome === null) throw new AppError('talkgroup_not_found');
      if (outcome === 'recordings_encrypted') throw new AppError(outcome);
      await confirm(tell, notice, deadline);
      return ok;
    });
  };
