// The service as an operator starts it: by its command and its environment, asked through REST alone.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Test } from 'tap';
import type { Json } from './service.js';

const MAIN = fileURLToPath(new URL('../../src/main.js', import.meta.url));

const settings = { PORT: '0', WS_PORT: '0', METRICS_PORT: '0', LOG_LEVEL: 'warn', DRAIN_MS: '0' };

/** Resolves when it is ready; a service that ends before rejects with what it said. */
export async function startService(t: Test, environment: Readonly<Record<string, string>>) {
  const child = spawn(process.execPath, ['--enable-source-maps', MAIN], {
    env: { ...settings, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const closed = once(child, 'close') as Promise<[code: number | null, signal: string | null]>;
  t.teardown(async () => {
    child.kill('SIGKILL');
    await closed;
  });
  let output = '';
  await new Promise<void>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
        if (/^Ready$/m.test(output)) resolve();
      });
    }
    child.once('close', (code) => reject(new Error(`ended with code ${code}: ${output}`)));
  });
  const rest = /^REST +(\S+)$/m.exec(output)?.[1];

  /** The body of a 200. */
  async function ask(method: string, path: string, { token, body }: { token?: string; body?: unknown } = {}) {
    const response = await fetch(rest + path, {
      method,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const answer = (await response.json()) as Json;
    if (response.status !== 200)
      throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(answer)}`);
    return answer;
  }

  return {
    /** The one generated on the first start, or null. */
    password: /^Admin +admin \/ (\S+)/m.exec(output)?.[1] ?? null,
    ask,
    login: async (username: string, password: string) =>
      String((await ask('POST', '/auth/login', { body: { username, password } })).jwt),
    /** Its exit code after the signal. */
    async end(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
      child.kill(signal);
      return (await closed)[0];
    },
  };
}

export type StartedService = Awaited<ReturnType<typeof startService>>;
