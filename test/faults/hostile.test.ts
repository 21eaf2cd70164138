// Hostile clients without and with a token beside radios that talk, with a heap of 512 MB and 4,096 open files.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { Agent, get } from 'node:https';
import { setTimeout as pause } from 'node:timers/promises';
import t from 'tap';
import { eventually } from '../helpers/eventually.js';
import { certificateFolder, issue } from '../helpers/network/certificates.js';
import { hostileClients } from '../helpers/network/hostile-clients.js';
import { connect, serviceProcess } from '../helpers/service/service.js';
import { within } from '../helpers/within.js';

/** `make prove`: ten minutes. */
const SECONDS = Number(process.env.HOSTILE_S ?? 5);
const CALM_S = Math.min(30, SECONDS);
const TALKGROUPS = 5;
const RADIOS = 10;
const FRAME_MS = 20;
const LIMITS = ['sh', '-c', 'ulimit -n 4096 && exec "$@"', 'sh'];
/** Connections to the database, and what the process opens for a moment. */
const FILES_LEFT = 40;

t.setTimeout((SECONDS + CALM_S) * 1000 + 120_000);

const isLinux = process.platform === 'linux';
const quantile = (sorted: readonly number[], part: number) => sorted[Math.floor(sorted.length * part)] ?? 0;

t.test('radios talk on beside hostile clients', { skip: isLinux ? false : 'reads /proc' }, async (t) => {
  const pair = issue();
  const { settings } = await certificateFolder(t, pair);
  const { DATA_DIR: _, ...tls } = settings as Record<string, string>;
  const s = await serviceProcess(t, { ...tls, NODE_OPTIONS: '--max-old-space-size=512' }, LIMITS);
  const ca = { ca: pair.cert };
  const open = (token: string) => connect(t, `${s.ws}/ws?token=${token}`, ca);

  const people = await Promise.all(
    Array.from({ length: TALKGROUPS * RADIOS }, (_, number) => s.person(`innocent ${number}`)),
  );
  const waits: number[] = [];
  const groups = await Promise.all(
    Array.from({ length: TALKGROUPS }, async (_, number) => {
      const members = people.slice(number * RADIOS, (number + 1) * RADIOS);
      const [row] = await s.sql<{ id: string; number: number }[]>`
        insert into talkgroups (name, master_secret) values (${`innocent ${number}`}, decode(repeat('00', 32), 'hex'))
        returning id, number::int`;
      const talkgroup = row?.number ?? 0;
      await s.sql`insert into memberships (user_id, talkgroup_id, site)
        select unnest(${`{${members.map(({ id }) => id)}}`}::uuid[]), ${row?.id ?? null}, 'depot'`;
      const radios = await Promise.all(members.map(({ token }) => open(token)));
      for (const radio of radios)
        radio.socket.on('message', (bytes: Buffer, isBinary: boolean) => {
          if (isBinary) waits.push(performance.now() - Number(bytes.subarray(16).toString()));
          radio.frames.length = 0;
          radio.arrivals.length = 0;
        });
      return { talkgroup, talker: radios[0] };
    }),
  );
  const healths: number[] = [];
  let sent = 0;
  const startMs = performance.now();
  const timers = groups.map(({ talkgroup, talker }) => {
    let frame = 0;
    // On a schedule: a frame that is sent late has waited since it was due.
    return setInterval(() => {
      for (; startMs + frame * FRAME_MS <= performance.now(); frame++) {
        talker?.speaks(talkgroup, String(startMs + frame * FRAME_MS), { start: frame === 0 });
        sent++;
      }
    }, FRAME_MS / 2);
  });
  const { hostname, port } = new URL(s.rest);
  const agent = new Agent({ keepAlive: true, ...ca });
  t.teardown(() => {
    for (const timer of timers) clearInterval(timer);
    agent.destroy();
  });
  const health = () =>
    new Promise<number>((resolve, reject) => {
      const fromMs = performance.now();
      get({ hostname, port, path: '/healthz', agent }, (answer) => {
        answer.resume().once('end', () => resolve(performance.now() - fromMs));
        assert.equal(answer.statusCode, 200);
      }).once('error', reject);
    });

  /** What was measured while this went on. */
  async function during(work: Promise<unknown>) {
    let isOver = false;
    const done = work.finally(() => {
      isOver = true;
    });
    for (const times of [waits, healths]) times.length = 0;
    while (!isOver) {
      healths.push(await health());
      await pause(100);
    }
    await done;
    const [audio, answers] = [waits, healths].map((times) =>
      times.splice(0).sort((one, other) => one - other),
    );
    const status = await readFile(`/proc/${s.pid}/status`, 'utf8');
    return {
      audioMs: [quantile(audio ?? [], 0.5), quantile(audio ?? [], 0.99)] as const,
      healthMs: [quantile(answers ?? [], 0.99), answers?.at(-1) ?? 0] as const,
      files: await s.descriptors(),
      memoryMiB: Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024,
    };
  }
  const told = (what: string, { audioMs, healthMs, files, memoryMiB }: Awaited<ReturnType<typeof during>>) =>
    t.comment(
      `${what}: audio p50 ${audioMs[0].toFixed(1)}, p99 ${audioMs[1].toFixed(1)} ms, /healthz p99 ${healthMs[0].toFixed(1)}, longest ${healthMs[1].toFixed(1)} ms, ${files} files, ${Math.round(memoryMiB)} MiB`,
    );

  const calm = await during(pause(CALM_S * 1000));
  told('calm', calm);
  const { token } = await s.person('hostile');
  const [restPort, wsPort] = [s.rest, s.ws].map((address) => Number(new URL(address).port)) as [
    number,
    number,
  ];
  const work = hostileClients({ restPort, wsPort, token, seconds: SECONDS });
  const attacked = await during(work);
  told('attacked', attacked);
  t.comment(JSON.stringify(await work));
  within(t, attacked.audioMs[1], Math.max(1.5 * calm.audioMs[1], 50), 'audio, 99 of 100 frames');
  within(t, attacked.healthMs[0], 100, '/healthz, 99 of 100');

  await eventually(async () => assert.ok((await s.descriptors()) <= calm.files + FILES_LEFT));
  const behind = await Promise.all(people.map(({ token }) => open(token)));
  t.equal(
    behind.filter(({ welcome }) => welcome !== null).length,
    people.length,
    'all connect at once behind it',
  );
  t.ok(sent > 0 && groups.every(({ talker }) => talker?.socket.readyState === 1), 'nobody was cut off');
  told('behind it', await during(pause(Math.min(5, CALM_S) * 1000)));
  s.signal('SIGTERM');
  t.equal(await s.exit(), 0);
});
