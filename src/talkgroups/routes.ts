// Serves talkgroups by REST: create, list, change, join, leave, delete, and their members.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { Database } from '../db/client.js';
import type { Deadline } from '../db/deadline.js';
import { type Notice, noticeOf, type Tell } from '../db/notice.js';
import type { Page } from '../db/pages.js';
import { AppError } from '../errors.js';
import { confirmAll } from '../http/confirm.js';
import type { Lists } from '../http/lists.js';
import { firstOrNext, listingOf, PageQuery, pageOf, readListing, SmallPageQuery } from '../http/paging.js';
import { readTalkgroupId, readUserId } from '../http/paths.js';
import { answers, Ok, ok } from '../http/schemas.js';
import * as memberships from './members/store.js';
import {
  MANAGED_COLUMNS,
  ManagedQuery,
  ManagedTalkgroupList,
  MemberInPath,
  MemberList,
  NewTalkgroup,
  OneTalkgroup,
  TalkgroupDirectory,
  TalkgroupInPath,
  TalkgroupList,
  TalkgroupSettings,
} from './schemas.js';
import * as store from './store.js';

export interface TalkgroupOptions {
  readonly database: Database;
  readonly tell: Tell;
  readonly lists: Lists;
  readonly keyring: { readonly wrapsWith: string | null; readonly wrap: store.WrapSecret };
  /** Who may read GET /talkgroups/directory. */
  readonly directory: 'all' | 'admin';
  /** Whether every relay of the service rejects clear audio where encryption is required. */
  readonly enforce: () => Promise<boolean>;
  /** null: this node records, and so does every relay of the service. */
  readonly record: () => Promise<'recording_off' | 'not_recorded_by_all' | null>;
}

