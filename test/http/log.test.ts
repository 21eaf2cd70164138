// Stalls the output of the log: the service loses log lines, never audio or its exit.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync, readFileSync, readSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { createLog, flushed } from '../../src/log.js';
import { eventually } from '../helpers/eventually.js';
import { connect, SECRET, service, serviceProcess } from '../helpers/service/service.js';

const MAIN = fileURLToPath(new URL('../../src/main.js', import.meta.url));
const s = await service(t, { ADMIN_PASSWORD: 'admin password' });
const [ann, bob] = [await s.person('ann'), await s.person('bob')];
const group = await s.talkgroup('fire', ann, bob);

/** A second node on the database of the first, whose standard error is `stderr`. */
async function node(t: Test, stderr: number) {
  const ports = { PORT: '0', WS_PORT: '0', METRICS_PORT: '0' };
  const env = { ...ports, DATABASE_URL: s.url, JWT_SECRET: SECRET, LOG_LEVEL: 'trace' };
  const child = spawn(process.execPath, [MAIN], { env, stdio: ['ignore', 'pipe', stderr] });
  const exited = once(child, 'exit');
  t.teardown(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  assert(child.stdout);
  let output = '';
  for await (const text of child.stdout.setEncoding('utf8')) {
    output += text;
    if (/^Ready$/m.test(output)) break;
  }
  const [, rest = ''] = /^REST +(\S+)$/m.exec(output) ?? [];
  const [, ws = ''] = /^WebSocket +(\S+)$/m.exec(output) ?? [];
  return {
    rest,
    ws,
    async ends(): Promise<number | null> {
      child.kill('SIGTERM');
      return (await exited)[0];
    },
  };
}

const matches = (line: Record<string, unknown>, about: Readonly<Record<string, unknown>>) =>
  Object.entries(about).every(([name, value]) => line[name] === value);

/** A pipe that only the test reads, when it wants to. */
function unreadPipe(t: Test) {
  const path = join(t.testdir(), 'stderr');
  execFileSync('mkfifo', [path]);
  const stderr = openSync(path, 'r+'); // both ends, so that neither side waits for the other or finds it closed
  const ours = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  t.teardown(() => {
    closeSync(stderr);
    closeSync(ours);
  });
  return {
    path,
    stderr,
    fill: () => untilRefused(() => writeSync(ours, '\n'.repeat(4096))),
    read(): string {
      const chunk = Buffer.alloc(65_536);
      let text = '';
      untilRefused(() => {
        text += chunk.toString('utf8', 0, readSync(ours, chunk));
      });
      return text;
    },
  };
}

function untilRefused(work: () => void): void {
  try {
    for (;;) work();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
  }
}

/** Connects, talks, hears, asks, logs in: whatever both threads log on the way. */
async function worksOn(t: Test, { rest, ws }: { rest: string; ws: string }): Promise<void> {
  const listener = await connect(t, `${ws}?token=${bob.token}`);
  for (let i = 0; i < 20; i++) {
    const radio = await connect(t, `${ws}?token=${ann.token}`);
    radio.speaks(group.number, `over ${i}`, { start: true, end: true });
    await listener.hearsText(`over ${i}`);
    radio.socket.terminate();
    const headers = { authorization: `Bearer ${ann.token}` };
    t.equal((await fetch(`${rest}/talkgroups`, { headers })).status, 200);
  }
  // One, for each takes 50 ms of bcrypt. What is logged of it is what is logged of any request.
  const body = JSON.stringify({ username: 'admin', password: 'admin password' });
  const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body };
  t.equal((await fetch(`${rest}/auth/login`, init)).status, 200);
}

t.test('an unread log delays neither audio nor logins nor the exit', { timeout: 120_000 }, async (t) => {
  const pipe = unreadPipe(t);
  const deaf = await node(t, pipe.stderr);
  pipe.fill();
  await worksOn(t, deaf);

  let text = pipe.read();
  await eventually(() => {
    text += pipe.read();
    assert.equal(text.match(/"session connected"/g)?.length, 21);
    assert.match(text, /answered/);
  });
  t.pass('once it is read, the lines that waited come');

  pipe.fill();
  await worksOn(t, deaf);
  t.equal(await deaf.ends(), 0);
});

if (process.platform === 'linux') {
  t.test(
    'a log on a full disk delays neither audio nor logins nor the exit',
    { timeout: 30_000 },
    async (t) => {
      const full = openSync('/dev/full', 'w');
      t.teardown(() => closeSync(full));
      const deaf = await node(t, full);
      await worksOn(t, deaf);
      t.equal(await deaf.ends(), 0);
    },
  );
}

