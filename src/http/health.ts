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
    const options = {
      config: { access: 'public' },
      schema: { tags: ['health'], response: answers(Ok) },
    } as const;

    app.get('/healthz', options, async () => ok);

    app.get('/readyz', options, async () => {
      const reason = ready();
      if (reason !== null) throw new AppError('not_ready', reason);
      return ok;
    });
  };
