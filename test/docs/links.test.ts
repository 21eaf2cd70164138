// The pages of the repository: their links and commands, and the bounds and numbers of the README.
import { existsSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import t from 'tap';
import { VERSION_1 } from '../../src/protocol/frame.js';
import { commandsOf, faultsOf } from '../helpers/pages/documented-commands.js';
import { anchorsOf, codeOf, linksOf, markdownFiles, ROOT, readPage } from '../helpers/pages/pages.js';

/** Of a talker. */
const FRAMES_PER_SECOND = 50;

const pages = markdownFiles();

t.test('every relative link leads to a file, and its anchor to a heading', async (t) => {
  t.ok(pages.includes('README.md'));
  for (const path of pages) t.strictSame(linksOf(readPage(path)).flatMap(faultOf(path)), [], path);
});

t.test('a link that leads nowhere, to no heading or out of the repository is found', async (t) => {
  const broken = [
    ['README.md', 'docs/nothing.md', 'no such file'],
    ['docs/README.md', 'README.md', null],
    ['docs/README.md', '../README.md#nothing', 'no such heading'],
    ['docs/README.md', '#nothing', 'no such heading'],
    ['docs/README.md', '../../etc/passwd', 'outside of the repository'],
    ['docs/README.md', 'https://example.org/nothing', null],
  ] as const;
  for (const [path, target, fault] of broken) {
    t.strictSame(faultOf(path)(target), fault === null ? [] : [`${target}: ${fault}`]);
  }
  t.strictSame(
    [...anchorsOf('## `a` & [b](c.md)!\n## One\n```\n## no heading\n```\n## One')],
    ['a--b', 'one', 'one-1'],
  );
});

t.test('the index lists every page of docs', async (t) => {
  const listed = new Set(linksOf(readPage('docs/README.md')).map((link) => posix.join('docs', link)));
  const isListed = (path: string) => listed.has(path) || posix.basename(posix.dirname(path)) === 'decisions';
  const others = pages.filter((path) => path.startsWith('docs/') && path !== 'docs/README.md');
  t.strictSame(
    others.filter((path) => !isListed(path)),
    [],
  );
});

t.test('every make command of a page is a target of the Makefile', async (t) => {
  const targets = new Set([...readPage('Makefile').matchAll(/^([a-z-]+):/gm)].map(([, name]) => name));
  for (const path of pages) {
    const named = codeOf(readPage(path)).flatMap((code) => [
      ...code.matchAll(/(?:^|[\s;&|(])make(?: -\w+)* ([a-z][a-z-]*)/g),
    ]);
    const unknown = named.map(([, target]) => target).filter((target) => !targets.has(target));
    t.strictSame(unknown, [], path);
  }
});

t.test('every talkgroup-radio command of a page is in the help of the command line', async (t) => {
  const shown = new Set<string>();
  for (const path of pages) {
    const commands = commandsOf(readPage(path));
    for (const { words } of commands) shown.add(words);
    t.strictSame((await Promise.all(commands.map(faultsOf))).flat(), [], path);
  }
  t.ok(shown.size >= 10, `${shown.size} commands are found`);
});

t.test('a wrong talkgroup-radio command of a page is found', async (t) => {
  for (const [page, fault] of [
    ['```sh\nnode dist/src/cli.js konfig   # settings\n```', 'konfig: no such command'],
    ['1. Run this:\n   ```sh\n   node dist/src/cli.js relaod\n   ```', 'relaod: no such command'],
    ['````sh\nexec radio \\\n  node dist/src/cli.js relaod\n````', 'relaod: no such command'],
    ['Run `node dist/src/cli.js secrets rotat`.', 'secrets rotat: no such command'],
    ['Run `docker compose -f x exec radio talkgroup-radio relaod`.', 'relaod: no such command'],
    ['Run `talkgroup-radio user ad NAME`.', 'user ad: no such command'],
    ['Run `talkgroup-radio secrets`.', 'secrets: a command is missing after it'],
    ['Run `cd x && talkgroup-radio config --from env`.', 'config --from: no such option'],
    ['Run `SECRETS_KEY=x talkgroup-radio Konfig`.', 'Konfig: no such command'],
    ['Run `talkgroup-radio radio listen --speed 2`.', 'radio listen --speed: no such option'],
    ['Run `talkgroup-radio --verbose`.', ' --verbose: no such option'],
  ] as const) {
    t.strictSame((await Promise.all(commandsOf(page).map(faultsOf))).flat(), [fault], page);
  }
  t.strictSame(commandsOf('`useradd talkgroup-radio` and `docker run talkgroup-radio now`'), []);
});

t.test(
  'the README is a front page: 120 lines, 700 words, and the commands that a newcomer needs',
  async (t) => {
    const readme = readPage('README.md');
    const words = readme.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word));
    t.ok(readme.trimEnd().split('\n').length <= 120, 'lines');
    t.ok(words.length <= 700, `${words.length} words`);
    for (const command of ['make run', 'make test', 'make demo']) t.ok(readme.includes(command), command);
  },
);

