// Reads and writes emergencies in PostgreSQL. The relay raises them. REST and the relay acknowledge and clear them.
import { randomUUID } from 'node:crypto';
import { type Actor, acting, writeAct } from '../db/acts.js';
import type { Database } from '../db/client.js';
import type { Deadline } from '../db/deadline.js';
import { type Notice, notify, notifyOwnTalkgroup } from '../db/notice.js';
import { type Page, pageBy } from '../db/pages.js';
import type { TalkgroupId, UserId } from '../ids.js';
import type { Static } from '../typebox.js';
import type { Emergency } from './schemas.js';

export interface Raise {
  /** Made by the relay that announces it, before it is stored. A repeated try carries it again. */
  readonly id: string;
  readonly user: UserId;
  readonly talkgroup: TalkgroupId;
  /** Degrees in WGS 84 and metres above it, null where the radio did not know. */
  readonly lat: number | null;
  readonly lng: number | null;
  readonly alt: number | null;
  /** ISO 8601. */
  readonly raisedAt: string;
  readonly notice: Notice;
}

/** `open_already`: `id` is that user's open emergency in that talkgroup. `gone`: user or talkgroup does not exist. */
export type Raised =
  | { readonly kind: 'stored' }
  | { readonly kind: 'open_already'; readonly id: string }
  | { readonly kind: 'gone' };

/** May be repeated until it answers: one that is stored stays as it is, also when it was cleared meanwhile. */
export async function raiseEmergency(
  database: Database,
  deadline: Deadline,
  { id, user, talkgroup, lat, lng, alt, raisedAt, notice }: Raise,
): Promise<Raised> {
  try {
    // The update changes nothing. It makes `returning` name the one that is open, this or another.
    const [open] = await database.write<{ id: string }>(
      deadline,
      (sql) => sql`
        insert into emergencies (id, user_id, talkgroup_id, lat, lng, alt, raised_at)
        select ${id}::uuid, u.id, t.id, ${lat}::float8, ${lng}::float8, ${alt}::float8, ${raisedAt}::timestamptz
        from users u cross join talkgroups t
        where u.id = ${user} and t.id = ${talkgroup}
        on conflict (talkgroup_id, user_id) where state <> 'cleared' do update set state = emergencies.state
        returning id, ${notify(sql, notice)}`,
    );
    if (open === undefined) return { kind: 'gone' };
    return open.id === id ? { kind: 'stored' } : { kind: 'open_already', id: open.id };
  } catch (error) {
    const { code, constraint_name } = error as { code?: string; constraint_name?: string };
    // Stored by an earlier try, and no longer open.
    if (code === '23505' && constraint_name === 'emergencies_pkey') return { kind: 'stored' };
    // 23503, foreign key: deleted while we were storing.
    if (code === '23503') return { kind: 'gone' };
    throw error;
  }
}

/** A notice that is on its way to the other nodes. This node's relay must be told the very same. */
export type EmergencyNotice = Notice & {
  readonly kind: 'emergency_changed';
  readonly talkgroup: TalkgroupId;
};

/** A user who acts over REST or a relay. */
export type ActingUser = Actor & { readonly id: UserId };

/** Also of one acknowledged before, whose first acknowledgement stays. null: no such open emergency. */
export async function acknowledgeEmergency(
  database: Database,
  deadline: Deadline,
  { id, by }: { id: string; by: ActingUser },
): Promise<EmergencyNotice | null> {
  const notice = { id: randomUUID(), kind: 'emergency_changed' } as const;
  const [open] = await writeAct<{ talkgroup_id: TalkgroupId }>(
    database,
    deadline,
    by,
    (sql, noted) => sql`
      with open as materialized (
        select id, state = 'raised' as is_news from emergencies
        where id = ${id} and state <> 'cleared' for no key update
      ), acknowledged as (
        update emergencies e
        set state = 'acknowledged',
            acknowledged_at = coalesce(acknowledged_at, now()),
            acknowledged_by = coalesce(acknowledged_by, ${by.id})
        from open where e.id = open.id
        returning e.id, user_id, talkgroup_id, is_news
      ), ${acting(sql, by, {
        act: 'emergency_acknowledged',
        from: sql`from acknowledged where is_news and user_id is distinct from ${by.id}`,
        ...{ user: sql`user_id`, talkgroup: sql`talkgroup_id`, details: { emergency_id: sql`id` } },
      })}
      select talkgroup_id, ${notifyOwnTalkgroup(sql, notice)} ${noted} from acknowledged`,
  );
  return open === undefined ? null : { ...notice, talkgroup: open.talkgroup_id };
}

