// Starts processes of the bench on chosen cores, and reads their CPU time and memory from /proc.
import { type ChildProcess, type SpawnOptions, spawn, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';

/** Core lists as `taskset -c` takes them. null: left to the kernel. */
export interface Pins {
  readonly server: string | null;
  readonly generator: string | null;
}

/** Server on the first core we may use and generator on the others, or PIN_SERVER and PIN_GENERATOR, or PIN=off. */
export function choosePins(env: Readonly<Record<string, string | undefined>>): Pins {
  if (env.PIN === 'off' || !works('taskset')) return { server: null, generator: null };
  const [first, ...others] = allowedCores();
  const preset =
    first === undefined || others.length === 0 ? null : { server: `${first}`, generator: others.join(',') };
  return {
    server: env.PIN_SERVER ?? preset?.server ?? null,
    generator: env.PIN_GENERATOR ?? preset?.generator ?? null,
  };
}

/** A core for each process of a generator that can use several. There is at least one. */
export function generatorCores({ generator }: Pins): readonly (string | null)[] {
  if (generator !== null) return listed(generator).map(String);
  const spare = availableParallelism() - 1; // one is the server's
  return Array.from({ length: Math.max(1, spare) }, () => null);
}

function allowedCores(): number[] {
  const list = /^Cpus_allowed_list:\s*(\S+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '';
  return listed(list);
}

/** Of `0,2-4`: 0, 2, 3 and 4. */
function listed(cores: string): number[] {
  return cores.split(',').flatMap((range) => {
    const [from = 0, to = from] = range.split('-').map(Number);
    return Array.from({ length: to - from + 1 }, (_, i) => from + i);
  });
}

export type StartOptions = SpawnOptions & { readonly cores: string | null };

/** Starts this Node on a compiled file, as startProgram does. */
export function startNode(file: URL, options: StartOptions): ChildProcess {
  return startProgram([process.execPath, file.pathname], options);
}

/** Starts a program on the given cores, as leader of a process group: Ctrl-C reaches the bench alone. */
export function startProgram(command: readonly string[], { cores, ...options }: StartOptions): ChildProcess {
  // Both end in an exec: the process we get is the program itself. The first ends it even when we die by kill -9.
  const death = works('setpriv') ? ['setpriv', '--pdeathsig', 'TERM'] : [];
  const pin = cores === null ? [] : ['taskset', '-c', cores];
  const [first = '', ...rest] = [...death, ...pin, ...command];
  return spawn(first, rest, { ...options, detached: true });
}

/** Where a program is, on PATH or where systems keep their servers. null: not installed. */
export function findProgram(name: string): string | null {
  const folders = [...(process.env.PATH ?? '').split(':'), '/usr/sbin', '/usr/local/sbin'];
  return folders.map((folder) => `${folder}/${name}`).find((path) => existsSync(path)) ?? null;
}

/** What a program prints that ends by itself. */
export function printed([program = '', ...rest]: readonly string[]): string {
  const { stdout, stderr } = spawnSync(program, rest, { encoding: 'utf8' });
  return stdout + stderr;
}

const known = new Map<string, boolean>();

function works(tool: string): boolean {
  const answer = known.get(tool) ?? spawnSync(tool, ['--version']).status === 0;
  known.set(tool, answer);
  return answer;
}

/**
 * CPU microseconds that all threads of a process have used, kernel time included. From the scheduler's own account in
 * nanoseconds (schedstat): /proc/PID/stat counts in ticks of 10 ms, half of what a turn uses.
 */
export function cpuUs(pid: number): number {
  return [...threadTimes(pid).values()].reduce((sum, us) => sum + us, 0);
}

/** The same for each thread, by its number in /proc. Throws when one ends meanwhile. */
export function threadTimes(pid: number): ReadonlyMap<string, number> {
  return new Map(
    readdirSync(`/proc/${pid}/task`).map((thread) => {
      const schedstat = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8');
      return [thread, Number(schedstat.split(' ', 1)[0]) / 1000];
    }),
  );
}

/** What each thread or process used from one reading to a later one. One that has ended is left out. */
export const timesBetween = (
  before: ReadonlyMap<string, number>,
  after: ReadonlyMap<string, number>,
): Readonly<Record<string, number>> =>
  Object.fromEntries([...after].map(([name, us]) => [name, us - (before.get(name) ?? 0)]));

export interface ModeTimes {
  readonly userUs: number;
  readonly kernelUs: number;
}

/** CPU microseconds of all threads of a process, those that ended included, in steps of 10 ms. */
export function modeTimes(pid: number): ModeTimes {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // Behind the command's name, which may hold anything: state, ten others, user and kernel time in ticks.
  const [user = 0, kernel = 0] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13)
    .map(Number);
  return { userUs: user * TICK_US, kernelUs: kernel * TICK_US };
}

/** CPU microseconds that the machine spent on anything, stolen time included, in steps of 10 ms. */
export function machineCpuUs(): number {
  const [, user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = 0] =
    readFileSync('/proc/stat', 'utf8').split('\n', 1)[0]?.split(/\s+/).map(Number) ?? [];
  return (user + nice + system + irq + softirq + steal) * TICK_US;
}

/** USER_HZ is 100 on every Linux that Node runs on. */
const TICK_US = 10_000;

/** Resident memory of a process, in bytes: all of it, and what belongs to it alone and to no file. */
export function residentBytes(pid: number): { readonly all: number; readonly own: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const read = (name: string) => 1024 * Number(new RegExp(`^${name}:\\s*(\\d+) kB$`, 'm').exec(status)?.[1]);
  return { all: read('VmRSS'), own: read('RssAnon') };
}

/** What a result must say of the machine. Nothing that names it. */
export function describeMachine() {
  const processors = cpus();
  return {
    cpu: processors[0]?.model ?? 'unknown',
    cores: processors.length,
    node: process.version,
    kernel: readFileSync('/proc/sys/kernel/osrelease', 'utf8').trim(),
  };
}
