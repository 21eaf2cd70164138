// The processes below another one, as Linux tells them in /proc.
import { readFileSync } from 'node:fs';
import { descendantsOf } from '../../bench/machine/descendants.js';

export interface Process {
  readonly pid: number;
  readonly name: string;
  /** In ticks since the machine's start. A number is given out again, this with it never. */
  readonly startedAt: string;
}

/** The process itself first, then its children, then theirs. */
export const descendants = (pid: number): Process[] =>
  [pid, ...descendantsOf(pid)].map(processOf).filter((one) => one.startedAt !== '');

/** False for one that has ended and was not waited for. */
export function isAlive({ pid, startedAt }: Process): boolean {
  const now = processOf(pid);
  return now.startedAt === startedAt && now.state !== 'Z';
}

/** Empty texts when it has ended. */
function processOf(pid: number): Process & { readonly state: string } {
  try {
    const [, name = '', rest = ''] = /\((.*)\) (.*)/s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? [];
    const fields = rest.split(' ');
    return { pid, name, state: fields[0] ?? '', startedAt: fields[19] ?? '' }; // proc(5): fields 2, 3 and 22
  } catch {
    return { pid, name: '', state: '', startedAt: '' }; // Expected: no such file.
  }
}
