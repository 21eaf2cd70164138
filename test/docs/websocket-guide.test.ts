// docs/websocket-guide.md is true: its programs hear each other and resume, its code is theirs, its waits are the client's.
import { spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import t from 'tap';
import { readOpus } from '../../src/client/audio/ogg.js';
import { nextStep } from '../../src/client/connection/backoff.js';
import { comesTrue } from '../helpers/eventually.js';
import {
  asksAgain,
  hearsEachPacket,
  library,
  type Program,
  raw,
  speechFolder,
  start,
  stopsAfterTenRequests,
  stopsForAWorthlessToken,
  stopsWhenLeft,
  talksOverLostLinks,
  twoPeople,
} from '../helpers/example-radios.js';
import { fencesOf, holds, linesOf, readPage } from '../helpers/pages/pages.js';
import { service } from '../helpers/service/service.js';

const page = readPage('docs/websocket-guide.md');
const fencesIn = (language: string) =>
  fencesOf(page)
    .filter((fence) => fence.language === language)
    .map(({ text }) => text);

const python: Program = ['python3', 'docs/examples/radio.py'];
// `make test` asks for Node, npm and make alone. CI installs Python, so that all of it is tried there.
const hasPython = spawnSync('python3', ['--version']).status === 0;
if (!hasPython) t.comment('python3 is missing: the Python program is replaced by the one of the library');
const programs: readonly Program[] = hasPython ? [library, raw, python] : [library, raw, library];

// They talk in real time: side by side they take as long as the longest, which is 8 s.
t.jobs = 4;
/** A new object for each test: tap writes into it. */
const beside = () => ({ buffered: true, timeout: 120_000 });

const { folder, speechFile } = await speechFolder(t);
const ADMIN_PASSWORD = 'a password for the guide';
const shared = service(t, { ADMIN_PASSWORD });

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

const pairs = programs.map((talker, index) => ({
  talker,
  listener: programs[(index + 1) % programs.length] ?? library,
}));
const nameOf = (program: Program) => program.at(-1)?.replace('docs/examples/', '');

for (const { talker, listener } of pairs) {
  t.test(`${nameOf(listener)} receives each packet of ${nameOf(talker)}`, beside(), async (t) =>
    hearsEachPacket(t, await shared, { talker, listener, file: await speechFile(50) }),
  );

  t.test(
    `${nameOf(talker)} and ${nameOf(listener)} lose the network, and the burst goes on`,
    beside(),
    async (t) => talksOverLostLinks(t, await shared, { talker, listener, file: await speechFile(200) }),
  );
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

t.test('missed.mjs says what was missed, and replays it', beside(), async (t) => {
  const s = await shared;
  const { ann, bob, id } = await twoPeople(s);
  await s.admin.patch(`/talkgroups/${id}`, { recording_days: 1 });
  const since = new Date().toISOString();
  const talks = start(t, [...library, 'talk', s.ws, ann.token, id, await speechFile(10)]);
  t.equal(await talks.exit(), 0, talks.output());
  const [, checksum] = /checksum (\w+)/.exec(talks.output()) ?? [];
  await comesTrue('it is stored', async () => {
    const { recordings } = await bob.get(`/recordings?talkgroup_id=${id}`);
    return (recordings as { code: string | null }[])[0]?.code === 'released';
  });
  const plays = start(t, [process.execPath, 'docs/examples/missed.mjs', s.ws, s.rest, bob.token, since]);
  await plays.says(/^missed 1 in Guide, 0 in an emergency$/m);
  await plays.says(new RegExp(`^${ann.name}: 10 packets, checksum ${checksum}$`, 'm'));
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

for (const program of programs.slice(1)) {
  t.test(`${program.at(-1)} asks again when no node decides the floor`, beside(), async (t) =>
    asksAgain(t, program, await speechFile(100)),
  );

  t.test(`${program.at(-1)} stops when its talkgroup is left while it asks`, beside(), (t) =>
    stopsWhenLeft(t, program),
  );

  t.test(`${program.at(-1)} stops after 10 requests without a decision`, beside(), (t) =>
    stopsAfterTenRequests(t, program),
  );
}

t.test('a program with a worthless token stops and says why', async (t) => {
  for (const program of programs) await stopsForAWorthlessToken(t, await shared, program);
});

t.test('the JavaScript of the page is that of the programs', async (t) => {
  const sources = await Promise.all(
    ['radio.mjs', 'record.mjs', 'missed.mjs', 'raw-radio.mjs', 'browser/page.mjs'].map((name) =>
      readFile(`docs/examples/${name}`, 'utf8'),
    ),
  );
  for (const fence of fencesIn('js')) {
    const isThere = sources.some((source) => holds(linesOf(source), linesOf(fence)));
    t.ok(isThere, fence);
  }
  t.notOk(holds(['a', 'b'], ['b', 'a']));
});

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

/** Of a row of the page: the part that is not random. 3 s stands for what GOAWAY asked for. */
function fixedS(wait: string): number {
  if (wait.startsWith('the rest of `reconnect_after_ms`')) return 3;
  return Number(/^([\d.]+) s/.exec(wait)?.[1] ?? 0);
}
