// Who and what there is to fuzz: accounts, ids that may be deleted, talkgroups where radios are abused, and where not.
import { createECDH, createHmac, randomUUID } from 'node:crypto';
import postgres from 'postgres';
import { recordingIdOf } from '../../src/protocol/recording-id.js';
import type { Named } from './api.js';

export interface Person {
  readonly id: string;
  readonly token: string;
  /** Of the device linked to it. null: none. */
  readonly device: string | null;
}

export interface Talkgroup {
  readonly id: string;
  readonly number: number;
}

const HOUR_MS = 3_600_000;

/** How many expendable ones of each kind there are. */
export const EXPENDABLE = 12;

export type Scene = Awaited<ReturnType<typeof setScene>>;
/** What the inputs for REST are made of. */
export type RestScene = Pick<Scene, 'admin' | 'plain' | 'leaver' | 'forged' | 'idOf' | 'replace'>;

/**
 * Written straight into the database of a service that is not used yet. REST is given the expendable ids alone, none of
 * which belongs to a caller or to a radio: whatever is deleted or disabled there, the run goes on.
 */
export async function setScene({ url, secret, radios }: { url: string; secret: string; radios: number }) {
  const sql = postgres(url, { max: 2, onnotice: () => {} });
  const ids: Record<Named, string[]> = {
    ...{ talkgroup: [], device: [], emergency: [], user: [], holder: [], recording: [] },
  };

  async function talkgroup(floor_mode: string, ...members: readonly Person[]): Promise<Talkgroup> {
    const [row] = await sql<{ id: string; number: string }[]>`
      insert into talkgroups (name, floor_mode, master_secret)
      values ('fuzz', ${floor_mode}, sha256(${randomUUID()}::text::bytea)) returning id, number`;
    if (row === undefined) throw new Error('an insert returns its row');
    for (const { id } of members)
      await sql`insert into memberships (user_id, talkgroup_id, site) values (${id}, ${row.id}, 'fuzz')`;
    return { id: row.id, number: Number(row.number) };
  }

  async function device(active = true): Promise<string> {
    const [row] = await sql`
      insert into devices (name, site, serial, active) values ('fuzz', 'fuzz', ${randomUUID()}, ${active})
      returning id`;
    return row?.id;
  }

  async function person(
    role: 'admin' | 'user',
    device: string | null = null,
    changed: { iat?: number } = {},
  ): Promise<Person> {
    const id = randomUUID();
    await sql`insert into users ${sql({ id, username: id, password_hash: NO_HASH, role, device_id: device })}`;
    const claims = { ...claimsOf(id, role), ...changed };
    return { id, token: signed(secret, { alg: 'HS256', typ: 'JWT' }, claims), device };
  }

  const make: Record<Named, () => Promise<string>> = {
    talkgroup: async () => (await talkgroup('open')).id,
    device: () => device(),
    user: async () => (await person('user')).id,
    emergency: async () => {
      const [{ id: talkgroup_id }, user_id, id] = [await talkgroup('open'), await make.user(), randomUUID()];
      await sql`insert into emergencies ${sql({ id, talkgroup_id, user_id, raised_at: new Date() })}`;
      return id;
    },
    holder: async () => {
      const [id, user_id, public_key] = [
        randomUUID(),
        await make.user(),
        createECDH('prime256v1').generateKeys(),
      ];
      await sql`insert into key_holders ${sql({ id, user_id, public_key, name: 'fuzz' })}`;
      return id;
    },
    recording: async () => {
      const [{ id: talkgroup_id, number }, startedAt] = [await talkgroup('open'), Date.now()];
      const id = recordingIdOf({ startedAt, session: number, burst: 1, piece: 0 });
      await sql`
        insert into recordings ${sql({
          ...{ id, talkgroup_id, talkgroup_number: number, talkgroup_name: 'fuzz', username: 'fuzz' },
          ...{ started_at: new Date(startedAt), expires_at: new Date(startedAt + 24 * HOUR_MS) },
          ...{ epoch: 0, was_required: false, priority: 0, emergency: false, first_frame: 1 },
        })}`;
      return id;
    },
  };
  for (const named of Object.keys(ids) as Named[])
    for (let count = 0; count < EXPENDABLE; count++) ids[named].push(await make[named]());

  const [admin, plain] = [await person('admin'), await person('user', await device())];
  // Logs out everywhere again and again. A token from 2100 outlives that.
  const leaver = await person('user', null, { iat: 4_102_444_800 });
  const disabled = await person('user', await device(false));
  const abusers: Person[] = [];
  for (let count = 0; count < radios; count++) abusers.push(await person('user', await device()));
  const innocents = [await person('user'), await person('user'), await person('user')] as const;
  const [talker, listener, neighbour] = innocents;
  return {
    admin,
    plain,
    leaver,
    forged: forgedTokens(secret, admin, disabled),
    /** Those of the radios that send what no radio should. */
    abusers,
    talker,
    listener,
    neighbour,
    /** Of the innocent alone. */
    quiet: await talkgroup('open', talker, listener),
    /** Where the abusers are members, in each floor mode. `neighbour` listens in all, and `talker` talks in the first. */
    abused: [
      await talkgroup('open', ...innocents, ...abusers),
      await talkgroup('single', neighbour, ...abusers),
      await talkgroup('broadcast', neighbour, ...abusers),
    ] as const,
    idOf: (named: Named, index: number) => ids[named][index % EXPENDABLE] ?? '',
    /** Takes the place of one that is no more. */
    async replace(named: Named, index: number): Promise<void> {
      ids[named][index % EXPENDABLE] = await make[named]();
    },
    end: () => sql.end({ timeout: 5 }),
  };
}

