// A nats-server for tests, of Debian's package or newer, on a free port of 127.0.0.1.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import type { Test } from 'tap';
import { freePort, programPath } from './programs.js';

/** Resolves when it accepts connections. `settings` are further lines of its configuration file. */
export async function startNatsServer(t: Test, settings = '') {
  const port = await freePort();
  const file = join(t.testdir({}), `nats-${port}.conf`);
  writeFileSync(file, `listen: "127.0.0.1:${port}"\n${settings}\n`);
  const child = spawn(programPath('nats-server') ?? 'nats-server', ['-c', file], { stdio: 'ignore' });
  const exited = once(child, 'exit');
  t.teardown(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  for (let tries = 0; !(await accepts(port)); tries++) {
    if (tries === 100) throw new Error('nats-server did not accept a connection within 5 s');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return { port, url: `nats://127.0.0.1:${port}`, signal: (signal: NodeJS.Signals) => child.kill(signal) };
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('error', () => resolve(false));
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
  });
}
