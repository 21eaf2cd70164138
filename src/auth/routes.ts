// Registration, login and change of password: the only routes that hash, and therefore wait in its queue.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { Database } from '../db/client.js';
import { type Deadline, REQUEST_MS } from '../db/deadline.js';
import { AppError } from '../errors.js';
import { answers, Ok, ok } from '../http/schemas.js';
import type { Passwords } from './passwords.js';
import { isPassword, LoggedIn, Login, PasswordChange, Registered, Registration } from './schemas.js';
import * as store from './store.js';
import { issuedAt } from './tokens.js';
import { isUsername, normalizeUsername } from './usernames.js';

export interface AuthOptions {
  readonly database: Database;
  readonly passwords: Passwords;
  /** Shortest password at registration and change (characters). */
  readonly passwordLengthMin: number;
}

/** A new device without a given site; also the site of members without a device (seed, Membership). */
const SITE_UNKNOWN = 'unknown';

/** POST /auth/register, /auth/login and /auth/changepassword. */
export const authRoutes =
  ({ database, passwords, passwordLengthMin }: AuthOptions): FastifyPluginAsyncTypebox =>
  async (app) => {
    const register = {
      config: { access: 'public' },
      schema: { tags: ['auth'], body: Registration, response: answers(Registered) },
    } as const;

    app.post('/auth/register', register, async ({ body, deadline }) => {
      const { password, deviceSerial: serial = null, site = SITE_UNKNOWN } = body;
      const username = normalizeUsername(body.username);
      refuseShort(password);
      passwords.refuseWhenFull();
      const obstacle = await store.obstacleToRegister(database, deadline, { username, serial });
      if (obstacle !== null) throw new AppError(obstacle);
      const passwordHash = await passwords.hash(password);
      const write = afterHashing(deadline);
      const account =
        serial === null
          ? await store.register(database, write, { username, passwordHash })
          : await store.registerWithDevice(database, write, { username, passwordHash, serial, site });
      if (typeof account === 'string') throw new AppError(account);
      return { jwt: issue(account), userId: account.id };
    });

    const login = {
      config: { access: 'public' },
      schema: { tags: ['auth'], body: Login, response: answers(LoggedIn) },
    } as const;

    app.post('/auth/login', login, async ({ body, deadline }) => {
      passwords.refuseWhenFull();
      const account = isUsername(body.username)
        ? await store.accountNamed(database, deadline, normalizeUsername(body.username))
        : null;
      const right = await verify(body.password, account?.password_hash ?? null);
      if (account === null || !right) throw new AppError('invalid_credentials');
      if (!account.device_active) throw new AppError('device_disabled');
      return { jwt: issue(account) };
    });

    const change = {
      config: { access: 'user' },
      schema: { tags: ['auth'], body: PasswordChange, response: answers(Ok) },
    } as const;

    app.post('/auth/changepassword', change, async ({ body, user, deadline }) => {
      refuseShort(body.newPassword);
      passwords.refuseWhenFull();
      const oldHash = await store.passwordHashOf(database, deadline, user.sub);
      const right = await verify(body.oldPassword, oldHash);
      if (oldHash === null || !right) throw new AppError('invalid_credentials');
      // Two waits in the queue, but one answer in time: the second is entered only while the first was short.
      if (performance.now() > deadline.at) throw new AppError('login_queue_full');
      const newHash = await passwords.hash(body.newPassword);
      const change = { user: user.sub, oldHash, newHash };
      const changed = await store.changePassword(database, afterHashing(deadline), change);
      if (!changed) throw new AppError('invalid_credentials');
      return ok;
    });

    function refuseShort(password: string): void {
      if ([...password].length >= passwordLengthMin) return;
      throw new AppError('bad_request', `the password must have at least ${passwordLengthMin} characters`);
    }

    /** What cannot have been registered is wrong, after the same work. */
    const verify = (password: string, stored: string | null) =>
      passwords.verify(password, isPassword(password) ? stored : null);

    const issue = ({ id, username, role, valid_from }: store.Registered) =>
      app.jwt.sign({ sub: id, username, role, iat: issuedAt(Date.now(), valid_from) });
  };

/** Answered within 5 s (with what the answer itself takes), hashing included. */
const ANSWERED_MS_MAX = 4800;
const WRITE_MS_MAX = 2000;
/** A write with less time than this would more likely end with an unknown outcome than with an answer. */
const WRITE_MS_MIN = 200;

/** A deadline of its own for the write behind the queue. Throws `login_queue_full` when the queue left no time. */
function afterHashing(request: Deadline): Deadline {
  const now = performance.now();
  const at = Math.min(now + WRITE_MS_MAX, request.at - REQUEST_MS + ANSWERED_MS_MAX);
  if (at - now < WRITE_MS_MIN) throw new AppError('login_queue_full');
  return { at };
}
