// Serves setup codes: an administrator makes one, and the user sets the password with it.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyRequest } from 'fastify';
import { HOURS_PRESET, newSetupCode, readSetupCode } from '../../credentials/setup-codes.js';
import type { Database } from '../../db/client.js';
import type { Deadline } from '../../db/deadline.js';
import { SITE_UNKNOWN } from '../../db/device-link.js';
import { createGate } from '../../db/gate.js';
import type { Tell } from '../../db/notice.js';
import { AppError, notPlainUser } from '../../errors.js';
import { addressKey } from '../../http/address.js';
import { confirmAll } from '../../http/confirm.js';
import { readUserId } from '../../http/paths.js';
import { answers, UserInPath } from '../../http/schemas.js';
import { afterHashing, inTime, untilAnswered } from '../hash-deadlines.js';
import type { Limits } from '../limits.js';
import { type Passwords, refuseShort } from '../passwords.js';
import { issueTime, roleOf } from '../store.js';
import { CodeOrder, NewCode, SetUp, Setup } from './schemas.js';
import * as store from './store.js';

export interface SetupOptions {
  readonly database: Database;
  readonly tell: Tell;
  readonly passwords: Passwords;
  readonly limits: Limits;
  /** Characters. */
  readonly passwordLengthMin: number;
}

/** POST /users/:id/setup-code and POST /auth/setup. */
export const setupRoutes =
  ({ database, tell, passwords, limits, passwordLengthMin }: SetupOptions): FastifyPluginAsyncTypebox =>
  async (app) => {
    const guesses = createGate({ places: 1, callsMax: Number.POSITIVE_INFINITY }); // bounded by the places

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
      throw notPlainUser(await roleOf(database, deadline, user));
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
          'relay_unconfirmed',
        ],
        badRequests: ['short_password', 'unstorable_text'],
      },
      schema: {
        operationId: 'redeemSetupCode',
        summary: 'Set the password with a setup code',
        description:
          'Returns a token, which is dated up to 14 s ahead. The code is used up. All earlier tokens of the user get 401, the relay closes the sockets, and the key holders of the user are deleted. With `deviceSerial` the user has that device from now on. The answer is the same for a code that is unknown, used or expired. After `outcome_unknown` the code may be used: log in with the new password before you send it again.',
        tags: ['auth'],
        body: Setup,
        response: answers(SetUp),
      },
    } as const;

    app.post('/auth/setup', setUp, async (request) => {
      refuseShort(request.body.password, passwordLengthMin);
      const address = addressKey(request.ip);
      limits.setup(address).admit();
      const { account, notices } = await passwords.withPlace(address, () => redeem(request, address));
      const { id, username, role } = account;
      request.log.info({ user: id, username, address: request.ip }, 'setup code used');
      const answered = untilAnswered(request.deadline);
      await confirmAll(tell, notices, answered);
      const iat = await issueTime(database, answered, account);
      return { jwt: app.jwt.sign({ sub: id, username, role, iat }), userId: id };
    });

    async function redeem(
      { body, deadline }: Pick<FastifyRequest, 'deadline'> & { readonly body: Setup },
      address: string,
    ): Promise<store.Redeemed> {
      const serial = body.deviceSerial?.normalize('NFC') ?? null;
      const hash = await admitted({ code: body.code, serial, address, deadline });
      const passwordHash = await passwords.hash(body.password, inTime(deadline));
      const { site = SITE_UNKNOWN } = body;
      const redeemed = await store.redeem(database, afterHashing(deadline), {
        ...{ hash, passwordHash, serial, site },
      });
      if (typeof redeemed === 'string') throw new AppError(redeemed);
      return redeemed;
    }

    /** The hash of a code that is valid now. Codes are judged one after the other, so guesses sent together gain nothing. */
    async function admitted({ code, serial, address, deadline }: Guessed): Promise<Buffer> {
      const hash = readSetupCode(code);
      await guesses.enter(deadline);
      try {
        const guess = limits.setup(address);
        guess.admit();
        const obstacle = hash && (await store.obstacleToSetup(database, deadline, { hash, serial }));
        if (hash !== null && obstacle === null) return hash;
        const isWrong = obstacle !== 'device_inactive';
        guess.settle(!isWrong);
        throw new AppError(isWrong ? 'setup_code_invalid' : 'device_inactive');
      } finally {
        guesses.leave(deadline);
      }
    }
  };

interface Guessed {
  readonly code: string;
  readonly serial: string | null;
  readonly address: string;
  readonly deadline: Deadline;
}
