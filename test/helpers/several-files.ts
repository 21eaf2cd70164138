// Runs a test file and those in MORE_FILES in one process, one after the other: several-files.js <file>. The names are not
// all arguments, for tap makes the names of folders from these.
// With TEST_TIMES it adds a line to that file: seconds of CPU, seconds of wall clock, the test files.
import { appendFileSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import t from 'tap';

const { MORE_FILES = '', TEST_TIMES } = process.env;
const files = [...process.argv.slice(2), ...MORE_FILES.split(' ').filter((name) => name !== '')];
if (TEST_TIMES !== undefined) {
  process.on('exit', () => {
    const line = [cpuSeconds().toFixed(2), process.uptime().toFixed(2), ...files];
    appendFileSync(TEST_TIMES, `${line.join(' ')}\n`);
  });
}
for (const file of files) await import(pathToFileURL(resolve(file)).href);
// A file that sets a limit means itself. `every-file` has one for all of them.
if (files.length > 1) t.setTimeout(0);

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
