// The scene of all episodes: a database, the service before it, links that break between them, and the crew.
import { setTimeout as pause } from 'node:timers/promises';
import type postgres from 'postgres';
import { eventually } from '../helpers/eventually.js';
import { type ChaosProxy, startChaosProxy } from '../helpers/network/chaos-proxy.js';
import { type ChaosDatabase, createDatabase, killPostmaster } from './database.js';
import type { Footprint, RequestRecord, Withdrawal } from './history.js';
import { type CrewRadio, createCrewRadio, type Person } from './radio.js';
import { type Call, createCaller } from './requests.js';
import { createServerProcess, type Server } from './server.js';
import { recruit, type Staff, type TalkgroupPlan } from './staff.js';

/** What of a scene belongs to one node. */
export interface Node {
  readonly server: Server;
  /** Between service and database. */
  readonly databaseLink: ChaosProxy;
  readonly notes: Notes;
  readonly call: Call;
  /** To /healthz alone, with a record of its own. */
  readonly health: () => Promise<unknown>;
  stop(): Promise<void>;
}

export interface Scene extends Omit<Node, 'stop'>, Omit<Staff, 'crew'> {
  /** Between some of the radios and the relay. The others are connected directly. */
  readonly links: readonly ChaosProxy[];
  readonly crew: readonly CrewRadio[];
  /** The right name and password of a user: anything but a token or a refusal for want of room is a surprise. */
  readonly login: (who: number) => Promise<void>;
  /** Around the links, as superuser. */
  readonly sql: postgres.Sql;
  /** Where that leads. */
  readonly databaseUrl: string;
  readonly postmaster: { kill(): Promise<void> };
  close(): Promise<void>;
}

/** What is written down as it happens. Each episode starts a new page. */
export interface Notes {
  requests: RequestRecord[];
  health: RequestRecord[];
  withdrawals: Withdrawal[];
  surprises: string[];
  touched: Set<number>;
  readonly radioOfSession: Map<number, number>;
}

/** Each person is in two of them. */
const TALKGROUPS: readonly TalkgroupPlan[] = [
  { name: 'Fire', mode: 'open', from: 0, to: 12 },
  { name: 'Harbour', mode: 'open', from: 8, to: 20 },
  { name: 'Police', mode: 'single', from: 12, to: 24 },
  { name: 'Taxi', mode: 'single', from: 20, to: 32 },
];

/** Which link leads a radio to the relay: half of them are connected directly, by none of the two. */
export const linkOf = (radio: number) => radio % 4;

/** Starts everything and waits until each radio is connected. */
export async function openScene(settings: Record<string, string>): Promise<Scene> {
  const database = await createDatabase();
  const node = await createNode(settings, { database, radioOfSession: new Map() });
  const links = await Promise.all(
    [0, 1].map(() => startChaosProxy({ port: node.server.wsPort, host: '127.0.0.1' })),
  );
  let crew: CrewRadio[] = [];

  async function close(): Promise<void> {
    for (const radio of crew) radio.close();
    await node.stop();
    await Promise.all(links.map((link) => link.stop()));
    await database.drop();
  }

  try {
    await node.server.start();
    const staff = await recruit(node.call, { sql: database.sql, plans: TALKGROUPS });
    crew = staff.crew.map((person) =>
      createRadioAt(node, person, links[linkOf(person.index)]?.port ?? node.server.wsPort),
    );
    await areOpen(crew);
    return { ...sceneOf(node, { database, staff, crew }), links, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** A node that is not started yet, with a link of its own to the database. */
export async function createNode(
  settings: Record<string, string>,
  { database, radioOfSession }: { database: ChaosDatabase; radioOfSession: Map<number, number> },
): Promise<Node> {
  const { proxy: databaseLink, url } = await database.link();
  const server = await createServerProcess({ ...settings, DATABASE_URL: url });
  const notes: Notes = {
    ...{ requests: [], health: [], withdrawals: [], surprises: [] },
    ...{ touched: new Set(), radioOfSession },
  };
  const healthCall = createCaller(server.rest, (request) => notes.health.push(request));
  return {
    ...{ server, databaseLink, notes },
    call: createCaller(server.rest, (request) => notes.requests.push(request)),
    health: () => healthCall({ method: 'GET', path: '/healthz' }),
    async stop() {
      await server.stop();
      await databaseLink.stop();
    },
  };
}

/** The radio of this person, connected to this port. */
export const createRadioAt = ({ notes }: Node, person: Person, port: number): CrewRadio =>
  createCrewRadio({
    person,
    url: `ws://127.0.0.1:${port}`,
    onSession: (session, radio) => notes.radioOfSession.set(session, radio),
  });

export const areOpen = (crew: readonly CrewRadio[]): Promise<void> =>
  eventually(() => {
    if (crew.some((radio) => !radio.isOpen)) throw new Error('not all radios are connected');
  });

/** What the load and the faults of one node work with. */
export function sceneOf(
  { server, databaseLink, notes, call, health }: Node,
  parts: { database: ChaosDatabase; staff: Staff; crew: readonly CrewRadio[] },
): Omit<Scene, 'links' | 'close'> {
  const { database, staff, crew } = parts;
  return {
    ...{ server, databaseLink, notes, call, health, ...staff, crew },
    login: (who) => login({ call, notes, person: staff.clerks[who % staff.clerks.length] }),
    sql: database.sql,
    databaseUrl: database.url,
    postmaster: { kill: () => killPostmaster(database.sql) },
  };
}

async function login({ call, notes, person }: { call: Call; notes: Notes; person: Person | undefined }) {
  const body = { username: person?.name, password: person?.password };
  const { status, body: answer } = await call({ method: 'POST', path: '/auth/login', body });
  const isExpected = status === null || status === 503 || status === 429;
  if (!isExpected && (status !== 200 || typeof answer.jwt !== 'string'))
    notes.surprises.push(`a right password: ${status} ${JSON.stringify(answer)}`);
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
