// Runs docs/getting-started.md as a newcomer would, and compares every output that the page shows.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { eventually } from '../helpers/eventually.js';
import { fencesOf, ROOT, readPage } from '../helpers/pages/pages.js';
import { unless } from '../helpers/programs.js';
import { serviceProcess } from '../helpers/service/service.js';

/** Commands, and the lines they print. */
interface Step {
  readonly at: number;
  readonly commands: string;
  readonly shown: readonly string[];
}

/** What a program in the background prints before the page goes on after a `sleep`. */
const AWAITED: readonly (readonly [commands: RegExp, printed: RegExp])[] = [
  [/radio listen .*&$/m, /^listening to/m],
  [/radio talk .*&$/m, /^talking in/m],
  [/\/clear"$/m, /: cleared/],
  [/\/status" /m, /^not connected/m],
];

/** Of the recording in bench/speech.ogg. A machine without time may leave out a few of them, half a second late. */
const PACKETS = 387;
const PACKETS_LATE_MAX = 50;

const page = { skip: unless('curl'), timeout: 150_000 };

t.test('every step of the tutorial prints what the page shows', page, async (t) => {
  const [start, ...steps] = stepsOf(readPage('docs/getting-started.md'));
  t.equal(start?.commands, 'make run');
  t.ok(steps.length > 8);

  const folder = await mkdtemp(join(tmpdir(), 'talkgroup-radio-test-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  await chmod(folder, 0o755); // started as root, the database has an account of its own
  const unset = { ADMIN_PASSWORD: '', JWT_SECRET: '' };
  const service = await serviceProcess(t, { ...unset, DATA_DIR: join(folder, 'data') });
  const addresses: readonly (readonly [page: string, here: string])[] = [
    ['http://127.0.0.1:3000', service.rest],
    ['ws://127.0.0.1:3001', service.ws],
    ['http://127.0.0.1:9464/metrics', service.metrics],
    ['.data/', `${folder}/`],
  ];
  const asOnPage = (text: string) =>
    addresses.reduce((all, [page, here]) => all.replaceAll(here, page), text);
  const asHere = (text: string) => addresses.reduce((all, [page, here]) => all.replaceAll(page, here), text);

  const banner = service.output();
  compare(t, asOnPage(banner), start);
  const [, password = ''] = /^Admin +admin \/ (\S+) /m.exec(banner) ?? [];

  const shell = startShell(t);
  for (const step of steps) {
    const commands = asHere(step.commands).replace('PASSWORD=...', `PASSWORD='${password}'`);
    const printed = await shell.run(commands, step.shown.length);
    if (!compare(t, asOnPage(printed), step)) break; // what follows needs it
  }
  t.ok((await readdir(folder)).includes('heard.ogg'), 'there is something to hear');
  service.signal('SIGINT'); // Ctrl-C
  t.equal(await service.exit(), 0);
});

/** The fence behind a fence of commands is what they print. Without one they print nothing. */
function stepsOf(page: string): Step[] {
  const fences = fencesOf(page);
  return fences.flatMap(({ language, text, at }, index) => {
    const next = fences[index + 1];
    const shown = next === undefined || next.language === 'sh' ? [] : next.text.split('\n');
    return language === 'sh' ? [{ at, commands: text, shown }] : [];
  });
}

/** In any order, for two programs print at once. */
function compare(t: Test, printed: string, step: Step | undefined): boolean {
  const { at = 0, shown = [] } = step ?? {};
  const left = linesOf(printed);
  const missing = shown.filter((line) => {
    const index = left.findIndex((each) => isAsShown(masked(each), masked(line)));
    if (index >= 0) left.splice(index, 1);
    return index < 0;
  });
  return t.strictSame({ missing, left }, { missing: [], left: [] }, `line ${at} of the page`);
}

const linesOf = (text: string) => text.split('\n').filter((line) => line !== '');

/** `…` on the page is anything without a blank, a quote or a comma. */
function isAsShown(line: string, shown: string): boolean {
  const parts = shown.split('…').map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&'));
  return new RegExp(`^${parts.join('[^\\s",]+')}$`).test(line);
}

/** Durations, and the packets that arrived in time. */
function masked(line: string): string {
  return line
    .replaceAll(/\b\d+\.\d s\b/g, '… s')
    .replaceAll(/\b\d+(?= of \d+ packets| packets)/g, (count) =>
      Number(count) > PACKETS - PACKETS_LATE_MAX ? String(PACKETS) : count,
    );
}

function startShell(t: Test) {
  const child = spawn('sh', { cwd: ROOT, stdio: 'pipe', detached: true });
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      printed += text;
    });
  }
  t.teardown(async () => {
    const closed = once(child, 'close');
    // With all that it started.
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    await closed;
  });
  let read = 0;
  let ran = 0;
  const since = () => printed.slice(read);

  return {
    /** What the commands print, once that is so many lines. */
    async run(commands: string, lines: number): Promise<string> {
      const done = `done ${++ran}`;
      for (const part of partsOf(commands)) {
        child.stdin.write(`${part.commands}\n`);
        if (part.printed !== null) await until(part.printed, since);
      }
      child.stdin.write(`echo '${done}'\n`);
      await until(new RegExp(`^${done}$`, 'm'), since);
      const output = () => since().replace(`${done}\n`, '');
      // A program in the background may print after the last command. Too few lines are compared as they are.
      await eventually(() => {
        if (linesOf(output()).length < lines) throw new Error('too few lines');
      }).catch(() => {});
      const text = output();
      read = printed.length;
      return text;
    },
  };
}

/** In place of each `sleep` the test waits for what the page waits for. */
function partsOf(commands: string): { commands: string; printed: RegExp | null }[] {
  const parts = commands.split(/^sleep \d+$/m);
  return parts.map((part, index) => {
    if (index === parts.length - 1) return { commands: part, printed: null };
    const [, printed] = AWAITED.find(([background]) => background.test(part)) ?? [];
    if (printed === undefined) throw new Error(`nothing to wait for behind ${part}`);
    return { commands: part, printed };
  });
}

async function until(text: RegExp, printed: () => string): Promise<void> {
  await eventually(() => {
    if (!text.test(printed())) throw new Error(`never printed ${text}: ${printed()}`);
  }, 40_000);
}
