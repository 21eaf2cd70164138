// Serves devices by REST: list, change, enable, disable, and the caller with its device.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { Database } from '../db/client.js';
import { noticeOf, type Tell } from '../db/notice.js';
import { AppError } from '../errors.js';
import { EXAMPLE } from '../examples.js';
import { confirmAll } from '../http/confirm.js';
import type { Lists } from '../http/lists.js';
import { isWhole, listingOf, readListing } from '../http/paging.js';
import { readDeviceId } from '../http/paths.js';
import { answers, idInPath, Ok, ok } from '../http/schemas.js';
import {
  DEVICE_COLUMNS,
  DeviceChange,
  DeviceList,
  DeviceQuery,
  DeviceStatus,
  Me,
  OneDevice,
} from './schemas.js';
import * as store from './store.js';

export interface DeviceOptions {
  readonly database: Database;
  readonly tell: Tell;
  readonly lists: Lists;
}

/** GET /devices, GET /me, PATCH /devices/:id and PATCH /devices/:id/status. */
export const deviceRoutes =
  ({ database, tell, lists }: DeviceOptions): FastifyPluginAsyncTypebox =>
  async (app) => {
    const tags = ['devices'];

    const list = {
      config: { access: 'admin', badRequests: ['unstorable_text'] },
      schema: {
        operationId: 'listDevices',
        summary: 'List all devices',
        description:
          'With `limit`, `after`, `sort` or `find` the answer is one page, without `sort` in the order of ids. Otherwise it is the whole list.',
        tags,
        querystring: DeviceQuery,
        response: answers(DeviceList),
      },
    } as const;

    app.get('/devices', list, async ({ query, deadline }, reply) => {
      if (isWhole(query)) return lists.whole(reply, 'devices', () => store.allDevices(database, deadline));
      const page = readListing(DEVICE_COLUMNS, query);
      const rows = await store.devicesListed(database, deadline, page);
      return listingOf({ sort: query.sort, page }, 'devices', rows);
    });

    const readMe = {
      config: { access: 'user' },
      schema: {
        operationId: 'getMe',
        summary: 'Read the caller and its device',
        description: 'Tells an app its user id and its device id.',
        tags,
        response: answers(Me),
      },
    } as const;

    app.get('/me', readMe, async ({ user: { sub: id, username, role }, mayDispatch, deadline }) => ({
      user: { id, username, role, dispatcher: mayDispatch && role === 'user' },
      device: await store.deviceOf(database, deadline, id),
    }));

    const params = idInPath('Id of the device.', EXAMPLE.device);

    const change = {
      config: {
        access: 'admin',
        refusals: ['device_not_found', 'outcome_unknown'],
        badRequests: ['unstorable_text'],
      },
      schema: {
        operationId: 'changeDevice',
        summary: 'Change the name or the site of a device',
        description: 'A field that is left out keeps its value. The serial does not change.',
        tags,
        params,
        body: DeviceChange,
        response: answers(OneDevice),
      },
    } as const;

    app.patch('/devices/:id', change, async ({ params, body, actor: by, deadline }) => {
      const id = readDeviceId(params.id);
      const device = await store.changeDevice(database, deadline, { device: id, change: body, by });
      if (device === null) throw new AppError('device_not_found');
      return { device };
    });

    const setStatus = {
      config: { access: 'admin', refusals: ['device_not_found', 'outcome_unknown', 'relay_unconfirmed'] },
      schema: {
        operationId: 'setDeviceStatus',
        summary: 'Enable or disable a device',
        description:
          'Users of a disabled device cannot log in, and their tokens get 401. The relay stops their audio before the service answers, and closes their sockets with 1008 `device disabled`. Key holders of a device that is disabled are deleted, and the keys of its users rotate where encryption is required. Enabling the device makes the same tokens valid again.',
        tags,
        params,
        body: DeviceStatus,
        response: answers(Ok),
      },
    } as const;

    app.patch('/devices/:id/status', setStatus, async ({ params, body, actor: by, deadline }) => {
      const device = readDeviceId(params.id);
      const notice = noticeOf({ kind: 'device_changed', device });
      const { active } = body;
      const notices = await store.setDeviceActive(database, deadline, { device, active, notice, by });
      if (notices === null) throw new AppError('device_not_found');
      await confirmAll(tell, notices, deadline);
      return ok;
    });
  };
