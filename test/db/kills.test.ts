// kill -9 of the database and of the node under load, with a ledger of every write that was acknowledged.
//
// The service runs as `make run` starts it: a process of its own with the embedded database as its child. Some writers
// are its REST clients, the others call the guarded client beside it, which must survive the same. Two radios talk on.

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import postgres from 'postgres';
import t, { type Test } from 'tap';
import { createRadio, type Radio } from '../../src/client/node.js';
import { openDatabase } from '../../src/db/client.js';
import { AppError } from '../../src/errors.js';
import { compare, inS, insertInto, keepWriting, type Outcome } from '../helpers/database/write-ledger.js';
import { eventually, HANGS_MS } from '../helpers/eventually.js';
import { callJson } from '../helpers/http/call-json.js';
import { freePort } from '../helpers/programs.js';
import { within } from '../helpers/within.js';

const POSTGRES_KILLS = Number(process.env.KILLS_POSTGRES ?? 2);
const NODE_KILLS = Number(process.env.KILLS_NODE ?? 1);
const KILLS = POSTGRES_KILLS + NODE_KILLS;
/** Acknowledged ones, spread evenly over the kills. */
const WRITES = Number(process.env.LEDGER_WRITES ?? 300);
/** Of each kind. */
const WRITERS = 4;
/** Invariant 6. */
const ANSWER_MS_MAX = 5000;
/** The start of a process and a recovery, on a machine however busy. What it took is told. */
const BACK_MS_MAX = 300_000;
const ADMIN = { username: 'admin', password: 'admin password' };
const MAIN = fileURLToPath(new URL('../../src/main.js', import.meta.url));

t.setTimeout(60_000 + KILLS * 60_000 + WRITES * 20);

t.test(`${KILLS} kills lose no acknowledged write, and radios come back by themselves`, async (t) => {
  const node = await startNode(t);
  const sql = postgres(node.url, { max: 1, onnotice: () => {} });
  t.teardown(() => sql.end({ timeout: 1 }));
  await sql`create table ledger (id int primary key)`;
  const rest = keepWriting(t, WRITERS, restWriter(node), { afterMs: 0, afterRefusalMs: 50 });
  // Without HTTP before it, it would leave the REST clients nothing of the machine.
  const client = keepWriting(t, WRITERS, clientWriter(t, node.url), { afterMs: 5, afterRefusalMs: 50 });
  const acknowledged = () => rest.ledger.acknowledged.size + client.ledger.acknowledged.size;
  const { talkgroupId, a, b } = await twoRadios(t, node);

  let slowestBackMs = 0;
  for (const [index, kill] of inTurns().entries()) {
    const share = ((index + 1) * WRITES) / KILLS;
    await eventually(() => assert(acknowledged() >= share), HANGS_MS + share * 20);
    const { session } = b;
    const killedAt = performance.now();
    await (kill === 'node' ? node.killAndRestart() : node.killPostgres());
    for (const [way, { ledger }] of Object.entries({ rest, client })) {
      const enough = ledger.acknowledged.size + WRITERS; // more than were under way when it died
      const isBack = () =>
        assert(
          ledger.acknowledged.size > enough,
          `${way} after kill ${index} (${kill}): ${ledger.strange.at(-1)}`,
        );
      await eventually(isBack);
    }
    slowestBackMs = Math.max(slowestBackMs, performance.now() - killedAt);
    for (const radio of [a, b]) await eventually(() => assert.equal(radio.state, 'open'));
    if (kill === 'postgres') assert.equal(b.session, session, 'radios do not notice');
    await isHeard({ talkgroupId, from: a, by: b });
  }

  within(t, slowestBackMs, BACK_MS_MAX, 'the slowest return');
  for (const { stop } of [rest, client]) await stop();
  t.comment(
    `${POSTGRES_KILLS} kills of PostgreSQL, ${NODE_KILLS} of node, back after ${inS(slowestBackMs)} at most`,
  );
  const talkgroups = await eventually(() => sql<Row[]>`select name::int as id from talkgroups`);
  compare(t, 'over REST', rest.ledger, idsOf(talkgroups));
  const unequal = await sql`
    select id from (select id from talkgroups) t
    full join (select talkgroup_id as id from acts where act = 'talkgroup_created') a using (id)
    where t.id is null or a.id is null`;
  t.strictSame([...unequal], [], 'each change has its act, and each act its change');
  compare(t, 'by the guarded client', client.ledger, idsOf(await sql<Row[]>`select id from ledger`));
  for (const { ledger } of [rest, client])
    t.ok(ledger.slowestMs < ANSWER_MS_MAX, `the slowest answer came after ${inS(ledger.slowestMs)}`);
});

/** In a talkgroup named 0, which no writer creates. */
async function twoRadios(t: Test, node: Node) {
  const { talkgroup } = (await node.post('/talkgroups', { name: '0' })).body;
  assert(talkgroup !== undefined);
  await node.post(`/talkgroups/${talkgroup.id}/join`, {});
  const [a, b] = [node.radio(), node.radio()];
  t.teardown(() => {
    for (const radio of [a, b]) radio.close();
  });
  for (const radio of [a, b]) await eventually(() => assert.equal(radio.state, 'open'));
  return { talkgroupId: talkgroup.id, a, b };
}

