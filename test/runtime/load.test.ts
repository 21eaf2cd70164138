// `make load` against services that keep up, that drop frames, and that refuse: what it prints, and its exit code.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { type WebSocket, WebSocketServer } from 'ws';
import { readFlags, SENDER_AT, START } from '../../src/protocol/frame.js';
import { openFolder } from '../helpers/database/open-folder.js';
import { certificateFolder, issue } from '../helpers/network/certificates.js';
import { startNginx } from '../helpers/network/tls-proxy.js';
import { unless } from '../helpers/programs.js';
import { type Person, runCommand, SECRET, type Service, service } from '../helpers/service/service.js';

t.setTimeout(120_000);

const isLinux = process.platform === 'linux';
const LOAD = fileURLToPath(new URL('../../bench/load.js', import.meta.url));
const CODES: Readonly<Record<string, number>> = { met: 0, 'NOT met': 1, 'cannot be told': 2 };
const TALKGROUP = 'f14e0000-0000-4000-8000-000000000001';

interface Loaded {
  readonly code: number | null;
  readonly output: string;
  readonly verdict: string | undefined;
}

function startLoad(t: Test, env: Readonly<Record<string, string>>) {
  const child = spawn(process.execPath, [LOAD], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  t.teardown(() => child.kill('SIGKILL'));
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  const done = once(child, 'close').then(([code]): Loaded => {
    const [, verdict] = /^verdict: (.*)$/m.exec(output) ?? [];
    return { code: code as number | null, output, verdict };
  });
  return { child, done };
}

/** Small: it has two cores, beside other tests. */
const load = (t: Test, env: Readonly<Record<string, string>>) =>
  startLoad(t, { LISTENERS: '3', SECONDS: '2', SERVICE_PIDS: `${process.pid}`, ...env }).done;

/** A file with the tokens that the command prints. */
async function tokensOf(t: Test, { url }: { url: string }, ...people: readonly Person[]): Promise<string> {
  const { code, printed, output } = await runCommand(['token', ...people.map(({ name }) => name)], {
    ...{ DATABASE_URL: url, JWT_SECRET: SECRET },
  });
  t.equal(code, 0, output);
  return fileOf(t, printed);
}

async function fileOf(t: Test, text: string): Promise<string> {
  const file = join(await openFolder(t), 'tokens');
  await writeFile(file, text);
  return file;
}

/** A talkgroup of two users, and what a load on it needs. */
async function loadable(
  t: Test,
  s: Service,
  settings: { floor_mode?: 'open' | 'single'; max_talk_ms?: number } = {},
) {
  const people = [await s.person('load 1'), await s.person('load 2')] as const;
  // By SQL, because over TLS the REST of the test does not lead to it.
  const { floor_mode = 'open', max_talk_ms = 60_000 } = settings;
  const [row] = await s.sql<{ id: string }[]>`
    insert into talkgroups (name, floor_mode, max_talk_ms, master_secret)
    values ('Test', ${floor_mode}, ${max_talk_ms}, decode(repeat('00', 32), 'hex')) returning id`;
  const id = row?.id ?? '';
  for (const person of people) await addMember(s, person, id);
  return { people, id, env: { URL: s.ws, TALKGROUP: id, TOKENS: await tokensOf(t, s, ...people) } };
}

const addMember = ({ sql }: Service, { id }: Person, talkgroup: string) =>
  sql`insert into memberships (user_id, talkgroup_id, site) values (${id}, ${talkgroup}, 'depot')`;

/** On a busy machine the verdict is `cannot be told`. All frames arrive all the same. */
function keptUp(t: Test, { code, output, verdict = '' }: Loaded): void {
  t.match(verdict, /^(met|cannot be told)$/, output);
  const lost = /^loss: ([\d,]+) of [1-9]/m.exec(output)?.[1];
  // Behind a late generator the service may skip frames: then nothing can be told.
  const skipped = /^skipped for slow listeners \(LAG\): ([\d,]+) /m.exec(output)?.[1] ?? '0';
  t.equal(lost, verdict === 'met' ? '0' : skipped, output);
  t.equal(code, CODES[verdict]);
}

t.test(
  'a service that keeps up loses nothing, and leaves no session behind',
  { skip: !isLinux },
  async (t) => {
    const s = await service(t, { SOCKETS_PER_USER: '100' }, undefined, { isOneNode: true });
    const { env, people } = await loadable(t, s);
    const loaded = await load(t, { ...env, LISTENERS: '120', TALKERS: '2' });
    keptUp(t, loaded);
    t.match(loaded.output, /^connected: 122 sessions, [\d,]+ per second, none refused$/m);
    t.match(loaded.output, /^talk bursts: 2, the floor granted within /m);
    t.match(
      loaded.output,
      /^latency: p50 [\d.]+ ms, p99 [\d.]+ ms, longest [\d.]+ ms, one way, at 60 of 120 /m,
    );
    t.match(loaded.output, /^generator: \d+ % of a core; frames left [\d.]+ ms late \(p99\)/m);
    const radio = await people[0].radio();
    t.equal(radio.welcome?.talkgroups[0]?.online, 1);
  },
);

t.test(
  'talkers take turns where one talks at a time, below the talk limit',
  { skip: !isLinux },
  async (t) => {
    const s = await service(t, {}, undefined, { isOneNode: true });
    const { env } = await loadable(t, s, { floor_mode: 'single', max_talk_ms: 3000 });
    const loaded = await load(t, { ...env, TALKERS: '3', SECONDS: '7' });
    keptUp(t, loaded);
    const [, bursts] = /^talk bursts: (\d+)/m.exec(loaded.output) ?? [];
    t.equal(bursts, '3', 'of 2.4 s with pauses');
  },
);

t.test('beside a busy loop nothing can be told', { skip: !isLinux }, async (t) => {
  const s = await service(t, {}, undefined, { isOneNode: true });
  const { env } = await loadable(t, s);
  const busy = spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' });
  t.teardown(() => busy.kill('SIGKILL'));
  const { code, output, verdict } = await load(t, env);
  t.equal(verdict, 'cannot be told', output);
  t.equal(code, 2);
  t.match(output, /^DOUBTFUL: all else on this machine used \d+ % of a core$/m);
});

t.test('over TLS the certificate is verified', { skip: !isLinux }, async (t) => {
  const { settings } = await certificateFolder(t, issue());
  const s = await service(t, { ...settings, SOCKETS_PER_USER: '100' }, undefined, { isOneNode: true });
  const { env } = await loadable(t, s);
  const URL = s.ws.replace('ws://', 'wss://');
  const NODE_EXTRA_CA_CERTS = settings.TLS_CERT_FILE;
  keptUp(t, await load(t, { ...env, URL, NODE_EXTRA_CA_CERTS, LISTENERS: '120' }));
  t.match(await load(t, { ...env, URL }), {
    code: 1,
    output: /certificate.*: NODE_EXTRA_CA_CERTS=FILE adds/,
  });
});

t.test(
  'behind nginx frames arrive, and a relay that is down is told from a wrong address',
  { skip: isLinux ? unless('nginx') : 'Linux only' },
  async (t) => {
    const s = await service(t, { TRUST_PROXY: '127.0.0.1' }, undefined, { isOneNode: true });
    const { env } = await loadable(t, s);
    const proxy = await startNginx(t, s);
    const NODE_EXTRA_CA_CERTS = await fileOf(t, proxy.ca.toString());
    keptUp(t, await load(t, { ...env, URL: proxy.ws, NODE_EXTRA_CA_CERTS }));
    await s.close();
    t.match(await load(t, { ...env, URL: proxy.ws, NODE_EXTRA_CA_CERTS }), {
      ...{ code: 1, output: /HTTP\/1\.1 502 Bad Gateway: the proxy reaches no relay/ },
    });
  },
);

t.test(
  'it refuses a talkgroup in which others are online, unless they may hear it',
  { skip: !isLinux },
  async (t) => {
    const s = await service(t, {}, undefined, { isOneNode: true });
    const { env, people, id } = await loadable(t, s);
    const carl = await s.person('carl');
    await addMember(s, carl, id);
    const [member, own] = [await carl.radio(), await people[0].radio()];
    const { code, output, verdict } = await load(t, env);
    t.match(
      output,
      /other members are online in Test \(sessions: 2\), and would hear the load: .* OTHERS_HEAR=1/,
    );
    t.equal(code, 1);
    t.equal(verdict, undefined);
    await member.settled();
    t.strictSame(member.frames, [], 'nothing was said');
    own.socket.close();
    keptUp(t, await load(t, { ...env, OTHERS_HEAR: '1' }));
  },
);

t.test('a refusal names the reason, and the setting behind it', { skip: !isLinux }, async (t) => {
  const s = await service(t, { SOCKETS_PER_USER: '3' }, undefined, { isOneNode: true });
  const { env, people, id } = await loadable(t, s);
  const refused = async (changes: Record<string, string>, output: RegExp) =>
    t.match(await load(t, { ...env, ...changes }), { code: 1, output, verdict: undefined });
  await refused(
    { LISTENERS: '8' },
    /connected: \d sessions, \d+ per second, of 9\. The first refusal: .*1013 replaced: a user may have SOCKETS_PER_USER/,
  );
  const [first, second] = people;
  const ofFirst = await tokensOf(t, s, first);
  await s.revoke(first.name);
  await refused({ TOKENS: ofFirst }, /1008 invalid token: .*talkgroup-radio token/);
  const carl = await s.person('carl');
  await refused({ TOKENS: await tokensOf(t, s, carl) }, /the user carl is no member of talkgroup /);
  const TOKENS = await tokensOf(t, s, second);
  await refused(
    { TOKENS, TALKERS: '3' },
    /TALKS_PER_USER of the service is 2: fewer talkers, or more tokens/,
  );
  await s.admin.patch(`/talkgroups/${id}`, { floor_mode: 'broadcast' });
  await refused({ TOKENS, LISTENERS: '1' }, /did not get the floor: forbidden\. .* dispatchers talk/);
  await refused({ LISTENERS: '2001' }, /LISTENERS must be an integer from 1 to 2000, got "2001"/);
  await refused({ URL: 'ws://127.0.0.1:1' }, /ECONNREFUSED/);
});

/** As much of a relay as a load asks for. `drops`: whether a listener does not get this frame. */
async function madeRelay(t: Test, drops: (listener: number, frame: number) => boolean) {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  t.teardown(() => server.close());
  await once(server, 'listening');
  const sockets: WebSocket[] = [];
  const codes: number[] = [];
  let talks = () => {};
  const talking = new Promise<void>((resolve) => {
    talks = resolve;
  });
  server.on('connection', (socket) => {
    const session = sockets.push(socket);
    let frames = 0;
    const say = (message: object) => socket.send(JSON.stringify(message));
    socket.on('close', (code) => codes.push(code));
    socket.on('message', (data: Buffer, isBinary) => {
      if (isBinary) {
        talks();
        data.writeUInt32BE(session, SENDER_AT);
        t.equal(readFlags(new DataView(data.buffer, data.byteOffset)) & START, 0, 'it was granted the floor');
        frames++;
        for (const [at, other] of sockets.entries())
          if (other !== socket && !drops(at, frames)) other.send(data);
        return;
      }
      const { type, ref } = JSON.parse(data.toString()) as { type: string; ref: number };
      const snapshot = { talkgroup_id: TALKGROUP, name: 'Made', number: 9, online: sockets.length };
      if (type === 'SYNC')
        say({
          type: 'SYNCED',
          ref,
          ...snapshot,
          floor_mode: 'open',
          encryption: 'allowed',
          emergencies_total: 0,
        });
      if (type === 'FLOOR_REQUEST') say({ type: 'FLOOR_GRANTED', ref, max_talk_ms: 0 });
    });
    say({ type: 'WELCOME', session, limits: { talks_per_user: 2, talkers_max: 32 }, talkgroups: [] });
  });
  const { port } = server.address() as AddressInfo;
  const env = { URL: `ws://127.0.0.1:${port}`, TALKGROUP, TOKENS: await fileOf(t, 'a.b.c\n') };
  return { env, talking, codes };
}

t.test(
  'a relay that drops frames of one listener does not meet the target',
  { skip: !isLinux },
  async (t) => {
    const { env } = await madeRelay(t, (listener, frame) => listener === 2 && frame % 10 === 0);
    const { code, output, verdict } = await load(t, env);
    t.equal(verdict, 'NOT met', output);
    t.equal(code, 1);
    const [, sent = ''] = /the worst \d+ of (\d+)$/m.exec(output) ?? [];
    const lost = Math.floor(Number(sent) / 10);
    t.match(
      output,
      `loss: ${lost} of ${3 * Number(sent)} frames; listeners that lost some: 1, the worst ${lost} of`,
    );
  },
);

t.test('Ctrl-C ends it at once, and closes its sockets with 1000', { skip: !isLinux }, async (t) => {
  const { env, talking, codes } = await madeRelay(t, () => false);
  const { child, done } = startLoad(t, { ...env, LISTENERS: '3', SECONDS: '60' });
  await Promise.race([talking, done]);
  child.kill('SIGINT');
  const { code, output, verdict } = await done;
  t.equal(code, 1);
  t.match(output, /not measured: interrupted by SIGINT/);
  t.equal(verdict, undefined);
  t.strictSame(codes, [1000, 1000, 1000, 1000]);
});
