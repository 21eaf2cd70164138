// A PostgreSQL server as an operator has one: Debian's, with TLS and passwords, and nothing of ours in it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Test } from 'tap';
import { databaseAccount, runAs } from '../../../src/db/embedded/account.js';
import { eventually } from '../eventually.js';
import { freePort, programPath, run } from '../programs.js';

/** The superuser connects without a password, all others with one and with TLS. */
const ACCESS = `local all all trust
host all postgres 127.0.0.1/32 trust
hostssl all all 127.0.0.1/32 scram-sha-256
`;

/** Its certificate, which is its own authority. */
export const DATABASE_CA = resolve('test/helpers/network/tls-cert.pem');

/**
 * Resolves with the environment in which psql is its superuser. The server is gone when the test ends. `environment`: of the
 * server.
 */
export async function startExternal(t: Test, environment: Readonly<Record<string, string>> = {}) {
  const account = await databaseAccount();
  const folder = await mkdtemp(join(tmpdir(), 'talkgroup-radio-external-'));
  const own = async (path: string, mode: number) => {
    await chmod(path, mode);
    await chown(path, account.uid, account.gid);
  };
  await own(folder, 0o700);
  const cluster = join(folder, 'cluster');
  await runAs(account, programPath('initdb') ?? 'initdb', [
    '-D',
    cluster,
    '--username=postgres',
    '--no-sync',
  ]);
  await writeFile(join(cluster, 'pg_hba.conf'), ACCESS);
  for (const file of ['tls-cert.pem', 'tls-key.pem']) {
    await copyFile(join('test/helpers/network', file), join(cluster, file));
    await own(join(cluster, file), 0o600);
  }

  const port = await freePort();
  const settings = {
    port,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: folder,
    ssl: 'on',
    ssl_cert_file: 'tls-cert.pem',
    ssl_key_file: 'tls-key.pem',
    fsync: 'off',
  };
  const options = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const server = spawn(programPath('postgres') ?? 'postgres', ['-D', cluster, ...options], {
    ...account,
    env: { ...process.env, ...environment },
    cwd: '/',
    stdio: 'ignore',
  });
  const exited = once(server, 'exit');
  t.teardown(async () => {
    server.kill('SIGINT'); // its fast shutdown
    await exited;
    await rm(folder, { recursive: true });
  });

  const env = { PGHOST: '127.0.0.1', PGPORT: String(port), PGUSER: 'postgres', PGSSLROOTCERT: DATABASE_CA };
  await eventually(async () => {
    const { code, output } = await run('psql', ['--command=select 1', 'postgres'], { env });
    if (code !== 0) throw new Error(output);
  });
  return env;
}
