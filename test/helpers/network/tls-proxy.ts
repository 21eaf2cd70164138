// nginx and Caddy with the files of docs/deploy, on free ports and with a certificate for tests.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Test } from 'tap';
import { eventually } from '../eventually.js';
import { deployed } from '../pages/operations-page.js';
import { freePort, PATH, programPath } from '../programs.js';
import type { Json } from '../service/service.js';

const CERTIFICATE = resolve('test/helpers/network/tls-cert.pem');
const KEY = resolve('test/helpers/network/tls-key.pem');
const ca = readFileSync(CERTIFICATE);

/** A text of the file, and what stands there for the test. */
export type Edit = readonly [from: string, to: string];

interface Behind {
  readonly rest: string;
  readonly ws: string;
}

export interface TlsProxy {
  /** For radios: `wss://...`. */
  readonly ws: string;
  /** For sockets: trusts the certificate. */
  readonly ca: Buffer;
  /** All logs so far. */
  log(): Promise<string>;
  ask(method: string, path: string, options?: AskOptions): Promise<Answer>;
  /** Puts another edit into the configuration and has it read again. */
  reload(edit: Edit): Promise<void>;
}

interface AskOptions {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** The client's own address. */
  readonly from?: string;
}

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: Json;
}

/** Rejects when a text is not in the file: then the file has changed, and the test with it. */
function edited(text: string, edits: readonly Edit[]): string {
  return edits.reduce((now, [from, to]) => {
    if (!now.includes(from)) throw new Error(`not in the file: ${from}`);
    return now.replaceAll(from, () => to);
  }, text);
}

export async function startNginx(
  t: Test,
  { rest, ws }: Behind,
  edits: readonly Edit[] = [],
): Promise<TlsProxy> {
  const { folder, port, httpPort } = await place(t);
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  );
  const text = edited(deployed('nginx.conf'), [
    ['user www-data;', process.geteuid?.() === 0 ? 'user www-data;' : ''],
    ['worker_processes auto;', 'worker_processes 1;'],
    ['/run/nginx.pid', `${folder}/nginx.pid`],
    ['/var/log/nginx/', `${folder}/`],
    ['http {\n', `http {\n${temporary.join('\n')}\n`],
    ['127.0.0.1:3000', new URL(rest).host],
    ['127.0.0.1:3001', new URL(ws).host],
    ['listen 80;', `listen 127.0.0.1:${httpPort};`],
    ['listen [::]:80;', ''],
    ['listen 443 ssl backlog=4096;', `listen 127.0.0.1:${port} ssl;`],
    ['listen [::]:443 ssl backlog=4096;', ''],
    ['/etc/letsencrypt/live/radio.example/fullchain.pem', CERTIFICATE],
    ['/etc/letsencrypt/live/radio.example/privkey.pem', KEY],
    ...edits,
  ]);
  const file = join(folder, 'nginx.conf');
  await writeFile(file, text);
  const started = start(t, 'nginx', ['-e', 'stderr', '-c', file, '-g', 'daemon off;']);
  await listening(port, started);
  const logs = ['access.log', 'error.log'].map((name) => join(folder, name));
  return {
    ...asking(port),
    log: async () =>
      [...(await Promise.all(logs.map((log) => readFile(log, 'utf8')))), started.output()].join('\n'),
    async reload(edit) {
      await writeFile(file, edited(text, [edit]));
      started.child.kill('SIGHUP');
    },
  };
}

/** `others`: nodes before that one, by the address of both of their ports. */
export async function startCaddy(
  t: Test,
  { rest, ws }: Behind,
  others: readonly string[] = [],
): Promise<TlsProxy> {
  const { folder, port, httpPort } = await place(t);
  const adminPort = await freePort();
  const text = edited(deployed('Caddyfile'), [
    [
      '\n{\n',
      `\n{\n\tadmin 127.0.0.1:${adminPort}\n\thttp_port ${httpPort}\n\tauto_https disable_redirects\n`,
    ],
    ['{$RADIO_SITE:radio.example} {\n', `{$RADIO_SITE:radio.example} {\n\ttls ${CERTIFICATE} ${KEY}\n`],
  ]);
  const file = join(folder, 'Caddyfile');
  await writeFile(file, text);
  const env = {
    HOME: folder,
    XDG_DATA_HOME: folder,
    XDG_CONFIG_HOME: folder,
    RADIO_SITE: `https://127.0.0.1:${port}`,
    RADIO_REST: [...others, new URL(rest).host].join(' '),
    RADIO_RELAY: [...others, new URL(ws).host].join(' '),
  };
  const config = ['--config', file, '--adapter', 'caddyfile'];
  const started = start(t, 'caddy', ['run', ...config], env);
  await listening(port, started);
  return {
    ...asking(port),
    log: async () => started.output(),
    async reload(edit) {
      await writeFile(file, edited(text, [edit]));
      const reload = start(t, 'caddy', ['reload', ...config], env);
      await once(reload.child, 'close');
    },
  };
}

async function place(t: Test) {
  const folder = await mkdtemp(join(tmpdir(), 'talkgroup-radio-proxy-'));
  await chmod(folder, 0o755); // nginx's workers are of another account
  t.teardown(() => rm(folder, { recursive: true }));
  return { folder, port: await freePort(), httpPort: await freePort() };
}

interface Started {
  readonly child: ChildProcess;
  output(): string;
}

function start(t: Test, name: string, args: readonly string[], env: Record<string, string> = {}): Started {
  const child = spawn(programPath(name) ?? name, args, {
    env: { PATH, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const ended = new Promise<void>((resolve) => {
    child.once('close', () => resolve());
    child.once('error', (error) => {
      output += error.message; // not installed: `listening` says so
      resolve();
    });
  });
  t.teardown(async () => {
    child.kill('SIGTERM');
    await ended;
  });
  return { child, output: () => output };
}

function listening(port: number, { child, output }: Started): Promise<void> {
  return eventually(async () => {
    if (child.exitCode !== null) throw new Error(output());
    const socket = connect(port, '127.0.0.1');
    try {
      await once(socket, 'connect');
    } catch (error) {
      throw new Error(`${(error as Error).message}; ${output()}`);
    } finally {
      socket.destroy();
    }
  });
}

const asking = (port: number) => ({
  ws: `wss://127.0.0.1:${port}`,
  ca,
  ask: (method: string, path: string, options: AskOptions = {}) => askAt({ port, method, path }, options),
});

function askAt(
  where: { readonly port: number; readonly method: string; readonly path: string },
  { body, headers = {}, from = '127.0.0.1' }: AskOptions,
): Promise<Answer> {
  const options = {
    ...where,
    host: '127.0.0.1',
    localAddress: from,
    ca,
    agent: false as const,
    headers: { ...headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
  };
  return new Promise((resolve, reject) => {
    const asked = request(options, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      response.on('end', () => {
        const isJson = response.headers['content-type']?.startsWith('application/json');
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: isJson ? JSON.parse(text) : { text },
        });
      });
    });
    asked.on('error', reject).end(body === undefined ? undefined : JSON.stringify(body));
  });
}
