// A backup of a database in use, and its way back: into the embedded database, an external one, and from there again.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip, gunzipSync, gzipSync } from 'node:zlib';
import postgres from 'postgres';
import t from 'tap';
import { checkFile } from '../../src/db/backup/lines.js';
import { backupOf } from '../../src/db/backup/reading.js';
import { restore } from '../../src/db/backup/restoring.js';
import { migrate } from '../../src/db/migrate.js';
import { freshDatabase } from '../helpers/database/cluster.js';
import { startExternal } from '../helpers/database/external-database.js';
import { openFolder } from '../helpers/database/open-folder.js';
import { run, unless } from '../helpers/programs.js';
import { runCommand } from '../helpers/service/service.js';
import { startService } from '../helpers/service/started-service.js';

t.setTimeout(300_000);

const SECRET = 'a key for tests only, longer than 32 bytes';

async function runs(args: readonly string[], env: Record<string, string>): Promise<string> {
  const { code, output } = await runCommand(args, env);
  assert.equal(code, 0, `${args.join(' ')}: ${output}`);
  return output;
}

/** As the commands do it. */
const backUp = (url: string, file: string) =>
  pipeline(
    backupOf(url, { service: 'x', tokenKey: null }, () => {}),
    createGzip(),
    createWriteStream(file),
  );

async function bringBack(url: string, file: string): Promise<void> {
  await restore(url, file, await checkFile(file));
  await migrate(url);
}

/** A backup with this head and these lines, of which the last one has the SHA-256 anew. */
function sealed(head: string, lines: readonly string[]): Buffer {
  const body = [head, ...lines.slice(0, -2), ''].join('\n');
  const [kind, counts] = JSON.parse(lines.at(-2) ?? '') as unknown[];
  const end = JSON.stringify([kind, counts, createHash('sha256').update(body).digest('hex')]);
  return gzipSync(`${body}${end}\n`);
}

/** What each table holds. */
async function digestsOf(url: string): Promise<Record<string, string>> {
  const sql = postgres(url, { max: 1, connection: { TimeZone: 'UTC' } });
  const tables = await sql<{ name: string }[]>`
    select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r' order by 1`;
  const digests: Record<string, string> = {};
  for (const { name } of tables) {
    const columns = name === 'schema_version' ? sql`t.version` : sql`t`;
    const [row] = await sql<{ digest: string }[]>`
      select count(*) || ' ' || md5(coalesce(string_agg(to_json(${columns})::text, '' order by to_json(${columns})::text), '')) as digest
      from ${sql(name)} t ${name === 'acts' ? sql`where act <> 'database_restored'` : sql``}`;
    digests[name] = row?.digest ?? '';
  }
  await sql.end();
  return digests;
}

/** Rows of every table, with values that are easily lost on the way. */
async function fill(url: string): Promise<void> {
  const sql = postgres(url, { max: 1 });
  await sql`insert into devices (name, site, serial) values (${'a\\b"c\u00e9📻\u2028'}, 'x', 'SN-9')`;
  await sql`insert into users (username, password_hash, device_id, valid_from)
    select 'cid ' || i, 'none', (select id from devices limit 1), i from generate_series(1, 2500) i`;
  await sql`insert into talkgroups (name, master_secret) select 'T ' || i, sha256(i::text::bytea) from generate_series(1, 3) i`;
  await sql`insert into memberships (user_id, talkgroup_id, site) select u.id, t.id, 'x' from users u, talkgroups t`;
  await sql`insert into gps_fixes (device_id, lat, lng, alt, speed) select id, 0.1 + 0.2, 1e-7, -123456.789012345, null from devices`;
  await sql`insert into emergencies (id, user_id, talkgroup_id, raised_at, state)
    select gen_random_uuid(), null, id, now(), 'cleared' from talkgroups`;
  await sql`insert into key_epochs (talkgroup_id, rotation_counter, announced_at, use_at)
    select id, 1, now(), '2026-11-29 12:00:00.123456+05:30' from talkgroups`;
  await sql`insert into key_holders (user_id, public_key, name)
    select id, decode('04' || repeat('ab', 64), 'hex'), 'phone' from users limit 2`;
  await sql`select nextval('session_blocks')`;
  await sql.end();
}

