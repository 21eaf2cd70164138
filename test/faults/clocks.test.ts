// Clocks that were wrong and are set right: what is revoked stays revoked, on whichever side the clock was ahead.
import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import t from 'tap';
import { operator } from '../../src/commands/running.js';
import { openDatabase } from '../../src/db/client.js';
import { deadlineIn } from '../../src/db/deadline.js';
import { takeBack } from '../../src/db/revocation.js';
import type { UserId } from '../../src/ids.js';
import { createLog } from '../../src/log.js';
import { migratedDatabase } from '../helpers/database/cluster.js';
import { startExternal } from '../helpers/database/external-database.js';
import { eventually, HANGS_MS } from '../helpers/eventually.js';
import { PASSWORD, PASSWORD_HASH } from '../helpers/http/rest.js';
import { run, unless } from '../helpers/programs.js';
import { connect, service, serviceProcess } from '../helpers/service/service.js';

const AHEAD_S = 7200;
/** The clock of the process only, as of a node that has not heard of the time yet. */
const clockAhead = (seconds: number): string => {
  const code = `const now = Date.now; Date.now = () => now() + ${seconds * 1000};`;
  return `--import=data:text/javascript,${encodeURIComponent(code)}`;
};

/** The clock of programs with this environment, `aheadS` ahead. It is set while they run, as an operator or NTP does it. */
async function settableClock(t: Parameters<typeof startExternal>[0], aheadS: number) {
  const folder = await mkdtemp(join(tmpdir(), 'talkgroup-radio-clock-'));
  t.teardown(() => rm(folder, { recursive: true }));
  await chmod(folder, 0o755);
  const file = join(folder, 'ahead');
  const set = async (seconds: number) => {
    await writeFile(`${file}.new`, `${seconds < 0 ? '' : '+'}${seconds}\n`);
    await rename(`${file}.new`, file);
  };
  await set(aheadS);
  const { output } = await run('faketime', ['-f', '+0', 'printenv', 'LD_PRELOAD']);
  const environment = {
    LD_PRELOAD: output.trim(),
    FAKETIME_TIMESTAMP_FILE: file,
    FAKETIME_NO_CACHE: '1',
    FAKETIME_DONT_FAKE_MONOTONIC: '1', // no clock that is set moves this one
  };
  return { environment, set };
}

type Json = Record<string, unknown>;
type People = Pick<Awaited<ReturnType<typeof service>>, 'call' | 'admin'>;

async function registered({ call }: People, username: string) {
  const password = `password of ${username}`;
  const { body } = await call('POST', '/auth/register', null, { username, password });
  const { jwt: token, userId: id } = body as { jwt: string; userId: string };
  const logIn = async () => {
    const answer = await call('POST', '/auth/login', null, { username, password });
    return (answer.body as { jwt: string }).jwt;
  };
  return { id: id as UserId, token, logIn };
}

const issued = (token: string): number => claimsOf(token).iat;

for (const seconds of [AHEAD_S, 5, -5])
  t.test(`tokens of a node whose clock is off by ${seconds} s end with the revocation`, async (t) => {
    const s = await serviceProcess(t, { NODE_OPTIONS: clockAhead(seconds) });
    const ann = await registered(s, 'ann');
    const radio = await connect(t, `${s.ws}/ws?token=${ann.token}`);
    await s.admin.post(`/users/${ann.id}/revoke`);
    t.same(await radio.closes(), { code: 1008, reason: 'invalid token' });
    t.equal((await s.call('GET', '/me', ann.token)).status, 401);
    const again = await ann.logIn();
    t.equal((await s.call('GET', '/me', again)).status, 200, 'a new token is valid at once');
    await s.admin.post(`/users/${ann.id}/revoke`);
    t.equal((await s.call('GET', '/me', again)).status, 401, 'until the next revocation');
  });

/** Of logins that race. `make prove` has 1,000. */
const TRIALS = Math.ceil(Number(process.env.PROVE_RUNS ?? 3000) / 30);
const LANES = 3;

