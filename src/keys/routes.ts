// Key rotation: read a talkgroup's counter, and advance it.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { Database } from '../db/client.js';
import { noticeOf, type Tell } from '../db/notices.js';
import { AppError } from '../errors.js';
import { confirm } from '../http/confirm.js';
import { readTalkgroupId } from '../http/paths.js';
import { answers } from '../http/schemas.js';
import { OfTalkgroup, Rotation } from './schemas.js';
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
      config: { access: 'user' },
      schema: { tags, querystring: OfTalkgroup, response: answers(Rotation) },
    } as const;

    app.get('/keys/rotation', read, async ({ query, deadline }) => {
      const rotation = await rotationOf(database, deadline, readTalkgroupId(query.talkgroup_id));
      if (rotation === null) throw new AppError('talkgroup_not_found');
      return rotation;
    });

    const advance = {
      config: { access: 'admin' },
      schema: { tags, body: OfTalkgroup, response: answers(Rotation) },
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
