// `make sandbox`: what a developer gets with one command, on this machine alone, whatever the environment says.
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createSigner } from 'fast-jwt';
import t, { type Test } from 'tap';
import { readOpus } from '../../src/client/audio/ogg.js';
import { speak } from '../../src/client/audio/speak.js';
import type { HeardEnd } from '../../src/client/hearing/channel.js';
import { createRadio } from '../../src/client/node.js';
import { comesTrue } from '../helpers/eventually.js';
import { startLocal } from '../helpers/local-run.js';
import { descendants, isAlive } from '../helpers/processes.js';
import { run } from '../helpers/programs.js';

const PROGRAM = fileURLToPath(new URL('../../src/local/sandbox.js', import.meta.url));

const JWT_SECRET = 'a key of the outer environment, 32 bytes';

/** The same claims, signed with the key of the environment. */
function forged(token: string): string {
  const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString());
  return createSigner({ key: JWT_SECRET, algorithm: 'HS256' })(claims);
}

t.setTimeout(180_000);

/** As soon as all units are connected: what it printed, by the word in front. */
async function startSandbox(t: Test, cwd: string) {
  // Settings that would lead it to the data of another service, or let others in.
  const env = {
    DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none',
    DATA_DIR: '/nowhere',
    METRICS_HOST: '0.0.0.0',
  };
  const sandbox = startLocal(t, { args: [PROGRAM], env, cwd });
  await sandbox.prints(/^50 radios are there$/m);
  const told = (name: string) => new RegExp(`^${name} +(\\S+)`, 'm').exec(sandbox.text())?.[1] ?? '';
  return { ...sandbox, told };
}

t.test('a sandbox has a fleet that talks, an echo and a login, and keeps its data', async (t) => {
  const cwd = t.testdir({});
  const first = await startSandbox(t, cwd);
  const echoId = first.told('Echo');
  const radio = createRadio({ url: first.told('WebSocket'), token: first.told('Token') });
  t.teardown(() => radio.close());
  await radio.opened;
  const unitTalks = new Promise<HeardEnd>((resolve) => radio.on('talk_ended', resolve));
  t.not((await unitTalks).talkgroup_id, echoId, 'the units talk elsewhere');

  const packets = (await readOpus('bench/speech.ogg')).packets.slice(100, 125);
  const heard: Uint8Array[] = [];
  radio.on('audio', ({ talkgroupId, payload }) => {
    if (talkgroupId === echoId && payload.length > 0) heard.push(payload.slice());
  });
  await speak({ talk: radio.talk({ talkgroupId: echoId }), packets, packetMs: 20 });
  await comesTrue('it is repeated', () => heard.length === packets.length);
  t.same(heard, packets);

  for (const username of ['guest', 'admin', 'unit-50']) {
    const answer = await fetch(`${first.told('REST')}/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ username, password: 'sandbox' }),
    });
    t.equal(answer.status, 200, username);
  }
  t.equal((await fetch(first.told('Console'))).status, 200);
  const log = readFileSync(`${cwd}/.sandbox/service.log`, 'utf8');
  for (const listener of ['REST +http', 'WebSocket +ws', 'Metrics +http'])
    t.match(log, new RegExp(`^${listener}://127\\.0\\.0\\.1:`, 'm'), 'loopback only');
  const asked = { headers: { authorization: `Bearer ${forged(first.told('Token'))}` } };
  t.equal((await fetch(`${first.told('REST')}/me`, asked)).status, 401, 'it has a key of its own');
  const known = await fetch(`${first.told('REST')}/.well-known/talkgroup-radio`);
  t.match(await known.json(), { ws_url: first.told('WebSocket').replace(/\/ws$/, ''), registration: 'open' });
  const processes = descendants(first.pid);
  first.signal('SIGINT');
  t.strictSame(await first.exited, [0, null]);
  t.notOk(processes.some(isAlive), 'nothing is left');

  const second = await startSandbox(t, cwd);
  t.equal(second.told('Echo'), echoId, 'the data are kept');
  second.signal('SIGTERM');
  t.strictSame(await second.exited, [0, null]);
});

t.test('a sandbox that others could reach does not start', async (t) => {
  const cwd = t.testdir({});
  const { code, output } = await run(process.execPath, [PROGRAM], { env: { HOST: '0.0.0.0' }, cwd });
  t.equal(code, 1);
  t.match(output, /^cannot start the sandbox: HOST must be a loopback address, got "0\.0\.0\.0": /m);
});
