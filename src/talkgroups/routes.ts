// Talkgroups: create, list, change, join, leave, delete, and who is in them.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { Database } from '../db/client.js';
import { noticeOf, type Tell } from '../db/notices.js';
import { AppError } from '../errors.js';
import { confirm } from '../http/confirm.js';
import { inPieces } from '../http/long-list.js';
import { readTalkgroupId } from '../http/paths.js';
import { answers, IdInPath, Ok, ok } from '../http/schemas.js';
import { readId, type UserId } from '../ids.js';
import {
  MemberInPath,
  MemberList,
  NewTalkgroup,
  OneTalkgroup,
  TalkgroupList,
  TalkgroupSettings,
} from './schemas.js';
import * as store from './store.js';

export interface TalkgroupOptions {
  readonly database: Database;
  readonly tell: Tell;
  readonly wrap: store.WrapSecret;
}

/** The routes under /talkgroups. */
export const talkgroupRoutes =
  ({ database, tell, wrap }: TalkgroupOptions): FastifyPluginAsyncTypebox =>
  async (app) => {
    const tags = ['talkgroups'];

    const list = { config: { access: 'user' }, schema: { tags, response: answers(TalkgroupList) } } as const;

    app.get('/talkgroups', list, async ({ user, deadline }) => {
      const talkgroups = await store.talkgroupsOf(database, deadline, user.sub);
      return { talkgroups: talkgroups.map((talkgroup) => ({ talkgroup_id: talkgroup.id, talkgroup })) };
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
      schema: { tags, params: IdInPath, response: answers(MemberList) },
    } as const;

    app.get('/talkgroups/:id/members', members, async ({ params, deadline }, reply) => {
      const found = await store.membersOf(database, deadline, readTalkgroupId(params.id));
      if (found === null) throw new AppError('talkgroup_not_found');
      return inPieces(reply, 'members', found);
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
