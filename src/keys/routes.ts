// Serves key rotation by REST: reads and advances the counter of a talkgroup.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { Database } from '../db/client.js';
import { noticeOf, type Tell } from '../db/notice.js';
import { AppError } from '../errors.js';
import { confirm } from '../http/confirm.js';
import { readTalkgroupId } from '../http/paths.js';
import { answers } from '../http/schemas.js';
import { OfTalkgroup, Rotation, TalkgroupQuery } from './schemas.js';
import { rotate, rotationOf } from './store.js';

export interface KeyOptions {
  readonly database: Database;
  readonly tell: Tell;
}

/** GET /keys/rotation and POST /keys/rotate. */
export const keyRoutes =
  ({ database, tell }: KeyOptions): FastifyPluginAsyncTypebox =>
  async (app) => {
    const tags = ['keys'];

    const read = {
      config: { access: 'user', refusals: ['talkgroup_not_found'] },
      schema: {
        operationId: 'getRotation',
        summary: 'Read the rotation counter of a talkgroup',
        description: 'Every user may read it, member or not.',
        tags,
        querystring: TalkgroupQuery,
        response: answers(Rotation),
      },
    } as const;

    app.get('/keys/rotation', read, async ({ query, deadline }) => {
      const rotation = await rotationOf(database, deadline, readTalkgroupId(query.talkgroup_id));
      if (rotation === null) throw new AppError('talkgroup_not_found');
      return rotation;
    });

    const advance = {
      config: { access: 'admin', refusals: ['talkgroup_not_found', 'outcome_unknown', 'relay_unconfirmed'] },
      schema: {
        operationId: 'rotateKey',
        summary: 'Advance the rotation counter of a talkgroup',
        description:
          'Adds 1 and returns the new value. Each request that is carried out adds 1. Connected members receive KEY_ROTATED.',
        tags,
        body: OfTalkgroup,
        response: answers(Rotation),
      },
    } as const;

    app.post('/keys/rotate', advance, async ({ body, deadline }) => {
      const talkgroup = readTalkgroupId(body.talkgroup_id);
      const notice = noticeOf({ kind: 'key_rotated', talkgroup });
      const rotation = await rotate(database, deadline, { talkgroup, notice });
      if (rotation === null) throw new AppError('talkgroup_not_found');
      await confirm(tell, notice, deadline);
      return rotation;
    });
  };
