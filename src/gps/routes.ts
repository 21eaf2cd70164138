// Positions by REST: report one, read the latest.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { Database } from '../db/client.js';
import { AppError } from '../errors.js';
import { readDeviceId } from '../http/paths.js';
import { answers, IdInPath, Ok, ok } from '../http/schemas.js';
import type { StoreFix } from './intake.js';
import { GpsFix, LatestFix } from './schemas.js';
import { latestFix } from './store.js';

/** GET and POST /devices/:id/gps. */
export const gpsRoutes =
  ({ database, storeFix }: { database: Database; storeFix: StoreFix }): FastifyPluginAsyncTypebox =>
  async (app) => {
    const tags = ['gps'];

    const read = {
      config: { access: 'user' },
      schema: { tags, params: IdInPath, response: answers(LatestFix) },
    } as const;

    app.get('/devices/:id/gps', read, async ({ params, deadline }) => {
      const gps = await latestFix(database, deadline, readDeviceId(params.id));
      if (gps === null) throw new AppError('gps_not_found');
      return { gps };
    });

    const report = {
      config: { access: 'user' },
      schema: { tags, params: IdInPath, body: GpsFix, response: answers(Ok) },
    } as const;

    app.post('/devices/:id/gps', report, async ({ params, body, deadline }) => {
      const stored = await storeFix(deadline, { ...body, deviceId: readDeviceId(params.id) });
      if (!stored) throw new AppError('device_not_found');
      return ok;
    });
  };
