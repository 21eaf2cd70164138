// Runs the test files named by TEST_FILES, four processes at a time. Units that only compute share a process: to load tap
// takes 0.8 s of CPU, which is longer than most of them.
import { appendFileSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import t from 'tap';

const FILE_MS_MAX = Number(process.env.TEST_FILE_MS ?? 180_000);

t.setTimeout(0); // each file has its own limit
t.jobs = Number(process.env.TEST_JOBS ?? 4); // on two cores two of four mostly wait
const files = (process.env.TEST_FILES ?? '').split(' ').filter((name) => name !== '');
if (files.length === 0) throw new Error('TEST_FILES names no test file');

/** `run` prints it at the end: the reporter shows nothing of our own output. */
function tell(failed: string): void {
  if (process.env.FAILED_TESTS !== undefined) appendFileSync(process.env.FAILED_TESTS, `failed: ${failed}\n`);
}

/**
 * Services, which mostly wait, in turn with units, which mostly compute: files of one kind beside each other would leave
 * the cores idle, or too few. The longest files are in test/relay, and begin first, so that none runs on alone.
 */
function mixed(names: readonly string[]): string[] {
  const units = names.filter((name) => name.includes('/unit/'));
  const services = names.filter((name) => !name.includes('/unit/')).reverse();
  const pairs = services.flatMap((name, at) => [name, ...units.slice(at, at + 1)]);
  return [...pairs, ...units.slice(services.length)];
}

/** What a unit waits for, or changes for its whole process. */
const OWN_PROCESS =
  /delay|eventually|performance\.now|setTimeout|t\.(jobs|testdir)|process\.(env|on|exit)|child_process/;
/** Units in one process. */
const SHARING_MAX = 8;
const SEVERAL = fileURLToPath(new URL('several-files.js', import.meta.url));

const textOf = (file: string) => readFileSync(file, 'utf8');

/** The files of each process. */
function processesFor(names: readonly string[]): string[][] {
  const isSharing = (name: string) => name.includes('/unit/') && !OWN_PROCESS.test(textOf(name));
  const sharing = names.filter(isSharing);
  const processes = mixed(names.filter((name) => !isSharing(name))).map((name) => [name]);
  for (let from = 0; from < sharing.length; from += SHARING_MAX)
    processes.push(sharing.slice(from, from + SHARING_MAX));
  return processes;
}

/** Where the test is, as tap tells it, or all files of its process. */
function filesOf(failure: object, together: readonly string[]): readonly string[] {
  const { diag } = failure as { diag?: { at?: { generated?: { fileName?: string } } } };
  const found = together.filter((file) => file === diag?.at?.generated?.fileName);
  return found.length > 0 ? found : together;
}

for (const together of processesFor(files)) {
  // tap loads a module loader of its own into every process of a test, those that it starts included, to know which
  // sources it read: 0.5 to 1 s of CPU each time, for coverage that nobody asks for. It comes by NODE_OPTIONS.
  // tap in the file takes its limit (s) from there. The one that it would inherit is that of package.json.
  const limit = `TAP_TIMEOUT=${FILE_MS_MAX / 1000}`;
  const args = ['-u', 'NODE_OPTIONS', limit, process.execPath, '--enable-source-maps', SEVERAL, ...together];
  const name = together.join(' ');
  void t.spawn('env', args, { name, buffered: true, timeout: FILE_MS_MAX }).then((results) => {
    for (const one of results?.failures ?? []) {
      const title = 'name' in one ? one.name : String(one.tapError);
      for (const file of filesOf(one, together)) tell(`${file} > ${title}`);
    }
  });
}
