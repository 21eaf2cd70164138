// Mosquitto, the usual MQTT broker: how it is set and started. One topic for a room, QoS 0 (radios/dialects/mqtt.ts).
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { printed } from '../../machine/processes.js';
import type { Start } from '../start.js';

/** The installed version, such as `2.0.11`. */
export const mosquittoVersion = (program: string): string | null =>
  /^mosquitto version (\S+)/.exec(printed([program, '-h']))?.[1] ?? null;

/** Started from a configuration in `folder`. */
export async function startMosquitto(program: string, folder: string): Promise<Start> {
  const port = await freePort();
  const file = join(folder, 'mosquitto.conf');
  await writeFile(file, configuration(port));
  return {
    command: [program, '-c', file],
    readUrl: (output) => (/ running$/m.test(output) ? `mqtt://127.0.0.1:${port}` : null),
  };
}

const configuration = (port: number) => `
listener ${port} 127.0.0.1
allow_anonymous true
# As started by root it would become another user, and then outlive a bench that is killed.
user ${userInfo().username}
# Nothing on disk, no statistics, no line in the log for each connection.
persistence false
sys_interval 0
connection_messages false
log_dest stderr
# As all the other servers here: each frame leaves at once.
set_tcp_nodelay true
# Nothing is dropped for a receiver that is slow; the default is 1,000 messages.
max_queued_messages 0
`;

/** Mosquitto takes no port 0. Another process may take this one first. Then it says so and ends. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new TypeError('a TCP server has a port');
  return address.port;
}
