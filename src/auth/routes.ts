// Serves registration, login and the change of the own password. They hash, and therefore wait in the hash queue.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyRequest } from 'fastify';
import { isPassword } from '../credentials/passwords.js';
import { isUsername, normalizeUsername } from '../credentials/usernames.js';
import type { Database } from '../db/client.js';
import type { Deadline } from '../db/deadline.js';
import { linkDevice, SITE_UNKNOWN } from '../db/device-link.js';
import { createGate } from '../db/gate.js';
import { AppError } from '../errors.js';
import { addressKey } from '../http/address.js';
import type { Overflow } from '../http/listener.js';
import { answers, Ok, ok } from '../http/schemas.js';
import { afterHashing, inTime, untilAnswered } from './hash-deadlines.js';
import { type Attempt, type Limits, NOBODY } from './limits.js';
import { type Guess, type Passwords, refuseShort } from './passwords.js';
import { LoggedIn, Login, PasswordChange, Registered, Registration } from './schemas.js';
import { changePassword } from './setting/store.js';
import * as store from './store.js';

export interface AuthOptions {
  readonly database: Database;
  readonly passwords: Passwords;
  readonly limits: Limits;
  /** Shortest password at registration and change (characters). */
  readonly passwordLengthMin: number;
  /** `closed`: the command line alone adds users. */
  readonly registration: 'open' | 'closed';
  /** The service makes this account itself, or the operator: a user with its name would keep the service from its start. */
  readonly adminUsername: string;
}

/**
 * Accounts looked up at once. Hashes are made one by one, 20 a second: more lookups would only open all connections of
 * the pool in the first moment of a storm, each with 5 ms of SCRAM on this thread and a new process of PostgreSQL's.
 */
const LOOKUPS_MAX = 2;

/** The public routes that wait in the queue: a request that comes when it is full is answered before its body is read. */
export const authOverflow = ({ isFull }: Pick<Passwords, 'isFull'>): Overflow => {
  const refusal = (address?: string) => (isFull(address) ? 'login_queue_full' : null);
  return new Map([
    ['POST /auth/register', refusal],
    ['POST /auth/login', refusal],
    ['POST /auth/setup', refusal],
  ]);
};

