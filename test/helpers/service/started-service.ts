// The service as an operator starts it: by its command and its environment, asked through REST alone.
import type { Test } from 'tap';
import { callJson } from '../http/call-json.js';
import { startMain } from './main-process.js';

const settings = { PORT: '0', WS_PORT: '0', METRICS_PORT: '0', LOG_LEVEL: 'warn', DRAIN_MS: '0' };

/** Resolves when it is ready. A service that ends before rejects with what it said. */
export async function startService(t: Test, environment: Readonly<Record<string, string>>) {
  const { isReady, output, address, signal, exited } = await startMain(t, { ...settings, ...environment });
  if (!isReady) throw new Error(`ended with code ${(await exited)[0]}: ${output()}`);
  const rest = address('REST');

  /** The body of a 200. */
  async function ask(method: string, path: string, { token, body }: { token?: string; body?: unknown } = {}) {
    const { status, body: answer } = await callJson({ method, url: rest + path, token, body });
    if (status !== 200) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(answer)}`);
    return answer;
  }

  return {
    /** The one generated on the first start, or null. */
    password: /^Admin +admin \/ (\S+)/m.exec(output())?.[1] ?? null,
    ask,
    login: async (username: string, password: string) =>
      String((await ask('POST', '/auth/login', { body: { username, password } })).jwt),
    /** Its exit code after the signal. */
    async end(by: NodeJS.Signals = 'SIGTERM'): Promise<number | null> {
      signal(by);
      return (await exited)[0];
    },
  };
}

export type StartedService = Awaited<ReturnType<typeof startService>>;
