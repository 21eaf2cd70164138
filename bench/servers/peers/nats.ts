// nats-server without JetStream: how it is set and started. One subject for a room (radios/dialects/nats.ts).
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { printed } from '../../machine/processes.js';
import type { Start } from '../start.js';

/** The installed version, such as `2.9.10`. */
export const natsVersion = (program: string): string | null =>
  /v(\d\S*)/.exec(printed([program, '--version']))?.[1] ?? null;

/** Started from a configuration in `folder`. */
export async function startNats(program: string, folder: string): Promise<Start> {
  const file = join(folder, 'nats.conf');
  await writeFile(file, CONFIGURATION);
  return {
    command: [program, '-c', file],
    readUrl(output) {
      const address = /Listening for client connections on (\S+)/.exec(output)?.[1];
      return address !== undefined && output.includes('Server is ready') ? `nats://${address}` : null;
    },
  };
}

// -1: any free port. All else is its default: no limits that a bench meets (64 MiB may wait for a receiver, 65,536
// connections), TCP without delay. The Go runtime takes as many threads as it is given cores.
const CONFIGURATION = `
listen: "127.0.0.1:-1"
`;