async function isHeard({
  talkgroupId,
  from,
  by,
}: {
  talkgroupId: string;
  from: Radio;
  by: Radio;
}): Promise<void> {
  const heard = new Promise<void>((resolve) => {
    const stop = by.on('audio', () => {
      stop();
      resolve();
    });
  });
  from.talk({ talkgroupId }).end(Uint8Array.of(0x08, 1, 2, 3));
  await heard;
}

/** Kills of node are spread over those of PostgreSQL. */
function inTurns(): ('postgres' | 'node')[] {
  return Array.from({ length: KILLS }, (_, index) =>
    Math.floor(((index + 1) * NODE_KILLS) / KILLS) > Math.floor((index * NODE_KILLS) / KILLS)
      ? 'node'
      : 'postgres',
  );
}

type Row = { id: number };
type Node = Awaited<ReturnType<typeof startNode>>;

/** Creates talkgroups whose names are the ids. */
function restWriter(node: Node) {
  return async (id: number): Promise<Outcome> => {
    let answer: { status: number; body: Answer };
    try {
      answer = await node.post('/talkgroups', { name: String(id) });
    } catch (error) {
      // Expected while node is away. A connection that was not there carried nothing.
      return codeOf((error as Error).cause) === 'ECONNREFUSED' ? 'refused' : 'unknown';
    }
    const { status, body } = answer;
    if (status === 200) return 'acknowledged';
    if (status === 503 && body.error === new AppError('database_unavailable').message) return 'refused';
    if (status === 503 && body.error === new AppError('outcome_unknown').message) return 'unknown';
    throw new Error(`${status} ${body.error}`);
  };
}

function clientWriter(t: Test, url: string) {
  const database = openDatabase({ url, connections: WRITERS, log: { warn() {}, info() {} } });
  t.teardown(() => database.close());
  return (id: number) => insertInto(database, id);
}

const idsOf = (rows: readonly Row[]) => new Set(rows.map(({ id }) => id));

/** A service with its embedded database in a folder of its own, both gone when `t` ends. */
async function startNode(t: Test) {
  const dataDir = await mkdtemp(join(tmpdir(), 'talkgroup-radio-test-'));
  t.teardown(() => rm(dataDir, { recursive: true, force: true }));
  // The same after every restart, for clients that come back.
  const [port, wsPort] = [await freePort(), await freePort()];
  const rest = `http://127.0.0.1:${port}`;
  const start = () => launch({ DATA_DIR: dataDir, PORT: String(port), WS_PORT: String(wsPort) });
  let child = await start();
  t.teardown(() => end(child, 'SIGTERM'));
  const url = await readFile(join(dataDir, 'postgres.url'), 'utf8');

  async function post(path: string, body: object, token?: string) {
    const { status, body: answer } = await callJson({ method: 'POST', url: rest + path, token, body });
    return { status, body: answer as Answer };
  }
  // Its key is in the folder, too: the token outlives every kill.
  const { jwt } = (await post('/auth/login', ADMIN)).body;
  assert(jwt !== undefined);

  return {
    url,
    post: (path: string, body: object) => post(path, body, jwt),
    radio: () => createRadio({ url: `ws://127.0.0.1:${wsPort}`, token: jwt }),
    async killAndRestart(): Promise<void> {
      await end(child, 'SIGKILL');
      child = await start(); // at once, while the old server is still shutting down
    },
    async killPostgres(): Promise<void> {
      const postmaster = await postmasterPid(dataDir);
      process.kill(postmaster, 'SIGKILL');
      await eventually(async () => assert.notEqual(await postmasterPid(dataDir), postmaster), BACK_MS_MAX);
    },
  };
}

/** What is read of an answer. */
interface Answer {
  readonly jwt?: string;
  readonly error?: string;
  readonly talkgroup?: { readonly id: string };
}

/** Resolves when it serves. */
async function launch(place: Record<string, string>): Promise<ChildProcess> {
  const env = {
    ...place,
    METRICS_PORT: '0',
    DRAIN_MS: '0',
    LOG_LEVEL: 'silent',
    ADMIN_PASSWORD: ADMIN.password,
  };
  const child = spawn(process.execPath, [MAIN], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  for await (const text of child.stdout.setEncoding('utf8')) {
    output += text;
    if (/^Ready$/m.test(output)) return child;
  }
  throw new Error(`did not start: ${output}`);
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  const exited = once(child, 'exit');
  if (child.kill(signal)) await exited;
}

/** Number.NaN while there is none. */
async function postmasterPid(dataDir: string): Promise<number> {
  try {
    return Number.parseInt(await readFile(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8'), 10);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
    return Number.NaN; // between two servers
  }
}

const codeOf = (error: unknown) => (error as { code?: unknown } | undefined)?.code;
