// Serves the counts of missed recordings by REST.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { answers } from '../../http/schemas.js';
import type { RecordingOptions } from '../routes.js';
import { readTime } from '../schemas.js';
import { MissedList, MissedQuery } from './schemas.js';
import { missedRecordings } from './store.js';

/** A client that was away for longer lists the recordings of a talkgroup. */
const BACK_MS_MAX = 24 * 60 * 60 * 1000;

export const missedRoutes =
  ({ database, access }: Pick<RecordingOptions, 'database' | 'access'>): FastifyPluginAsyncTypebox =>
  async (app) => {
    const missed = {
      config: { access: 'user' },
      schema: {
        operationId: 'countMissedRecordings',
        summary: 'Count missed recordings',
        description:
          'Counts what others said while the caller had no live audio, in all talkgroups of which it is a member now. Only recordings count that the caller may hear. Erased ones do not count.',
        tags: ['recordings'],
        querystring: MissedQuery,
        response: answers(MissedList),
      },
    } as const;

    app.get('/recordings/missed', missed, async ({ query, user, deadline }, reply) => {
      const nowMs = Date.now();
      const since = Math.max(Math.min(readTime(query.since) ?? 0, nowMs), nowMs - BACK_MS_MAX);
      const until = query.until === undefined ? null : readTime(query.until);
      const talkgroups = await missedRecordings(
        database,
        deadline,
        { user: user.sub, access },
        { since, until },
      );
      reply.header('cache-control', 'no-store');
      return { since: new Date(since).toISOString(), talkgroups: [...talkgroups] };
    });
  };
