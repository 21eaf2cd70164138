// Runs the command that imports a fleet from a CSV file.
import { readFile, stat } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { createPasswords, type Passwords } from '../auth/passwords.js';
import { accountsOf } from '../auth/store.js';
import { readConfig } from '../config/config.js';
import { HOURS_PRESET } from '../credentials/setup-codes.js';
import type { Database } from '../db/client.js';
import { FILE_BYTES_MAX, type LineError, readCsv } from '../fleet/csv.js';
import { type Group, namesIn, type Plan, planOf, type Step } from '../fleet/plan.js';
import { readKnown, renameDevices, takeImportLock, type Write, writeRows } from '../fleet/store.js';
import type { TalkgroupId } from '../ids.js';
import { checkSecrets } from '../keys/secrets.js';
import { createKeyring, type Keyring } from '../keys/wrapping.js';
import { LONG_COMMAND, standBack } from '../priority.js';
import { createTalkgroup } from '../talkgroups/store.js';
import { createMaker, type Maker, type SecretOptions, type Secrets, secretsIn } from './made-secrets.js';
import { fail, operator, soon, withDatabase } from './running.js';

/** Rows of a statement, and memberships: about 30 ms of a core of the server, beside audio. */
const ROWS_AT_ONCE = 100;
const MEMBERSHIPS_AT_ONCE = 800;
/** Between two statements, for each ms that the one before took. */
const REST = 2;
/** Users that are there already: each relay reads them again. So many in a second. */
const CHANGED_AT_ONCE = 200;
const CHANGED_MS = 1000;
/** Of the progress. */
const ROWS_TOLD = 2000;
/** For another import. */
const LOCK_MS_MAX = 10_000;
const LOCK_LOOK_MS = 200;
const ERRORS_SHOWN = 100;
const CHANGES_SHOWN = 20;

export interface ImportOptions extends SecretOptions {
  readonly dryRun?: boolean;
  readonly createTalkgroups?: boolean;
}

/** Adds what the file has and the database lacks. It removes nothing, and changes no password and no device link. */
export async function importCommand(file: string, options: ImportOptions): Promise<void> {
  const secrets = secretsIn(options);
  standBack(LONG_COMMAND); // before any thread is started: neither audio nor logins wait for it
  if ((await stat(file)).size > FILE_BYTES_MAX) fail(`${file} is larger than ${FILE_BYTES_MAX >> 20} MiB`);
  const { lines, errors } = readCsv(await readFile(file));
  if (lines.length === 0) refuse(errors);
  const isDry = options.dryRun === true;
  await withDatabase(
    async (database) => {
      if (!isDry) await waitForOthers(database);
      const { PASSWORD_MIN_LENGTH, ADMIN_USERNAME } = readConfig();
      const known = await readKnown(database, soon, namesIn(lines));
      const plan = planOf(lines, {
        ...{ known, passwordLengthMin: PASSWORD_MIN_LENGTH, adminUsername: ADMIN_USERNAME },
        mayCreateTalkgroups: options.createTalkgroups === true,
        makesPasswords: secrets !== null,
      });
      refuse([...errors, ...plan.errors]);
      if (isDry) console.log([...changesOf(plan), ...inWords(plan, 'would be')].join('\n'));
      else await carryOut(database, plan, secrets);
    },
    { mayCreate: !isDry },
  );
}

/** Two imports at once would each plan with what the other one is about to add. */
async function waitForOthers(database: Database): Promise<void> {
  for (const untilMs = performance.now() + LOCK_MS_MAX; !(await takeImportLock(database, soon())); ) {
    if (performance.now() >= untilMs) fail('another import is running: nothing was written');
    await delay(LOCK_LOOK_MS);
  }
}

/** The whole file is checked first: with one error nothing is written. */
function refuse(errors: readonly LineError[]): void {
  if (errors.length === 0) return;
  const shown = [...errors].sort((one, other) => one.line - other.line).slice(0, ERRORS_SHOWN);
  for (const { line, column, text } of shown)
    console.error(`line ${line}${column === null ? '' : `, ${column}`}: ${text}`);
  fail(`${counted(errors.length, 'error')}: nothing was written`);
}

function changesOf({ steps }: Plan): string[] {
  const changes = steps
    .slice(0, CHANGES_SHOWN)
    .map(({ line, username, user, device, isDispatcher, talkgroups: { length } }) => {
      const parts = [
        ...(user === null ? ['new'] : []),
        ...(isDispatcher ? ['dispatcher'] : []),
        ...(device === null ? [] : [`device ${device.serial}`]),
        ...(length === 0 ? [] : [counted(length, 'talkgroup')]),
      ];
      return `line ${line}: ${username}, ${parts.join(', ')}`;
    });
  const more = steps.length - changes.length;
  return more > 0 ? [...changes, `and ${more} further rows`] : changes;
}

