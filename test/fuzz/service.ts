// The service under fire: a process of its own, with its own database unless it is given one, and how it ended.
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startProgram } from '../../bench/machine/processes.js';

export interface Service {
  readonly restUrl: string;
  /** `ws://host:port/ws` */
  readonly wsUrl: string;
  /** Of Node's inspector, which listens for the reader of the memory. */
  readonly inspectorUrl: string;
  readonly databaseUrl: string;
  readonly secret: string;
}

/** Rates so high that they hide little, receivers that are never slow, sessions that are not kept for long. */
const SETTINGS = {
  LOG_LEVEL: 'error',
  TEXTS_PER_SECOND: '1000',
  FRAMES_PER_SECOND: '10000',
  USER_BYTES_PER_SECOND: '1000000000',
  TALKS_PER_USER: '1000',
  TALKERS_MAX: '1000',
  BACKLOG_MS: '60000',
  RESUME_MS: '1000',
  DRAIN_MS: '0',
  REGISTRATIONS_PER_MINUTE: '1000000',
  LOGIN_FAILURES_PAIR: '1000000/20',
  LOGIN_FAILURES_NAME: '1000000/60',
  LOGIN_FAILURES_ADDRESS: '1000000/300',
};
/** Known to the runner, for it signs tokens that are right and tokens that are not. */
const SECRET = 'a secret of more than thirty-two bytes';
/** A second by itself. A machine that does other things as well may take much longer. */
const START_MS_MAX = 90_000;

const MAIN = new URL('../../src/main.js', import.meta.url).pathname;

/**
 * Runs `use` against a service that is stopped afterwards. `faults` tells what the process did that it must not: end
 * by itself, not end when told to, or log an error.
 */
export async function withService<T>(
  databaseUrl: string | undefined,
  use: (service: Service) => Promise<T>,
): Promise<{ readonly result: T; readonly faults: string[] }> {
  const dataDir = await mkdtemp(join(tmpdir(), 'radio-fuzz-'));
  const env = {
    ...SETTINGS,
    ...(databaseUrl !== undefined && { DATABASE_URL: databaseUrl }),
    PATH: process.env.PATH,
    DATA_DIR: dataDir,
    JWT_SECRET: SECRET,
    PORT: '0',
    WS_PORT: '0',
    METRICS_PORT: '0',
  };
  const command = [process.execPath, '--enable-source-maps', '--inspect=127.0.0.1:0', MAIN];
  const child = startProgram(command, { cores: null, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const exited = once(child, 'exit') as Promise<[code: number | null, signal: string | null]>;
  let output = '';
  const ready = new Promise<void>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => {
        output += text;
        if (/^Ready$/m.test(output)) resolve();
      });
    void exited.then(() => reject(new Error(`the service did not start: ${output}`)));
    setTimeout(() => reject(new Error(`the service was not ready in time: ${output}`)), START_MS_MAX).unref();
  });
  const printed = (pattern: RegExp) => pattern.exec(output)?.[1] ?? '';
  try {
    await ready;
    const result = await use({
      restUrl: printed(/^REST +(\S+)$/m),
      wsUrl: printed(/^WebSocket +(\S+)$/m),
      inspectorUrl: printed(/^Debugger listening on (\S+)$/m),
      databaseUrl: databaseUrl ?? (await readFile(join(dataDir, 'postgres.url'), 'utf8')),
      secret: SECRET,
    });
    const ended = child.exitCode ?? child.signalCode;
    child.kill('SIGTERM');
    const [code, signal] = await exited;
    return { result, faults: faultsIn(output, { ended, code: code ?? signal }) };
  } finally {
    child.kill('SIGKILL');
    await rm(dataDir, { recursive: true, force: true });
  }
}

/** Bad input is no error of ours: whatever the service logs as one, is one. */
function faultsIn(
  output: string,
  { ended, code }: { ended: number | string | null; code: number | string | null },
) {
  const errors = output.split('\n').filter((line) => /"level":[56]0|^(ended:|Uncaught|FATAL)/.test(line));
  return [
    ...(ended === null ? [] : [`the service ended by itself: ${ended}; ${output.slice(-2000)}`]),
    ...(ended === null && code !== 0 ? [`told to end, the service did so with ${code}`] : []),
    ...[...new Set(errors)].slice(0, 10).map((line) => `logged: ${line.slice(0, 2000)}`),
  ];
}