t.test(
  `${TRIALS} times logins on two nodes with clocks 5 s apart meet a demotion or a new password`,
  async (t) => {
    t.setTimeout(120_000 + TRIALS * 3000);
    const DATABASE_URL = await migratedDatabase(t);
    const settings = {
      ...{ DATABASE_URL, LOG_LEVEL: 'error' },
      ...{
        LOGIN_FAILURES_PAIR: '1000/1000',
        LOGIN_FAILURES_ADDRESS: '9999/9999',
        LOGIN_FAILURES_NAME: '1000/1000',
      },
    };
    const one = await serviceProcess(t, settings);
    const other = await serviceProcess(t, { ...settings, NODE_OPTIONS: clockAhead(5) });
    const database = openDatabase({ url: DATABASE_URL, connections: LANES, log: createLog('silent') });
    t.teardown(() => database.close());
    await database.up(deadlineIn(HANGS_MS));
    const counts = { admins: 0, olds: 0, later: 0 };

    async function trial(at: number): Promise<void> {
      const isDemotion = at % 2 === 0;
      const username = `racer ${at}`;
      const role = isDemotion ? 'admin' : 'user';
      await one.sql`
      insert into users (username, password_hash, role) values (${username}, ${PASSWORD_HASH}, ${role})`;
      const logIn = async (node: typeof one, password: string) => {
        const { status, body } = await answered(() =>
          node.call('POST', '/auth/login', null, { username, password }),
        );
        if (status !== 200 && status !== 401) throw new Error(`${status} ${JSON.stringify(body)}`);
        return status === 200 ? (body.jwt as string) : null;
      };
      const takeAway = async () => {
        await delay((at * 7) % 60); // over the 50 ms of a hash
        if (!isDemotion) {
          const user = (await one.sql`select id from users where username = ${username}`)[0]?.id as string;
          const node = at % 4 === 1 ? one : other;
          const { status } = await answered(() =>
            node.admin.call('PUT', `/users/${user}/password`, { password: 'new' }),
          );
          if (status !== 200) throw new Error(`${status}`);
          return;
        }
        const act = { by: operator(), act: 'admin_removed' } as const;
        await takeBack(database, deadlineIn(HANGS_MS), {
          username,
          isDemoted: true,
          withLogins: true,
          ...act,
        });
      };
      const logins = [one, other, one, other].map((node) => logIn(node, PASSWORD));
      const [tokens] = await Promise.all([Promise.all(logins), takeAway()]);
      for (const token of tokens) {
        if (token === null) continue;
        const isOfBefore = !isDemotion || claimsOf(token).role === 'admin';
        if (!isOfBefore) continue;
        counts[isDemotion ? 'admins' : 'olds']++;
        for (const node of [one, other]) {
          const { status } = await node.call('GET', '/me', token);
          if (status !== 401) throw new Error(`trial ${at}: a token of before got ${status}`);
        }
      }
      const later = await logIn(at % 3 === 0 ? one : other, isDemotion ? PASSWORD : 'new');
      if (later === null) throw new Error(`trial ${at}: nobody can log in`);
      if (claimsOf(later).role !== 'user') throw new Error(`trial ${at}: the role of before`);
      for (const node of [one, other])
        if ((await node.call('GET', '/me', later)).status === 200) counts.later++;
    }

    let next = 0;
    await Promise.all(
      Array.from({ length: LANES }, async () => {
        while (next < TRIALS) await trial(next++);
      }),
    );
    t.equal(counts.later, 2 * TRIALS, 'who logs in afterwards is in, on both nodes');
    t.ok(
      counts.admins > 0 && counts.olds > 0,
      `${counts.admins} and ${counts.olds} tokens of before were void`,
    );
  },
);

/** A full hash queue says so. Who asks again asks for the same. */
async function answered<Answer extends { readonly status: number }>(
  ask: () => Promise<Answer>,
): Promise<Answer> {
  for (;;) {
    const answer = await ask();
    if (answer.status !== 503) return answer;
    await delay(100);
  }
}

const claimsOf = (token: string) =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as { iat: number; role: string };

