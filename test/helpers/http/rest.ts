// The REST service for tests: real HTTP, real PostgreSQL, and callers who speak the trade.
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import { createSigner } from 'fast-jwt';
import { type Logger, pino } from 'pino';
import postgres from 'postgres';
import type { Test } from 'tap';
import { openAudit } from '../../../src/audit/keeping.js';
import { addGuard } from '../../../src/auth/guard.js';
import { createLimits, limitsIn } from '../../../src/auth/limits.js';
import { createPasswords, type Passwords } from '../../../src/auth/passwords.js';
import { authOverflow } from '../../../src/auth/routes.js';
import { type Claims, type Role, signing } from '../../../src/auth/tokens.js';
import { readConfig } from '../../../src/config/config.js';
import { type Database, openDatabase } from '../../../src/db/client.js';
import { deadlineIn } from '../../../src/db/deadline.js';
import type { Notice, Tell } from '../../../src/db/notice.js';
import { listenForNotices, type NoticeListener } from '../../../src/db/notices.js';
import type { Sql } from '../../../src/db/pool.js';
import { openFixIntake } from '../../../src/gps/counts.js';
import { createProofs } from '../../../src/holders/proof.js';
import { createLists } from '../../../src/http/lists.js';
import { createHttpServer, type HttpServer } from '../../../src/http/server.js';
import type { DeviceId, TalkgroupId, UserId } from '../../../src/ids.js';
import { createSealing } from '../../../src/keys/sealing.js';
import { createKeyring } from '../../../src/keys/wrapping.js';
import { traceOf } from '../../../src/log.js';
import { restRoutes } from '../../../src/rest.js';
import { migratedDatabase } from '../database/cluster.js';
import { comesTrue, HANGS_MS } from '../eventually.js';
import { assertDocumented } from './documented.js';

export const SECRET = 'a key for tests only, longer than 32 bytes';
/** The password of every account made by `accounts`, and its bcrypt hash. */
export const PASSWORD = 'over and out';
export const PASSWORD_HASH = '$2y$10$X1CZ0WVrzj.jYtez/F3xYOCHDo281ovF3L/TdmuR6TBxRrf2WsTGW';

export interface Answer {
  readonly status: number;
  /** Parsed JSON, or the text of a page. */
  readonly body: unknown;
  readonly headers: Headers;
}

/** A client with a token or without. Every refusal must be exactly `{error: string}` and be listed in the reference. */
export interface Caller {
  get(path: string): Promise<Answer>;
  post(path: string, body?: unknown): Promise<Answer>;
  put(path: string, body?: unknown): Promise<Answer>;
  patch(path: string, body?: unknown): Promise<Answer>;
  delete(path: string): Promise<Answer>;
  send(method: string, path: string, init?: RequestInit): Promise<Answer>;
}

export interface AccountCaller extends Caller {
  readonly userId: UserId;
  readonly username: string;
  readonly token: string;
  /** Of the linked device. */
  readonly deviceId: DeviceId | null;
}

export interface Service {
  readonly port: number;
  readonly baseUrl: string;
  readonly server: HttpServer;
  readonly database: Database;
  /** What the relay of this node was told, in order. */
  readonly notices: Notice[];
  /** Every log line so far. */
  readonly logged: () => string;
  readonly admin: AccountCaller;
  readonly radio: AccountCaller;
  readonly nobody: Caller;
  /** A new account, stored without registration, so without its 50 ms of bcrypt. */
  account(options?: { role?: Role; serial?: string; username?: string }): Promise<AccountCaller>;
  withToken(token: string): Caller;
  sign(claims: Partial<Claims>): string;
  talkgroup(name?: string): Promise<TalkgroupId>;
  /** One statement against the database, for looking behind the answers. */
  sql<Row extends object>(statement: (sql: Sql) => Promise<Row[]>): Promise<Row[]>;
  /** Holds an exclusive lock on the table until the returned function is called. */
  lock(table: string): Promise<() => Promise<void>>;
  /** Holds what the statement changes in a transaction that the returned function commits. */
  begin(statement: string): Promise<() => Promise<void>>;
  /** Resolves once the service's database is well. */
  up(): Promise<void>;
  /** Hears notices as another node does. */
  listen(onNotice: (notice: Notice) => void): Promise<{ close(): Promise<void> }>;
  close(): Promise<void>;
}

