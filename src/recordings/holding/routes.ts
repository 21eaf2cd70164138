// Serves legal holds by REST: create, list, release.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { Database } from '../../db/client.js';
import { AppError } from '../../errors.js';
import { firstOrNext, pageOf, SmallPageQuery } from '../../http/paging.js';
import { readTalkgroupId } from '../../http/paths.js';
import { answers, Ok, ok } from '../../http/schemas.js';
import { readId } from '../../ids.js';
import { readTime } from '../schemas.js';
import { HoldInPath, HoldList, NewHold, OneHold } from './schemas.js';
import { createHold, readHolds, releaseHold } from './store.js';

/** The routes under /recordings/holds. */
export const holdRoutes =
  ({ database }: { readonly database: Database }): FastifyPluginAsyncTypebox =>
  async (app) => {
    const tags = ['recordings'];

    const create = {
      config: { access: 'admin', refusals: ['talkgroup_not_found', 'outcome_unknown'] },
      schema: {
        operationId: 'createHold',
        summary: 'Create a legal hold',
        description:
          'Until it is released, the service keeps the recordings of a talkgroup of which some was said between two times. They are neither erased nor deleted when they expire. Expired ones are then for administrators alone. The speech of a recording that was erased, and is not deleted yet, stays as well.',
        tags,
        body: NewHold,
        response: answers(OneHold),
      },
    } as const;

    app.post('/recordings/holds', create, async ({ body, user, actor, deadline, log }) => {
      const [from, to] = [readTime(body.from) ?? 0, readTime(body.to) ?? 0]; // the schema has checked both
      if (to > Date.now()) throw new AppError('bad_request', 'body/to must not be in the future');
      if (from >= to) throw new AppError('bad_request', 'body/from must be before body/to');
      const talkgroup = readTalkgroupId(body.talkgroup_id);
      const wanted = { talkgroup, from, to, reason: body.reason };
      const hold = await createHold(database, deadline, wanted, { ...actor, id: user.sub });
      if (hold === 'admin_only') throw new AppError('admin_only');
      if (hold === null) throw new AppError('talkgroup_not_found');
      log.info({ by: user.sub, hold: hold.hold_id, talkgroup }, 'legal hold created');
      return { hold };
    });

    const list = {
      config: { access: 'admin' },
      schema: {
        operationId: 'listHolds',
        summary: 'List the legal holds',
        description: 'Those that are not released, in the order of ids. The answer is always one page.',
        tags,
        querystring: SmallPageQuery,
        response: answers(HoldList),
      },
    } as const;

    app.get('/recordings/holds', list, async ({ query, user, deadline }, reply) => {
      const page = firstOrNext(query);
      const rows = await readHolds(database, deadline, page, user.sub);
      if (rows === 'admin_only') throw new AppError('admin_only');
      reply.header('cache-control', 'no-store');
      return pageOf(page, 'holds', { rows, idOf: ({ hold_id }) => hold_id });
    });

    const release = {
      config: { access: 'admin', refusals: ['hold_not_found', 'outcome_unknown'] },
      schema: {
        operationId: 'releaseHold',
        summary: 'Release a legal hold',
        description:
          'Recordings that expired meanwhile, and that no other hold covers, are hidden at once. The service then deletes them within minutes, and the speech of those that were erased.',
        tags,
        params: HoldInPath,
        response: answers(Ok),
      },
    } as const;

    app.delete('/recordings/holds/:id', release, async ({ params, user, actor, deadline, log }) => {
      const id = readId(params.id);
      if (id === null) throw new AppError('hold_not_found');
      const hold = await releaseHold(database, deadline, { id, by: { ...actor, id: user.sub } });
      if (hold === 'admin_only') throw new AppError('admin_only');
      if (hold === null) throw new AppError('hold_not_found');
      log.info({ by: user.sub, hold: id, talkgroup: hold.talkgroup_id }, 'legal hold released');
      return ok;
    });
  };
