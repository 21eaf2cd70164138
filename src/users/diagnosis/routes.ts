// Serves by REST why a radio of a user may hear nothing.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { Database } from '../../db/client.js';
import { AppError } from '../../errors.js';
import { readTalkgroupId, readUserId } from '../../http/paths.js';
import { answers, UserInPath } from '../../http/schemas.js';
import { diagnose } from './diagnosing.js';
import { Diagnosis, DiagnosisQuery } from './schemas.js';

/** At once at a node. Each makes every relay of the service write a row. One more is refused. */
const AT_ONCE = 2;

/** GET /users/:id/diagnosis. */
export const diagnosisRoutes =
  ({ database }: { readonly database: Database }): FastifyPluginAsyncTypebox =>
  async (app) => {
    let underWay = 0;

    const route = {
      config: {
        access: 'dispatcher',
        refusals: ['user_not_found', 'talkgroup_not_found', 'too_many_requests', 'outcome_unknown'],
      },
      schema: {
        operationId: 'diagnoseUser',
        summary: 'Find out why a radio hears nothing',
        description:
          'Asks the database and all relays about the user, and says the likeliest cause first. It takes up to a second when a node does not answer. A node works on two of these requests at once.',
        tags: ['users'],
        params: UserInPath,
        querystring: DiagnosisQuery,
        response: answers(Diagnosis),
      },
    } as const;

    app.get('/users/:id/diagnosis', route, async ({ params, query, deadline }) => {
      const user = readUserId(params.id);
      const talkgroup = query.talkgroup_id === undefined ? null : readTalkgroupId(query.talkgroup_id);
      if (underWay === AT_ONCE) throw new AppError('too_many_requests');
      underWay++;
      try {
        const diagnosis = await diagnose(database, () => deadline, { user, talkgroup });
        if (typeof diagnosis === 'string') throw new AppError(diagnosis);
        return diagnosis;
      } finally {
        underWay--;
      }
    });
  };
