// Reads the users for whom the command line makes tokens, and writes that it does.
import { type Actor, acting, writeAct } from '../../db/acts.js';
import type { Database } from '../../db/client.js';
import type { Deadline } from '../../db/deadline.js';
import type { UserId } from '../../ids.js';
import { issueTime, type Moment, moment } from '../store.js';
import type { Claims, Role } from '../tokens.js';

/** A user that was named. */
interface Named {
  readonly id: UserId;
  readonly username: string;
  readonly role: Role;
  readonly valid_from: number;
  /** Also true without a linked device. */
  readonly device_active: boolean;
}

/** Why there is no token for a user. */
export interface Obstacle {
  readonly username: string;
  readonly why: 'unknown' | 'admin' | 'device_disabled';
}

/** The claims of a token for each of the users, in their order, or why there are none: then nothing is written. */
export async function claimsFor(
  database: Database,
  deadline: Deadline,
  { usernames, by }: { usernames: readonly string[]; by: Actor },
): Promise<readonly Claims[] | readonly Obstacle[]> {
  const [found] = await writeAct<Moment & { readonly named: readonly Named[] }>(
    database,
    deadline,
    by,
    (sql, noted) => sql`
      with wanted as (
        select name from json_array_elements_text(${JSON.stringify(usernames)}::text::json) n (name)
      ), named as materialized (
        select u.id, u.username, u.role, u.valid_from, coalesce(d.active, true) as device_active
        from wanted join users u on u.username = wanted.name left join devices d on d.id = u.device_id
      ), ${acting(sql, by, {
        act: 'token_made',
        // For all of them or for none.
        from: sql`
          from named where (select count(*) from named) = (select count(*) from wanted)
            and not exists (select from named where role = 'admin' or not device_active)`,
        user: sql`id`,
      })}
      select coalesce((select json_agg(named) from named), '[]') as named, ${moment(sql)} ${noted}`,
  );
  const { named = [], now_s = 0, newest_iat = 0 } = found ?? {};
  const users = new Map(named.map((user) => [user.username, user]));
  const obstacles = usernames.flatMap((username) => obstacleIn(users.get(username), username));
  if (obstacles.length > 0) return obstacles;
  const iat = await issueTime(database, deadline, { now_s, newest_iat, valid_from: 0 });
  return usernames.flatMap((username) => {
    const user = users.get(username);
    if (user === undefined) return [];
    const { id: sub, role, valid_from } = user;
    return [{ sub, username, role, iat: Math.max(iat, valid_from) }];
  });
}

function obstacleIn(user: Named | undefined, username: string): readonly Obstacle[] {
  if (user === undefined) return [{ username, why: 'unknown' }];
  if (user.role === 'admin') return [{ username, why: 'admin' }];
  return user.device_active ? [] : [{ username, why: 'device_disabled' }];
}
