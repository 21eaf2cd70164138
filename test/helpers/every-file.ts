// Runs the test files named by TEST_FILES, each as a process of its own, four at a time.
import { appendFileSync } from 'node:fs';
import t from 'tap';

const FILE_MS_MAX = 180_000;

t.setTimeout(0); // each file has its own limit
t.jobs = 4; // on two cores two of four mostly wait
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

for (const file of mixed(files)) {
  // tap loads a module loader of its own into every process of a test, those that it starts included, to know which
  // sources it read: 0.5 to 1 s of CPU each time, for coverage that nobody asks for. It comes by NODE_OPTIONS.
  const args = ['-u', 'NODE_OPTIONS', process.execPath, '--enable-source-maps', file];
  void t.spawn('env', args, { name: file, buffered: true, timeout: FILE_MS_MAX }).then((results) => {
    for (const one of results?.failures ?? []) tell(`${file} > ${'name' in one ? one.name : one.tapError}`);
  });
}
