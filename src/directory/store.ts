// Reads users, their memberships, the open emergencies and watched devices for the relay, and takes blocks of session
// numbers.
import type { Database } from '../db/client.js';
import type { Deadline } from '../db/deadline.js';
import type { Sql } from '../db/pool.js';
import type { DeviceId, TalkgroupId, UserId } from '../ids.js';
import type { LatestFix } from '../protocol/fix.js';
import type { Account, DeviceRow, EmergencyRow, TalkgroupRow } from './records.js';

/** The array as PostgreSQL writes it. Ids need no quotation marks. */
const arrayOf = (ids: readonly (string | number)[]) => `{${ids.join(',')}}`;

/**
 * Reads those of the users that exist, with all memberships, in the order of the database. Reads the emergencies only of
 * talkgroups for which `isHeld` is false: a handshake must not read again what the relay has in memory.
 */
export async function accountsOf(
  database: Database,
  deadline: () => Deadline,
  users: readonly UserId[],
  isHeld: (talkgroup: TalkgroupId) => boolean = () => false,
): Promise<Account[]> {
  const accounts = await database.read<Account>(
    deadline(),
    (sql) => sql`
      select u.id, u.username, u.role, u.is_dispatcher, u.valid_from, u.device_id, coalesce(d.active, true) as device_active,
             (select count(*)::integer from key_holders h
               where h.user_id = u.id and h.accepted_at is null) as holders_waiting,
             coalesce(m.memberships, '[]') as memberships
        from users u
        left join devices d on d.id = u.device_id
        left join lateral (
          select json_agg(json_build_object(
                   'id', t.id, 'number', t.number, 'name', t.name, 'rotation_counter', t.rotation_counter,
                   'floor_mode', t.floor_mode, 'max_talk_ms', t.max_talk_ms, 'revision', t.revision,
                   'encryption', t.encryption, 'clear_emergency', t.clear_emergency,
                   'recording_days', t.recording_days, 'epochs', ${epochsOf(sql)},
                   'site', m.site, 'may_have_keys', m.may_have_keys)) as memberships
            from memberships m
            join talkgroups t on t.id = m.talkgroup_id
           where m.user_id = u.id
        ) m on true
       where u.id = any(${arrayOf(users)}::uuid[])`,
  );
  const ids = new Set(accounts.flatMap(({ memberships }) => memberships.map(({ id }) => id)));
  const unheld = [...ids].filter((id) => !isHeld(id));
  const open = await openEmergencies(database, deadline, unheld);
  return accounts.map((account) => ({
    ...account,
    memberships: account.memberships.map((row) => ({ ...row, emergencies: open.get(row.id) ?? null })),
  }));
}

/** Reads those of the talkgroups that exist. */
export async function talkgroupsOf(
  database: Database,
  deadline: () => Deadline,
  ids: readonly TalkgroupId[],
): Promise<TalkgroupRow[]> {
  const rows = await database.read<Omit<TalkgroupRow, 'emergencies'>>(
    deadline(),
    (sql) => sql`
      select t.id, t.number, t.name, t.rotation_counter, t.floor_mode, t.max_talk_ms, t.revision,
             t.encryption, t.clear_emergency, t.recording_days, ${epochsOf(sql)} as epochs
        from talkgroups t
       where t.id = any(${arrayOf(ids)}::uuid[])`,
  );
  const open = await openEmergencies(database, deadline, ids);
  return rows.map((row) => ({ ...row, emergencies: open.get(row.id) ?? [] }));
}

/**
 * Of `talkgroups t`, see TalkgroupRow. Only within the seconds around a rotation there are any. One that was announced in the
 * future counts as in use: the clock was ahead and is set back, and it is not known how long ago that was.
 */