function inWords({ steps, unchanged, devices, talkgroups }: Plan, verb: string): string[] {
  const added = steps.filter(({ user }) => user === null).length;
  const did = verb === '' ? '' : `${verb} `;
  return [
    ...(talkgroups.length > 0 ? [`talkgroups ${did}created: ${talkgroups.join(', ')}`] : []),
    ...(devices.length > 0
      ? [`${counted(devices.length, 'device')} ${did}renamed or moved to another site`]
      : []),
    `${counted(added, 'user')} ${did}added, ${steps.length - added} changed, ${unchanged} unchanged`,
  ];
}

const counted = (count: number, what: string) => (count === 1 ? `1 ${what}` : `${count} ${what}s`);

async function carryOut(database: Database, plan: Plan, made: Secrets | null): Promise<void> {
  const keyring = createKeyring(readConfig().SECRETS_KEY);
  if (plan.talkgroups.length > 0) await checkSecrets(database, soon(), keyring); // else nodes could not decrypt the new ones
  const isMade = plan.steps.some(({ user, password }) => user === null && password === null);
  const maker = made === null || !isMade ? null : await createMaker(made);
  try {
    const created = await createTalkgroups(database, keyring, plan.talkgroups);
    for (let from = 0; from < plan.devices.length; from += ROWS_AT_ONCE) {
      const startedAt = performance.now();
      await renameDevices(database, soon(), plan.devices.slice(from, from + ROWS_AT_ONCE), operator());
      await delay(REST * (performance.now() - startedAt));
    }
    const hashers = Array.from({ length: availableParallelism() }, () => createPasswords());
    const idOf = (group: Group) => ('id' in group ? group.id : created.get(group.name));
    const left: Step[] = [];
    let done = 0;
    for (const steps of batchesOf(plan.steps)) {
      const rows = await rowsOf(steps, { hashers, maker, idOf });
      await maker?.sync(); // before the accounts: a password that is written nowhere is lost for ever
      const startedAt = performance.now();
      const written = await writeRows(database, soon(), rows, {
        ...{ accounts: accountsOf, codeHours: made?.hours ?? HOURS_PRESET, by: operator() },
      });
      left.push(...steps.filter(({ username }) => !written.has(username)));
      done += steps.length;
      if (done === plan.steps.length) break;
      if (done % ROWS_TOLD < steps.length) console.error(`${done} of ${plan.steps.length} rows`);
      const changed = steps.filter(({ user }) => user !== null).length;
      const tookMs = performance.now() - startedAt;
      await delay(Math.max(REST * tookMs, (CHANGED_MS * changed) / CHANGED_AT_ONCE));
    }
    console.log(inWords(plan, '').join('\n'));
    for (const { line, username } of left.slice(0, ERRORS_SHOWN))
      console.error(`line ${line}: ${username} changed meanwhile, and was not written`);
    if (left.length > 0) fail(`${left.length} rows were not written: run it again`);
  } finally {
    await maker?.close();
  }
}

async function createTalkgroups(
  database: Database,
  { wrap }: Keyring,
  names: readonly string[],
): Promise<ReadonlyMap<string, TalkgroupId>> {
  const made = new Map<string, TalkgroupId>();
  for (const name of names) {
    const { id } = await createTalkgroup(database, soon(), { name, wrap, by: operator() });
    made.set(name, id as TalkgroupId);
  }
  return made;
}

/** At most ROWS_AT_ONCE rows and MEMBERSHIPS_AT_ONCE memberships each. */
function* batchesOf(steps: readonly Step[]): Iterable<readonly Step[]> {
  let batch: Step[] = [];
  let memberships = 0;
  for (const step of steps) {
    const isFull =
      batch.length === ROWS_AT_ONCE || memberships + step.talkgroups.length > MEMBERSHIPS_AT_ONCE;
    if (isFull) {
      yield batch;
      batch = [];
      memberships = 0;
    }
    batch.push(step);
    memberships += step.talkgroups.length;
  }
  if (batch.length > 0) yield batch;
}

interface Making {
  readonly hashers: readonly Passwords[];
  /** null: nothing is made. */
  readonly maker: Maker | null;
  readonly idOf: (group: Group) => TalkgroupId | undefined;
}

/** Hashes on all cores, a hash of 50 ms for each new user with a password. */
async function rowsOf(steps: readonly Step[], { hashers, maker, idOf }: Making): Promise<Write[]> {
  const without = steps.filter(({ user, password }) => user === null && password === null);
  const made = (await maker?.make(without.map(({ username }) => username))) ?? [];
  const madeFor = new Map(without.map(({ username }, at) => [username, made[at]]));
  const rows: Write[] = [];
  const queue = [...steps.entries()];
  await Promise.all(
    hashers.map(async (hasher) => {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
        const [at, { username, user, device, talkgroups, isDispatcher, ...step }] = next;
        const own = madeFor.get(username);
        const password = own?.password ?? step.password;
        const hash = own?.hash ?? (user === null && password !== null ? await hasher.hash(password) : null);
        rows[at] = {
          ...{ username, user, hash, code: own?.code ?? null, device, isDispatcher },
          talkgroups: talkgroups.flatMap((one) => idOf(one) ?? []),
        };
      }
    }),
  );
  return rows;
}