export interface ServiceOptions {
  readonly settings?: Record<string, string>;
  readonly tell?: Tell;
  readonly ready?: () => string | null;
  /** Those that say nothing of a queue have none. */
  readonly passwords?: Pick<Passwords, 'hash' | 'verify'> & Partial<Passwords>;
  readonly moreRoutes?: readonly FastifyPluginAsyncTypebox[];
  /** Of a built console. */
  readonly consoleFolder?: string;
  /** The service's own connections. The callers' accounts are made behind its back. */
  readonly databaseUrl?: string;
  /** Whether every relay of the service enforces encryption. */
  readonly isEnforced?: () => Promise<boolean>;
  readonly isRecorded?: () => Promise<boolean>;
  /** Another program of the sealing thread. */
  readonly sealingScript?: URL;
}

/** A service of its own for this test, with an admin and a radio. Gone when the test ends. */
export async function service(t: Test, options: ServiceOptions = {}): Promise<Service> {
  const url = await migratedDatabase(t);
  const notices: Notice[] = [];
  const lines: string[] = [];
  const serializers = { err: traceOf }; // as those of src/log.ts
  const log = pino({ level: 'debug', serializers }, { write: (line: string) => void lines.push(line) });
  const tell: Tell = async (notice) => void notices.push(notice);

  const started = await start({ url, log, options: { tell, ...options } });
  const behind = openDatabase({ url, connections: 2, log });
  await up(behind);
  t.teardown(async () => {
    await started.close();
    await behind.close();
  });
  const listen = (onNotice: (notice: Notice) => void) =>
    new Promise<NoticeListener>((resolve) => {
      const listener = listenForNotices({
        url,
        database: behind,
        onNotice: (notice) => notice.kind !== 'report_asked' && onNotice(notice),
        onGap: () => resolve(listener),
        log,
      });
    });
  const lock = (table: string) => lockTable(url, table);
  const begin = (statement: string) => beginWith(url, statement);
  return speakingService({ ...started, notices, listen, lock, begin, logged: () => lines.join('') }, behind);
}

const NO_QUEUE: Pick<Passwords, 'isFull' | 'withPlace'> = {
  isFull: () => false,
  withPlace: (_address, work) => work(),
};

async function lockTable(url: string, table: string): Promise<() => Promise<void>> {
  const sql = postgres(url, { max: 1 });
  await sql.unsafe(`begin; lock table ${table}`).simple();
  return () => sql.end();
}

async function beginWith(url: string, statement: string): Promise<() => Promise<void>> {
  const sql = postgres(url, { max: 1 });
  await sql.unsafe(`begin; ${statement}`).simple();
  return async () => {
    await sql.unsafe('commit').simple();
    await sql.end();
  };
}

interface Started {
  readonly port: number;
  readonly baseUrl: string;
  readonly server: HttpServer;
  readonly database: Database;
  close(): Promise<void>;
}

/** Puts the service together as the process does. */
async function start({
  url,
  log,
  options: {
    settings = {},
    tell,
    ready,
    passwords: replaced,
    moreRoutes = [],
    consoleFolder,
    databaseUrl = url,
    isEnforced = async () => true,
    isRecorded = async () => true,
    sealingScript,
  },
}: {
  url: string;
  log: Logger;
  options: ServiceOptions & { tell: Tell };
}): Promise<Started> {
  const config = readConfig({ PORT: '0', DATABASE_URL: url, JWT_SECRET: SECRET, ...settings });
  const own = createPasswords({ waitingMax: config.LOGIN_QUEUE });
  const passwords = { ...own, ...(replaced && NO_QUEUE), ...replaced };
  const limits = createLimits(limitsIn(config));
  const database = openDatabase({ url: databaseUrl, connections: config.DATABASE_POOL, log });
  const sealing = createSealing({ log, ...(sealingScript && { script: sealingScript }) });
  const listing = { database, tell, lists: createLists() };
  const server = createHttpServer({
    config,
    certificate: null, // TLS is tried with the whole service (test/http/tls.test.ts)
    guard: (app) =>
      addGuard(app, {
        config,
        tokenKeys: [SECRET],
        database,
        noted: openAudit({ config, database, log }).noted,
      }),
    ready: ready ?? database.trouble,
    log,
    overflow: authOverflow(passwords),
    routes: [
      ...restRoutes({
        ...listing,
        config,
        passwords,
        limits,
        keyring: createKeyring(config.SECRETS_KEY),
        sealing,
        proofs: createProofs([SECRET]),
        isEnforced,
        isRecorded,
        storeFix: openFixIntake(database, () => {}).storeFix,
        wasRead() {},
        wsPort: () => config.WS_PORT,
        consoleFolder,
      }),
      ...moreRoutes,
    ],
  });
  const { port } = await server.listen().catch(async (error) => {
    await database.close();
    throw error;
  });
  if (databaseUrl === url) await up(database);
  let closed: Promise<void> | undefined;
  return {
    port,
    baseUrl: `http://127.0.0.1:${port}`,
    server,
    database,
    close() {
      closed ??= server
        .close()
        .then(() => sealing.close())
        .then(() => database.close());
      return closed;
    },
  };
}

