// Serves the link between a user and a device by REST, for administrators.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { Actor } from '../../db/acts.js';
import type { Database } from '../../db/client.js';
import type { Deadline } from '../../db/deadline.js';
import { linkDevice, SITE_UNKNOWN } from '../../db/device-link.js';
import { noticeOf, type Tell } from '../../db/notice.js';
import { revokeTokens } from '../../db/revocation.js';
import { AppError, notPlainUser } from '../../errors.js';
import { confirmAll } from '../../http/confirm.js';
import { readUserId } from '../../http/paths.js';
import { answers, Ok, ok, UserInPath } from '../../http/schemas.js';
import type { DeviceId, UserId } from '../../ids.js';
import { OneDevice } from '../schemas.js';
import { DeviceLink } from './schemas.js';
import * as store from './store.js';

export interface LinkOptions {
  readonly database: Database;
  readonly tell: Tell;
}

/** PUT and DELETE /users/:id/device. */
export const linkRoutes =
  ({ database, tell }: LinkOptions): FastifyPluginAsyncTypebox =>
  async (app) => {
    const tags = ['users'];

    const link = {
      config: {
        access: 'admin',
        refusals: [
          'admin_account',
          'user_not_found',
          'device_inactive',
          'outcome_unknown',
          'relay_unconfirmed',
        ],
        badRequests: ['unstorable_text'],
      },
      schema: {
        operationId: 'linkDevice',
        summary: 'Link a user with a device',
        description:
          'An unknown serial creates the device. An existing device keeps its name and its site. Tokens stay valid when the user had no device. When the user had another one, all tokens of the user get 401, and the relay closes the sockets with 1008 `invalid token`. Memberships keep their site. The device of an administrator is linked by a login.',
        tags,
        params: UserInPath,
        body: DeviceLink,
        response: answers(OneDevice),
      },
    } as const;

    app.put('/users/:id/device', link, async ({ params, body, actor: by, deadline }) => {
      const user = readUserId(params.id);
      const { serial, site = SITE_UNKNOWN, name } = body;
      const linking = await linkDevice(database, deadline, {
        ...{ user, by, serial, site, name },
        mayBeAdmin: false,
      });
      if (linking === null) throw new AppError('user_not_found');
      const { device, before, notices } = linking;
      if (device === null) throw new AppError('admin_account');
      if (!device.active) throw new AppError('device_inactive');
      if (before !== null && before !== device.id) await move(user, device.id, { by, deadline });
      else await confirmAll(tell, notices.length === 0 ? again(user) : notices, deadline);
      return { device };
    });

    const unlink = {
      config: {
        access: 'admin',
        refusals: ['admin_account', 'user_not_found', 'outcome_unknown', 'relay_unconfirmed'],
      },
      schema: {
        operationId: 'unlinkDevice',
        summary: 'Take the device from a user',
        description:
          'All tokens of the user get 401, and the relay closes the sockets with 1008 `invalid token`. The device stays, with its position. Nothing changes when the user has no device.',
        tags,
        params: UserInPath,
        response: answers(Ok),
      },
    } as const;

    app.delete('/users/:id/device', unlink, async ({ params, actor: by, deadline }) => {
      const user = readUserId(params.id);
      const account = await store.linkOf(database, deadline, user);
      if (account?.role !== 'user') throw notPlainUser(account);
      if (account.device_id !== null) await move(user, null, { by, deadline });
      else await confirmAll(tell, again(user), deadline);
      return ok;
    });

    /** The tokens are revoked, because the device before could otherwise not be disabled for them. */
    async function move(
      user: UserId,
      device: DeviceId | null,
      { by, deadline }: { by: Actor; deadline: Deadline },
    ): Promise<void> {
      const act = device === null ? 'device_unlinked' : 'device_linked';
      const notices = await revokeTokens(database, deadline, {
        ...{ user, by, act },
        ...{ also: store.deviceToo(device), isRelinked: true },
      });
      if (notices !== null) return confirmAll(tell, notices, deadline);
      // Deleted or promoted since it was read.
      throw notPlainUser(await store.linkOf(database, deadline, user));
    }
  };

/** Nothing changes, but a client that repeats a request that was not confirmed wants to know that the relay follows. */
const again = (user: UserId) => [noticeOf({ kind: 'user_promoted', user })];
