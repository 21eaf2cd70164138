// Answers the two checks of a supervisor: the process is alive, the service can serve.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { AppError } from '../errors.js';
import { answers, Ok, ok } from './schemas.js';

export interface HealthOptions {
  /** The reason for 503. null: the service can serve. */
  readonly ready: () => string | null;
}

/** GET /healthz and GET /readyz. They do not use the database. */
export const healthRoutes =
  ({ ready }: HealthOptions): FastifyPluginAsyncTypebox =>
  async (app) => {
    const tags = ['health'];

    const alive = {
      config: { access: 'public' },
      schema: {
        operationId: 'getHealth',
        summary: 'Check that the process answers',
        description: 'Does not use the database.',
        tags,
        response: answers(Ok),
      },
    } as const;

    app.get('/healthz', alive, async () => ok);

    const able = {
      config: { access: 'public', refusals: ['not_ready'] },
      schema: {
        operationId: 'getReadiness',
        summary: 'Check that the service can serve',
        description:
          'The text of a 503 is the reason: `starting`, `draining`, `database: ...` or `relay: ...`. Does not use the database.',
        tags,
        response: answers(Ok),
      },
    } as const;

    app.get('/readyz', able, async () => {
      const reason = ready();
      if (reason !== null) throw new AppError('not_ready', reason);
      return ok;
    });
  };