/** No password has it. */
const NO_HASH = '$2b$10$fuzzfuzzfuzzfuzzfuzzfuzzfuzzfuzzfuzzfuzzfuzzfuzzfuzzfu';

const claimsOf = (sub: string, role: string) => ({
  sub,
  username: sub,
  role,
  iat: Math.floor(Date.now() / 1000),
});

function signed(key: string, header: object, claims: object, hash = 'sha256'): string {
  const text = [header, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.');
  return `${text}.${createHmac(hash, key).update(text).digest('base64url')}`;
}

/** None of them admits a user. Most would be an administrator's if they did. */
function forgedTokens(secret: string, { id, token }: Person, disabled: Person): string[] {
  const right = claimsOf(id, 'admin');
  const HS256 = { alg: 'HS256', typ: 'JWT' };
  const [head = '', claims = '', signature = ''] = token.split('.');
  const unsigned = (alg: string) =>
    `${Buffer.from(JSON.stringify({ alg, typ: 'JWT' })).toString('base64url')}.${claims}.`;
  const { sub: _sub, ...nameless } = right;
  return [
    ...['none', 'None', 'NONE', '', 'HS256'].map(unsigned),
    ...['sha384', 'sha512'].map((hash) =>
      signed(secret, { alg: `HS${hash.slice(3)}`, typ: 'JWT' }, right, hash),
    ),
    signed(secret, { alg: 'HS256', typ: 'JWT', crit: ['exp'], exp: 1 }, right),
    ...['RS256', 'ES256', 'EdDSA', 'HS512'].map((alg) => signed(secret, { alg, typ: 'JWT' }, right)),
    signed('', HS256, right),
    signed(`${secret} `, HS256, right),
    signed(secret.slice(1), HS256, right),
    ...[nameless, ...WRONG_CLAIMS.map((wrong) => ({ ...right, ...wrong }))].map((wrong) =>
      signed(secret, HS256, wrong),
    ),
    signed(secret, HS256, [right]),
    signed(secret, HS256, claimsOf(randomUUID(), 'admin')),
    disabled.token,
    `${head}.${claims}`,
    `${head}.${claims}.`,
    `.${claims}.${signature}`,
    `${head}..${signature}`,
    `${token}.${signature}`,
    `${token}x`,
    token.replace('.', '..'),
    `${head}.${Buffer.from(JSON.stringify({ ...right, sub: disabled.id })).toString('base64url')}.${signature}`,
    '',
    '.',
    '..',
    'null',
    'undefined',
    'x'.repeat(10_000),
    token.toLowerCase(),
    [...token].reverse().join(''),
    encodeURIComponent(`${token}%`),
  ];
}

/** Each beside claims that are right, and rightly signed. */
const WRONG_CLAIMS: readonly object[] = [
  ...[1, null, '', 'admin', [], {}, true, '00000000-0000-0000-0000-00000000000'].map((sub) => ({ sub })),
  ...[1, null, [], ['admin'], { admin: true }, 'root', 'ADMIN', ''].map((role) => ({ role })),
  ...['now', null, 0.5, [], 1e300, -1].map((iat) => ({ iat })),
  ...[1, null, [], {}].map((username) => ({ username })),
];
