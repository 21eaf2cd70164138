// docs/websocket-guide.md is true: its programs hear each other and resume, its code is theirs, its waits are the client's.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { WebSocketServer } from 'ws';
import { readOpus, writeOpus } from '../../src/client/audio/ogg.js';
import { nextStep } from '../../src/client/connection/backoff.js';
import { eventually } from '../helpers/eventually.js';
import { startChaosProxy } from '../helpers/network/chaos-proxy.js';
import { fencesOf, readPage } from '../helpers/pages/pages.js';
import { type Service, service } from '../helpers/service/service.js';

const page = readPage('docs/websocket-guide.md');
const fencesIn = (language: string) =>
  fencesOf(page)
    .filter((fence) => fence.language === language)
    .map(({ text }) => text);

/** Each radio of the guide, as the start of its command. */
type Program = readonly [command: string, ...args: string[]];
const library: Program = [process.execPath, 'docs/examples/radio.mjs'];
const hasWebSocket = 'WebSocket' in globalThis; // Node 20 has it behind an option
const raw: Program = [
  process.execPath,
  ...(hasWebSocket ? [] : ['--experimental-websocket']),
  'docs/examples/raw-radio.mjs',
];
const python: Program = ['python3', 'docs/examples/radio.py'];
// `make test` asks for Node, npm and make alone; CI installs Python, so that all of it is tried there.
const hasPython = spawnSync('python3', ['--version']).status === 0;
if (!hasPython) t.comment('python3 is missing: the Python program is replaced by the one of the library');
const programs: readonly Program[] = hasPython ? [library, raw, python] : [library, raw, library];

// They talk in real time: side by side they take as long as the longest, which is 8 s.
t.jobs = 4;
/** A new object for each test: tap writes into it. */
const beside = () => ({ buffered: true, timeout: 120_000 });

const folder = await mkdtemp(join(tmpdir(), 'websocket-guide-'));
t.teardown(() => rm(folder, { recursive: true, force: true }));
const ADMIN_PASSWORD = 'a password for the guide';
const shared = service(t, { ADMIN_PASSWORD });

/** A process with its lines so far, of both streams. */
function start(t: Test, [command, ...args]: Program, env: Record<string, string> = {}) {
  const child = spawn(command, args, { env: { ...process.env, ...env }, stdio: 'pipe' });
  t.teardown(() => child.kill('SIGKILL'));
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const exited = once(child, 'close') as Promise<[code: number | null]>;
  return {
    output: () => output,
    /** Waits for a line. */
    says: (line: RegExp) =>
      eventually(
        () => line.exec(output) ?? fail(`never came: ${line}, only ${JSON.stringify(output)}`),
        30_000,
      ),
    exit: async () => (await exited)[0],
  };
}

function fail(why: string): never {
  throw new Error(why);
}

t.test(
  'the commands of the page make one radio hear the other, and print what the page shows',
  beside(),
  async (t) => {
    const s = await shared;
    const [setUp = '', listen = '', talk = ''] = fencesIn('sh');
    const addresses: Record<string, string> = {
      API: s.rest,
      RELAY: s.ws,
      ADMIN_PASSWORD: `'${ADMIN_PASSWORD}'`,
    };
    const here = setUp.replaceAll(/^(.*?)(\w+)=.*$/gm, (line, before, name) =>
      name in addresses ? `${before}${name}=${addresses[name]}` : line,
    );
    const shell = start(t, ['sh', '-c', `set -e\n${here}\nprintf 'is=%s\\n' "$TALKER" "$LISTENER" "$GROUP"`]);
    t.equal(await shell.exit(), 0, shell.output());
    const [TALKER = '', LISTENER = '', GROUP = ''] = [...shell.output().matchAll(/^is=(.+)$/gm)].map(
      ([, value]) => value,
    );
    const variables = { RELAY: s.ws, TALKER, LISTENER, GROUP };
    const talkCommand = hasPython ? talk : talk.replace('python3 docs/examples/radio.py', library.join(' '));

    const listener = start(t, ['sh', '-c', `exec ${listen.replace(/ &$/, '')}`], variables);
    await listener.says(/^connected$/m);
    const talker = start(t, ['sh', '-c', `exec ${talkCommand}`], variables);
    t.strictSame([await talker.exit(), await listener.exit()], [0, 0], talker.output() + listener.output());
    const [said = '', heard = ''] = fencesIn('text');
    t.match(talker.output(), asShown(said));
    t.match(listener.output(), asShown(heard));
  },
);

