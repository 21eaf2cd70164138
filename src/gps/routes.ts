// Serves positions by REST: report one, read the latest.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { Database } from '../db/client.js';
import { AppError } from '../errors.js';
import { EXAMPLE } from '../examples.js';
import { firstOrNext, pageOf } from '../http/paging.js';
import { readDeviceId, readTalkgroupId } from '../http/paths.js';
import { answers, idInPath, Ok, ok } from '../http/schemas.js';
import { reportedFix } from '../protocol/fix.js';
import type { StoreFix } from './intake.js';
import { GpsFix, LatestFix, PositionList, PositionsQuery } from './schemas.js';
import { latestFix, latestFixes, latestFixesIn } from './store.js';

/** GET and POST /devices/:id/gps, and GET /positions. */
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
          'The answer comes after the commit. A device keeps its latest position only. A report with `at` never replaces a newer position, and its answer is the same. When several reports for a device wait together, the service stores the newest one. Every user may report for every device.',
        tags,
        params,
        body: GpsFix,
        response: answers(Ok),
      },
    } as const;

    app.post('/devices/:id/gps', report, async ({ params, body, deadline }) => {
      const stored = await storeFix(deadline, reportedFix(readDeviceId(params.id), body));
      if (!stored) throw new AppError('device_not_found');
      return ok;
    });

    const list = {
      config: { access: 'user', refusals: ['talkgroup_not_found'] },
      schema: {
        operationId: 'listPositions',
        summary: 'Read the latest positions of many devices',
        description:
          'The answer is one page in the order of the ids of the devices. Devices without a position are not in it. With `talkgroup_id` it has the devices of the members of that talkgroup only. To follow positions live, send WATCH over the WebSocket.',
        tags,
        querystring: PositionsQuery,
        response: answers(PositionList),
      },
    } as const;

    app.get('/positions', list, async ({ query, deadline }) => {
      const page = firstOrNext(query);
      const idOf = ({ device_id }: { device_id: string }) => device_id;
      if (query.talkgroup_id === undefined)
        return pageOf(page, 'positions', { rows: await latestFixes(database, deadline, page), idOf });
      const talkgroup = readTalkgroupId(query.talkgroup_id);
      const rows = await latestFixesIn(database, deadline, { talkgroup, page });
      if (rows === null) throw new AppError('talkgroup_not_found');
      return pageOf(page, 'positions', { rows, idOf });
    });
  };
