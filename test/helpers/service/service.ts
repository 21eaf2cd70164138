// The whole service for a test: real HTTP, real relay, real PostgreSQL, and the radios that talk to it.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createSigner } from 'fast-jwt';
import postgres from 'postgres';
import type { Test } from 'tap';
import { WebSocket } from 'ws';
import { type Claims, type Role, signing } from '../../../src/auth/tokens.js';
import { type ComposeOptions, compose } from '../../../src/compose.js';
import { readConfig } from '../../../src/config/config.js';
import type { UserId } from '../../../src/ids.js';
import { createLog } from '../../../src/log.js';
import { decodeFrames } from '../../../src/protocol/bundle.js';
import { END, encodeFrame, type Frame, START } from '../../../src/protocol/frame.js';
import { migratedDatabase } from '../database/cluster.js';
import { eventually, HANGS_MS } from '../eventually.js';
import { callJson } from '../http/call-json.js';
import { messageIn } from '../relay/heard-message.js';
import { authorityOfTests } from '../relay/late-authority.js';
import { startMain } from './main-process.js';
import { type DealtNode, dealer, joiningOf, reached } from './two-nodes.js';
import { type Markers, sharingOf, threadDealer, type Way } from './two-threads.js';

export const SECRET = 'a test secret of more than thirty-two bytes';

/** Of the user `admin` of every service that is given no other. */
const ADMIN_PASSWORD = 'admin password';
const ADMIN_PASSWORD_HASH = '$2y$10$vGeRdhR7nDAATdi21XEMIOQXzk9.rfYKQXCbAgq/yjjr6fY2iEGpy';

export type Json = Record<string, unknown>;
export type Service = Awaited<ReturnType<typeof service>>;
export type ServiceProcess = Awaited<ReturnType<typeof serviceProcess>>;
export type Person = Awaited<ReturnType<Service['person']>>;

/** Each relay holds live audio for as long as it may. */
export const isUnderLoad = process.env.UNDER_LOAD !== undefined;

/** Settings every test service has. Those of the test itself go over them. */
const settings = {
  PORT: '0',
  WS_PORT: '0',
  METRICS_PORT: '0',
  JWT_SECRET: SECRET,
  LOG_LEVEL: process.env.TEST_LOG_LEVEL ?? 'fatal',
  DRAIN_MS: '0',
  // With a test in its thread a relay is often under load.
  ...(isUnderLoad ? { LOAD_WINDOW_MS: '100', LOAD_PERCENT: '0' } : { LOAD_WINDOW_MS: '0' }),
};

/**
 * Starts a service of its own for `t`. `environment` overrides settings by their names. The relay shares this thread: one
 * of its own takes a second of CPU to start, and is what the tests of processes, of talk and of changes have. `around`
 * leads the test's own statements to the database when DATABASE_URL leads through a link that breaks. `constants` replace
 * numbers that are no settings, and who decides the floors. With `isOneNode` its radios are on one node in every run: it
 * tests a limit of one node.
 */
export async function service(
  t: Test,
  environment: Record<string, string> = {},
  around?: string,
  {
    isOneNode = false,
    ...constants
  }: Pick<ComposeOptions, 'handshakes' | 'certificateLookMs' | 'authorityOf'> & { isOneNode?: boolean } = {},
) {
  const url = environment.DATABASE_URL ?? (await migratedDatabase(t));
  const joining = isOneNode ? null : await joiningOf(environment);
  const sharing = isOneNode ? null : sharingOf(environment);
  const start = async () => {
    const config = readConfig({
      ...{ ...settings, RELAY_THREADS: '0', ...joining, ...environment, ...sharing },
      DATABASE_URL: url,
    });
    const log = createLog(config.LOG_LEVEL);
    const running = await compose(config, log, (error) => t.fail(error.message), {
      authorityOf: authorityOfTests(),
      ...constants,
    });
    t.teardown(() => running.close());
    const ports = await running.listen();
    await running.start();
    return {
      port: ports.port,
      ws: `ws://127.0.0.1:${ports.wsPort}`,
      metrics: `http://127.0.0.1:${ports.metricsPort}/metrics`,
      close: () => running.close(),
    };
  };
  const running = await start();
  const { port, metrics, ws } = running;
  const other = joining === null ? null : await start();
  const addresses = { rest: `http://127.0.0.1:${port}`, ws, url: around ?? url };
  const nodes = other === null ? [] : [running, other];
  const s = await peopleOf(t, { ...addresses, nodes, metricsOfThreads: sharing && metrics });
  await reached(nodes);
  // Made by the start it would cost 50 ms of bcrypt. Those whose subject that is name a password.
  if (environment.ADMIN_PASSWORD === undefined)
    await s.sql`insert into users (username, password_hash, role) values ('admin', ${ADMIN_PASSWORD_HASH}, 'admin')
      on conflict do nothing`;
  return {
    ...s,
    metrics,
    /** Addresses of its relays: that of the first node, and of the second one where there are two. */
    relays: other === null ? [ws] : [ws, other.ws],
    /** Of each node that its radios are dealt out over. */
    metricsOfNodes: [running, ...(other === null ? [] : [other])].map((node) => node.metrics),
    close: async () => {
      await Promise.all([running.close(), other?.close()]);
    },
  };
}