const epochsOf = (sql: Sql) => sql`
  case when t.newest_use_at > now() - interval '5 s' then (
    select json_agg(json_build_array(e.rotation_counter,
                    (extract(epoch from e.use_at - now()) * 1000)::float8) order by e.rotation_counter desc)
      from (select rotation_counter, use_at from key_epochs
             where talkgroup_id = t.id and use_at > now() - interval '5 s' and announced_at < now() + interval '5 s'
             order by rotation_counter desc limit 8) e) end`;

/** Rows in one read: about 5 ms on the relay thread. */
const EMERGENCIES_READ_MAX = 1000;
const NOBODY = '00000000-0000-0000-0000-000000000000';

/**
 * Reads the open emergencies of each talkgroup, the oldest first. Each statement reads a bounded number and has a
 * deadline of its own. The relay sends audio between two statements.
 */
async function openEmergencies(
  database: Database,
  deadline: () => Deadline,
  ids: readonly TalkgroupId[],
): Promise<Map<TalkgroupId, EmergencyRow[]>> {
  const open = new Map<TalkgroupId, EmergencyRow[]>(ids.map((id) => [id, []]));
  let left = [...open.keys()].sort(); // in the order of PostgreSQL
  let after: { readonly talkgroup_id: string; readonly user_id: string } = {
    talkgroup_id: NOBODY,
    user_id: NOBODY,
  };
  while (left.length > 0) {
    const ids = left;
    const { talkgroup_id, user_id } = after;
    const rows = await database.read<
      Omit<EmergencyRow, 'fix'> & FixRow & { readonly talkgroup_id: TalkgroupId }
    >(
      deadline(),
      (sql) => sql`
        select e.talkgroup_id, e.id, e.user_id, r.username, e.state, e.lat, e.lng, e.alt,
               to_char(e.raised_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as raised_at,
               r.device_id, ${fixOf(sql)}
          from emergencies e
          join users r on r.id = e.user_id
          left join gps_fixes f on f.device_id = r.device_id and f.updated_at >= e.raised_at
         where e.state <> 'cleared' and e.talkgroup_id = any(${arrayOf(ids)}::uuid[])
           and (e.talkgroup_id, e.user_id) > (${talkgroup_id}::uuid, ${user_id}::uuid)
         order by e.talkgroup_id, e.user_id
         limit ${EMERGENCIES_READ_MAX}`,
    );
    for (const { talkgroup_id, fix_lat, fix_lng, fix_alt, fix_motion, fix_at_ms, ...row } of rows) {
      const fix =
        row.device_id && latestFix(row.device_id, { fix_lat, fix_lng, fix_alt, fix_motion, fix_at_ms });
      open.get(talkgroup_id)?.push({ ...row, fix });
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < EMERGENCIES_READ_MAX) break;
    after = last;
    left = left.filter((id) => id >= last.talkgroup_id);
  }
  for (const rows of open.values()) rows.sort(byAge);
  return open;
}

/** The times are ISO 8601 in UTC, all of one length, so their texts sort as the times do. */
function byAge(one: EmergencyRow, other: EmergencyRow): number {
  if (one.raised_at === other.raised_at) return one.id < other.id ? -1 : 1;
  return one.raised_at < other.raised_at ? -1 : 1;
}

/** Session numbers in one block of the sequence. The migration that creates the sequence has the same number. */
export const SESSION_BLOCK = 1024;

/** Takes a block that no other process gets, and returns its first number. */
export async function nextSessionBlock(database: Database, deadline: Deadline): Promise<number> {
  const [row] = await database.write<{ block: number }>(
    deadline,
    (sql) => sql`select nextval('session_blocks') as block`,
  );
  if (row === undefined) throw new Error('nextval answered no row');
  return row.block * SESSION_BLOCK;
}

/** Rows in one read: about 3 ms on the relay thread. */
const DEVICES_READ_MAX = 500;
const NO_DEVICE = '00000000-0000-0000-0000-000000000000' as DeviceId;