t.test('the versions of package, README, changelog, REST document and protocol agree', async (t) => {
  const { version } = JSON.parse(readPage('package.json'));
  t.match(readPage('README.md'), `Version ${version}, `);
  t.match(readPage('CHANGELOG.md'), `# Changelog\n\n## ${version}`);
  t.equal(JSON.parse(readPage('docs/openapi.json')).info.version, version);
  const protocol = VERSION_1 >> 6;
  t.match(readPage('CHANGELOG.md'), `WebSocket protocol ${protocol}.`);
  t.match(readPage('docs/protocol.md'), `# WebSocket protocol, version ${protocol}\n`);
});

t.test('the README has the numbers of the results', async (t) => {
  const readme = readPage('README.md');
  const latencyMs = figure('one-talker-1000', 'p99 relay latency');
  const capacity = figure('many-groups', 'capacity, relay');
  const listeners = Math.round(capacity / FRAMES_PER_SECOND / 100) * 100;
  const backS = figure('reconnect-storm', 'last of 10000 radios hears again');
  const memoryKib = figure('idle-memory', 'server memory per idle radio, 10000 radios');
  for (const cell of [
    `| ${latencyMs.toFixed(1)} ms |`,
    `| ${capacity.toLocaleString('en-US')}, or ${listeners.toLocaleString('en-US')} listeners at ${FRAMES_PER_SECOND} a second |`,
    `| ${backS.toFixed(1)} s |`,
    `| ${memoryKib.toFixed(1)} KiB |`,
  ]) {
    t.ok(readme.includes(cell), cell);
  }
  const claim = `99 % of deliveries arrive within ${Math.ceil(latencyMs)} ms`;
  t.ok(readme.replaceAll(/\s+/g, ' ').includes(claim), claim);
});

function figure(scenario: string, name: string): number {
  const result: { readonly goals: readonly { readonly name: string; readonly value: number }[] } = JSON.parse(
    readFileSync(join(ROOT, 'bench/results', `${scenario}.json`), 'utf8'),
  );
  return result.goals.find((goal) => goal.name === name)?.value ?? Number.NaN;
}

/** What is wrong with a link of that page, if anything. */
function faultOf(path: string): (link: string) => string[] {
  return (link) => {
    if (/^[a-z][a-z+.-]*:/i.test(link)) return []; // an address outside: no test leaves this machine
    const [target = '', anchor] = link.split('#', 2);
    const file = target === '' ? path : posix.join(posix.dirname(path), decodeURIComponent(target));
    if (file.startsWith('..') || posix.isAbsolute(target)) return [`${link}: outside of the repository`];
    if (!existsSync(join(ROOT, file))) return [`${link}: no such file`];
    const isThere = anchor === undefined || !file.endsWith('.md') || anchorsOf(readPage(file)).has(anchor);
    return isThere ? [] : [`${link}: no such heading`];
  };
}