/**
 * The same as a process of its own, for what only a process shows: signals, exit codes, output, descriptors. With a
 * DATA_DIR it has its embedded database. `within` is a command that runs the one after it, under limits of its own.
 */
export async function serviceProcess(
  t: Test,
  environment: Record<string, string> = {},
  within: readonly string[] = [],
) {
  const { DATA_DIR } = environment;
  const given = environment.DATABASE_URL ?? (DATA_DIR === undefined ? await migratedDatabase(t) : '');
  const env = { ...settings, ADMIN_PASSWORD, ...environment, DATABASE_URL: given };
  const { pid, output, address, signal, exited } = await startMain(t, env, within);
  const [rest, ws] = [address('REST'), address('WebSocket').replace(/\/ws$/, '')];
  // Its files as it sees them itself: its folder may be of its own mount.
  const root = process.platform === 'linux' ? `/proc/${pid}/root` : '';
  const url = given || (await readFile(join(`${root}${DATA_DIR}`, 'postgres.url'), 'utf8'));
  return {
    ...(await peopleOf(t, { rest, ws, url })),
    metrics: address('Metrics'),
    pid,
    root,
    /** Both streams so far. */
    output,
    signal,
    /** Exit code, or the signal that ended it. */
    async exit(): Promise<number | string | null> {
      const [code, by] = await exited;
      return code ?? by;
    },
    /** How many files and sockets it has open. Linux only. */
    descriptors: async () => (await readdir(`/proc/${pid}/fd`)).length,
  };
}

/** As REST takes them. What is left out is as for every new talkgroup. */
export interface TalkgroupSettings {
  readonly name: string;
  readonly floor_mode?: 'open' | 'single' | 'broadcast';
  readonly max_talk_ms?: number;
}

type Four<T> = [T, T, T, T, ...T[]];

interface Addresses {
  readonly rest: string;
  readonly ws: string;
  /** Both nodes where there are two, to which the radios connect by turns. */
  readonly nodes?: readonly DealtNode[];
  /** Of the metrics of a service with two threads, to which the radios connect by turns. */
  readonly metricsOfThreads?: string | null;
  /** Of the database. */
  readonly url: string;
}

