// A nats-server for tests, of Debian's package or newer, on a free port of 127.0.0.1.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import type { Test } from 'tap';
import { documentedConfiguration } from '../pages/operations-page.js';
import { freePort, programPath } from '../programs.js';
import { issue } from './certificates.js';

/** Resolves when it accepts connections, without TLS and from any client. */
export const startNatsServer = async (t: Test) => start(t, t.testdir({}), await freePort(), '');

/**
 * The same with the configuration that the operations page shows: TLS, and a user who may do no more than needed. `accounts`
 * stand in the place of that user.
 */
export async function startSecureNatsServer(t: Test, accounts: string | null = null) {
  const { cert, key } = issue({});
  const folder = t.testdir({ 'server.pem': cert, 'server.key': key });
  const configuration = documentedConfiguration('max_pending')
    .replaceAll('/etc/nats', folder)
    .replace(/^listen:.*$/m, '');
  const settings = accounts === null ? configuration : configuration.replace(USERS, accounts);
  const server = await start(t, folder, await freePort(), settings);
  const [, password = ''] = /password: "([^"]+)"/.exec(configuration) ?? [];
  return { ...server, authority: join(folder, 'server.pem'), user: `radio:${password}` };
}

/** Who may connect, in that configuration. */
const USERS = /^authorization \{[\s\S]*?^\}$/m;

async function start(t: Test, folder: string, port: number, settings: string) {
  const { child } = await launchNatsServer(t, folder, port, settings);
  return { port, signal: (signal: NodeJS.Signals) => child.kill(signal) };
}

/** What of a test is needed: a folder, and its end. */
export interface Owner {
  testdir(content: Record<string, string>): string;
  teardown(end: () => unknown): void;
}

export interface NatsServer {
  readonly child: ChildProcess;
}

/** Starts one with these settings, which are written to the folder, and resolves when it accepts connections. */
export async function launchNatsServer(
  t: Owner,
  folder: string,
  port: number,
  settings: string,
): Promise<NatsServer> {
  const file = join(folder, `nats-${port}.conf`);
  writeFileSync(file, `listen: "127.0.0.1:${port}"\n${settings}\n`);
  const log = openSync(join(folder, `nats-${port}.log`), 'w');
  const child = spawn(programPath('nats-server') ?? 'nats-server', ['-c', file], {
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  const exited = once(child, 'exit');
  t.teardown(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  for (let tries = 0; !(await accepts(port)); tries++) {
    if (tries === 400 || child.exitCode !== null) {
      const said = readFileSync(join(folder, `nats-${port}.log`), 'utf8').slice(-1000);
      throw new Error(`nats-server accepts no connection (exit code ${child.exitCode}): ${said}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return { child };
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
