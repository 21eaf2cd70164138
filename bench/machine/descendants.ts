// Finds all processes that a process has started, directly or not, and reads their CPU time.
import { readdirSync, readFileSync } from 'node:fs';
import { cpuUs } from './processes.js';

/** CPU microseconds of all processes that a process has started, and they in turn: of a relay, its PostgreSQL. */
export function descendantsCpuUs(pid: number): number {
  return descendantsOf(pid).reduce((sum, one) => sum + (unlessGone(() => cpuUs(one)) ?? 0), 0);
}

/** Parents before their children. */
export function descendantsOf(pid: number): readonly number[] {
  const childrenOf = new Map<number, number[]>();
  for (const name of readdirSync('/proc')) {
    const parent = /^\d+$/.test(name) ? parentOf(name) : null;
    if (parent !== null) childrenOf.set(parent, [...(childrenOf.get(parent) ?? []), Number(name)]);
  }
  const all = [...(childrenOf.get(pid) ?? [])];
  for (const one of all) all.push(...(childrenOf.get(one) ?? []));
  return all;
}

/** The name of a process's command. null: it has ended. */
export const commandOf = (pid: number): string | null =>
  unlessGone(() => readFileSync(`/proc/${pid}/comm`, 'utf8').trimEnd());

/** The fields behind the command's name, which may hold anything, are state and parent. */
function parentOf(pid: string): number | null {
  const stat = unlessGone(() => readFileSync(`/proc/${pid}/stat`, 'utf8'));
  return stat === null ? null : Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
}

function unlessGone<T>(read: () => T): T | null {
  try {
    return read();
  } catch {
    // Expected: the process ended between the listing and the reading.
    return null;
  }
}