t.test('the log names who is connected and who is turned away, and never shows a token', async (t) => {
  const own = await serviceProcess(t, { LOG_LEVEL: 'info' });
  const cid = await own.person('cid of log', { serial: 'SN-log' });
  const line = (message: string, about: Readonly<Record<string, unknown>>) =>
    eventually(() => {
      const lines = own
        .output()
        .split('\n')
        .filter((one) => one.includes(`"msg":"${message}"`));
      const found = lines.map((one) => JSON.parse(one)).find((one) => matches(one, about));
      assert.ok(found !== undefined, `${message}: ${lines.join('\n')}`);
      return found;
    });
  const radio = await cid.radio();
  const connected = { user: cid.id, username: 'cid of log', session: radio.session };
  await line('session connected', { ...connected, address: '127.0.0.1', client: null });
  const named = await connect(t, `${own.ws}/ws?token=${cid.token}&client=acme/3.2`);
  await line('session connected', { user: cid.id, client: 'acme/3.2' });
  named.socket.terminate();
  await own.admin.patch(`/devices/${cid.device}/status`, { active: false });
  await line('session closed', { username: 'cid of log', reason: 'device disabled' });
  await (await cid.radioHere()).closes();
  await line('handshake rejected', { user: cid.id, username: 'cid of log', reason: 'device disabled' });
  const [head = '', body = '', signature = ''] = cid.token.split('.');
  const forged = await connect(
    t,
    `${own.ws}/ws?token=${head}.${body}.${signature.split('').reverse().join('')}`,
  );
  await forged.closes();
  const { user, username } = await line('handshake rejected', { reason: 'invalid token' });
  t.strictSame([user, username], [undefined, undefined], 'a user that nobody vouches for is not named');
  const login = (name: string) =>
    fetch(`${own.rest}/auth/login`, {
      ...{ method: 'POST', headers: { 'content-type': 'application/json' } },
      body: JSON.stringify({ username: name, password: 'a wrong one' }),
    });
  await login('a password in the wrong field');
  await login('cid of log');
  const rejected = { user: cid.id, username: 'cid of log', address: '127.0.0.1' };
  await line('login rejected', { ...rejected, reason: 'invalid_credentials' });
  t.notMatch(own.output(), /a password in the wrong field|a wrong one/);
  t.notMatch(own.output(), body);
});

t.test(
  'lines above the buffer are dropped and counted, and the number is logged when there is room again',
  async (t) => {
    const pipe = unreadPipe(t);
    const log = createLog('info', { fd: openSync(pipe.path, constants.O_WRONLY | constants.O_NONBLOCK) });
    pipe.fill();
    const line = 'x'.repeat(100_000);
    for (let i = 0; i < 25; i++) log.info({ i, line }, 'long');

    let text = '';
    await eventually(() => {
      text += pipe.read();
      assert.match(text, /"lost":\d+/);
    });
    const lines = text.split('\n').filter((each) => each !== '');
    const { lost, level } = JSON.parse(lines.at(-1) ?? '');
    t.equal(level, 40);
    t.equal(lines.length - 1 + lost, 25);
    t.ok(lost > 0 && lost < 25);
    lines.slice(0, -1).forEach((each, i) => {
      t.equal(JSON.parse(each).i, i, 'the oldest are kept, in order and whole');
    });
  },
);

t.test('an error is logged with its message, stack and code, and with no other property', async (t) => {
  const path = join(t.testdir(), 'log');
  const log = createLog('info', { fd: openSync(path, 'w') });
  const error = Object.assign(new TypeError('Invalid URL'), {
    code: 'ERR_INVALID_URL',
    input: 'postgres://ann:hunter2@host',
    detail: 'Failing row contains (hunter2).',
    cause: new Error('hunter2'),
  });
  log.error({ err: error }, 'failed');
  log.child({ session: 7 }).fatal(error);
  await flushed(log);
  const text = readFileSync(path, 'utf8');
  t.notMatch(text, 'hunter2');
  const lines = text.trim().split('\n');
  t.equal(lines.length, 2);
  for (const line of lines) {
    t.match(JSON.parse(line), {
      err: { message: 'Invalid URL', stack: /TypeError: Invalid URL\n {4}at /, code: 'ERR_INVALID_URL' },
    });
  }
});

t.test('the last lines of both threads are written before the process exits', async (t) => {
  const own = await serviceProcess(t, { LOG_LEVEL: 'info' });
  own.signal('SIGTERM');
  t.equal(await own.exit(), 0);
  t.match(own.output(), /"signal":"SIGTERM".*"shutdown started"/);
  t.match(own.output(), /"counts":\{\},"msg":"relay closed"/, 'a total of zero is left out');

  const taken = new URL(s.rest).port;
  const ending = await serviceProcess(t, { DATABASE_URL: s.url, LOG_LEVEL: 'info', PORT: taken });
  t.equal(await ending.exit(), 1);
  t.match(ending.output(), /"level":60.*EADDRINUSE.*"service failed, shutdown started"/);
});
