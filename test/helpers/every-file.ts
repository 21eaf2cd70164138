// Runs the test files named by TEST_FILES, several processes at a time, each with several files where they bear that.
import { appendFileSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import t from 'tap';

const FILE_MS_MAX = Number(process.env.TEST_FILE_MS ?? 180_000);

t.setTimeout(0); // each file has its own limit
t.jobs = Number(process.env.TEST_JOBS ?? 5); // on two cores three of five mostly wait
const files = (process.env.TEST_FILES ?? '').split(' ').filter((name) => name !== '');
if (files.length === 0) throw new Error('TEST_FILES names no test file');

const isUnit = (name: string) => name.includes('/unit/');

/** `run` prints it at the end: the reporter shows nothing of our own output. */
function tell(failed: string): void {
  if (process.env.FAILED_TESTS !== undefined) appendFileSync(process.env.FAILED_TESTS, `failed: ${failed}\n`);
}

/**
 * Services, which mostly wait, in turn with units, which mostly compute: files of one kind beside each other would leave
 * the cores idle, or too few. The longest files are in test/relay, and begin first, so that none runs on alone.
 */
function mixed(names: readonly string[]): string[] {
  const units = names.filter(isUnit);
  const services = names.filter((name) => !isUnit(name)).reverse();
  const pairs = services.flatMap((name, at) => [name, ...units.slice(at, at + 1)]);
  return [...pairs, ...units.slice(services.length)];
}

/** What a test changes for its whole process, or learns of it. */
const OWN_PROCESS =
  /t\.(jobs|testdir)|process\.(env\.\w+ =|on|exit|memoryUsage|cpuUsage|chdir)|proc\/self|RSS/;
/** What a unit waits for: it would hold up those that compute. */
const WAITS = /delay|eventually|performance\.now|setTimeout|child_process/;
/** Files in one process. To load tap and the service takes 1.5 s of CPU, which is longer than many files of a service. */
const SHARING_MAX = { waiting: 20, units: 8, services: 4 };
const SEVERAL = fileURLToPath(new URL('several-files.js', import.meta.url));

const textOf = (file: string) => readFileSync(file, 'utf8');
const isAlone = (name: string) => name.includes('/browser/') || OWN_PROCESS.test(textOf(name));
const waits = (name: string) => WAITS.test(textOf(name));

/** The files of each process. Those that wait longest begin first, and need little of a core. */
function processesFor(names: readonly string[]): string[][] {
  const sharing = names.filter((name) => !isAlone(name));
  const units = sharing.filter(isUnit);
  const services = sharing.filter((name) => !isUnit(name));
  return [
    ...dealt(units.filter(waits), SHARING_MAX.waiting),
    ...dealt(services, SHARING_MAX.services),
    ...mixed(names.filter(isAlone)).map((name) => [name]),
    ...dealt(
      units.filter((name) => !waits(name)),
      SHARING_MAX.units,
    ),
  ];
}

/** In groups of at most `max`, neighbours in different ones: the longest files are in one folder. */
function dealt(names: readonly string[], max: number): string[][] {
  const groups = Math.ceil(names.length / max);
  return Array.from({ length: groups }, (_, at) => names.filter((_, index) => index % groups === at));
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
  const timeout = FILE_MS_MAX * together.length;
  const limit = `TAP_TIMEOUT=${timeout / 1000}`;
  const [first = '', ...more] = together;
  const environment = ['-u', 'NODE_OPTIONS', limit, `MORE_FILES=${more.join(' ')}`];
  const args = [...environment, process.execPath, '--enable-source-maps', SEVERAL, first];
  const name = together.join(' ');
  void t.spawn('env', args, { name, buffered: true, timeout }).then((results) => {
    for (const one of results?.failures ?? []) {
      const title = 'name' in one ? one.name : String(one.tapError);
      for (const file of filesOf(one, together)) tell(`${file} > ${title}`);
    }
  });
}
