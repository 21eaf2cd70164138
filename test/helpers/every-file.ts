// Runs the test files named by TEST_FILES, several at a time, and prints what failed and what was skipped, nothing else.
// TIMES=1 shows what each file cost. The exit code is 1 when anything failed.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { FileResult } from './several-files.js';

/** At a time. On two cores four of six mostly wait. */
const JOBS = Number(process.env.TEST_JOBS ?? 6);
/** Of these, so many begin with the units that wait for timers, and need little of a core. */
const WAITING_JOBS = Math.floor(JOBS / 3);
/** For a process that has run its last file. */
const ENDING_MS_MAX = 30_000;
const SEVERAL = fileURLToPath(new URL('several-files.js', import.meta.url));

/** What a test changes for its whole process, or learns of it. */
const OWN_PROCESS = /process\.(env\.\w+ =|on|exit|memoryUsage|cpuUsage|chdir)|proc\/self|RSS/;
const WAITS = /delay|eventually|performance\.now|setTimeout|child_process/;

/** Such a file shows at the end of its process that it had radios on both. */
const isOverThreads = process.env.RADIOS_OVER === 'threads';

interface TestFile {
  readonly name: string;
  readonly isUnit: boolean;
  readonly waits: boolean;
  readonly isAlone: boolean;
  /** Of its code: the longest take longest, and begin first, so that none runs on alone. */
  readonly length: number;
}

const failed: string[] = [];
const skipped: string[] = [];
const times: (FileResult & { readonly name: string })[] = [];

const files = (process.env.TEST_FILES ?? '').split(' ').filter((name) => name !== '');
if (files.length === 0) throw new Error('TEST_FILES names no test file');

function fileOf(name: string): TestFile {
  const text = readFileSync(name, 'utf8');
  const isUnit = name.includes('/unit/');
  const isAlone = isOverThreads || name.includes('/browser/') || OWN_PROCESS.test(text);
  return { name, isUnit, waits: isUnit && WAITS.test(text), isAlone, length: text.length };
}

const all = files.map(fileOf).sort((one, other) => other.length - one.length);
const waiting = all.filter(({ waits }) => waits);
const services = all.filter(({ isUnit }) => !isUnit);
const units = all.filter(({ isUnit, waits }) => isUnit && !waits);

/** What the next of these jobs takes. */
const next = (job: number): TestFile | undefined =>
  (job < WAITING_JOBS ? [waiting, units, services] : [services, units, waiting])
    .find((files) => files.length > 0)
    ?.shift();

let workers = 0;

/** A process for test files, one after the other. */
class Worker {
  // tap names the folders of tests by the arguments.
  private readonly process = fork(SEVERAL, [String(++workers)], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    execArgv: [...process.execArgv, '--max-semi-space-size=64'], // MiB. With 16 a tenth of the time went into collections.
  });
  /** Code or signal. */
  private readonly ended = once(this.process, 'close').then(([code, signal]) => String(code ?? signal));
  private readonly ran: string[] = [];
  private hasFailed = false;

  constructor() {
    this.report();
  }

  /** False: the process ended with it. */
  async run(name: string): Promise<boolean> {
    this.ran.push(name);
    this.process.send(name);
    const result = await Promise.race([this.result(), this.ended]);
    if (typeof result === 'string') {
      this.fail(`${name} > its process ended: ${result}`);
      return false;
    }
    times.push({ name, ...result });
    for (const test of result.failed) this.fail(`${name} > ${test}`);
    if (result.isOver) await this.end(1000);
    return !result.isOver;
  }

  /** What a test left open keeps the process from its end. */
  async end(msMax = ENDING_MS_MAX): Promise<void> {
    this.process.send(''); // a channel that is closed from here keeps 'close' from coming
    const ended = await Promise.race([this.ended, delay(msMax, 'never', { ref: false })]);
    this.process.kill('SIGKILL');
    if (ended !== '0' && !this.hasFailed) this.fail(`${this.ran.join(' ')} > their process ended: ${ended}`);
  }

  private fail(what: string): void {
    this.hasFailed = true;
    failed.push(what);
  }

  private result(): Promise<FileResult> {
    return new Promise((resolve) => {
      const take = (message: object) => {
        if (!('cpuS' in message)) return; // tap has messages of its own
        this.process.off('message', take);
        resolve(message as FileResult);
      };
      this.process.on('message', take);
    });
  }

  /** Shows of the TAP what failed, with its details and the seed before it, and notes what was skipped. */
  private report(): void {
    let isShown = false;
    let seed = '';
    createInterface({ input: this.process.stdout as Readable }).on('line', (line) => {
      if (/^ *(not ok|Bail out!)/.test(line)) {
        isShown = true;
        console.log(`\n# ${this.ran.at(-1)}${seed}`);
      } else if (/^ *(ok|#|\d+\.\.)/.test(line)) isShown = false;
      if (/^ *# (Subtest|\w+_SEED=)/.test(line)) seed = / \w+_SEED=.*/.exec(line)?.[0] ?? '';
      if (isShown) console.log(line);
      if (/^ *\.\.\.$/.test(line)) isShown = false;
      if (/ # SKIP/.test(line)) skipped.push(`${this.ran.at(-1)} > ${line.trim()}`);
    });
  }
}

async function work(job: number): Promise<void> {
  let shared: Worker | null = null;
  for (let file = next(job); file !== undefined; file = next(job)) {
    if (!file.isAlone) shared ??= new Worker();
    const worker = shared === null || file.isAlone ? new Worker() : shared;
    const goesOn = await worker.run(file.name);
    if (file.isAlone && goesOn) await worker.end();
    if (!file.isAlone && !goesOn) shared = null;
  }
  await shared?.end();
}

/** Lines of "CPU wall file", the dearest first, with their sums. */
function table(): string {
  const line = (cpuS: number, wallS: number, name: string) =>
    `${cpuS.toFixed(2).padStart(8)} ${wallS.toFixed(2).padStart(8)}  ${name}`;
  const sum = (of: 'cpuS' | 'wallS') => times.reduce((total, one) => total + one[of], 0);
  const lines = times
    .sort((one, other) => other.cpuS - one.cpuS)
    .map(({ cpuS, wallS, name }) => line(cpuS, wallS, name.replaceAll(/dist\/test\/|\.test\.js/g, '')));
  return ['   CPU s   wall s  file', ...lines, line(sum('cpuS'), sum('wallS'), 'in all')].join('\n');
}

await Promise.all(Array.from({ length: JOBS }, (_, job) => work(job)));
for (const line of skipped) console.log(`skipped: ${line}`);
for (const line of failed) console.log(`failed: ${line}`);
if (process.env.TIMES) console.log(table());
console.log(`${times.length} of ${files.length} files ran, ${failed.length} failures`);
if (failed.length > 0) process.exitCode = 1;
