// Serves setup codes: an administrator makes one, and the user sets the password with it.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyRequest } from 'fastify';
import { HOURS_PRESET, newSetupCode, readSetupCode } from '../../credentials/setup-codes.js';
import type { Database } from '../../db/client.js';
import { SITE_UNKNOWN } from '../../db/device-link.js';
import { AppError } from '../../errors.js';
import { addressKey } from '../../http/address.js';
import { readUserId } from '../../http/paths.js';
import { answers, UserInPath } from '../../http/schemas.js';
import { afterHashing, inTime, untilAnswered } from '../hash-deadlines.js';
import type { Limits } from '../limits.js';
import { type Passwords, refuseShort } from '../passwords.js';
import { Registered } from '../schemas.js';
import { issueTime, roleOf } from '../store.js';
import { CodeOrder, NewCode, Setup } from './schemas.js';
import * as store from './store.js';

export interface SetupOptions {
  readonly database: Database;
  readonly passwords: Passwords;
  readonly limits: Limits;
  /** Characters. */
  readonly passwordLengthMin: number;
}

/** POST /users/:id/setup-code and POST /auth/setup. */
export const setupRoutes =
  ({ database, passwords, limits, passwordLengthMin }: SetupOptions): FastifyPluginAsyncTypebox =>
  async (app) => {
    const make = {
      config: { access: 'admin', refusals: ['admin_account', 'user_not_found', 'outcome_unknown'] },
      schema: {
        operationId: 'makeSetupCode',
        summary: 'Make a setup code for a user',
        description:
          'With the code the user sets a password without the old one: after an import, for a forgotten password, or for a new phone. It replaces the code before. The present password and tokens stay valid until the code is used. The code of an administrator is made by a command.',
        tags: ['users'],
        params: UserInPath,
        body: CodeOrder,
        response: answers(NewCode),
      },
    } as const;

    app.post('/users/:id/setup-code', make, async ({ params, body, actor: by, deadline }) => {
      const user = readUserId(params.id);
      const { text: code, hash } = newSetupCode();
      const wanted = { user, hash, hours: body.hours ?? HOURS_PRESET, mayBeAdmin: false, by };
      const expires_at = await store.storeCode(database, deadline, wanted);
      if (expires_at !== null) return { code, expires_at };
      const role = await roleOf(database, deadline, user);
      throw new AppError(role === null ? 'user_not_found' : 'admin_account');
    });

    const setUp = {
      config: {
        access: 'public',
        refusals: [
          'setup_code_invalid',
          'device_inactive',
          'too_many_wrong_passwords',
          'too_many_requests',
          'login_queue_full',
          'database_unavailable',
          'outcome_unknown',
        ],
        badRequests: ['short_password', 'unstorable_text'],
      },
      schema: {
        operationId: 'redeemSetupCode',
        summary: 'Set the password with a setup code',
        description:
          'Returns a token, which is dated up to 14 s ahead. The code is used up. All earlier tokens of the user get 401, the relay closes the sockets, and the key holders of the user are deleted. With `deviceSerial` the user has that device from now on. The answer is the same for a code that is unknown, used or expired.',
        tags: ['auth'],
        body: Setup,
        response: answers(Registered),
      },
    } as const;

    app.post('/auth/setup', setUp, async (request) => {
      refuseShort(request.body.password, passwordLengthMin);
      const address = addressKey(request.ip);
      limits.setup(address).admit();
      const account = await passwords.withPlace(address, () => redeem(request, address));
      const { id, username, role } = account;
      const iat = await issueTime(database, untilAnswered(request.deadline), account);
      return { jwt: app.jwt.sign({ sub: id, username, role, iat }), userId: id };
    });

    async function redeem(
      { body, deadline }: Pick<FastifyRequest, 'deadline'> & { readonly body: Setup },
      address: string,
    ) {
      const guess = limits.setup(address);
      const hash = readSetupCode(body.code);
      guess.admit(); // of those that came in one go, too
      if (hash === null || !(await store.isCodeValid(database, deadline, hash))) {
        guess.settle(false);
        throw new AppError('setup_code_invalid');
      }
      const passwordHash = await passwords.hash(body.password, inTime(deadline));
      const { site = SITE_UNKNOWN } = body;
      const serial = body.deviceSerial?.normalize('NFC') ?? null;
      const redeemed = await store.redeem(database, afterHashing(deadline), {
        ...{ hash, passwordHash, serial, site },
      });
      if (typeof redeemed === 'string') throw new AppError(redeemed);
      return redeemed;
    }
  };
