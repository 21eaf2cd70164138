// Serves the audit log by REST.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { Database } from '../db/client.js';
import { pageOf } from '../http/paging.js';
import { readUserId } from '../http/paths.js';
import { answers } from '../http/schemas.js';
import { ACTS_PRESET, ActList, ActQuery, isAct } from './schemas.js';
import { actsRead } from './store.js';

/** GET /audit. */
export const auditRoutes =
  ({ database }: { readonly database: Database }): FastifyPluginAsyncTypebox =>
  async (app) => {
    const list = {
      config: { access: 'admin', refusals: ['user_not_found', 'outcome_unknown'] },
      schema: {
        operationId: 'listActs',
        summary: 'Read the audit log',
        description:
          'The acts of administrators and commands, the newest first. The service keeps them for `AUDIT_DAYS`. The answer is always one page. Reading is an act as well, and has one row an hour for each reader.',
        tags: ['audit'],
        querystring: ActQuery,
        response: answers(ActList),
      },
    } as const;

    app.get('/audit', list, async ({ query, actor, deadline }) => {
      const limit = query.limit === undefined ? ACTS_PRESET : Number(query.limit);
      const wanted = {
        limit,
        page: { before: query.before === undefined ? null : Number(query.before) },
        users: query.user_id === undefined ? null : [readUserId(query.user_id)],
        act: query.act !== undefined && isAct(query.act) ? query.act : null,
        since: null,
      };
      const rows = await actsRead(database, deadline, wanted, actor);
      return pageOf({ limit }, 'acts', { rows, idOf: ({ id }) => String(id) });
    });
  };