async function peopleOf(t: Test, { rest, ws, nodes = [], metricsOfThreads: metrics = null, url }: Addresses) {
  const scout = async (): Promise<string> => (await person(`scout-${randomUUID()}`)).token;
  const dealing = metrics === null ? null : threadDealer(t, { ws, metrics, scout, markers });
  const { radioAt, followed } = dealing ?? dealer(t, ws, nodes);
  /** What shows a test with two threads that one of them has handled what the other one said. */
  async function markers(): Promise<Markers> {
    const people = [await person(`marker-${randomUUID()}`), await person(`marker-${randomUUID()}`)];
    const rows = await sql<{ id: string; number: number }[]>`
      insert into talkgroups (name, master_secret)
      select 'marker ' || n, decode(repeat('00', 32), 'hex') from generate_series(1, 8) n
      returning id, number::int`;
    for (const { id } of people)
      await sql`insert into memberships (user_id, talkgroup_id, site)
        select ${id}, unnest(${`{${rows.map((row) => row.id)}}`}::uuid[]), 'depot'`;
    return { tokens: people.map(({ token }) => token), talkgroups: rows.map((row) => row.number) };
  }

  const sql = postgres(url, { max: 2, onnotice: () => {} });
  t.teardown(() => sql.end());
  const sign: (claims: Claims) => string = createSigner({ key: SECRET, ...signing });

  /** One REST call. Status and body. */
  const call = (method: string, path: string, token: string | null, body?: unknown) =>
    callJson({ method, url: rest + path, token, body });

  /**
   * The same, and anything but 200 fails the test. On a busy machine a change may have to be asked for again, and a
   * second talkgroup of a name is in no test's way. The other node, where there is one, has heard of the change.
   */
  async function must(method: string, path: string, token: string | null, body?: unknown): Promise<Json> {
    let answer = await call(method, path, token, body);
    const isRepeatable = method === 'PATCH' || /\/(join|leave)$/.test(path);
    const isToRepeat = () =>
      isUnmade(answer) ||
      (isRepeatable && isUnconfirmed(answer)) ||
      ((isRepeatable || path === '/talkgroups') && isUnknown(answer));
    for (let again = 0; again < 10 && isToRepeat(); again++) answer = await call(method, path, token, body);
    // Nodes that have just begun do not know of each other yet.
    if (answer.body.error === 'not every node of the service records')
      answer = await eventually(async () => {
        const next = await call(method, path, token, body);
        if (next.status === 409) throw new Error(`${next.body.error}`);
        return next;
      });
    if (answer.status !== 200)
      throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    await followed({ method, path, token });
    return answer.body;
  }

  /** An account with a token, made without the 50 ms of a hash. */
  async function person(
    name: string,
    { role = 'user' as Role, serial }: { role?: Role; serial?: string } = {},
  ) {
    const id = randomUUID() as UserId;
    const device = serial === undefined ? null : await deviceWith(serial);
    await sql`insert into users ${sql({ id, username: name, password_hash: 'none', role, device_id: device })}`;
    const token = sign({ sub: id, username: name, role, iat: Math.floor(Date.now() / 1000) });
    return {
      id,
      name,
      token,
      device,
      get: (path: string) => must('GET', path, token),
      post: (path: string, body?: unknown) => must('POST', path, token, body),
      patch: (path: string, body?: unknown) => must('PATCH', path, token, body),
      delete: (path: string) => must('DELETE', path, token),
      call: (method: string, path: string, body?: unknown) => call(method, path, token, body),
      radio: () => comesAgain(() => radioAt(null, token)),
      /** One handshake at the first node, whatever it is answered: for what holds for each node by itself. */
      radioHere: () => radioAt(null, token, true),
      /** A new socket that would go on with the session of that radio. */
      resumes: ({ welcome }: Pick<Radio, 'welcome'>) => radioAt(welcome, token),
    };
  }

  /** On a busy machine a handshake may find no session numbers yet, or a slow read. A radio comes again, as every client does. */
  async function comesAgain(open: () => Promise<Radio>): Promise<Radio> {
    for (let tries = 8; ; tries--) {
      const radio = await open();
      if (radio.welcome !== null || tries === 1 || (await radio.closes()).reason !== 'overloaded')
        return radio;
      await delay(250);
    }
  }

  async function deviceWith(serial: string): Promise<string> {
    const [row] = await sql`insert into devices (name, site, serial) values (${serial}, 'depot', ${serial})
      on conflict (serial) do update set serial = excluded.serial returning id`;
    return row?.id;
  }

  const admin = await person(`admin-${randomUUID()}`, { role: 'admin' });

  /** A talkgroup with these settings and members. */
  async function talkgroupWith(settings: TalkgroupSettings, ...members: readonly { readonly id: UserId }[]) {
    const { name, floor_mode = 'open', max_talk_ms } = settings;
    const created = await admin.post('/talkgroups', { name, floor_mode });
    const { id } = created.talkgroup as { id: string };
    if (max_talk_ms !== undefined) await admin.patch(`/talkgroups/${id}`, { max_talk_ms });
    for (const member of members) {
      await sql`insert into memberships (user_id, talkgroup_id, site) values (${member.id}, ${id}, 'depot')`;
    }
    const [row] = await sql`select number::int from talkgroups where id = ${id}`;
    return { id, number: row?.number as number, name };
  }

  /** Talkgroups `crowded 1` to `crowded COUNT` of one member, written to the database while the relay holds none of them. */
  async function talkgroups(member: { readonly id: UserId }, count: number): Promise<string[]> {
    const rows = await sql<{ id: string }[]>`
      insert into talkgroups (name, master_secret)
      select 'crowded ' || n, decode(repeat('00', 32), 'hex') from generate_series(1, ${count}) n
      returning id`;
    const ids = rows.map(({ id }) => id);
    await sql`insert into memberships (user_id, talkgroup_id, site)
      select ${member.id}, unnest(${`{${ids}}`}::uuid[]), 'depot'`;
    return ids;
  }

  return {
    rest,
    ws,
    url,
    sql,
    sign,
    call,
    person,
    /** What an operator types when a phone is lost. */
    revoke: (username: string) => runCommand(['revoke', username], { ...settings, DATABASE_URL: url }),
    /** What an operator types to make an existing user an admin. */
    promote: (username: string) =>
      runCommand(['admin', 'add', username, '--promote'], { ...settings, DATABASE_URL: url }),
    /** For a test that opens its sockets itself: how to open the next one, or one for this session that is resumed. */
    wayTo: dealing?.wayTo ?? toTheOne,
    /** A radio at this node of a user whose token came from elsewhere. It would go on with the session of this WELCOME. */
    radioOf: ({ token }: { token: string }, welcome: Radio['welcome'] = null) => radioAt(welcome, token),
    admin,
    talkgroupWith,
    talkgroups,
    /** A talkgroup of these members. */
    talkgroup: (name: string, ...members: readonly { readonly id: UserId }[]) =>
      talkgroupWith({ name }, ...members),
    /** A talkgroup of `count` people with names of their own, the first `admins` of them so, and a radio of each. */
    async crew(t: Test, count: number, { admins = 0, ...settings }: TalkgroupSettings & { admins?: number }) {
      const people = await Promise.all(
        Array.from({ length: count }, (_, index) =>
          person(`${settings.name}-${index}`, { role: index < admins ? 'admin' : 'user' }),
        ),
      );
      const talkgroup = await talkgroupWith(settings, ...people);
      const radios = await Promise.all(people.map((one) => one.radio()));
      t.teardown(() => {
        for (const radio of radios) radio.socket.terminate();
      });
      // As many as the test takes apart. It knows how many it asked for.
      return { ...talkgroup, people: people as Four<(typeof people)[number]>, radios: radios as Four<Radio> };
    },
  };
}

