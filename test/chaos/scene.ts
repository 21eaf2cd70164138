// The scene of all episodes: a database, the service before it, links that break between them, and the crew.
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import postgres from 'postgres';
import { startThrowaway } from '../helpers/database/throwaway.js';
import { eventually } from '../helpers/eventually.js';
import { type ChaosProxy, startChaosProxy } from '../helpers/network/chaos-proxy.js';
import type { Footprint, RequestRecord, Withdrawal } from './history.js';
import { type CrewRadio, createCrewRadio, type Person, type Talkgroup } from './radio.js';
import { type Call, createCaller } from './requests.js';
import { createServerProcess, type Server } from './server.js';

export interface Scene {
  readonly server: Server;
  /** Between service and database. */
  readonly databaseLink: ChaosProxy;
  /** Between some of the radios and the relay; the others are connected directly. */
  readonly links: readonly ChaosProxy[];
  readonly crew: readonly CrewRadio[];
  readonly talkgroups: readonly Talkgroup[];
  /** For the ledger: people without radios, talkgroups without talk, devices without users who care. */
  readonly clerks: readonly Person[];
  readonly files: readonly Talkgroup[];
  readonly spareDevices: readonly string[];
  readonly adminToken: string;
  readonly call: Call;
  /** Somebody's right name and password; anything but a token or a refusal for want of room is a surprise. */
  readonly login: (who: number) => Promise<void>;
  /** To /healthz alone, with a record of its own. */
  readonly health: () => Promise<unknown>;
  /** Around the links, as superuser. */
  readonly sql: postgres.Sql;
  /** Where that leads. */
  readonly databaseUrl: string;
  readonly postmaster: { kill(): Promise<void> };
  readonly notes: Notes;
  close(): Promise<void>;
}

/** What is written down as it happens; each episode starts a new page. */
export interface Notes {
  requests: RequestRecord[];
  health: RequestRecord[];
  withdrawals: Withdrawal[];
  surprises: string[];
  touched: Set<number>;
  readonly radioOfSession: Map<number, number>;
}

/** Radios. */
export const CREW = 24;
const CLERKS = 5;
/** Members are the crew from one index to another, around the end; everybody is in two of them. */
const TALKGROUPS = [
  { name: 'Fire', isSingle: false, from: 0, to: 12 },
  { name: 'Harbour', isSingle: false, from: 8, to: 20 },
  { name: 'Police', isSingle: true, from: 12, to: 24 },
  { name: 'Taxi', isSingle: true, from: 20, to: 32 },
] as const;

/** Which link leads a radio to the relay: half of them are connected directly, by none of the two. */
export const linkOf = (radio: number) => radio % 4;