/** POST /auth/register, /auth/login and /auth/changepassword. */
export const authRoutes =
  ({
    database,
    passwords,
    limits,
    passwordLengthMin,
    registration,
    adminUsername,
  }: AuthOptions): FastifyPluginAsyncTypebox =>
  async (app) => {
    const lookups = createGate({ places: LOOKUPS_MAX, callsMax: Number.POSITIVE_INFINITY }); // bounded by the places

    const tags = ['auth'];

    const register = {
      config: {
        access: 'public',
        refusals: [
          'registration_closed',
          'username_taken',
          'device_disabled',
          'too_many_registrations',
          'too_many_requests',
          'login_queue_full',
          'database_unavailable',
          'outcome_unknown',
        ],
        badRequests: ['short_password', 'unstorable_text'],
      },
      // Before the body: a 403 comes before a 400.
      onRequest: async () => {
        if (registration === 'closed') throw new AppError('registration_closed');
      },
      schema: {
        operationId: 'register',
        summary: 'Register an account',
        description:
          'Creates a user with role `user` and returns a token. With `deviceSerial`, the service links the device with that serial to the user, or creates it. An existing device keeps its site. Several users may share a device. 401 means that the device is disabled.',
        tags,
        body: Registration,
        response: answers(Registered),
      },
    } as const;

    app.post('/auth/register', register, async (request) => {
      refuseShort(request.body.password, passwordLengthMin);
      const attempt = attemptOf(request);
      limits.register(attempt.address);
      const account = await passwords.withPlace(attempt.address, () => create(request));
      limits.remember(attempt);
      return { jwt: await issue(account, request), userId: account.id };
    });

    async function create({ body, deadline }: Asked<Registration>): Promise<store.Registered> {
      const { password, site = SITE_UNKNOWN } = body;
      const username = normalizeUsername(body.username);
      const serial = body.deviceSerial?.normalize('NFC') ?? null;
      if (username === adminUsername) throw new AppError('username_taken');
      const obstacle = await lookUp(deadline, () =>
        store.obstacleToRegister(database, deadline, { username, serial }),
      );
      if (obstacle !== null) throw new AppError(obstacle);
      const passwordHash = await passwords.hash(password, inTime(deadline));
      const write = afterHashing(deadline);
      const account =
        serial === null
          ? await store.register(database, write, { username, passwordHash, by: null })
          : await store.registerWithDevice(database, write, {
              username,
              passwordHash,
              by: null,
              serial,
              site,
            });
      if (typeof account === 'string') throw new AppError(account);
      return account;
    }

    const login = {
      config: {
        access: 'public',
        refusals: [
          'invalid_credentials',
          'device_disabled',
          'too_many_wrong_passwords',
          'too_many_requests',
          'login_queue_full',
          'database_unavailable',
          'outcome_unknown',
        ],
        badRequests: ['unstorable_text'],
      },
      schema: {
        operationId: 'login',
        summary: 'Log in',
        description:
          'Returns a new token. Earlier tokens stay valid. The answer is the same for an unknown username and a wrong password. With `deviceSerial`, the service links the device with that serial to an account without a device, as at registration. An account with a device ignores it.',
        tags,
        body: Login,
        response: answers(LoggedIn),
      },
    } as const;

    app.post('/auth/login', login, async (request) => {
      const { body, deadline } = request;
      const attempt = attemptOf(request);
      const guess = limits.login(attempt);
      guess.admit(); // here for whom it need not even queue. In its turn it is asked again
      const account = await passwords.withPlace(attempt.address, async () => {
        const { name } = attempt;
        const account =
          name === NOBODY ? null : await lookUp(deadline, () => store.accountNamed(database, deadline, name));
        const right = await verify(deadline, body.password, account?.password_hash ?? null, guess);
        // Of a name that is no account nothing is logged: it may be a password in the wrong field.
        if (!right && account !== null) tellRejected(request, account, 'invalid_credentials');
        return right ? account : null;
      });
      if (account === null) throw new AppError('invalid_credentials');
      if (!account.device_active) {
        tellRejected(request, account, 'device_disabled');
        throw new AppError('device_disabled');
      }
      if (account.device_id === null && body.deviceSerial !== undefined) await linkOwn(account, request);
      return { jwt: await issue(account, request) };
    });

    /** Sockets of earlier tokens follow the notification of the statement. */
    async function linkOwn(account: store.Registered, request: Asked<Login> & Asker): Promise<void> {
      const { deviceSerial: serial = '', site = SITE_UNKNOWN } = request.body;
      const link = { user: account.id, by: null, serial, site, mayBeAdmin: true };
      const linked = await linkDevice(database, untilAnswered(request.deadline), link);
      if (linked?.device?.active !== false) return;
      tellRejected(request, account, 'device_disabled');
      throw new AppError('device_disabled');
    }

    const change = {
      config: {
        access: 'user',
        refusals: ['invalid_credentials', 'too_many_wrong_passwords', 'login_queue_full', 'outcome_unknown'],
        badRequests: ['short_password'],
      },
      schema: {
        operationId: 'changePassword',
        summary: "Change the caller's password",
        description: "Needs the old password. The caller's tokens stay valid.",
        tags,
        body: PasswordChange,
        response: answers(Ok),
      },
    } as const;

    app.post('/auth/changepassword', change, async (request) => {
      refuseShort(request.body.newPassword, passwordLengthMin);
      limits.oldPassword(request.user.sub).admit();
      await passwords.withPlace(addressKey(request.ip), () => replace(request));
      return ok;
    });

    async function replace({ body, user, deadline }: Asked<PasswordChange>): Promise<void> {
      const oldHash = await lookUp(deadline, () => store.passwordHashOf(database, deadline, user.sub));
      const right = await verify(deadline, body.oldPassword, oldHash, limits.oldPassword(user.sub));
      if (oldHash === null || !right) throw new AppError('invalid_credentials');
      // Two waits in the queue, but one answer in time: the second is entered only while the first was short.
      if (performance.now() > deadline.at) throw new AppError('login_queue_full');
      const newHash = await passwords.hash(body.newPassword, inTime(deadline));
      const change = { user: user.sub, oldHash, newHash };
      const changed = await changePassword(database, afterHashing(deadline), change);
      if (!changed) throw new AppError('invalid_credentials');
    }

    async function lookUp<T>(deadline: Deadline, ask: () => Promise<T>): Promise<T> {
      await lookups.enter(deadline);
      try {
        return await ask();
      } finally {
        lookups.leave(deadline);
      }
    }

    /** What cannot have been registered is wrong, after the same work. */
    function verify(deadline: Deadline, password: string, stored: string | null, guess: Guess) {
      const isInTime = inTime(deadline);
      const admit = () => {
        isInTime();
        guess.admit();
      };
      return passwords.verify(password, isPassword(password) ? stored : null, { ...guess, admit });
    }

    async function issue(
      account: store.Registered,
      { deadline }: Pick<FastifyRequest, 'deadline'>,
    ): Promise<string> {
      const { id, username, role } = account;
      const iat = await store.issueTime(database, untilAnswered(deadline), account);
      return app.jwt.sign({ sub: id, username, role, iat });
    }
  };

function tellRejected(
  { log, ip }: Asker,
  { id, username }: Pick<store.Registered, 'id' | 'username'>,
  reason: 'invalid_credentials' | 'device_disabled',
): void {
  log.info({ user: id, username, reason, address: ip }, 'login rejected');
}

/** Who asks, for the log. */
type Asker = Pick<FastifyRequest, 'log' | 'ip'>;

/** A request whose body is of that kind. */
type Asked<Body> = Pick<FastifyRequest, 'user' | 'deadline'> & { readonly body: Body };

function attemptOf({ ip, body }: { readonly ip: string; readonly body: Pick<Login, 'username'> }): Attempt {
  const name = isUsername(body.username) ? normalizeUsername(body.username) : NOBODY;
  return { name, address: addressKey(ip) };
}