const toTheOne = async (_resumed: number | null, _isHere: boolean): Promise<Way> => ({
  options: {},
  arrived: async () => {},
});

/** Nothing was changed. */
const isUnmade = ({ status, body }: { status: number; body: Json }) =>
  status === 503 && body.error === 'database unavailable';

/** Stored, but the relay had no time to say that live sockets follow it. */
export const isUnconfirmed = ({ status, body }: { status: number; body: Json }) =>
  status === 503 && String(body.error).startsWith('the change is stored');

/** The database had no time to say whether it is stored. */
const isUnknown = ({ status, body }: { status: number; body: Json }) =>
  status === 503 && String(body.error).endsWith('the outcome is unknown');

const CLI = fileURLToPath(new URL('../../../src/cli.js', import.meta.url));

/** Runs one command of the command line. `input` stands for the keyboard. */
export async function runCommand(args: readonly string[], env: Record<string, string>, input = '') {
  const child = spawn(process.execPath, [CLI, ...args], { env, stdio: 'pipe' });
  let output = '';
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      if (stream === child.stdout) printed += text;
    });
  }
  child.stdin.end(input);
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, output, printed };
}

export type Radio = Awaited<ReturnType<typeof connect>>;

/** A frame heard, with its payload as text, for tests speak in words. */
export type Heard = Frame & { readonly text: string };

/**
 * Opens a socket and waits for WELCOME, or for the close that comes instead. `inOpen` sends on the socket right behind
 * the 101.
 */