async function actsOf(url: string): Promise<string[]> {
  const sql = postgres(url, { max: 1 });
  const rows = await sql<{ act: string }[]>`select act from acts order by id`;
  await sql.end();
  return rows.map(({ act }) => act);
}

async function sequences(url: string) {
  const sql = postgres(url, { max: 1 });
  const rows = await sql<{ name: string; last: number }[]>`
    select sequencename as name, last_value::int as last from pg_sequences where schemaname = 'public'`;
  await sql.end();
  return Object.fromEntries(rows.map(({ name, last }) => [name, last]));
}

t.test('a backup of a service in use comes back, with its tokens', async (t) => {
  const folder = await openFolder(t);
  const [DATA_DIR, COPY, FILE] = [join(folder, 'data'), join(folder, 'copy'), join(folder, 'radio.backup')];
  const first = await startService(t, { DATA_DIR });
  const account = { username: 'ann', password: 'over and out', deviceSerial: 'SN-1' };
  const token = String((await first.ask('POST', '/auth/register', { body: account })).jwt);
  const url = await readFile(join(DATA_DIR, 'postgres.url'), 'utf8');
  await fill(url);
  const before = await digestsOf(url);
  const given = await sequences(url);
  t.match(
    await runs(['backup', FILE], { DATA_DIR }),
    /: schema version \d+, 2,502 users, 2 devices, 3 talkgroups, /,
  );
  t.equal((await stat(FILE)).mode & 0o777, 0o600, 'only its owner can read it');
  t.strictSame(await actsOf(url), ['admin_added', 'backup_taken']);
  t.strictSame((await readdir(folder)).sort(), ['data', 'radio.backup']);
  await writeFile(join(folder, 'late.part'), '');
  t.match(await runCommand(['backup', join(folder, 'late')], { DATA_DIR }), {
    ...{ code: 1, output: 'late.part exists: another backup writes it, or was killed' },
  });
  t.match(await runCommand(['backup', FILE], { DATA_DIR }), {
    code: 1,
    output: 'exists: a backup replaces no file',
  });
  t.match(await runCommand(['restore', FILE], { DATA_DIR }), { code: 1, output: /DATA_DIR .* is in use/ });

  // Rows that come and go meanwhile: what is read is of one moment.
  const sql = postgres(url, { max: 1 });
  let isOver = false;
  const writing = (async () => {
    for (let n = 0; !isOver; n++)
      await sql.begin(async (tx) => {
        await tx`insert into devices (name, site, serial) values ('x', 'x', ${`late ${n}`})`;
        await tx`insert into users (username, password_hash, device_id)
          select ${`late ${n}`}, 'none', id from devices where serial = ${`late ${n}`}`;
        await tx`delete from users where username = ${`late ${n - 3}`}`;
      });
  })();
  const BUSY = join(folder, 'busy.backup');
  await runs(['backup', BUSY], { DATA_DIR });
  isOver = true;
  await writing;
  await sql.end();
  t.equal(await first.end(), 0);
  t.match(await runCommand(['restore', FILE], { DATA_DIR }), {
    code: 1,
    output: /has \d+ users: restore needs one without/,
  });

  t.match(await runs(['restore', FILE], { DATA_DIR: COPY }), /\nearlier tokens are valid\n$/);
  const second = await startService(t, { DATA_DIR: COPY });
  const copy = await readFile(join(COPY, 'postgres.url'), 'utf8');
  t.strictSame(await digestsOf(copy), before);
  t.strictSame(await actsOf(copy), ['admin_added', 'database_restored']);

  const now = await sequences(copy);
  t.equal(now.talkgroups_number_seq, given.talkgroups_number_seq);
  t.ok((now.session_blocks ?? 0) >= (given.session_blocks ?? 0) + 1000, 'no session number is given twice');
  await second.ask('GET', '/talkgroups', { token });
  t.equal(second.password, null, 'no new admin');
  t.equal(await second.end(), 0);

  const OTHER = join(folder, 'other');
  const env = { DATA_DIR: OTHER, JWT_SECRET: SECRET };
  t.match(
    await runs(['restore', BUSY], env),
    /\nearlier tokens are valid when JWT_SECRET is the same as before\n$/,
  );
  const { counts, head } = await checkFile(BUSY);
  t.ok(
    (counts.users ?? 0) >= 2502 && (counts.devices ?? 0) >= 2,
    'each user with its device, or the restore had failed',
  );
  t.ok(head.token_key, 'the key of DATA_DIR');
});

