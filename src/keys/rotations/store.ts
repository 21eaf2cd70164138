// Reads and writes rotation counters in PostgreSQL.
import assert from 'node:assert/strict';
import { type Actor, acting, writeAct } from '../../db/acts.js';
import type { Database } from '../../db/client.js';
import type { Deadline } from '../../db/deadline.js';
import type { Notice } from '../../db/notice.js';
import type { Sql } from '../../db/pool.js';
import {
  AT_ONCE,
  MEMBERS_AT_ONCE,
  type Rotated,
  rotating,
  rotationNotices,
  USE_IN_MS,
} from '../../db/rotation.js';
import type { DeviceId, TalkgroupId } from '../../ids.js';
import type { Static } from '../../typebox.js';
import type { Rotation } from '../schemas.js';

/** null: no such talkgroup. */
export async function rotationOf(
  database: Database,
  deadline: Deadline,
  talkgroup: TalkgroupId,
): Promise<Static<typeof Rotation> | null> {
  const [rotation] = await database.read<Static<typeof Rotation>>(
    deadline,
    (sql) => sql`select id as talkgroup_id, rotation_counter from talkgroups where id = ${talkgroup}`,
  );
  return rotation ?? null;
}

/** A rotation by an administrator, with its notifications. */
export interface Advanced extends Rotated {
  readonly rotations: readonly Static<typeof Rotation>[];
}

/** The counter after adding one. `useInMs`: until talkers use the epoch. No rotation: no such talkgroup. */
export function rotate(
  database: Database,
  deadline: Deadline,
  { talkgroup, useInMs, by }: { talkgroup: TalkgroupId; useInMs: number; by: Actor },
): Promise<Advanced> {
  return advance(database, deadline, { by }, (sql) =>
    rotating(sql, { which: sql`select id from talkgroups where id = ${talkgroup}`, useInMs }),
  );
}

/** The same for the talkgroups of all users linked to the device, unless their encryption is `off`. null: no such device. */
export async function rotateForDevice(
  database: Database,
  deadline: Deadline,
  { device, useInMs, by }: { device: DeviceId; useInMs: number; by: Actor },
): Promise<Advanced | null> {
  const [found] = await database.read(deadline, (sql) => sql`select id from devices where id = ${device}`);
  if (found === undefined) return null;
  return advance(database, deadline, { by, device }, (sql) =>
    rotating(sql, {
      which: sql`
        select m.talkgroup_id from users u join memberships m on m.user_id = u.id
        join talkgroups k on k.id = m.talkgroup_id
        where u.device_id = ${device} and k.encryption <> 'off'`,
      useInMs,
    }),
  );
}

/**
 * Rotates what is due, at most 10 talkgroups, and no further one beyond MEMBERS_AT_ONCE members. Two nodes that look at once
 * take different ones. No rotation is put off for more than an hour: what is due later was set by a clock that was ahead. The
 * notifications. None: nothing was due.
 */
export async function rotateDue(database: Database, deadline: Deadline): Promise<readonly Notice[]> {
  const { notices } = await advance(database, deadline, { by: null }, (sql) =>
    rotating(sql, {
      which: sql`
        select id from (
          select d.id, sum(m.count) over (order by d.rotate_due_at, d.id) - m.count as members_before
          from (
            select id, rotate_due_at from talkgroups
            where rotate_due_at <= now() or rotate_due_at > now() + interval '61 minutes'
            order by rotate_due_at limit 10 for no key update skip locked
          ) d cross join lateral (select count(*) from memberships where talkgroup_id = d.id) m
        ) due where members_before < ${MEMBERS_AT_ONCE}::integer`,
      useInMs: sql`case when t.rotate_due_at = ${AT_ONCE(sql)} then 0 else ${USE_IN_MS}::integer end`,
    }),
  );
  return notices;
}

async function advance(
  database: Database,
  deadline: Deadline,
  { by, device = null }: { by: Actor | null; device?: DeviceId | null },
  rotation: (sql: Sql) => ReturnType<typeof rotating>,
): Promise<Advanced> {
  const [advanced] = await writeAct<Advanced>(
    database,
    deadline,
    by,
    (sql, noted) => sql`
      with ${rotation(sql)}, ${acting(sql, by, {
        act: 'keys_rotated',
        from: sql`from rotated`,
        ...{ device: sql`${device}`, talkgroup: sql`id` },
        details: { rotation_counter: sql`rotation_counter` },
      })}
      select ${rotationNotices(sql)}, (
        select coalesce(json_agg(json_build_object('talkgroup_id', id, 'rotation_counter', rotation_counter)), '[]')
        from rotated) as rotations ${noted}`,
  );
  assert(advanced !== undefined, 'a SELECT without FROM has one row');
  return advanced;
}