/** `…` stands for any text. */
function asShown(text: string): RegExp {
  const lines = text.trim().split('\n');
  const patterns = lines.map((line) =>
    line
      .split('…')
      .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
      .join('.*'),
  );
  return new RegExp(`^${patterns.join(' *\n')} *\n$`);
}

let speechFiles = 0;

/** A file of its own with some of the recording: of a shared one, a test would read what another one writes. */
async function speechFile(packets: number): Promise<string> {
  const spoken = (await readOpus('bench/speech.ogg')).packets.slice(100, 100 + packets);
  const file = join(folder, `speech-${++speechFiles}.ogg`);
  await writeFile(file, await writeOpus({ packets: spoken, channels: 1, preSkip: 312 }));
  return file;
}

let talkgroups = 0;

/** Two people in a talkgroup of their own, where one talks at a time. */
async function twoPeople(s: Service) {
  talkgroups += 1;
  const number = talkgroups; // others count on while we wait
  const [ann, bob] = [await s.person(`ann-${number}`), await s.person(`bob-${number}`)];
  const { id } = await s.talkgroupWith({ name: 'Guide', floor_mode: 'single' }, ann, bob);
  return { ann, bob, id };
}

const pairs = programs.map((talker, index) => ({
  talker,
  listener: programs[(index + 1) % programs.length] ?? library,
}));
const nameOf = (program: Program) => program.at(-1)?.replace('docs/examples/', '');

for (const { talker, listener } of pairs) {
  t.test(`${nameOf(listener)} receives each packet of ${nameOf(talker)}`, beside(), async (t) => {
    const s = await shared;
    const { ann, bob, id } = await twoPeople(s);
    const file = await speechFile(50);
    const hears = start(t, [...listener, 'listen', s.ws, bob.token, '1']);
    await hears.says(/^connected$/m);
    const talks = start(t, [...talker, 'talk', s.ws, ann.token, id, file]);
    t.strictSame([await talks.exit(), await hears.exit()], [0, 0], talks.output() + hears.output());
    const [, said] = /^sent 50 packets, checksum (\w+): released$/m.exec(talks.output()) ?? [];
    t.match(hears.output(), new RegExp(`^${ann.name} talks in Guide$`, 'm'));
    t.match(hears.output(), new RegExp(`^heard 50 packets, checksum ${said}: released$`, 'm'));
  });

  t.test(
    `${nameOf(talker)} and ${nameOf(listener)} lose the network, and the burst goes on`,
    beside(),
    async (t) => {
      const s = await shared;
      const file = await speechFile(200);
      // The floor is kept for 1.5 s: on a busy machine a program may need more than that to come back.
      await eventually(() => conversation(t, s, file), 60_000);
    },
  );

  async function conversation(t: Test, s: Service, file: string): Promise<void> {
    const { ann, bob, id } = await twoPeople(s);
    const links = await Promise.all([startLink(t, s), startLink(t, s)]);
    const [annsLink, bobsLink] = links;
    const hears = start(t, [...listener, 'listen', bobsLink.url, bob.token, '1']);
    await hears.says(/^connected$/m);
    const talks = start(t, [...talker, 'talk', annsLink.url, ann.token, id, file]);
    await hears.says(/ talks in Guide$/m);
    annsLink.reset();
    await talks.says(/^connection lost: 1006.*\n(?:.*\n)*resumed$/m);
    if (/: disconnected$/m.test(hears.output())) fail('the floor was lost meanwhile');
    bobsLink.reset();
    await hears.says(/^connection lost: 1006.*\n(?:.*\n)*resumed$/m);

    t.strictSame([await talks.exit(), await hears.exit()], [0, 0], talks.output() + hears.output());
    t.match(talks.output(), /^sent 200 packets, checksum \w+: released$/m);
    const [, packets] = /^heard (\d+) packets, checksum \w+: released$/m.exec(hears.output()) ?? [];
    t.ok(
      Number(packets) > 0 && Number(packets) < 200,
      `${packets} packets of one burst, over two lost connections`,
    );
  }
}

