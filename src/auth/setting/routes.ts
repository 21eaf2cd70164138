// Serves the password that an administrator sets for a user. It hashes, and therefore waits in the hash queue.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyRequest } from 'fastify';
import type { Database } from '../../db/client.js';
import type { Deadline } from '../../db/deadline.js';
import type { Tell } from '../../db/notice.js';
import { revokeTokens } from '../../db/revocation.js';
import { notPlainUser } from '../../errors.js';
import { addressKey } from '../../http/address.js';
import { confirmAll } from '../../http/confirm.js';
import { readUserId } from '../../http/paths.js';
import { answers, Ok, ok, UserInPath } from '../../http/schemas.js';
import type { UserId } from '../../ids.js';
import { afterHashing, inTime, untilAnswered } from '../hash-deadlines.js';
import { type Passwords, refuseShort } from '../passwords.js';
import { PasswordSetting } from '../schemas.js';
import * as store from '../store.js';
import { passwordToo, replacePassword } from './store.js';

export interface SettingOptions {
  readonly database: Database;
  readonly tell: Tell;
  readonly passwords: Passwords;
  /** Characters. */
  readonly passwordLengthMin: number;
}

/** PUT /users/:id/password. */
export const settingRoutes =
  ({ database, tell, passwords, passwordLengthMin }: SettingOptions): FastifyPluginAsyncTypebox =>
  async (app) => {
    const set = {
      config: {
        access: 'admin',
        refusals: [
          'admin_account',
          'user_not_found',
          'too_many_requests',
          'login_queue_full',
          'outcome_unknown',
          'relay_unconfirmed',
        ],
        badRequests: ['short_password'],
      },
      schema: {
        operationId: 'setPassword',
        summary: 'Set the password of a user',
        description:
          'For a password that was forgotten. Unless `keep_tokens` is true, all tokens of the user get 401, the relay closes the sockets with 1008 `invalid token`, and the key holders of the user are deleted. A login right after it gets a token that is dated up to 14 s ahead. The password of an administrator is set by a command.',
        tags: ['users'],
        params: UserInPath,
        body: PasswordSetting,
        response: answers(Ok),
      },
    } as const;

    app.put('/users/:id/password', set, async (request) => {
      refuseShort(request.body.password, passwordLengthMin);
      const user = readUserId(request.params.id);
      await passwords.withPlace(addressKey(request.ip), () => setFor(user, request));
      return ok;
    });

    async function setFor(
      user: UserId,
      {
        body,
        actor: by,
        deadline,
      }: Pick<FastifyRequest, 'deadline' | 'actor'> & {
        readonly body: PasswordSetting;
      },
    ): Promise<void> {
      const role = await store.roleOf(database, deadline, user);
      if (role !== 'user') throw notPlainUser(role);
      const passwordHash = await passwords.hash(body.password, inTime(deadline));
      const write = afterHashing(deadline);
      if (body.keep_tokens === true) {
        const isSet = await replacePassword(database, write, { user, passwordHash, by });
        if (!isSet) throw await refusalNow(user, deadline);
        return;
      }
      const also = passwordToo(passwordHash);
      const notices = await revokeTokens(database, write, { user, by, act: 'password_set', also });
      if (notices === null) throw await refusalNow(user, deadline);
      await confirmAll(tell, notices, untilAnswered(deadline));
    }

    /** Deleted or promoted since it was read. */
    const refusalNow = async (user: UserId, deadline: Deadline) =>
      notPlainUser(await store.roleOf(database, untilAnswered(deadline), user));
  };
