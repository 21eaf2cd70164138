// Serves positions by REST: report one, read the latest.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { Database } from '../db/client.js';
import { AppError } from '../errors.js';
import { EXAMPLE } from '../examples.js';
import { readDeviceId } from '../http/paths.js';
import { answers, idInPath, Ok, ok } from '../http/schemas.js';
import type { StoreFix } from './intake.js';
import { GpsFix, LatestFix } from './schemas.js';
import { latestFix } from './store.js';

/** GET and POST /devices/:id/gps. */
export const gpsRoutes =
  ({ database, storeFix }: { database: Database; storeFix: StoreFix }): FastifyPluginAsyncTypebox =>
  async (app) => {
    const tags = ['gps'];
    const params = idInPath('Id of the device.', EXAMPLE.device);

    const read = {
      config: { access: 'user', refusals: ['device_not_found', 'gps_not_found'] },
      schema: {
        operationId: 'getPosition',
        summary: 'Read the latest position of a device',
        description:
          'Every user may read the position of every device. An unknown id gets the answer of a device without a position.',
        tags,
        params,
        response: answers(LatestFix),
      },
    } as const;

    app.get('/devices/:id/gps', read, async ({ params, deadline }) => {
      const gps = await latestFix(database, deadline, readDeviceId(params.id));
      if (gps === null) throw new AppError('gps_not_found');
      return { gps };
    });

    const report = {
      config: { access: 'user', refusals: ['device_not_found', 'outcome_unknown'] },
      schema: {
        operationId: 'reportPosition',
        summary: 'Report a position of a device',
        description:
          'The answer comes after the commit. A device keeps its latest position only. When several reports for a device wait together, the service stores the last one. Every user may report for every device.',
        tags,
        params,
        body: GpsFix,
        response: answers(Ok),
      },
    } as const;

    app.post('/devices/:id/gps', report, async ({ params, body, deadline }) => {
      const stored = await storeFix(deadline, { ...body, deviceId: readDeviceId(params.id) });
      if (!stored) throw new AppError('device_not_found');
      return ok;
    });
  };
