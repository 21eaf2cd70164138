// Devices: list them, switch them off and on, and tell a phone which one it is.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { Database } from '../db/client.js';
import { noticeOf, type Tell } from '../db/notices.js';
import { AppError } from '../errors.js';
import { confirm } from '../http/confirm.js';
import type { Lists } from '../http/lists.js';
import { PageQuery } from '../http/paging.js';
import { readDeviceId } from '../http/paths.js';
import { answers, IdInPath, Ok, ok } from '../http/schemas.js';
import { DeviceList, DeviceStatus, Me } from './schemas.js';
import * as store from './store.js';

export interface DeviceOptions {
  readonly database: Database;
  readonly tell: Tell;
  readonly lists: Lists;
}

/** GET /devices, GET /me and PATCH /devices/:id/status. */
export const deviceRoutes =
  ({ database, tell, lists }: DeviceOptions): FastifyPluginAsyncTypebox =>
  async (app) => {
    const tags = ['devices'];

    const list = {
      config: { access: 'admin' },
      schema: { tags, querystring: PageQuery, response: answers(DeviceList) },
    } as const;

    app.get('/devices', list, async ({ query, deadline }, reply) =>
      lists.answer(reply, query, {
        name: 'devices',
        read: (page) => store.allDevices(database, deadline, page),
        idOf: ({ id }) => id,
      }),
    );

    const readMe = { config: { access: 'user' }, schema: { tags, response: answers(Me) } } as const;

    app.get('/me', readMe, async ({ user: { sub: id, username, role }, deadline }) => ({
      user: { id, username, role },
      device: await store.deviceOf(database, deadline, id),
    }));

    const setStatus = {
      config: { access: 'admin' },
      schema: { tags, params: IdInPath, body: DeviceStatus, response: answers(Ok) },
    } as const;

    app.patch('/devices/:id/status', setStatus, async ({ params, body, deadline }) => {
      const device = readDeviceId(params.id);
      const notice = noticeOf({ kind: 'device_changed', device });
      const found = await store.setDeviceActive(database, deadline, { device, active: body.active, notice });
      if (!found) throw new AppError('device_not_found');
      await confirm(tell, notice, deadline);
      return ok;
    });
  };
