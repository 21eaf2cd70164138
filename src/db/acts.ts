// Writes what administrators and commands did, in the statement that does it.
import type { UserId } from '../ids.js';
import type { Database } from './client.js';
import type { Deadline } from './deadline.js';
import type { Fragment } from './pages.js';
import type { Sql } from './pool.js';

/**
 * Every act, and the keys of its details beside `username`, `serial` and `talkgroup`, the names of whom and what it was done
 * to. None has a value that is secret.
 */
export const ACTS = {
  user_added: ['talkgroups', 'dispatcher', 'setup_code'],
  user_changed: ['talkgroups', 'dispatcher'],
  user_deleted: [],
  user_locked: [],
  password_set: ['tokens_kept'],
  tokens_revoked: [],
  setup_code_made: ['expires_at'],
  token_made: [],
  dispatcher_added: [],
  dispatcher_removed: [],
  admin_added: [],
  admin_promoted: [],
  admin_removed: [],
  device_linked: ['serial_before'],
  device_unlinked: [],
  device_changed: ['name', 'site'],
  device_enabled: [],
  device_disabled: [],
  talkgroup_created: ['floor_mode'],
  talkgroup_changed: ['name', 'floor_mode', 'max_talk_ms', 'encryption', 'clear_emergency', 'recording_days'],
  talkgroup_deleted: ['recordings_lost'],
  member_added: [],
  member_removed: [],
  keys_permitted: [],
  keys_withdrawn: [],
  keys_rotated: ['rotation_counter'],
  keys_exported: ['holder_id', 'epochs'],
  secret_renewed: ['rotation_counter', 'restored', 'recordings_lost'],
  secrets_rewrapped: ['secrets'],
  holder_accepted: ['holder_id'],
  holder_deleted: ['holder_id'],
  emergency_acknowledged: ['emergency_id'],
  emergency_cleared: ['emergency_id'],
  recording_erased: ['recording_id'],
  recordings_erased: ['recordings', 'since', 'until'],
  recordings_exported: ['from', 'to'],
  hold_created: ['hold_id', 'from', 'to', 'reason'],
  hold_released: ['hold_id', 'from', 'to', 'reason'],
  fleet_exported: [],
  backup_taken: ['rows'],
  database_restored: ['taken_at', 'rows'],
  audit_read: [],
} as const;

export type Act = keyof typeof ACTS;
export const ACT_NAMES = Object.keys(ACTS) as readonly Act[];

/** How an act came to the service. The service itself adds the first administrator. */
export const WAYS = ['rest', 'relay', 'command', 'service'] as const;

/** Who acts. */
export interface Actor {
  /** null: no user. */
  readonly id: UserId | null;
  /** null: the username of the user. */
  readonly name: string | null;
  readonly way: (typeof WAYS)[number];
  /** Gets each act when it is stored. */
  readonly noted?: (act: Noted) => void;
}

/** An act that was stored. */
export interface Noted {
  readonly id: number;
  readonly act: Act;
  readonly by: string;
  readonly by_id: UserId | null;
  readonly way: Actor['way'];
  readonly user_id: string | null;
  readonly device_id: string | null;
  readonly talkgroup_id: string | null;
  readonly details: Readonly<Record<string, unknown>>;
}

type Name = 'username' | 'serial' | 'talkgroup';
type Value = Fragment | string | number | boolean | null;

interface Acting<A extends Act> {
  readonly act: A;
  /** `from` and `where` of the rows that changed. The act is written once for each of them. */
  readonly from?: Fragment;
  /** Ids of whom and what it was done to, as columns of these rows. */
  readonly user?: Fragment;
  readonly device?: Fragment;
  readonly talkgroup?: Fragment;
  /** The names are read by the ids as they were before the statement: for those that it adds, they are given here. */
  readonly details?: { readonly [key in (typeof ACTS)[A][number] | Name]?: Value };
}

/**
 * A CTE that writes the act. `by` null: a user acts for itself, and there is no act. A statement with two acts has the second
 * one as `also_acted`, which does not reach `noted`.
 */
export function acting<A extends Act>(
  sql: Sql,
  by: Actor | null,
  { act, from = sql``, user, device, talkgroup, details = {} }: Acting<A>,
  as: 'acted' | 'also_acted' = 'acted',
): Fragment {
  const name = as === 'acted' ? sql`acted` : sql`also_acted`;
  if (by === null) return sql`${name} as (select where false)`;
  const none = sql`null`;
  return sql`
    ${name} as (
      insert into acts (by_id, by_name, way, act, user_id, device_id, talkgroup_id, details)
      select ${by.id}::uuid,
             coalesce(${by.name}::text, (select username from users where id = ${by.id}::uuid), 'unknown'),
             ${by.way}::text, ${act}::text, s.user_id, s.device_id, s.talkgroup_id,
             jsonb_strip_nulls(jsonb_build_object(
               'username', (select username from users where id = s.user_id),
               'serial', (select serial from devices where id = s.device_id),
               'talkgroup', (select name from talkgroups where id = s.talkgroup_id)
             ) || jsonb_strip_nulls(s.details))
      from (
        select (${user ?? none})::uuid as user_id, (${device ?? none})::uuid as device_id,
               (${talkgroup ?? none})::uuid as talkgroup_id, ${jsonOf(sql, details)} as details
        ${from}
      ) s
      returning id, act, by_name as by, by_id, way, user_id, device_id, talkgroup_id, details
    )`;
}

function jsonOf(sql: Sql, details: Readonly<Record<string, Value | undefined>>): Fragment {
  return Object.entries(details).reduce(
    (all, [key, value = null]) => sql`${all} || jsonb_build_object(${key}::text, ${valueIn(sql, value)})`,
    sql`'{}'::jsonb`,
  );
}

function valueIn(sql: Sql, value: Value): Fragment {
  if (value === null) return sql`null`;
  if (typeof value === 'string') return sql`${value}::text`;
  if (typeof value === 'number') return sql`${value}::numeric`;
  return typeof value === 'boolean' ? sql`${value}::boolean` : value;
}

/** The value of the outermost SELECT that `writeAct` reads, with a comma before it. */
const noted = (sql: Sql) => sql`, (select coalesce(json_agg(acted), '[]') from acted) as acts`;

/** A statement that has `acting` among its CTEs, and `noted` behind the last value of its outermost SELECT. */
type Statement<Row> = (sql: Sql, noted: Fragment) => Promise<Row[]>;

/** As `database.write`. The `noted` of the actor gets the acts that were stored. */
export async function writeAct<Row extends object>(
  database: Database,
  deadline: Deadline,
  by: Actor | null,
  statement: Statement<Row>,
): Promise<Row[]> {
  const rows = await database.write(deadline, (sql) => statement(sql, by === null ? sql`` : noted(sql)));
  return rows.map((row) => {
    const { acts = [], ...rest } = row as Row & { readonly acts?: readonly Noted[] };
    for (const act of acts) by?.noted?.(act);
    return rest as unknown as Row;
  });
}

/** Writes an act that changes nothing else. Refuses like `write`. */
export async function noteAct<A extends Act>(
  database: Database,
  deadline: Deadline,
  by: Actor,
  {
    act,
    talkgroup = null,
    details,
  }: { act: A; talkgroup?: string | null; details: NonNullable<Acting<A>['details']> },
): Promise<void> {
  await writeAct(
    database,
    deadline,
    by,
    (sql, noted) => sql`
      with ${acting<A>(sql, by, { act, talkgroup: sql`${talkgroup}`, details })} select true as done ${noted}`,
  );
}