/** Starts everything and waits until each radio is connected. */
export async function openScene(settings: Record<string, string>): Promise<Scene> {
  const owned = process.env.TEST_CLUSTER_URL === undefined ? await startThrowaway() : null;
  const cluster = process.env.TEST_CLUSTER_URL ?? owned?.url ?? '';
  const database = await createDatabase(cluster);
  const databaseLink = await startChaosProxy({ path: join(folderOf(cluster), '.s.PGSQL.5432') });
  const server = await createServerProcess({
    ...settings,
    DATABASE_URL: `postgres://${database.login}@127.0.0.1:${databaseLink.port}/${database.name}`,
  });
  const links = await Promise.all(
    [0, 1].map(() => startChaosProxy({ port: server.wsPort, host: '127.0.0.1' })),
  );
  const notes: Notes = {
    requests: [],
    health: [],
    withdrawals: [],
    surprises: [],
    touched: new Set(),
    radioOfSession: new Map(),
  };
  const call = createCaller(server.rest, (request) => notes.requests.push(request));
  const healthCall = createCaller(server.rest, (request) => notes.health.push(request));
  let crew: CrewRadio[] = [];

  async function close(): Promise<void> {
    for (const radio of crew) radio.close();
    await server.stop();
    await Promise.all([...links, databaseLink].map((link) => link.stop()));
    await database.drop();
    await owned?.stop();
  }

  try {
    await server.start();
    const staff = await recruit(call, database.sql);
    crew = staff.crew.map((person) => {
      const port = links[linkOf(person.index)]?.port ?? server.wsPort;
      const onSession = (session: number, radio: number) => notes.radioOfSession.set(session, radio);
      return createCrewRadio({ person, url: `ws://127.0.0.1:${port}`, onSession });
    });
    await eventually(() => {
      if (crew.some((radio) => !radio.isOpen)) throw new Error('not all radios are connected');
    });
    return {
      ...{ server, databaseLink, links, ...staff, crew, call, notes, close },
      health: () => healthCall({ method: 'GET', path: '/healthz' }),
      login: (who) => login({ call, notes, person: staff.clerks[who % CLERKS] }),
      sql: database.sql,
      databaseUrl: database.url,
      postmaster: { kill: () => killPostmaster(database.sql) },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

function folderOf(url: string): string {
  return decodeURIComponent(new URL(url).hostname);
}

/** A database of its own on the cluster of the run. */
async function createDatabase(cluster: string) {
  const name = `chaos_${randomBytes(8).toString('hex')}`;
  const { username, password } = new URL(cluster);
  const outside = postgres(cluster, { max: 1, onnotice: () => {} });
  await outside.unsafe(`create database ${name}`);
  const own = new URL(cluster);
  own.pathname = `/${name}`;
  // Read-only is one of the faults: it is not for us.
  const sql = postgres(own.href, {
    max: 3,
    onnotice: () => {},
    connection: { application_name: 'chaos', default_transaction_read_only: false },
  });
  return {
    name,
    url: own.href,
    login: `${username}:${password}`,
    sql,
    async drop() {
      await sql.end({ timeout: 1 });
      await eventually(() => outside.unsafe(`drop database if exists ${name} with (force)`));
      await outside.end({ timeout: 1 });
    },
  };
}

async function login({ call, notes, person }: { call: Call; notes: Notes; person: Person | undefined }) {
  const body = { username: person?.name, password: person?.password };
  const { status, body: answer } = await call({ method: 'POST', path: '/auth/login', body });
  const isExpected = status === null || status === 503 || status === 429;
  if (!isExpected && (status !== 200 || typeof answer.jwt !== 'string'))
    notes.surprises.push(`a right password: ${status} ${JSON.stringify(answer)}`);
}

/** kill -9, and resolves when a new one answers: whoever runs the cluster starts it. */
async function killPostmaster(sql: postgres.Sql): Promise<void> {
  const [row] = await inTime(sql`select current_setting('data_directory') as folder`);
  const pid = Number.parseInt(await readFile(join(row?.folder, 'postmaster.pid'), 'utf8'), 10);
  process.kill(pid, 'SIGKILL');
  await pause(50);
  await eventually(() => inTime(sql`select 1`), 20_000);
}

/** What is asked on a connection that dies at that moment may never be answered; then it throws. */
export async function inTime<T>(answer: Promise<T>): Promise<T> {
  const late = pause(2000, undefined, { ref: false }).then(() => {
    throw new Error('the database did not answer the runner');
  });
  return Promise.race([answer, late]);
}

/** The accounts, made as anybody makes them. */
async function recruit(call: Call, sql: postgres.Sql) {
  async function must(ask: Parameters<Call>[0]): Promise<Record<string, unknown>> {
    const { status, body } = await call(ask);
    if (status !== 200) throw new Error(`${ask.method} ${ask.path}: ${status} ${JSON.stringify(body)}`);
    return body;
  }
  const login = { username: ADMIN.ADMIN_USERNAME, password: ADMIN.ADMIN_PASSWORD };
  const adminToken = String((await must({ method: 'POST', path: '/auth/login', body: login })).jwt);

  async function talkgroup(name: string, isSingle: boolean): Promise<Talkgroup> {
    const body = { name, floor_mode: isSingle ? 'single' : 'open' };
    const created = await must({ method: 'POST', path: '/talkgroups', token: adminToken, body });
    const { id } = created.talkgroup as { id: string };
    const [row] = await sql`select number::int from talkgroups where id = ${id}`;
    return { id, name, number: row?.number, isSingle };
  }

  async function account(name: string): Promise<Omit<Person, 'talkgroups' | 'index' | 'deviceId'>> {
    const body = { username: name, password: PASSWORD, deviceSerial: `of ${name}` };
    const { jwt, userId } = await must({ method: 'POST', path: '/auth/register', body });
    return { name, password: PASSWORD, id: String(userId), token: String(jwt) };
  }

  const talkgroups = await Promise.all(TALKGROUPS.map(({ name, isSingle }) => talkgroup(name, isSingle)));
  const files = await Promise.all(['File A', 'File B'].map((name) => talkgroup(name, false)));
  const accounts = [];
  for (let index = 0; index < CREW + CLERKS + SPARE_DEVICES; index++)
    accounts.push(await account(`ann-${index}`));
  const listed = await must({ method: 'GET', path: '/devices', token: adminToken });
  const devices = new Map(
    (listed.devices as { id: string; serial: string }[]).map(({ id, serial }) => [serial, id]),
  );
  const people = accounts.map((one, index) => ({
    ...{ ...one, index, deviceId: devices.get(`of ${one.name}`) ?? '' },
    talkgroups: index < CREW ? talkgroups.filter((_, at) => isMember(index, at)) : [],
  }));
  for (const person of people) {
    for (const { id } of person.talkgroups)
      await must({ method: 'POST', path: `/talkgroups/${id}/join`, token: person.token });
  }
  return {
    adminToken,
    talkgroups,
    files,
    crew: people.slice(0, CREW),
    clerks: people.slice(CREW, CREW + CLERKS),
    spareDevices: people.slice(CREW + CLERKS).map(({ deviceId }) => deviceId),
  };
}

const SPARE_DEVICES = 3;
const PASSWORD = 'over and out';
/** Settings of the service that the scene relies on. */
export const ADMIN = { ADMIN_USERNAME: 'chief', ADMIN_PASSWORD: 'chief of chaos' };

function isMember(index: number, talkgroup: number): boolean {
  const { from = 0, to = 0 } = TALKGROUPS[talkgroup] ?? {};
  return (index >= from && index < to) || (index + CREW >= from && index + CREW < to);
}

/** What the service holds now, and again after a while when that is too much: what is closing needs its time. */
export async function restingFootprint(
  server: Server,
  isFine: (now: Footprint) => boolean,
): Promise<Footprint> {
  for (let look = 0; ; look++) {
    const now = await server.footprint();
    if (isFine(now) || look === 20) return now;
    await pause(400);
  }
}
