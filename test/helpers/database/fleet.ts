// A large fleet, written to the database by SQL in seconds: users with devices and key holders, all in required talkgroups.
import type { Sql } from 'postgres';

export interface FleetSize {
  readonly users: number;
  /** Of each user. */
  readonly talkgroups: number;
  /** Of each user, all of them accepted. */
  readonly holders: number;
}

/** As many talkgroups as make each one a thousandth of all users or twenty members large. */
const talkgroupsOf = ({ users, talkgroups }: FleetSize) => Math.max(talkgroups, Math.floor(users / 20));

/**
 * Users `fleet 1` and so on, who are in neighbouring talkgroups. The ids of the users and talkgroups, in their order. Without
 * notices: no relay may hold them yet.
 */
export async function writeFleet(sql: Sql, size: FleetSize) {
  const groups = talkgroupsOf(size);
  await sql`
    insert into devices (name, site, serial)
    select 'fleet ' || n, 'depot', 'fleet ' || n from generate_series(1, ${size.users}::int) n`;
  const users = await sql<{ id: string; name: string; device: string }[]>`
    insert into users (username, password_hash, device_id, had_holder)
    select name, 'none', id, true from devices where name like 'fleet %'
    returning id, username as name, device_id as device`;
  const talkgroups = await sql<{ id: string }[]>`
    insert into talkgroups (name, master_secret, wrapped_by, encryption)
    select 'fleet ' || n, decode(repeat('00', 32), 'hex'), null, 'required' from generate_series(1, ${groups}::int) n
    returning id`;
  await sql`
    with numbered as (
      select id, substr(username, 7)::int - 1 as n from users where username like 'fleet %'
    ), placed as (
      select id, substr(name, 7)::int - 1 as n from talkgroups where name like 'fleet %'
    )
    insert into memberships (user_id, talkgroup_id, site, may_have_keys)
    select u.id, t.id, 'depot', true
    from numbered u cross join generate_series(0, ${size.talkgroups - 1}::int) k
    join placed t on t.n = (u.n + k) % ${groups}::int`;
  // Points that nothing is sealed for.
  await sql`
    insert into key_holders (user_id, device_id, public_key, name, accepted_at)
    select u.id, u.device_id, decode('04' || repeat(md5(u.id::text || h), 4), 'hex'), 'fleet', now()
    from users u cross join generate_series(1, ${size.holders}::int) h where u.username like 'fleet %'`;
  await sql`analyze`;
  return { users, talkgroups };
}