t.test(
  'a backup goes from the embedded database to a server of PostgreSQL 15 or later, and back',
  { skip: unless('initdb', 'postgres') },
  async (t) => {
    const folder = await openFolder(t);
    const embedded = await freshDatabase(t);
    await migrate(embedded);
    await fill(embedded);
    const { PGPORT } = await startExternal(t);
    const admin = postgres(`postgres://postgres@127.0.0.1:${PGPORT}/postgres`, { max: 1 });
    await admin`create database radio`;
    await admin.end();
    const external = `postgres://postgres@127.0.0.1:${PGPORT}/radio`;
    const back = await freshDatabase(t);
    let from = embedded;
    for (const [at, to] of [external, back].entries()) {
      const FILE = join(folder, `${at}.backup`);
      await backUp(from, FILE);
      await bringBack(to, FILE);
      t.strictSame(await digestsOf(to), await digestsOf(from));
      from = to;
    }
  },
);

t.test('a backup whose connection is lost at the last table ends with an error', async (t) => {
  const url = await freshDatabase(t);
  await migrate(url);
  await fill(url);
  const sql = postgres(url, { max: 1 });
  let isCut = false;
  const read = async () => {
    for await (const part of backupOf(url, { service: 'x', tokenKey: null }, () => t.fail('it is whole'))) {
      if (isCut || !part.startsWith('["table","memberships"]')) continue;
      isCut = true;
      await sql`select pg_terminate_backend(pid, 5000) from pg_stat_activity
        where application_name = 'talkgroup-radio-backup' and datname = current_database()`;
    }
  };
  await t.rejects(read());
  t.ok(isCut);
  await sql.end();
});

t.test('a restore that fails leaves nothing in a new DATA_DIR, and the next one succeeds', async (t) => {
  const folder = await openFolder(t);
  const DATABASE_URL = await freshDatabase(t);
  await migrate(DATABASE_URL);
  await fill(DATABASE_URL);
  const [FILE, DATA_DIR] = [join(folder, 'whole'), join(folder, 'data')];
  await backUp(DATABASE_URL, FILE);
  const [head = '', ...rest] = gunzipSync(await readFile(FILE))
    .toString()
    .split('\n');
  const withKey = JSON.stringify({ ...(JSON.parse(head) as object), token_key: SECRET });
  const write = async (name: string, lines: readonly string[]) => {
    await writeFile(join(folder, name), sealed(withKey, lines));
    return join(folder, name);
  };
  const broken = rest.map((line) => line.replace('"state":"cleared"', '"state":"lost"'));
  t.equal((await runCommand(['restore', await write('broken', broken)], { DATA_DIR })).code, 1);
  t.strictSame(
    (await readdir(DATA_DIR)).filter((name) => /^(postgres|jwt.secret)$/.test(name)),
    [],
  );
  t.match(await runs(['restore', await write('good', rest)], { DATA_DIR }), 'earlier tokens are valid');
  t.equal(await readFile(join(DATA_DIR, 'jwt.secret'), 'utf8'), SECRET);
  // With JWT_SECRET the key in DATA_DIR may be one that was replaced.
  const AGAIN = join(folder, 'again');
  await runs(['backup', AGAIN], { DATA_DIR, JWT_SECRET: 'another key, longer than 32 bytes as well' });
  t.equal((await checkFile(AGAIN)).head.token_key, undefined);
});

