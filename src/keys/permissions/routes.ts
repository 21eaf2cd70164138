// Serves by REST which members may have the keys of a talkgroup.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { Database } from '../../db/client.js';
import { noticeOf, type Tell } from '../../db/notice.js';
import { AppError } from '../../errors.js';
import { confirmAll } from '../../http/confirm.js';
import { firstOrNext, pageOf, SmallPageQuery } from '../../http/paging.js';
import { readTalkgroupId, readUserId } from '../../http/paths.js';
import { answers, Ok, ok } from '../../http/schemas.js';
import { KeyPermission, MemberInPath, MemberKeysList, TalkgroupInPath } from '../schemas.js';
import { membersWithKeys, permitKeys } from './store.js';

export interface PermissionOptions {
  readonly database: Database;
  readonly tell: Tell;
}

/** PUT /talkgroups/:id/members/:user_id/keys, and GET /talkgroups/:id/keys. */
export const permissionRoutes =
  ({ database, tell }: PermissionOptions): FastifyPluginAsyncTypebox =>
  async (app) => {
    const tags = ['keys'];

    const permit = {
      config: {
        access: 'admin',
        refusals: [
          'talkgroup_not_found',
          'user_not_found',
          'member_not_found',
          'outcome_unknown',
          'relay_unconfirmed',
        ],
      },
      schema: {
        operationId: 'permitKeys',
        summary: 'Permit a member to have keys',
        description:
          'Counts where encryption is required: without it a member gets no keys and hears nothing. With `true` the member gets the present key and later ones. With `false` the keys rotate.',
        tags,
        params: MemberInPath,
        body: KeyPermission,
        response: answers(Ok),
      },
    } as const;

    app.put(
      '/talkgroups/:id/members/:user_id/keys',
      permit,
      async ({ params, body, actor: by, deadline }) => {
        const talkgroup = readTalkgroupId(params.id);
        const user = readUserId(params.user_id);
        const { allowed: isAllowed } = body;
        const notice = noticeOf({ kind: 'keys_changed', user, talkgroup });
        const notices = await permitKeys(database, deadline, {
          ...{ user, talkgroup, isAllowed, notice, by },
        });
        if (notices === null) throw new AppError('member_not_found');
        await confirmAll(tell, notices, deadline);
        return ok;
      },
    );

    const listPermitted = {
      config: { access: 'admin', refusals: ['talkgroup_not_found'] },
      schema: {
        operationId: 'listMemberKeys',
        summary: 'List which members may have keys',
        description: 'The answer is always one page in the order of user ids.',
        tags,
        params: TalkgroupInPath,
        querystring: SmallPageQuery,
        response: answers(MemberKeysList),
      },
    } as const;

    app.get('/talkgroups/:id/keys', listPermitted, async ({ params, query, deadline }) => {
      const talkgroup = readTalkgroupId(params.id);
      const page = firstOrNext(query);
      const rows = await membersWithKeys(database, deadline, { talkgroup, page });
      if (rows === null) throw new AppError('talkgroup_not_found');
      return pageOf(page, 'members', { rows, idOf: ({ user_id }) => user_id });
    });
  };
