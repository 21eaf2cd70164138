// Two questions a supervisor asks: is the process alive, and is it able to serve.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { AppError } from '../errors.js';
import { answers, Ok, ok } from './schemas.js';

export interface HealthOptions {
  /** null when able to serve, else why not. */
  readonly ready: () => string | null;
}

/** GET /healthz and GET /readyz. Neither touches the database. */
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