export async function connect(
  t: Test,
  address: string,
  options: ConstructorParameters<typeof WebSocket>[2] = {},
  inOpen: (socket: WebSocket) => void = () => {},
) {
  const socket = new WebSocket(address, { perMessageDeflate: false, ...options });
  socket.once('open', () => inOpen(socket));
  const messages: Json[] = [];
  const frames: Heard[] = [];
  /** Everything in its order of arrival, for tests of order. */
  const arrivals: (Json | Heard)[] = [];
  const waiting = new Set<() => void>();
  let closed: { code: number; reason: string } | null = null;
  let sequence = 0;

  const changed = () => {
    for (const check of [...waiting]) check();
  };
  socket.on('message', (data: Buffer, isBinary: boolean) => {
    if (isBinary) {
      const read = decodeFrames(data, Number.MAX_SAFE_INTEGER);
      if (typeof read === 'string') throw new Error(`the relay sent a bad frame: ${read}`);
      const heard = read.map((frame) => ({ ...frame, text: Buffer.from(frame.payload).toString() }));
      frames.push(...heard);
      arrivals.push(...heard);
    } else {
      const message = messageIn(data.toString(), (fault) => t.fail(fault));
      messages.push(message);
      arrivals.push(message);
    }
    changed();
  });
  socket.on('close', (code, reason) => {
    closed = { code, reason: reason.toString() };
    changed();
  });
  socket.on('error', () => {}); // a close follows
  t.teardown(() => socket.terminate());

  /** Resolves with the first value that is there. A socket that closes first, or `HANGS_MS`, fails the test. */
  function until<T>(what: string, find: () => T | undefined): Promise<T> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => end(() => reject(new Error(`never came: ${what}; came ${JSON.stringify(messages)}`))),
        HANGS_MS,
      );
      const end = (act: () => void) => {
        clearTimeout(timer);
        waiting.delete(check);
        act();
      };
      const check = () => {
        const found = find();
        if (found !== undefined) end(() => resolve(found));
        else if (closed !== null)
          end(() => reject(new Error(`closed instead of ${what}: ${JSON.stringify(closed)}`)));
      };
      waiting.add(check);
      check();
    });
  }

  const take = (matches: (message: Json) => boolean) => () => {
    const index = messages.findIndex(matches);
    return index < 0 ? undefined : messages.splice(index, 1)[0];
  };
  const takeMessage = (type: string, matches: (message: Json) => boolean = () => true) =>
    take((message) => message.type === type && matches(message));

  /** Says the message with a ref of its own and takes its answer out of the others, whatever it is. */
  function asks(message: Json): Promise<Json> {
    const ref = randomUUID();
    socket.send(JSON.stringify({ ...message, ref }));
    return until(
      'an answer',
      take((answer) => answer.ref === ref),
    );
  }

  await until('WELCOME or close', () => messages[0] ?? closed ?? undefined);
  const welcome = takeMessage('WELCOME')() ?? null;

  return {
    socket,
    welcome: welcome as (Json & { session: number; talkgroups: Json[] }) | null,
    session: (welcome?.session ?? 0) as number,
    /** Messages not yet taken by `hears`. */
    messages,
    frames,
    arrivals,
    /** The next message of that type, taken out of the others. */
    hears: (type: string, matches?: (message: Json) => boolean) => until(type, takeMessage(type, matches)),
    /** The next frame, taken out of the others. */
    hearsFrame: () => until('a frame', () => frames.shift()),
    /** The next so many frames, taken out of the others. */
    hearsFrames: (count: number) =>
      until(`${count} frames`, () => (frames.length < count ? undefined : frames.splice(0, count))),
    /** Waits until the frame with this text came. Frames before it stay. */
    hearsText: (text: string) => until(`frame ${text}`, () => frames.find((frame) => frame.text === text)),
    closes: () => until('close', () => closed ?? undefined),
    says: (message: unknown) => socket.send(typeof message === 'string' ? message : JSON.stringify(message)),
    asks,
    sends: (bytes: Uint8Array) => socket.send(bytes),
    /** Speaks one frame. The sequence runs on from the last START. */
    speaks(
      talkgroup: number,
      text: string,
      { start = false, end = false, ...rest }: Partial<Frame> & { start?: boolean; end?: boolean } = {},
    ) {
      if (start) sequence = 0;
      const flags = (rest.flags ?? 0) | (start ? START : 0) | (end ? END : 0);
      socket.send(
        encodeFrame({ sequence: sequence++, talkgroup, payload: Buffer.from(text), ...rest, flags }),
      );
    },
    /** Everything sent before is handled, and everything published to this radio meanwhile has arrived. */
    async settled(): Promise<void> {
      await asks({ type: 'PING', t: 0 }); // beyond its rate it is still answered, with an ERROR
    },
  };
}