async function startLink(t: Test, s: Service) {
  const { hostname: host, port } = new URL(s.ws);
  const proxy = await startChaosProxy({ host, port: Number(port) });
  t.teardown(() => proxy.stop());
  return { url: `ws://127.0.0.1:${proxy.port}`, reset: proxy.reset };
}

t.test('record.mjs writes the packets of a burst to a file', beside(), async (t) => {
  const s = await shared;
  const { ann, bob, id } = await twoPeople(s);
  const [file, out] = [await speechFile(50), join(folder, 'recorded.ogg')];
  const records = start(t, [process.execPath, 'docs/examples/record.mjs', s.ws, bob.token, out]);
  await records.says(/^connected$/m);
  const talks = start(t, [...library, 'talk', s.ws, ann.token, id, file]);
  t.strictSame([await talks.exit(), await records.exit()], [0, 0], talks.output() + records.output());
  t.strictSame((await readOpus(out)).packets, (await readOpus(file)).packets);
});

t.test('radio.mjs shows where the members of a talkgroup are', beside(), async (t) => {
  const s = await shared;
  const { id } = await s.talkgroup('Guide: watch');
  const ann = await s.person('watch-ann', { serial: 'watch-phone' });
  const bob = await s.person('watch-bob');
  for (const { id: user } of [ann, bob])
    await s.sql`insert into memberships (user_id, talkgroup_id, site) values (${user}, ${id}, 'depot')`;
  const watches = start(t, [...library, 'watch', s.ws, bob.token, id]);
  await watches.says(/^watch-phone of watch-ann is at null null$/m);
  await ann.post(`/devices/${ann.device}/gps`, { lat: 52.52, lng: 13.405, alt: 34 });
  await watches.says(/^watch-phone of watch-ann is at 52\.52 13\.405$/m);
});

/**
 * A relay whose nodes decide no floor for the first `denials` requests. At the one with the number `leftAt` the talkgroup is
 * left. Returns the times and flags of the frames that came.
 */
async function undecided(t: Test, denials: number, leftAt = Number.POSITIVE_INFINITY) {
  const talkgroup = { ...{ talkgroup_id: 'undecided', number: 7, name: 'undecided' }, event: 0 };
  const frames: { readonly atMs: number; readonly isFirst: boolean }[] = [];
  let asked = 0;
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
  t.teardown(() => server.close());
  await once(server, 'listening');
  server.on('connection', (socket) => {
    const say = (message: object) => socket.send(JSON.stringify(message));
    const talkgroups = [{ ...talkgroup, talkers: [] }];
    say({ type: 'WELCOME', session: 5, resume_token: 'x', resumed: false, talkgroups, talkgroups_total: 1 });
    socket.on('message', (data: Buffer, isBinary) => {
      if (!isBinary) return;
      const flags = data[0] ?? 0;
      const isFirst = (flags & 0x08) !== 0;
      frames.push({ atMs: performance.now(), isFirst });
      const burst = { talkgroup_id: 'undecided', session: 5, burst: 1, username: 'ann' };
      if (isFirst && ++asked === leftAt)
        return say({ type: 'TALKGROUP_LEFT', talkgroup_id: 'undecided', code: 'left' });
      if (isFirst && asked <= denials)
        return say({ type: 'FLOOR_DENIED', talkgroup_id: 'undecided', code: 'retry_later', retry_ms: 200 });
      if (isFirst) say({ ...burst, type: 'TALK_STARTED', event: 1 });
      if ((flags & 0x04) !== 0) say({ ...burst, type: 'TALK_ENDED', event: 2, code: 'released' });
    });
  });
  const { port } = server.address() as AddressInfo;
  return { url: `ws://127.0.0.1:${port}`, frames };
}

for (const program of programs.slice(1))
  t.test(`${program.at(-1)} asks again when no node decides the floor`, beside(), async (t) => {
    const { url, frames } = await undecided(t, 2);
    const talk = start(t, [...program, 'talk', url, 'token', 'undecided', await speechFile(100)]);
    t.equal(await talk.exit(), 0, talk.output());
    t.match(talk.output(), /released/);
    const firsts = frames.filter(({ isFirst }) => isFirst);
    t.equal(firsts.length, 3);
    for (const [at, { atMs }] of firsts.slice(1).entries()) {
      const waitedMs = atMs - (firsts[at]?.atMs ?? 0);
      t.ok(waitedMs >= 200, `asks again after ${Math.round(waitedMs)} ms`);
    }
  });

