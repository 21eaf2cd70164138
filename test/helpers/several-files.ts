// A process of `every-file`: runs each test file that it is sent, one after the other, in one process, for to load tap and
// the service takes longer than most files, and what ran once is compiled. Answers each with what it cost and what failed.
import './no-domains.js';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import t from 'tap';

/** What was seen of a file. Seconds of this process and of those below it that ended. */
export interface FileResult {
  readonly cpuS: number;
  readonly wallS: number;
  readonly failed: readonly string[];
  /** Something failed: the process takes no further file. */
  readonly isOver: boolean;
}

type Teardown = () => unknown;

const FILE_MS_MAX = Number(process.env.TEST_FILE_MS ?? 300_000);
const FULL_JOBS = t.jobs;

/** What files want to be done behind their last test. tap would do it at the end of the process. */
const teardowns: Teardown[] = [];
const teardown = (done: Teardown) => void teardowns.push(done);
Object.assign(t, { teardown, after: teardown });

let failed: string[] = [];
t.on('subtestEnd', ({ name, results }) => {
  if (results?.ok === false) failed.push(name);
});

async function run(file: string): Promise<FileResult> {
  const startedAt = { cpuS: cpuSeconds(), wallS: process.uptime() };
  const { count } = t;
  failed = [];
  t.jobs = FULL_JOBS;
  t.setTimeout(FILE_MS_MAX); // of the file. It may set another
  try {
    await import(pathToFileURL(resolve(file)).href);
  } catch (error) {
    t.threw(error);
  }
  await idle();
  if (teardowns.length > 0) {
    await t.test('its end', async () => {
      for (let done = teardowns.pop(); done !== undefined; done = teardowns.pop()) await done();
    });
  }
  t.setTimeout(0);
  if (t.count === count) failed.push('it has no test');
  const isOver = !t.passing();
  if (isOver && failed.length === 0) failed.push('it failed outside of its tests');
  return { cpuS: cpuSeconds() - startedAt.cpuS, wallS: process.uptime() - startedAt.wallS, failed, isOver };
}

/** tap is idle between two tests as well, for the turn in which it takes up the next. */
async function idle(): Promise<void> {
  do {
    if (!t.idle) await new Promise<void>((resolve) => t.once('idle', () => resolve()));
    await new Promise(setImmediate);
  } while (!t.idle);
}

/** Of this process and, on Linux, of the processes below it that have ended and were waited for. */
function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6 + endedBelow();
}

function endedBelow(): number {
  if (process.platform !== 'linux') return 0;
  // proc_pid_stat(5): cutime and cstime are fields 16 and 17, in ticks of 10 ms. The second field may hold spaces.
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ').at(-1)?.split(' ') ?? [];
  return (Number(fields[13]) + Number(fields[14])) / 100;
}

// Until there is no next file. tap does not count the channel. Behind it, what a test left open is all that keeps us.
const stay = setInterval(() => {}, 2 ** 30);
process.on('message', async (file) => {
  if (typeof file !== 'string') return; // tap's
  if (file === '') {
    clearInterval(stay);
    process.disconnect();
  } else process.send?.((await run(file)) satisfies FileResult);
});
