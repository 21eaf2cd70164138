// Reads the talkgroup that an operator asks about.
import type { Database } from '../../db/client.js';
import type { Deadline } from '../../db/deadline.js';
import type { TalkgroupId, UserId } from '../../ids.js';
import type { Encryption } from '../../protocol/codes.js';

export interface InQuestion {
  readonly id: TalkgroupId;
  readonly name: string;
  readonly encryption: Encryption;
  readonly is_member: boolean;
  /** false as well for who is no member. */
  readonly may_have_keys: boolean;
}

/** null: no such talkgroup. */
export async function talkgroupInQuestion(
  database: Database,
  deadline: Deadline,
  { talkgroup, user }: { readonly talkgroup: TalkgroupId; readonly user: UserId },
): Promise<InQuestion | null> {
  const [found] = await database.read<InQuestion>(
    deadline,
    (sql) => sql`
      select t.id, t.name, t.encryption, m.user_id is not null as is_member, coalesce(m.may_have_keys, false) as may_have_keys
      from talkgroups t left join memberships m on m.talkgroup_id = t.id and m.user_id = ${user}
      where t.id = ${talkgroup}`,
  );
  return found ?? null;
}
