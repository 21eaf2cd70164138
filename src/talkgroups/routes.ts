// Talkgroups: create, list, change, join, leave, delete, and who is in them.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { Database } from '../db/client.js';
import { noticeOf, type Tell } from '../db/notices.js';
import type { Page } from '../db/pages.js';
import { AppError } from '../errors.js';
import { confirm } from '../http/confirm.js';
import type { Lists } from '../http/lists.js';
import { firstOrNext, PageQuery, pageOf, SmallPageQuery } from '../http/paging.js';
import { readTalkgroupId } from '../http/paths.js';
import { answers, IdInPath, Ok, ok } from '../http/schemas.js';
import { readId, type UserId } from '../ids.js';
import {
  MemberInPath,
  MemberList,
  NewTalkgroup,
  OneTalkgroup,
  TalkgroupDirectory,
  TalkgroupList,
  TalkgroupSettings,
} from './schemas.js';
import * as store from './store.js';

export interface TalkgroupOptions {
  readonly database: Database;
  readonly tell: Tell;
  readonly lists: Lists;
  readonly wrap: store.WrapSecret;
  /** Who may read GET /talkgroups/directory. */
  readonly directory: 'all' | 'admin';
}

/** The routes under /talkgroups. */
export const talkgroupRoutes =
  ({ database, tell, lists, wrap, directory }: TalkgroupOptions): FastifyPluginAsyncTypebox =>
  async (app) => {
    const tags = ['talkgroups'];

    const list = {
      config: { access: 'user' },
      schema: { tags, querystring: PageQuery, response: answers(TalkgroupList) },
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
      config: { access: directory === 'all' ? 'user' : 'admin' },
      schema: { tags, querystring: SmallPageQuery, response: answers(TalkgroupDirectory) },
    } as const;

    app.get('/talkgroups/directory', readDirectory, async ({ query, deadline }) => {
      const page = firstOrNext(query);
      const rows = await store.allTalkgroups(database, deadline, page);
      return pageOf(page, 'talkgroups', { rows, idOf: ({ id }) => id });
    });

    const create = {
      config: { access: 'admin' },
      schema: { tags, body: NewTalkgroup, response: answers(OneTalkgroup) },
    } as const;

    app.post('/talkgroups', create, async ({ body, deadline }) => ({
      talkgroup: await store.createTalkgroup(database, deadline, { ...body, wrap }),
    }));

    const set = {
      config: { access: 'admin' },
      schema: { tags, params: IdInPath, body: TalkgroupSettings, response: answers(OneTalkgroup) },
    } as const;

    app.patch('/talkgroups/:id', set, async ({ params, body, deadline }) => {
      const talkgroup = readTalkgroupId(params.id);
      const notice = noticeOf({ kind: 'talkgroup_changed', talkgroup });
      const changed = await store.changeTalkgroup(database, deadline, { talkgroup, settings: body, notice });
      if (changed === null) throw new AppError('talkgroup_not_found');
      await confirm(tell, notice, deadline);
      return { talkgroup: changed };
    });

    const change = {
      config: { access: 'user' },
      schema: { tags, params: IdInPath, response: answers(Ok) },
    } as const;

    app.post('/talkgroups/:id/join', change, async ({ params, user, deadline }) => {
      const talkgroup = readTalkgroupId(params.id);
      const notice = noticeOf({ kind: 'joined', user: user.sub, talkgroup });
      const found = await store.join(database, deadline, { user: user.sub, talkgroup, notice });
      if (!found) throw new AppError('talkgroup_not_found');
      await confirm(tell, notice, deadline);
      return ok;
    });

    app.delete('/talkgroups/:id/leave', change, async ({ params, user, deadline }) => {
      const talkgroup = readTalkgroupId(params.id);
      const notice = noticeOf({ kind: 'left', user: user.sub, talkgroup });
      const found = await store.leave(database, deadline, { user: user.sub, talkgroup, notice });
      if (!found) throw new AppError('talkgroup_not_found');
      await confirm(tell, notice, deadline);
      return ok;
    });

    const members = {
      config: { access: 'user' },
      schema: { tags, params: IdInPath, querystring: PageQuery, response: answers(MemberList) },
    } as const;

    app.get('/talkgroups/:id/members', members, async ({ params, query, deadline }, reply) => {
      const talkgroup = readTalkgroupId(params.id);
      const read = async (page: Page | null) => {
        const members = await store.membersOf(database, deadline, { talkgroup, page });
        if (members === null) throw new AppError('talkgroup_not_found');
        return members;
      };
      return lists.answer(reply, query, { name: 'members', read, idOf: ({ user_id }) => user_id });
    });

    const remove = {
      config: { access: 'admin' },
      schema: { tags, params: MemberInPath, response: answers(Ok) },
    } as const;

    app.delete('/talkgroups/:id/members/:user_id', remove, async ({ params, deadline }) => {
      const talkgroup = readTalkgroupId(params.id);
      const user = readId<UserId>(params.user_id);
      if (user === null) throw new AppError('user_not_found');
      const notice = noticeOf({ kind: 'left', user, talkgroup });
      const found = await store.leave(database, deadline, { user, talkgroup, notice });
      if (!found) throw new AppError('talkgroup_not_found');
      await confirm(tell, notice, deadline);
      return ok;
    });

    app.delete(
      '/talkgroups/:id',
      { ...change, config: { access: 'admin' } },
      async ({ params, deadline }) => {
        const talkgroup = readTalkgroupId(params.id);
        const notice = noticeOf({ kind: 'talkgroup_deleted', talkgroup });
        const found = await store.deleteTalkgroup(database, deadline, { talkgroup, notice });
        if (!found) throw new AppError('talkgroup_not_found');
        await confirm(tell, notice, deadline);
        return ok;
      },
    );
  };
