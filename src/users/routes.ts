// Serves the list of users by REST, deletes users, and revokes tokens: those of any user, or the caller's own.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { normalizeUsername } from '../credentials/usernames.js';
import type { Actor } from '../db/acts.js';
import type { Database } from '../db/client.js';
import type { Deadline } from '../db/deadline.js';
import { noticeOf, type Tell } from '../db/notice.js';
import { dispatcherToo, revokeTokens } from '../db/revocation.js';
import { AppError, notPlainUser } from '../errors.js';
import { confirmAll } from '../http/confirm.js';
import { listingOf, readListing } from '../http/paging.js';
import { readUserId } from '../http/paths.js';
import { answers, Ok, ok, UserInPath } from '../http/schemas.js';
import type { UserId } from '../ids.js';
import {
  ChangedUser,
  OneUser,
  USER_COLUMNS,
  USERS_PRESET,
  UserChange,
  UserList,
  UserQuery,
} from './schemas.js';
import * as store from './store.js';

export interface UserOptions {
  readonly database: Database;
  readonly tell: Tell;
}

/** GET /users, GET, PATCH and DELETE /users/:id, POST /users/:id/revoke and POST /auth/revoke. */
export const userRoutes =
  ({ database, tell }: UserOptions): FastifyPluginAsyncTypebox =>
  async (app) => {
    const list = {
      config: { access: 'dispatcher', badRequests: ['unstorable_text'] },
      schema: {
        operationId: 'listUsers',
        summary: 'List the users',
        description:
          'The answer is always one page, without `sort` in the order of ids. With `q` it has only users with that start of the username, with `find` only users that have that text.',
        tags: ['users'],
        querystring: UserQuery,
        response: answers(UserList),
      },
    } as const;

    app.get('/users', list, async ({ query, deadline }) => {
      const page = readListing(USER_COLUMNS, query, USERS_PRESET);
      const start = query.q === undefined ? null : normalizeUsername(query.q);
      const rows = await store.usersNamed(database, deadline, { start, page });
      return listingOf({ sort: query.sort, page }, 'users', rows);
    });

    const show = {
      config: { access: 'dispatcher', refusals: ['user_not_found'] },
      schema: {
        operationId: 'getUser',
        summary: 'Read a user',
        description:
          'Shows the account, the device, the talkgroups, and what keeps the user from hearing or talking.',
        tags: ['users'],
        params: UserInPath,
        response: answers(OneUser),
      },
    } as const;

    app.get('/users/:id', show, async ({ params, deadline }) => {
      const shown = await store.userShown(database, deadline, { id: readUserId(params.id) });
      if (shown === null) throw new AppError('user_not_found');
      return shown;
    });

    const revokeAny = {
      config: {
        access: 'dispatcher',
        refusals: ['admin_only', 'user_not_found', 'outcome_unknown', 'relay_unconfirmed'],
      },
      schema: {
        operationId: 'revokeTokens',
        summary: 'Revoke all tokens of a user',
        description:
          'All tokens issued to the user so far get 401. The relay stops their audio before the service answers, and closes their sockets with 1008 `invalid token`. It deletes the key holders of the user, and rotates the keys of talkgroups that require encryption. A new login works immediately. A dispatcher revokes those of plain users only, and gets 403 for a dispatcher or an administrator.',
        tags: ['users'],
        params: UserInPath,
        response: answers(Ok),
      },
    } as const;

    app.post('/users/:id/revoke', revokeAny, async ({ params, user: { role }, actor: by, deadline }) => {
      const user = readUserId(params.id);
      const isPlainOnly = role !== 'admin';
      const isRevoked = await revoke(user, { by, isPlainOnly, deadline });
      if (isRevoked) return ok;
      const isThere = isPlainOnly && (await store.accountOf(database, deadline, user)) !== null;
      throw new AppError(isThere ? 'admin_only' : 'user_not_found');
    });

    const revokeOwn = {
      config: { access: 'user', refusals: ['outcome_unknown', 'relay_unconfirmed'] },
      schema: {
        operationId: 'revokeOwnTokens',
        summary: 'Revoke all tokens of the caller',
        description:
          'Logs the caller out everywhere. It also revokes the token of this request. The relay closes the sockets of the caller with 1008 `invalid token`. It deletes the key holders of the caller. A new login works immediately. A new key holder waits until an administrator accepts it.',
        tags: ['auth'],
        response: answers(Ok),
      },
    } as const;

    app.post('/auth/revoke', revokeOwn, async ({ user, deadline }) => {
      await revoke(user.sub, { by: null, deadline });
      return ok;
    });

    /** False: no such user, or one whose tokens the caller may not revoke. Otherwise live sockets follow. */
    async function revoke(
      user: UserId,
      { by, isPlainOnly = false, deadline }: { by: Actor | null; isPlainOnly?: boolean; deadline: Deadline },
    ): Promise<boolean> {
      const notices = await revokeTokens(database, deadline, {
        ...{ user, by, act: 'tokens_revoked' },
        // A dispatcher may not accept key holders, so the next one waits.
        ...(isPlainOnly && { who: 'plain', mustWait: true }),
      });
      if (notices !== null) await confirmAll(tell, notices, deadline);
      return notices !== null;
    }

    const change = {
      config: {
        access: 'admin',
        refusals: ['admin_account', 'user_not_found', 'outcome_unknown', 'relay_unconfirmed'],
      },
      schema: {
        operationId: 'changeUser',
        summary: 'Make a user a dispatcher, or a plain user again',
        description:
          'A dispatcher reads the users and all talkgroups, moves members, revokes the tokens of plain users, answers all emergencies, talks in `broadcast` and with priorities up to 6. The role in the token stays `user`. The new right counts at once, also for connected radios. When the right is taken away, all tokens of the user get 401, and the relay closes the sockets with 1008 `invalid token`. An administrator has all these rights already.',
        tags: ['users'],
        params: UserInPath,
        body: UserChange,
        response: answers(ChangedUser),
      },
    } as const;

    app.patch('/users/:id', change, async ({ params, body, actor: by, deadline }) => {
      const user = readUserId(params.id);
      const account = await store.accountOf(database, deadline, user);
      if (account?.role !== 'user') throw notPlainUser(account);
      const notices = body.dispatcher
        ? await store.admitDispatcher(database, deadline, { user, by })
        : await revokeTokens(database, deadline, {
            ...{ user, by, act: 'dispatcher_removed', who: 'dispatcher' },
            also: dispatcherToo(false),
          });
      if (notices === null) {
        const now = await store.accountOf(database, deadline, user);
        if (now?.role !== 'user') throw notPlainUser(now);
      }
      // A client that repeats a request that was not confirmed wants to know that the relay follows.
      await confirmAll(tell, notices ?? [noticeOf({ kind: 'user_promoted', user })], deadline);
      return { user: { ...account, dispatcher: body.dispatcher } };
    });

    const remove = {
      config: {
        access: 'admin',
        refusals: [
          'admin_account',
          'user_not_found',
          'open_emergency',
          'outcome_unknown',
          'relay_unconfirmed',
        ],
      },
      schema: {
        operationId: 'deleteUser',
        summary: 'Delete a user',
        description:
          'Deletes the account with its memberships and key holders. The relay ends what the user says, and closes the sockets with 1008 `unknown user`. Keys rotate where encryption is required. The device stays. Its position is deleted, unless another user has the device. Cleared emergencies stay without the user. A user with an open emergency is not deleted. An administrator is deleted by a command.',
        tags: ['users'],
        params: UserInPath,
        response: answers(Ok),
      },
    } as const;

    app.delete('/users/:id', remove, async ({ params, actor: by, deadline }) => {
      const user = readUserId(params.id);
      const removed = await store.deleteUser(database, deadline, { user, by });
      if (typeof removed === 'string') throw new AppError(removed);
      await confirmAll(tell, removed, deadline);
      return ok;
    });
  };
