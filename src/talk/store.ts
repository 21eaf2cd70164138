// What the relay asks the database: who a user is, where he may talk and who is in distress there, and numbers for
// sessions.
import type { Database, Sql } from '../db/client.js';
import type { Deadline } from '../db/deadline.js';
import type { DeviceId, TalkgroupId, UserId } from '../ids.js';

export type FloorMode = 'open' | 'single' | 'broadcast';

export interface TalkgroupRow {
  readonly id: TalkgroupId;
  /** u32, stands for the talkgroup in an audio frame. */
  readonly number: number;
  readonly name: string;
  readonly rotation_counter: number;
  readonly floor_mode: FloorMode;
  readonly max_talk_ms: number;
  /** The open ones, oldest first. */
  readonly emergencies: readonly EmergencyRow[];
}

/** An emergency that is not cleared. */
export interface EmergencyRow {
  readonly id: string;
  readonly user_id: UserId;
  readonly username: string;
  readonly state: 'raised' | 'acknowledged';
  /** Degrees in WGS 84 and metres above it, null where the radio did not know. */
  readonly lat: number | null;
  readonly lng: number | null;
  readonly alt: number | null;
  /** ISO 8601. */
  readonly raised_at: string;
}

export interface MembershipRow extends TalkgroupRow {
  readonly site: string;
}

export interface Account {
  readonly id: UserId;
  readonly username: string;
  readonly role: 'admin' | 'user';
  /** Unix seconds; tokens issued before are refused. */
  readonly valid_from: number;
  readonly device_id: DeviceId | null;
  /** true also for a user without a device. */
  readonly device_active: boolean;
  readonly memberships: readonly MembershipRow[];
}

/** The array in PostgreSQL's own spelling; ids need no quoting. */
const arrayOf = (ids: readonly (string | number)[]) => `{${ids.join(',')}}`;

/** Each of the users that exists, with all memberships; the order is the database's. */
export function accountsOf(
  database: Database,
  deadline: Deadline,
  users: readonly UserId[],
): Promise<Account[]> {
  // The lists are made once for each talkgroup: in a storm of reconnects most memberships are in the same few.
  return database.read<Account>(
    deadline,
    (sql) => sql`
      with open as materialized (${openEmergencies(
        sql,
        sql`e.talkgroup_id in (select talkgroup_id from memberships where user_id = any(${arrayOf(users)}::uuid[]))`,
      )})
      select u.id, u.username, u.role, u.valid_from, u.device_id, coalesce(d.active, true) as device_active,
             coalesce(m.memberships, '[]') as memberships
        from users u
        left join devices d on d.id = u.device_id
        left join lateral (
          select json_agg(json_build_object(
                   'id', t.id, 'number', t.number, 'name', t.name, 'rotation_counter', t.rotation_counter,
                   'floor_mode', t.floor_mode, 'max_talk_ms', t.max_talk_ms, 'site', m.site,
                   'emergencies', coalesce(o.emergencies, '[]'))) as memberships
            from memberships m
            join talkgroups t on t.id = m.talkgroup_id
            left join open o on o.talkgroup_id = t.id
           where m.user_id = u.id
        ) m on true
       where u.id = any(${arrayOf(users)}::uuid[])`,
  );
}

type Fragment = ReturnType<Sql>;

/** Per talkgroup with open emergencies, for those that `which` names by `e.talkgroup_id`: the list of them. */
const openEmergencies = (sql: Sql, which: Fragment) => sql`
  select e.talkgroup_id,
         json_agg(json_build_object(
           'id', e.id, 'user_id', e.user_id, 'username', r.username, 'state', e.state,
           'lat', e.lat, 'lng', e.lng, 'alt', e.alt,
           'raised_at', to_char(e.raised_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
           order by e.raised_at, e.id) as emergencies
    from emergencies e
    join users r on r.id = e.user_id
   where e.state <> 'cleared' and ${which}
   group by e.talkgroup_id`;

/** Each of the talkgroups that exists. */
export function talkgroupsOf(
  database: Database,
  deadline: Deadline,
  ids: readonly TalkgroupId[],
): Promise<TalkgroupRow[]> {
  return database.read<TalkgroupRow>(
    deadline,
    (sql) => sql`
      select t.id, t.number, t.name, t.rotation_counter, t.floor_mode, t.max_talk_ms,
             coalesce(o.emergencies, '[]') as emergencies
        from talkgroups t
        left join (${openEmergencies(sql, sql`e.talkgroup_id = any(${arrayOf(ids)}::uuid[])`)}) o
          on o.talkgroup_id = t.id
       where t.id = any(${arrayOf(ids)}::uuid[])`,
  );
}

/** Session numbers in one block of the sequence; the migration that makes the sequence says the same. */
export const SESSION_BLOCK = 1024;

/** The first number of a block that nobody else gets, ever. */
export async function nextSessionBlock(database: Database, deadline: Deadline): Promise<number> {
  const [row] = await database.write<{ block: number }>(
    deadline,
    (sql) => sql`select nextval('session_blocks') as block`,
  );
  if (row === undefined) throw new Error('nextval answered no row');
  return row.block * SESSION_BLOCK;
}