/** At most `max` of the devices of the talkgroup's members, in the order of their ids, and the number of all. */
export async function devicesOfTalkgroup(
  database: Database,
  deadline: () => Deadline,
  { talkgroup, max }: { talkgroup: TalkgroupId; max: number },
): Promise<{ readonly devices: readonly DeviceRow[]; readonly total: number }> {
  const devices: DeviceRow[] = [];
  for (let after = NO_DEVICE; devices.length < max; ) {
    const limit = Math.min(DEVICES_READ_MAX, max - devices.length);
    const rows = await database.read<DeviceFixRow>(
      deadline(),
      (sql) => sql`
        select d.id, d.name, u.user_id, u.username, ${fixOf(sql)}
          from (select distinct on (u.device_id) u.device_id, u.id as user_id, u.username
                  from memberships m join users u on u.id = m.user_id
                 where m.talkgroup_id = ${talkgroup} and u.device_id > ${after}
                 order by u.device_id, u.id
                 limit ${limit}) u
          join devices d on d.id = u.device_id
          left join gps_fixes f on f.device_id = d.id
         order by d.id`,
    );
    devices.push(...rows.map(deviceOf));
    const last = rows.at(-1);
    if (last === undefined || rows.length < limit) return { devices, total: devices.length };
    after = last.id;
  }
  const [counted] = await database.read<{ total: number }>(
    deadline(),
    (sql) => sql`
      select count(distinct u.device_id)::integer as total
        from memberships m join users u on u.id = m.user_id
       where m.talkgroup_id = ${talkgroup}`,
  );
  return { devices, total: Math.max(devices.length, counted?.total ?? 0) };
}

/** Those of the devices that exist. */
export async function devicesOf(
  database: Database,
  deadline: () => Deadline,
  ids: readonly DeviceId[],
): Promise<{ readonly devices: readonly DeviceRow[]; readonly total: number }> {
  const rows = await database.read<DeviceFixRow>(
    deadline(),
    (sql) => sql`
      select d.id, d.name, u.user_id, u.username, ${fixOf(sql)}
        from devices d
        left join lateral (select id as user_id, username from users
                            where device_id = d.id order by id limit 1) u on true
        left join gps_fixes f on f.device_id = d.id
       where d.id = any(${arrayOf(ids)}::uuid[])
       order by d.id`,
  );
  return { devices: rows.map(deviceOf), total: rows.length };
}

/** The columns of `gps_fixes f`, which may have no row. */
interface FixRow {
  readonly fix_lat: number | null;
  readonly fix_lng: number | null;
  readonly fix_alt: number | null;
  /** Speed, course, accuracy, battery. */
  readonly fix_motion: readonly (number | null)[];
  readonly fix_at_ms: number | null;
}

interface DeviceFixRow extends FixRow {
  readonly id: DeviceId;
  readonly name: string;
  readonly user_id: UserId | null;
  readonly username: string | null;
}

const fixOf = (sql: Sql) => sql`
  f.lat as fix_lat, f.lng as fix_lng, f.alt as fix_alt,
  json_build_array(f.speed, f.course, f.accuracy, f.battery) as fix_motion,
  (extract(epoch from f.updated_at) * 1000)::float8 as fix_at_ms`;

function latestFix(
  deviceId: DeviceId,
  { fix_lat: lat, fix_lng: lng, fix_alt: alt, fix_motion, fix_at_ms: atMs }: FixRow,
): LatestFix | null {
  if (lat === null || lng === null || alt === null || atMs === null) return null;
  const [speed = null, course = null, accuracy = null, battery = null] = fix_motion;
  return { deviceId, lat, lng, alt, speed, course, accuracy, battery, atMs };
}

const deviceOf = ({ id, name, user_id, username, ...row }: DeviceFixRow): DeviceRow => ({
  ...{ id, name },
  user: user_id === null || username === null ? null : { id: user_id, username },
  fix: latestFix(id, row),
});