const up = (database: Database) => until(() => database.trouble() === null);

/** Resolves once it is so. Rejects with the text of the condition after a minute. */
export const until = (isSo: () => boolean): Promise<void> => comesTrue(`${isSo}`, isSo);

async function speakingService(
  started: Started & Pick<Service, 'notices' | 'listen' | 'lock' | 'begin' | 'logged'>,
  behind: Database,
): Promise<Service> {
  const { baseUrl } = started;
  const signer = createSigner({ key: SECRET, ...signing });
  const sign = (claims: Partial<Claims>) =>
    signer({
      sub: randomUUID() as UserId,
      username: 'somebody',
      role: 'user',
      iat: Math.floor(Date.now() / 1000),
      ...claims,
    });

  async function account({
    role = 'user' as Role,
    serial,
    username = `radio-${randomUUID()}`,
  }: {
    role?: Role;
    serial?: string;
    username?: string;
  } = {}): Promise<AccountCaller> {
    const [row] = await behind.write<{ id: UserId; device_id: DeviceId | null }>(
      deadlineIn(HANGS_MS),
      (sql) => sql`
        with device as (
          insert into devices (name, site, serial) select ${serial ?? null}::text, 'north', ${serial ?? null}::text
          where ${serial ?? null}::text is not null
          on conflict (serial) do update set serial = excluded.serial returning id
        )
        insert into users (username, password_hash, role, device_id)
        values (${username}, ${PASSWORD_HASH}, ${role}, (select id from device))
        returning id, device_id`,
    );
    assert(row);
    const token = sign({ sub: row.id, username, role });
    return { userId: row.id, username, token, deviceId: row.device_id, ...callerOf(baseUrl, token) };
  }

  const admin = await account({ role: 'admin', username: 'admin' });
  return {
    ...started,
    admin,
    radio: await account({ serial: 'radio-1' }),
    nobody: callerOf(baseUrl, null),
    account,
    up: () => up(started.database),
    withToken: (token) => callerOf(baseUrl, token),
    sign,
    async talkgroup(name = 'fire brigade') {
      const { body } = await admin.post('/talkgroups', { name });
      return (body as { talkgroup: { id: TalkgroupId } }).talkgroup.id;
    },
    sql: async (statement) => [...(await behind.write(deadlineIn(HANGS_MS), statement))],
  };
}

function callerOf(baseUrl: string, token: string | null): Caller {
  async function send(method: string, path: string, init: RequestInit = {}): Promise<Answer> {
    const headers = new Headers(init.headers);
    if (token !== null && !headers.has('authorization')) headers.set('authorization', `Bearer ${token}`);
    const response = await fetch(baseUrl + path, { ...init, method, headers, redirect: 'manual' });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json') ?? false;
    const answer = {
      status: response.status,
      body: isJson && text !== '' ? JSON.parse(text) : text,
      headers: response.headers,
    };
    if (response.status >= 400 && method !== 'HEAD') {
      assertRefusal(answer.body, `${method} ${path}: ${text}`);
      assertDocumented({ method, path, status: response.status, text: answer.body.error });
    }
    return answer;
  }
  const json = (method: string, path: string, body: unknown) =>
    body === undefined
      ? send(method, path)
      : send(method, path, { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
  return {
    send,
    get: (path) => send('GET', path),
    post: (path, body) => json('POST', path, body),
    put: (path, body) => json('PUT', path, body),
    patch: (path, body) => json('PATCH', path, body),
    delete: (path) => send('DELETE', path),
  };
}

/** The contract's only shape of an error. */
export function assertRefusal(body: unknown, where: string): asserts body is { error: string } {
  assert(typeof body === 'object' && body !== null, `no JSON object: ${where}`);
  assert.deepEqual(Object.keys(body), ['error'], where);
  const { error } = body as { error: unknown };
  assert(typeof error === 'string' && error.length > 0 && error.length < 200, where);
}