for (const program of programs.slice(1))
  t.test(`${program.at(-1)} stops when its talkgroup is left while it asks`, beside(), async (t) => {
    const { url, frames } = await undecided(t, Number.POSITIVE_INFINITY, 2);
    const talk = start(t, [...program, 'talk', url, 'token', 'undecided', 'bench/speech.ogg']);
    t.equal(await talk.exit(), 1, talk.output());
    t.match(talk.output(), /: not_member$/m);
    t.equal(frames.filter(({ isFirst }) => isFirst).length, 2);
  });

for (const program of programs.slice(1))
  t.test(`${program.at(-1)} stops after 10 requests without a decision`, beside(), async (t) => {
    const { url, frames } = await undecided(t, Number.POSITIVE_INFINITY);
    const talk = start(t, [...program, 'talk', url, 'token', 'undecided', 'bench/speech.ogg']);
    t.equal(await talk.exit(), 1, talk.output());
    t.match(talk.output(), /: retry_later$/m);
    t.equal(frames.filter(({ isFirst }) => isFirst).length, 10);
  });

t.test('a program with a worthless token stops and says why', async (t) => {
  const s = await shared;
  for (const program of programs) {
    const stranger = start(t, [...program, 'listen', s.ws, 'worthless', '1']);
    t.equal(await stranger.exit(), 1);
    t.match(stranger.output(), /^stopped: 1008 invalid token$/m);
  }
});

t.test('the JavaScript of the page is that of the programs', async (t) => {
  const sources = await Promise.all(
    ['radio.mjs', 'record.mjs', 'raw-radio.mjs', 'browser/page.mjs'].map((name) =>
      readFile(`docs/examples/${name}`, 'utf8'),
    ),
  );
  for (const fence of fencesIn('js')) {
    const isThere = sources.some((source) => holds(linesOf(source), linesOf(fence)));
    t.ok(isThere, fence);
  }
  t.notOk(holds(['a', 'b'], ['b', 'a']));
});

const linesOf = (text: string) => text.split('\n').filter((line) => line.trim() !== '');

/** Whether `lines` come in this order, others between them or not. */
function holds(all: readonly string[], lines: readonly string[]): boolean {
  let at = 0;
  return lines.every((line) => {
    at = all.indexOf(line, at) + 1;
    return at > 0;
  });
}

t.test('the waits of the page are those of the client', async (t) => {
  const rows = [...page.matchAll(/^\| (\d{4}) \| (?:`(.+)`)? *\| (.+) \|$/gm)];
  t.equal(rows.length, 12);
  for (const [, code, reason = '', wait = ''] of rows) {
    const stepAt = (random: number) =>
      nextStep({
        close: { code: Number(code), reason },
        ...{
          attempt: 0,
          reconnectAfterMs: code === '1012' ? 3_000 : 0,
          wasSlow: false,
          random: () => random,
        },
      });
    const [least, most] = [stepAt(0), stepAt(1 - Number.EPSILON)];
    t.equal(least.kind === 'stop', wait.startsWith('do not reconnect'), `${code} ${reason}`);
    if (least.kind === 'stop' || most.kind === 'stop') continue;
    t.equal(Math.round(least.delayMs) / 1000, fixedS(wait), `${code} ${reason}: ${wait}`);
    t.equal(Math.round(most.delayMs - least.delayMs) / 1000, Number(/up to ([\d.]+) s/.exec(wait)?.[1]));
  }
  const slow = {
    close: { code: 1006, reason: '' },
    attempt: 0,
    reconnectAfterMs: 0,
    wasSlow: true,
    random: () => 0,
  };
  t.strictSame(nextStep(slow), { kind: 'wait', delayMs: 5_000 });
});

/** Of a row of the page: the part that is not random; 3 s stands for what GOAWAY asked for. */
function fixedS(wait: string): number {
  if (wait.startsWith('the rest of `reconnect_after_ms`')) return 3;
  return Number(/^([\d.]+) s/.exec(wait)?.[1] ?? 0);
}