/** The routes under /talkgroups, and GET /admin/talkgroups. */
export const talkgroupRoutes =
  ({ database, tell, lists, keyring, directory, ...may }: TalkgroupOptions): FastifyPluginAsyncTypebox =>
  async (app) => {
    const tags = ['talkgroups'];

    const list = {
      config: { access: 'user' },
      schema: {
        operationId: 'listTalkgroups',
        summary: "List the caller's talkgroups",
        description:
          'Only talkgroups of which the caller is a member, also for administrators. With `limit` or `after` the answer is one page in the order of ids. Otherwise it is the whole list.',
        tags,
        querystring: PageQuery,
        response: answers(TalkgroupList),
      },
    } as const;

    app.get('/talkgroups', list, async ({ user, query, deadline }, reply) => {
      const read = async (page: Page | null) => {
        const found = await store.talkgroupsOf(database, deadline, { user: user.sub, page });
        return found.map((talkgroup) => ({ talkgroup_id: talkgroup.id, talkgroup }));
      };
      return lists.answer(reply, query, {
        name: 'talkgroups',
        read,
        idOf: ({ talkgroup_id }) => talkgroup_id,
      });
    });

    const readDirectory = {
      config: { access: directory === 'all' ? 'user' : 'dispatcher', refusals: ['dispatcher_only'] },
      schema: {
        operationId: 'listTalkgroupDirectory',
        summary: 'List all talkgroups',
        description:
          'Shows what the caller could join. The answer is always one page in the order of ids. The operator may restrict it to dispatchers and administrators with `TALKGROUP_DIRECTORY=admin`.',
        tags,
        querystring: SmallPageQuery,
        response: answers(TalkgroupDirectory),
      },
    } as const;

    app.get('/talkgroups/directory', readDirectory, async ({ query, deadline }) => {
      const page = firstOrNext(query);
      const rows = await store.allTalkgroups(database, deadline, page);
      return pageOf(page, 'talkgroups', { rows, idOf: ({ id }) => id });
    });

    const manage = {
      config: { access: 'dispatcher', badRequests: ['unstorable_text'] },
      schema: {
        operationId: 'listManagedTalkgroups',
        summary: 'List all talkgroups with their settings',
        description: 'The answer is always one page, without `sort` in the order of ids.',
        tags,
        querystring: ManagedQuery,
        response: answers(ManagedTalkgroupList),
      },
    } as const;

    app.get('/admin/talkgroups', manage, async ({ query, deadline }) => {
      const page = readListing(MANAGED_COLUMNS, query);
      const rows = await store.managedTalkgroups(database, deadline, page);
      return listingOf({ sort: query.sort, page }, 'talkgroups', rows);
    });

    const create = {
      config: { access: 'admin', refusals: ['outcome_unknown'], badRequests: ['unstorable_text'] },
      schema: {
        operationId: 'createTalkgroup',
        summary: 'Create a talkgroup',
        description:
          'Creates it with rotation counter 0 and a random master secret, which no operation returns. The caller does not become a member. The default of `floor_mode` is `open`.',
        tags,
        body: NewTalkgroup,
        response: answers(OneTalkgroup),
      },
    } as const;

    app.post('/talkgroups', create, async ({ body, actor: by, deadline }) => ({
      talkgroup: await store.createTalkgroup(database, deadline, { ...body, wrap: keyring.wrap, by }),
    }));

    /** Of every route that changes a talkgroup that exists. */
    const refusals = ['talkgroup_not_found', 'outcome_unknown', 'relay_unconfirmed'] as const;

    const set = {
      config: {
        access: 'admin',
        refusals: [...refusals, 'no_secrets_key', 'not_enforced', 'recording_off', 'not_recorded_by_all'],
        badRequests: ['unstorable_text'],
      },
      schema: {
        operationId: 'changeTalkgroup',
        summary: 'Change the settings of a talkgroup',
        description:
          'A field that is left out keeps its value. A new floor mode is in force when the service answers. A talkgroup that begins to require encryption rotates its keys, and its present members may have them. It needs `SECRETS_KEY`. Connected members receive TALKGROUP_CHANGED. A new number of `recording_days` counts for what is recorded from then on.',
        tags,
        params: TalkgroupInPath,
        body: TalkgroupSettings,
        response: answers(OneTalkgroup),
      },
    } as const;

    app.patch('/talkgroups/:id', set, async ({ params, body, actor: by, deadline }) => {
      const talkgroup = readTalkgroupId(params.id);
      const notice = noticeOf({ kind: 'talkgroup_changed', talkgroup });
      const why = (body.recording_days ?? 0) > 0 ? await may.record() : null;
      if (why !== null) throw new AppError(why);
      if (body.encryption === 'required') {
        if (keyring.wrapsWith === null) throw new AppError('no_secrets_key');
        if (!(await may.enforce())) throw new AppError('not_enforced');
      }
      const change = { talkgroup, settings: body, notice, by };
      const changed = await store.changeTalkgroup(database, deadline, change);
      if (changed === null) throw new AppError('talkgroup_not_found');
      if (changed === 'no_secrets_key') throw new AppError('no_secrets_key');
      await confirmAll(tell, changed.notices, deadline);
      return { talkgroup: changed.talkgroup };
    });

    const join = {
      config: { access: 'user', refusals },
      schema: {
        operationId: 'joinTalkgroup',
        summary: 'Join a talkgroup',
        description:
          "Every user may join every talkgroup. The membership keeps the site of the caller's device, or `unknown`. Joining again changes nothing. When the service answers, connected radios of the caller hear the talkgroup and may talk in it.",
        tags,
        params: TalkgroupInPath,
        response: answers(Ok),
      },
    } as const;

    app.post('/talkgroups/:id/join', join, async ({ params, user, deadline }) => {
      const talkgroup = readTalkgroupId(params.id);
      const notice = noticeOf({ kind: 'joined', user: user.sub, talkgroup });
      const outcome = await memberships.join(database, deadline, {
        ...{ user: user.sub, talkgroup, notice, by: null },
      });
      return followed(outcome === 'talkgroup_not_found' ? null : [notice], deadline);
    });

    const leave = {
      config: { access: 'user', refusals },
      schema: {
        operationId: 'leaveTalkgroup',
        summary: 'Leave a talkgroup',
        description:
          "After the answer, the caller's radios hear no frame that is sent later. The answer is the same when the caller is not a member.",
        tags,
        params: TalkgroupInPath,
        response: answers(Ok),
      },
    } as const;

    app.delete('/talkgroups/:id/leave', leave, async ({ params, user, deadline }) => {
      const talkgroup = readTalkgroupId(params.id);
      const notice = noticeOf({ kind: 'left', user: user.sub, talkgroup });
      const leaving = { user: user.sub, talkgroup, notice, by: null };
      const notices = await memberships.leave(database, deadline, leaving);
      return followed(notices, deadline);
    });

    const members = {
      config: { access: 'user', refusals: ['talkgroup_not_found'] },
      schema: {
        operationId: 'listMembers',
        summary: 'List the members of a talkgroup',
        description:
          'Every user may read it, member or not. With `limit` or `after` the answer is one page in the order of user ids. Otherwise it is the whole list.',
        tags,
        params: TalkgroupInPath,
        querystring: PageQuery,
        response: answers(MemberList),
      },
    } as const;

    app.get('/talkgroups/:id/members', members, async ({ params, query, deadline }, reply) => {
      const talkgroup = readTalkgroupId(params.id);
      const read = async (page: Page | null) => {
        const members = await memberships.membersOf(database, deadline, { talkgroup, page });
        if (members === null) throw new AppError('talkgroup_not_found');
        return members;
      };
      return lists.answer(reply, query, { name: 'members', read, idOf: ({ user_id }) => user_id });
    });

    const addMember = {
      config: { access: 'dispatcher', refusals: ['user_not_found', ...refusals] },
      schema: {
        operationId: 'addMember',
        summary: 'Add a member to a talkgroup',
        description:
          "Has the effect of a join by that user. The membership keeps the site of the user's device, or `unknown`. Adding a member again changes nothing.",
        tags,
        params: MemberInPath,
        response: answers(Ok),
      },
    } as const;

    app.put('/talkgroups/:id/members/:user_id', addMember, async ({ params, actor: by, deadline }) => {
      const talkgroup = readTalkgroupId(params.id);
      const user = readUserId(params.user_id);
      const notice = noticeOf({ kind: 'joined', user, talkgroup });
      const outcome = await memberships.join(database, deadline, { user, talkgroup, notice, by });
      if (outcome === 'user_not_found') throw new AppError('user_not_found');
      return followed(outcome === 'joined' ? [notice] : null, deadline);
    });

    const removeMember = {
      config: { access: 'dispatcher', refusals: ['user_not_found', ...refusals] },
      schema: {
        operationId: 'removeMember',
        summary: 'Remove a member from a talkgroup',
        description:
          "After the answer, the user's radios hear no frame that is sent later. The answer is the same when the user is not a member or does not exist. The user may join again.",
        tags,
        params: MemberInPath,
        response: answers(Ok),
      },
    } as const;

    app.delete('/talkgroups/:id/members/:user_id', removeMember, async ({ params, actor: by, deadline }) => {
      const talkgroup = readTalkgroupId(params.id);
      const user = readUserId(params.user_id);
      const notice = noticeOf({ kind: 'left', user, talkgroup });
      const notices = await memberships.leave(database, deadline, { user, talkgroup, notice, by });
      return followed(notices, deadline);
    });

    const remove = {
      config: { access: 'admin', refusals },
      schema: {
        operationId: 'deleteTalkgroup',
        summary: 'Delete a talkgroup',
        description: 'Deletes all its memberships too. Connected members receive TALKGROUP_LEFT.',
        tags,
        params: TalkgroupInPath,
        response: answers(Ok),
      },
    } as const;

    app.delete('/talkgroups/:id', remove, async ({ params, actor: by, deadline }) => {
      const talkgroup = readTalkgroupId(params.id);
      const notice = noticeOf({ kind: 'talkgroup_deleted', talkgroup });
      const found = await store.deleteTalkgroup(database, deadline, { talkgroup, notice, by });
      return followed(found ? [notice] : null, deadline);
    });

    /** The answer to a change. `notices` null: no such talkgroup. */
    async function followed(notices: readonly Notice[] | null, deadline: Deadline) {
      if (notices === null) throw new AppError('talkgroup_not_found');
      await confirmAll(tell, notices, deadline);
      return ok;
    }
  };
