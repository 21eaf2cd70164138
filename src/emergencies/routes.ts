// Serves emergencies by REST: list, acknowledge, clear. Radios raise them over the WebSocket.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { Database } from '../db/client.js';
import type { Tell } from '../db/notice.js';
import { AppError } from '../errors.js';
import { EXAMPLE } from '../examples.js';
import { confirm } from '../http/confirm.js';
import type { Lists } from '../http/lists.js';
import { PageQuery } from '../http/paging.js';
import { readEmergencyId } from '../http/paths.js';
import { answers, idInPath, Ok, ok } from '../http/schemas.js';
import { EmergencyList } from './schemas.js';
import * as store from './store.js';

export interface EmergencyOptions {
  readonly database: Database;
  readonly tell: Tell;
  readonly lists: Lists;
}

/** The routes under /emergencies. */
export const emergencyRoutes =
  ({ database, tell, lists }: EmergencyOptions): FastifyPluginAsyncTypebox =>
  async (app) => {
    const tags = ['emergencies'];

    const list = {
      config: { access: 'user' },
      schema: {
        operationId: 'listEmergencies',
        summary: 'List the open emergencies',
        description:
          "A dispatcher or administrator gets all of them, a user those of the user's talkgroups. Radios raise emergencies over the WebSocket. With `limit` or `after` the answer is one page in the order of ids. Otherwise it is the whole list.",
        tags,
        querystring: PageQuery,
        response: answers(EmergencyList),
      },
    } as const;

    app.get('/emergencies', list, async ({ user, mayDispatch, query, deadline }, reply) => {
      const whose = { user: user.sub, seesAll: mayDispatch };
      return lists.answer(reply, query, {
        name: 'emergencies',
        read: (page) => store.openEmergencies(database, deadline, { ...whose, page }),
        idOf: ({ emergency_id }) => emergency_id,
      });
    });

    const params = idInPath('Id of the emergency.', EXAMPLE.emergency);

    const acknowledge = {
      config: {
        access: 'dispatcher',
        refusals: ['emergency_not_found', 'outcome_unknown', 'relay_unconfirmed'],
      },
      schema: {
        operationId: 'acknowledgeEmergency',
        summary: 'Acknowledge an emergency',
        description:
          'Connected members of the talkgroup receive EMERGENCY. Acknowledging it again keeps the first acknowledgement.',
        tags,
        params,
        response: answers(Ok),
      },
    } as const;

    app.post('/emergencies/:id/ack', acknowledge, async ({ params, user, actor, deadline }) => {
      const id = readEmergencyId(params.id);
      const notice = await store.acknowledgeEmergency(database, deadline, {
        id,
        by: { ...actor, id: user.sub },
      });
      if (notice === null) throw new AppError('emergency_not_found');
      await confirm(tell, notice, deadline);
      return ok;
    });

    const clear = {
      config: {
        access: 'user',
        refusals: ['not_your_emergency', 'emergency_not_found', 'outcome_unknown', 'relay_unconfirmed'],
      },
      schema: {
        operationId: 'clearEmergency',
        summary: 'Clear an emergency',
        description:
          'A dispatcher or administrator may clear any emergency. Another user may clear only their own, also after leaving the talkgroup. Connected members receive EMERGENCY.',
        tags,
        params,
        response: answers(Ok),
      },
    } as const;

    app.post('/emergencies/:id/clear', clear, async ({ params, user, actor, mayDispatch, deadline }) => {
      const id = readEmergencyId(params.id);
      const by = { ...actor, id: user.sub };
      const outcome = await store.clearEmergency(database, deadline, { id, by, mayDispatch });
      if (outcome === 'unknown') throw new AppError('emergency_not_found');
      if (outcome === 'forbidden') throw new AppError('not_your_emergency');
      await confirm(tell, outcome, deadline);
      return ok;
    });
  };
