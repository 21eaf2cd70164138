// Writes a fleet of users and talkgroups directly into the database of a running relay.
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createSigner } from 'fast-jwt';
import postgres from 'postgres';
import type { Member } from '../radios/member.js';
import type { Relay } from './relay.js';

export interface FleetOptions {
  readonly users: number;
  /** The floor mode of each talkgroup. Without it there is one, with an open floor. */
  readonly talkgroups?: readonly ('open' | 'single')[];
  /** Of which talkgroups a user is a member, both by index. Without it of the first. */
  readonly memberOf?: (user: number) => readonly number[];
  /** Each user has a device with a fix. */
  readonly hasDevices?: boolean;
  /** Of each talkgroup. Without it nothing is recorded. */
  readonly recordingDays?: number;
  /** Of all their passwords. Without it no user can log in. */
  readonly passwordHash?: string;
}

/** No password has it: registering a thousand users over REST would hash for a minute. */
const PASSWORD_HASH = '$2b$10$benchbenchbenchbenchbenchbenchbenchbenchbenchbenchbenc';

/** Must run before any of the users connects: it sends no notices. */
export async function enlist(
  { dataDir, jwtSecret }: Pick<Relay, 'dataDir' | 'jwtSecret'>,
  {
    users,
    talkgroups = ['open'],
    memberOf = () => [0],
    hasDevices = false,
    passwordHash = PASSWORD_HASH,
    recordingDays = 0,
  }: FleetOptions,
): Promise<readonly Member[]> {
  const userIds = Array.from({ length: users }, () => randomUUID());
  /** A device has the id of its user. */
  const deviceIds = hasDevices ? userIds : [];
  const talkgroupIds = talkgroups.map(() => randomUUID());
  const members = userIds.flatMap((user, i) => memberOf(i).map((index) => [user, talkgroupIds[index] ?? '']));
  const url = await readFile(join(dataDir, 'postgres.url'), 'utf8');
  const sql = postgres(url, { max: 1 });
  try {
    await sql`
      insert into devices (id, name, site, serial)
      select id, 'bench', 'bench', id::text from unnest(${deviceIds}::uuid[]) as id`;
    await sql`
      insert into gps_fixes (device_id, lat, lng, alt)
      select id, 52.5, 13.4, 0 from unnest(${deviceIds}::uuid[]) as id`;
    await sql`
      insert into users (id, username, password_hash, device_id)
      select id, 'bench-' || id, ${passwordHash}, case when ${hasDevices} then id end
      from unnest(${userIds}::uuid[]) as id`;
    // The secret is no secret: nothing is encrypted here.
    const rows = await sql<{ id: string; number: string }[]>`
      insert into talkgroups (id, name, floor_mode, master_secret)
      select id, 'bench', floor_mode, sha256(uuid_send(id))
      from unnest(${talkgroupIds}::uuid[], ${[...talkgroups]}::text[]) as new (id, floor_mode)
      returning id, number`;
    // Other builds may have no recordings.
    if (recordingDays > 0)
      await sql`update talkgroups set recording_days = ${recordingDays} where id = any(${talkgroupIds}::uuid[])`;
    await sql`
      insert into memberships (user_id, talkgroup_id, site)
      select user_id, talkgroup_id, 'bench'
      from unnest(${members.map(([user]) => user ?? '')}::uuid[], ${members.map(([, talkgroup]) => talkgroup ?? '')}::uuid[])
        as new (user_id, talkgroup_id)`;
    const numbers = new Map(rows.map(({ id, number }) => [id, Number(number)]));
    const known = talkgroupIds.map((id) => ({ id, number: numbers.get(id) ?? 0 }));
    const sign = createSigner({ key: jwtSecret, algorithm: 'HS256' });
    return userIds.map((id, i) => ({
      token: sign({ sub: id, username: `bench-${id}`, role: 'user' }),
      username: `bench-${id}`,
      deviceId: hasDevices ? id : null,
      talkgroups: memberOf(i).flatMap((index) => known[index] ?? []),
    }));
  } finally {
    await sql.end();
  }
}
