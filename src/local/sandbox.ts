// `make sandbox`: a service with a fleet that talks and moves, and an echo, to write an app against.
//
// It is for trying out, not for production: all passwords are the same word. Everything listens on loopback, and all of it
// ends with this process.
import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { callRest, createRest } from '../client/rest.js';
import { crowd } from '../client/terminal/crowd.js';
import { echo } from '../client/terminal/echo.js';
import { isLoopback } from '../config/values.js';
import { COLUMNS, type Column, csvLine, SEPARATOR } from '../fleet/csv.js';
import { addressIn, type LocalProcess, lastSentence, startProcess } from './process.js';
import { runUntilInterrupted } from './run.js';

const MAIN = fileURLToPath(new URL('../main.js', import.meta.url));
const CLI = fileURLToPath(new URL('../cli.js', import.meta.url));
/** In the working directory. */
const FOLDER = '.sandbox';
const PASSWORD = 'sandbox';
const UNITS = 50;
const TALKGROUPS = ['Fire 1', 'Fire 2', 'Medical', 'Logistics', 'Night shift'];
const SITES = ['North', 'Harbour', 'South'];
/** Each unit is in two talkgroups, so 20 are in each, and a unit talks there a fifth of the time. */
const TALKING = 0.02;
const AREA = { lat: 53.55, lng: 9.99, km: 8 };
const UNIT_NAMES = Array.from({ length: UNITS }, (_, at) => `unit-${String(at + 1).padStart(2, '0')}`);

const interrupt = new AbortController();
let service: Pick<LocalProcess, 'stop'> | null = null;
let fleet: Promise<unknown> = Promise.resolve();

await runUntilInterrupted({
  ...{ name: 'sandbox', interrupt, start, stop },
  leftOver:
    ' Another sandbox or service runs. End it. Beside a service, choose other ports with PORT, WS_PORT and METRICS_PORT.',
});

async function start(): Promise<void> {
  const { HOST } = process.env;
  if (HOST && !isLoopback(HOST))
    throw new Error(
      `HOST must be a loopback address, got "${HOST}": the passwords of the sandbox are public`,
    );
  await mkdir(FOLDER, { recursive: true, mode: 0o700 });
  const env = settings();
  interrupt.signal.throwIfAborted();
  const { output } = await startProcess({
    ...{ name: 'the service', command: [process.execPath, '--enable-source-maps', MAIN], env },
    logFile: join(FOLDER, 'service.log'),
    readySign: /^Ready$/m,
    onEnd(how) {
      console.log(`the service ended (${how})`);
      process.exitCode = 1;
      interrupt.abort();
    },
    onStart(started) {
      service = started;
      interrupt.signal.throwIfAborted();
    },
  });
  await importFleet(env);
  const [rest, url] = [addressIn(output, 'REST'), addressIn(output, 'WebSocket')];
  const [guest, echoing] = [await logIn(rest, 'guest'), await logIn(rest, 'echo')];
  const { talkgroups } = await createRest({ url: rest, token: guest }).get<Own>('/talkgroups');
  const lines = talkgroups.map(({ talkgroup: { id, name } }) =>
    name === 'Echo' ? `Echo       ${id}   (repeats what guest says)` : `Talkgroup  ${id}   (${name})`,
  );
  console.log(
    [
      `Console    ${rest}/console/`,
      `Login      guest / ${PASSWORD}, the same password for admin and for unit-01 to unit-${UNITS}`,
      `REST       ${rest}`,
      `WebSocket  ${url}`,
      `Token      ${guest}   (of guest)`,
      ...lines.sort(),
      `Files      ${resolve(FOLDER)}: the log, the users as a CSV file, the database`,
      'Ready. Ctrl-C ends all of it, and the next start has the same data.',
    ].join('\n'),
  );
  const { signal } = interrupt;
  const members = UNIT_NAMES.map((username) => ({ username, password: PASSWORD }));
  const report = (line: string) => console.log(line);
  fleet = Promise.all([
    crowd({ rest, url, members, talking: TALKING, area: AREA, signal, report }).catch(ended('units')),
    echo({ url, token: echoing, talkgroup: 'Echo', signal }).catch(ended('echo')),
  ]);
}

interface Own {
  readonly talkgroups: readonly { readonly talkgroup: { readonly id: string; readonly name: string } }[];
}

/** The service goes on. */
function ended(what: string): (error: Error) => void {
  return ({ message }) => console.log(`the ${what} ended: ${message}`);
}

async function stop(started: Promise<void>): Promise<void> {
  await service?.stop();
  await started;
  await fleet;
}

/**
 * Of the caller, except for what decides where the data are, who can reach the service and who can log in: the known
 * passwords must never be those of another database.
 */
function settings(): NodeJS.ProcessEnv {
  return {
    ...process.env,
    HOST: process.env.HOST || '127.0.0.1',
    METRICS_HOST: '127.0.0.1',
    DATA_DIR: FOLDER,
    ...{ DATABASE_URL: '', NATS_URL: '', NATS_CREDENTIALS_FILE: '', JWT_SECRET: '', JWT_SECRET_PREVIOUS: '' },
    ...{
      SECRETS_KEY: '',
      TLS_CERT_FILE: '',
      TLS_KEY_FILE: '',
      TRUST_PROXY: '',
      PUBLIC_WS_URL: '',
      CONSOLE: '',
    },
    ...{ REGISTRATION: 'open', ADMIN_USERNAME: 'admin', ADMIN_PASSWORD: PASSWORD, PASSWORD_MIN_LENGTH: '' },
  };
}

/** As an operator would. A later start changes nothing. */
async function importFleet(env: NodeJS.ProcessEnv): Promise<void> {
  const file = join(FOLDER, 'fleet.csv');
  await writeFile(file, fleetFile(), { mode: 0o600 });
  await promisify(execFile)(process.execPath, [CLI, 'import', file, '--create-talkgroups'], {
    ...{ env, signal: interrupt.signal },
  }).catch(({ stderr = '' }: { stderr?: string }) => {
    throw new Error(`${file} was not imported: ${lastSentence(stderr)}`);
  });
}

/** The units, the account of the developer, and the echo. */
function fleetFile(): string {
  const row = (username: string, own: readonly string[], site = '') => {
    const [serial, talkgroups] = [`SN-${username}`, own.join(SEPARATOR)];
    const cells: Partial<Record<Column, string>> = { username, serial, site, talkgroups, password: PASSWORD };
    return csvLine(COLUMNS.map((column) => cells[column] ?? ''));
  };
  const units = UNIT_NAMES.map((name, at) => {
    const own = [TALKGROUPS[at % TALKGROUPS.length], TALKGROUPS[(at + 1) % TALKGROUPS.length]] as string[];
    return row(name, own, SITES[at % SITES.length]);
  });
  return [csvLine(COLUMNS), ...units, row('guest', [...TALKGROUPS, 'Echo']), row('echo', ['Echo'])].join('');
}

async function logIn(rest: string, username: string): Promise<string> {
  const body = { username, password: PASSWORD };
  const { jwt } = await callRest<{ jwt: string }>({ url: rest, method: 'POST', path: '/auth/login', body });
  return jwt;
}
