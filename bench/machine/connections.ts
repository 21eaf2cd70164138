// Says to which of several local ports a process is connected, from /proc.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** The index of the port that the process is connected to on this machine. -1: to none. */
export function connectedTo(pid: number, ports: readonly number[]): number {
  const own = socketsOf(pid);
  const found = ports.findIndex((port) => inodesTo(port).some((inode) => own.has(inode)));
  return found;
}

/** Inodes of all sockets of a process. */
function socketsOf(pid: number): ReadonlySet<string> {
  const folder = `/proc/${pid}/fd`;
  return new Set(
    readdirSync(folder).flatMap((fd) => {
      try {
        return /^socket:\[(\d+)\]$/.exec(readlinkSync(`${folder}/${fd}`))?.[1] ?? [];
      } catch {
        return []; // expected: it was closed since it was listed
      }
    }),
  );
}

const ESTABLISHED = '01';

/** Inodes of all sockets of this machine that are connected to this port. */
const inodesTo = (port: number): string[] =>
  readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .slice(1)
    .flatMap((line) => {
      const [, , remote = '', state, , , , , , inode = ''] = line.trim().split(/\s+/);
      const isThere = Number.parseInt(remote.slice(-4), 16) === port && state === ESTABLISHED;
      return isThere ? inode : [];
    });