t.test('a part of a backup is not restored, and neither is another file or one of newer code', async (t) => {
  const folder = await openFolder(t);
  const DATABASE_URL = await freshDatabase(t);
  await migrate(DATABASE_URL);
  await fill(DATABASE_URL);
  const FILE = join(folder, 'whole');
  await backUp(DATABASE_URL, FILE);
  const whole = await readFile(FILE);
  const lines = gunzipSync(whole).toString().split('\n');
  const [head = '', ...rest] = lines;
  const write = async (bytes: Buffer) => {
    const path = join(folder, 'other');
    await writeFile(path, bytes);
    return path;
  };
  const damaged = /^the backup is damaged: /;
  for (let cut = 1; cut < whole.length; cut += Math.ceil(whole.length / 40))
    await t.rejects(
      checkFile(await write(whole.subarray(0, cut))),
      { message: /damaged|is empty/ },
      `cut at ${cut}`,
    );
  for (const text of [
    lines.slice(0, -2),
    lines.slice(0, 5).concat(lines.slice(6)),
    [...lines.slice(0, -1), lines[3], ''],
  ])
    await t.rejects(checkFile(await write(gzipSync(text.join('\n')))), { message: damaged });
  await t.rejects(checkFile(await write(Buffer.from('text'))), { message: damaged });
  await t.rejects(checkFile(await write(gzipSync('{"format":"x"}\n'))), {
    message: 'the file is no backup of this service',
  });
  await t.rejects(checkFile(await write(gzipSync(''))), { message: 'the file is empty' });

  const changed = (change: object) =>
    write(sealed(JSON.stringify({ ...(JSON.parse(head) as object), ...change }), rest));
  await checkFile(await changed({}));
  await t.rejects(checkFile(await changed({ version: 2 })), {
    message: 'the backup has format 2, this code knows 1',
  });
  const empty = await freshDatabase(t);
  const whyNot = (path: string, url = empty) =>
    bringBack(url, path).then(
      () => 'restored',
      ({ message }: Error) => message,
    );
  t.match(
    await whyNot(await changed({ schema_version: 999 })),
    /^the backup has schema version 999, this code knows \d+$/,
  );
  t.match(await whyNot(join(folder, 'nothing')), /^ENOENT/);
  t.match(await whyNot(FILE, DATABASE_URL), 'has 2500 users: restore needs one without users');
  // A row that breaks a rule of the tables, far behind: nothing stays of those before it.
  const broken = rest.map((line) => line.replace('"state":"cleared"', '"state":"lost"'));
  t.match(await whyNot(await write(sealed(head, broken))), /emergencies_/);
  t.match((await digestsOf(empty)).users, /^0 /);
  await bringBack(empty, FILE);
  t.strictSame(await digestsOf(empty), await digestsOf(DATABASE_URL), 'the next try');
});

t.test('a backup of an older version is restored, and migrated', async (t) => {
  const folder = await openFolder(t);
  const [old, now] = [await freshDatabase(t), await freshDatabase(t)];
  await migrate(old, { version: 9 });
  const sql = postgres(old, { max: 1 });
  await sql`insert into users (username, password_hash) values ('ann', 'none')`;
  await sql.end();
  const FILE = join(folder, 'old');
  // As in a container: by standard output and standard input.
  const piped = (words: string, DATABASE_URL: string) =>
    run('/bin/sh', ['-c', `${process.execPath} dist/src/cli.js ${words}`], {
      env: { DATABASE_URL, JWT_SECRET: SECRET, FILE, TMPDIR: folder },
    });
  t.match(await piped('backup - > "$FILE"', old), { code: 0, output: /^-: schema version 9, 1 users,/ });
  t.match(await piped('restore - < "$FILE"', now), { code: 0, output: /^restored 1 users,/ });
  t.strictSame(await readdir(folder), ['old']);
  const { users, token_times } = await digestsOf(now);
  t.match(users, /^1 /);
  t.match(token_times, /^1 /, 'what later migrations bring');
});
