// A cluster of three as docs/operations.md sets it up: its steps and docs/deploy/nats.conf, on one machine.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { migratedDatabase } from '../helpers/database/cluster.js';
import { eventually } from '../helpers/eventually.js';
import { metric } from '../helpers/http/exposition.js';
import { carryOut, deployed, steps } from '../helpers/pages/operations-page.js';
import { freePort, programPath, unless } from '../helpers/programs.js';
import { serviceProcess } from '../helpers/service/service.js';

const skip = unless('nats-server', 'openssl');

interface Ports {
  readonly port: number;
  readonly routes: number;
}

/** What step 2 writes, with addresses of this machine in the certificate. */
async function writeSecrets(t: Test) {
  const folder = t.testdir({});
  const deploy = join(folder, 'docs/deploy');
  mkdirSync(deploy, { recursive: true });
  await carryOut('nats-secrets', { NATS_NAMES: 'DNS:localhost,IP:127.0.0.1' }, folder);
  const [, password = ''] = /^NATS_PASSWORD=(\S+)$/m.exec(readFileSync(join(deploy, '.env'), 'utf8')) ?? [];
  return { deploy, password };
}

/** Step 3 for one machine. The names become ports of this machine. */
async function startServer(
  t: Test,
  own: Ports,
  { deploy, password, all }: { deploy: string; password: string; all: readonly Ports[] },
) {
  let configuration = deployed('nats.conf')
    .replaceAll('/etc/nats', deploy)
    .replace('0.0.0.0:4222', `127.0.0.1:${own.port}`)
    .replace('0.0.0.0:6222', `127.0.0.1:${own.routes}`);
  for (const [index, { routes }] of all.entries())
    configuration = configuration.replace(`nats-${index + 1}:6222`, `127.0.0.1:${routes}`);
  const file = join(deploy, `nats-${own.port}.conf`);
  writeFileSync(file, configuration);
  const child = spawn(programPath('nats-server') ?? '', ['-c', file], {
    env: { NATS_PASSWORD: password },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const exited = once(child, 'exit');
  t.teardown(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  let output = '';
  await new Promise<void>((resolve, reject) => {
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      if (output.includes('Server is ready')) resolve();
    });
    child.once('exit', () => reject(new Error(output)));
  });
  return { kill: () => child.kill('SIGKILL') };
}

/** Step 4: the settings of a node, with its own nats-server in the first place and those of others behind it. */
function settingsOf(deploy: string, password: string, ports: readonly number[]): Record<string, string> {
  let text = (steps.get('cluster-settings') ?? '')
    .replace('/etc/nats', deploy)
    .replace('$NATS_PASSWORD', password);
  for (const [index, port] of ports.entries())
    text = text.replace(`nats-${index + 1}:4222`, `127.0.0.1:${port}`);
  text = text.replaceAll(/,tls:\/\/nats-\d:4222/g, '');
  return Object.fromEntries(
    text
      .trim()
      .split('\n')
      .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  );
}

t.test(
  'three nodes at three nats-servers hear each other, and the loss of one server is mended',
  { skip },
  async (t) => {
    const DATABASE_URL = await migratedDatabase(t);
    const { deploy, password } = await writeSecrets(t);
    const all: Ports[] = [];
    for (let n = 0; n < 3; n++) all.push({ port: await freePort(), routes: await freePort() });
    const servers = await Promise.all(all.map((own) => startServer(t, own, { deploy, password, all })));
    const [one = 0, two = 0, three = 0] = all.map(({ port }) => port);
    // Two nodes know one server each, so what they exchange crosses a route. The third knows all servers.
    const nodes = await Promise.all(
      [[one], [two], [three, one, two]].map((ports) =>
        serviceProcess(t, { DATABASE_URL, LOG_LEVEL: 'info', ...settingsOf(deploy, password, ports) }),
      ),
    );
    const [a, b, c] = nodes;
    if (a === undefined || b === undefined || c === undefined) throw new Error('three nodes were asked for');
    const reachEachOther = () =>
      eventually(async () => {
        for (const { metrics } of nodes)
          if ((await metric(metrics, 'talkgroup_cluster_peers')) !== 2) throw new Error('not reached');
      });
    await reachEachOther();
    for (const { output } of nodes) t.match(output(), /"msg":"database connections suffice"/);

    const [ann, bob, cid] = [await a.person('ann'), await a.person('bob'), await a.person('cid')];
    const group = await a.talkgroup('depot', ann, bob, cid);
    const [talker, ...listeners] = [await ann.radio(), await b.radioOf(bob), await c.radioOf(cid)];
    await eventually(async () => {
      const { talkgroups } = await talker.asks({ type: 'SUBSCRIBE', talkgroup_ids: [group.id] });
      if ((talkgroups as { online: number }[])[0]?.online !== 3) throw new Error('not all are online');
    });
    talker.speaks(group.number, 'before', { start: true, end: true });
    for (const radio of listeners) await radio.hearsText('before');

    servers[2]?.kill();
    // Until the third node has found another server, what it is sent is lost.
    const speaking = setInterval(() => {
      talker.speaks(group.number, 'after', { start: true, end: true });
    }, 200);
    t.teardown(() => clearInterval(speaking));
    for (const radio of listeners) await radio.hearsText('after');
    await reachEachOther();
    t.equal(await metric(c.metrics, 'talkgroup_bus_up'), 1);
  },
);