t.test('tokens of a time that the clock of the database was ahead of end with the revocation', async (t) => {
  const s = await service(t);
  const ann = await registered(s, 'ann');
  const nowS = Math.floor(Date.now() / 1000);
  t.ok(Math.abs(issued(ann.token) - nowS) <= 2, 'issued now');
  // What is left of two hours ahead: the stored time, and a token with it.
  await s.sql`update token_times set newest_iat = ${nowS + AHEAD_S}`;
  const early = s.sign({ sub: ann.id, username: 'ann', role: 'user', iat: nowS + AHEAD_S });
  t.ok(issued(await ann.logIn()) <= nowS + 10, 'a token of now is dated now');
  const radio = await connect(t, `${s.ws}/ws?token=${early}`);
  await s.admin.post(`/users/${ann.id}/revoke`);
  t.same(await radio.closes(), { code: 1008, reason: 'invalid token' });
  t.equal((await s.call('GET', '/me', early)).status, 401);
  const again = await ann.logIn();
  t.equal((await s.call('GET', '/me', again)).status, 200, 'who logs in again is in');
  await s.admin.post(`/users/${ann.id}/revoke`);
  t.equal((await s.call('GET', '/me', again)).status, 401);
});

t.test('while the newest time of issue cannot be stored, a login is dated back and works', async (t) => {
  const s = await service(t);
  const ann = await registered(s, 'ann');
  await s.sql`update token_times set newest_iat = newest_iat - 3600`;
  await s.sql`
    create function refuse() returns trigger language plpgsql as $$ begin raise 'no space left'; end $$`;
  await s.sql`create trigger refuse before update on token_times for each row execute function refuse()`;
  const [before] = await s.sql<{ newest: number }[]>`select newest_iat::int as newest from token_times`;
  const token = await ann.logIn();
  t.equal(issued(token), before?.newest);
  t.equal((await s.call('GET', '/me', token)).status, 200);
  const { status, body } = await s.call('POST', '/auth/register', null, {
    username: 'bob',
    password: 'password of bob',
  });
  t.equal(status, 200);
  t.equal(issued(String((body as Json).jwt)), before?.newest);
});

t.test(
  'rights, rotations and positions are of now when the clock of the database is set back by two hours',
  { skip: unless('faketime', 'initdb', 'postgres', 'psql') },
  async (t) => {
    const clock = await settableClock(t, AHEAD_S);
    const { PGHOST, PGPORT } = await startExternal(t, clock.environment);
    const s = await serviceProcess(t, {
      DATABASE_URL: `postgres://postgres@${PGHOST}:${PGPORT}/postgres`,
      SECRETS_KEY: randomBytes(32).toString('base64'),
    });
    const aheadMs = async () => {
      const [row] = await s.sql<{ ms: number }[]>`select extract(epoch from clock_timestamp()) * 1000 as ms`;
      return Number(row?.ms) - Date.now();
    };
    t.ok((await aheadMs()) > 1000 * (AHEAD_S - 60), 'the clock of the database is ahead');
    const ann = await registered(s, 'ann');
    const early = await ann.logIn();
    const { device } = await s.person('cab', { serial: 'cab' });
    const post = (time = {}) => s.admin.post(`/devices/${device}/gps`, { lat: 1, lng: 2, alt: 3, ...time });
    t.same(await post(), { ok: true });
    const { id } = await s.talkgroupWith({ name: 'rotated' }, ann);
    await s.admin.patch(`/talkgroups/${id}`, { encryption: 'required' });
    const rotate = () => s.admin.post('/keys/rotate', { talkgroup_id: id, use_in_ms: 2000 });
    await rotate();
    const radio = await connect(t, `${s.ws}/ws?token=${early}`);
    t.match(radio.welcome?.talkgroups, [{ rotation_counter: 2, talk_counter: 0 }]);

    await clock.set(0);
    await eventually(async () => {
      if ((await aheadMs()) > 1000) throw new Error('the clock of the database is still ahead');
    });
    await rotate();
    const told = await radio.hears('KEY_ROTATED');
    t.match(told, { rotation_counter: 3, talk_counter: 2 }, 'the epochs of that time are in use');
    t.ok(Number(told.use_in_ms) <= 600_000, `the next one in ${told.use_in_ms} ms`);
    const at = new Date().toISOString();
    t.same(await post({ at }), { ok: true });
    t.match(await s.admin.get(`/devices/${device}/gps`), { gps: { updated_at: at } });
    await s.admin.post(`/users/${ann.id}/revoke`);
    t.same(await radio.closes(), { code: 1008, reason: 'invalid token' });
    for (const token of [ann.token, early]) t.equal((await s.call('GET', '/me', token)).status, 401);
    t.equal((await s.call('GET', '/me', await ann.logIn())).status, 200);
  },
);