/**
 * A dispatcher may clear any, another user their own, also after they left the talkgroup. `unknown`: no such open emergency. Of two
 * who clear it at once, one is told so. A user who may not is told `forbidden`, member or not: it is no secret, since
 * any user may join and see it.
 */
export async function clearEmergency(
  database: Database,
  deadline: Deadline,
  { id, by, mayDispatch }: { id: string; by: ActingUser; mayDispatch: boolean },
): Promise<EmergencyNotice | 'forbidden' | 'unknown'> {
  const notice = { id: randomUUID(), kind: 'emergency_changed' } as const;
  const [open] = await writeAct<{ talkgroup_id: TalkgroupId | null; may: boolean }>(
    database,
    deadline,
    by,
    (sql, noted) => sql`
      with open as (
        select id, ${mayDispatch} or user_id = ${by.id} as may from emergencies
        where id = ${id} and state <> 'cleared'
      ), cleared as (
        update emergencies e
        set state = 'cleared', cleared_at = now(), cleared_by = ${by.id}
        from open
        where e.id = open.id and open.may and e.state <> 'cleared'
        returning e.id, user_id, talkgroup_id, ${notifyOwnTalkgroup(sql, notice)}
      ), ${acting(sql, by, {
        act: 'emergency_cleared',
        from: sql`from cleared where user_id is distinct from ${by.id}`,
        ...{ user: sql`user_id`, talkgroup: sql`talkgroup_id`, details: { emergency_id: sql`id` } },
      })}
      select talkgroup_id, may ${noted} from open left join cleared using (id)`,
  );
  if (open === undefined) return 'unknown';
  if (!open.may) return 'forbidden';
  return open.talkgroup_id === null ? 'unknown' : { ...notice, talkgroup: open.talkgroup_id };
}

interface OpenEmergency {
  readonly emergency_id: string;
  readonly talkgroup_id: TalkgroupId;
  readonly user_id: UserId;
  readonly username: string;
  readonly state: 'raised' | 'acknowledged';
  readonly lat: number | null;
  readonly lng: number | null;
  readonly alt: number | null;
  readonly raised_at: string;
}

/** A dispatcher is shown all, another user those of the user's talkgroups: rows of the page, or, without one, oldest first. */
export async function openEmergencies(
  database: Database,
  deadline: Deadline,
  { user, seesAll, page }: { user: UserId; seesAll: boolean; page: Page | null },
): Promise<Static<typeof Emergency>[]> {
  const rows = await database.read<OpenEmergency>(
    deadline,
    (sql) => sql`
      select e.id as emergency_id, e.talkgroup_id, e.user_id, u.username, e.state, e.lat, e.lng, e.alt, e.raised_at
      from emergencies e join users u on u.id = e.user_id
      where e.state <> 'cleared'
        and (${seesAll} or e.talkgroup_id in (select talkgroup_id from memberships where user_id = ${user}))
      ${page === null ? sql`order by e.raised_at, e.id` : pageBy(sql, sql`e.id`, page)}`,
  );
  return rows.map(({ lat, lng, alt, ...rest }) => ({
    ...rest,
    ...(lat !== null && { lat }),
    ...(lng !== null && { lng }),
    ...(alt !== null && { alt }),
  }));
}
