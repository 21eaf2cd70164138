// Runs the commands that import a fleet from a CSV file, and export it to one.
import { randomInt } from 'node:crypto';
import { type FileHandle, open, readFile, rm, stat } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { createPasswords, type Passwords } from '../auth/passwords.js';
import { accountsOf } from '../auth/store.js';
import { readConfig } from '../config/config.js';
import { noteAct } from '../db/acts.js';
import type { Database } from '../db/client.js';
import { hasCode } from '../files.js';
import { COLUMNS, csvLine, FILE_BYTES_MAX, type LineError, readCsv, SEPARATOR } from '../fleet/csv.js';
import { type Group, namesIn, type Plan, planOf, type Step } from '../fleet/plan.js';
import {
  type Exported,
  exportedAfter,
  readKnown,
  renameDevices,
  sharedNames,
  takeImportLock,
  type Write,
  writeRows,
} from '../fleet/store.js';
import type { TalkgroupId, UserId } from '../ids.js';
import { checkSecrets } from '../keys/secrets.js';
import { createKeyring, type Keyring } from '../keys/wrapping.js';
import { standBack } from '../priority.js';
import { createTalkgroup } from '../talkgroups/store.js';
import { fail, operator, soon, withDatabase } from './running.js';

/** Rows of a statement, and memberships: the server ends it after 2.5 s. */
const ROWS_AT_ONCE = 500;
const MEMBERSHIPS_AT_ONCE = 4000;
/** Users of a statement that are there already: each relay reads them again. So many in a second. */
const CHANGED_AT_ONCE = 200;
const CHANGED_MS = 1000;
/** For another import. */
const LOCK_MS_MAX = 10_000;
const LOCK_LOOK_MS = 200;
const ERRORS_SHOWN = 100;
const CHANGES_SHOWN = 20;
/** Of a password that is made: 60 bits. None of its characters looks like another one. */
const PASSWORD_CHARACTERS = 12;
const ALPHABET = 'abcdefghijkmnpqrstuvwxyz23456789';
const OWNER_ONLY = 0o600;
/** As the hashing thread of the service. */
const HASHING_STEPS = 5;

export interface ImportOptions {
  readonly dryRun?: boolean;
  readonly createTalkgroups?: boolean;
  /** The file for the passwords that are made. */
  readonly passwords?: string;
}

/** Adds what the file has and the database lacks. It removes nothing, and changes no password and no device link. */
export async function importCommand(file: string, options: ImportOptions): Promise<void> {
  standBack(HASHING_STEPS); // before any thread is started: logins must not wait for these hashes
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
        makesPasswords: options.passwords !== undefined,
      });
      refuse([...errors, ...plan.errors]);
      if (isDry) console.log([...changesOf(plan), ...inWords(plan, 'would be')].join('\n'));
      else await carryOut(database, plan, options.passwords);
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
  fail(`${errors.length === 1 ? '1 error' : `${errors.length} errors`}: nothing was written`);
}

function changesOf({ steps }: Plan): string[] {
  const changes = steps
    .slice(0, CHANGES_SHOWN)
    .map(({ line, username, user, device, isDispatcher, talkgroups: { length } }) => {
      const parts = [
        ...(user === null ? ['new'] : []),
        ...(isDispatcher ? ['dispatcher'] : []),
        ...(device === null ? [] : [`device ${device.serial}`]),
        ...(length === 0 ? [] : [length === 1 ? '1 talkgroup' : `${length} talkgroups`]),
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
    ...(devices.length > 0 ? [`${devices.length} devices ${did}renamed or moved to another site`] : []),
    `${added} users ${did}added, ${steps.length - added} changed, ${unchanged} unchanged`,
  ];
}

async function carryOut(database: Database, plan: Plan, passwordsFile: string | undefined): Promise<void> {
  const keyring = createKeyring(readConfig().SECRETS_KEY);
  if (plan.talkgroups.length > 0) await checkSecrets(database, soon(), keyring); // else nodes could not decrypt the new ones
  const isMade = plan.steps.some(({ user, password }) => user === null && password === null);
  const secrets = passwordsFile === undefined || !isMade ? null : await createNew(passwordsFile);
  try {
    await secrets?.appendFile(csvLine(['username', 'password']));
    const made = await createTalkgroups(database, keyring, plan.talkgroups);
    for (let from = 0; from < plan.devices.length; from += ROWS_AT_ONCE)
      await renameDevices(database, soon(), plan.devices.slice(from, from + ROWS_AT_ONCE), operator());
    const hashers = Array.from({ length: availableParallelism() }, () => createPasswords());
    const idOf = (group: Group) => ('id' in group ? group.id : made.get(group.name));
    const left: Step[] = [];
    let done = 0;
    for (const steps of batchesOf(plan.steps)) {
      const rows = await rowsOf(steps, { hashers, secrets, idOf });
      await secrets?.sync(); // before the accounts: a password that is written nowhere is lost for ever
      const written = await writeRows(database, soon(), rows, { accounts: accountsOf, by: operator() });
      left.push(...steps.filter(({ username }) => !written.has(username)));
      done += steps.length;
      if (done === plan.steps.length) break;
      console.error(`${done} of ${plan.steps.length} rows`);
      if (steps.some(({ user }) => user !== null)) await delay(CHANGED_MS);
    }
    console.log(inWords(plan, '').join('\n'));
    for (const { line, username } of left.slice(0, ERRORS_SHOWN))
      console.error(`line ${line}: ${username} changed meanwhile, and was not written`);
    if (left.length > 0) fail(`${left.length} rows were not written: run it again`);
  } finally {
    await secrets?.close();
  }
}

/** That only its owner can read. It replaces none. */
async function createNew(file: string): Promise<FileHandle> {
  try {
    return await open(file, 'wx', OWNER_ONLY);
  } catch (error) {
    if (hasCode(error, 'EEXIST')) fail(`${file} exists: it is not replaced`);
    throw error;
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

/** At most 500 rows and 4,000 memberships each, and at most 200 rows of users that are there already. */
function* batchesOf(steps: readonly Step[]): Iterable<readonly Step[]> {
  let batch: Step[] = [];
  let [changed, memberships] = [0, 0];
  for (const step of steps) {
    const isFull =
      batch.length === ROWS_AT_ONCE ||
      (step.user !== null && changed === CHANGED_AT_ONCE) ||
      memberships + step.talkgroups.length > MEMBERSHIPS_AT_ONCE;
    if (isFull) {
      yield batch;
      batch = [];
      [changed, memberships] = [0, 0];
    }
    batch.push(step);
    memberships += step.talkgroups.length;
    if (step.user !== null) changed++;
  }
  if (batch.length > 0) yield batch;
}

interface Making {
  readonly hashers: readonly Passwords[];
  /** Where passwords that are made are written. null: none is. */
  readonly secrets: FileHandle | null;
  readonly idOf: (group: Group) => TalkgroupId | undefined;
}

/** Hashes on all cores, a hash of 50 ms for each new user. */
async function rowsOf(steps: readonly Step[], { hashers, secrets, idOf }: Making): Promise<Write[]> {
  const made: string[] = [];
  const passwords = steps.map(({ username, user, password }) => {
    if (user !== null || password !== null) return password;
    const one = newPassword();
    made.push(csvLine([username, one]));
    return one;
  });
  if (made.length > 0) await secrets?.appendFile(made.join(''));
  const rows: Write[] = [];
  const queue = [...steps.entries()];
  await Promise.all(
    hashers.map(async (hasher) => {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
        const [at, { username, user, device, talkgroups, isDispatcher }] = next;
        const password = passwords[at] ?? null;
        const hash = user === null && password !== null ? await hasher.hash(password) : null;
        rows[at] = {
          ...{ username, user, hash, device, isDispatcher },
          talkgroups: talkgroups.flatMap((one) => idOf(one) ?? []),
        };
      }
    }),
  );
  return rows;
}

const newPassword = () =>
  Array.from(
    { length: Math.max(PASSWORD_CHARACTERS, readConfig().PASSWORD_MIN_LENGTH) },
    () => ALPHABET[randomInt(ALPHABET.length)],
  ).join('');

/** Writes all users with devices and talkgroups to a new file. An import of it changes nothing. */
export async function exportCommand(file: string): Promise<void> {
  const count = await withDatabase(
    async (database) => {
      const target = file === '-' ? null : await createNew(file);
      try {
        await noteAct(database, soon(), operator(), { act: 'fleet_exported', details: {} });
        const rows = await writeAll(database, async (text) => {
          if (target === null) process.stdout.write(text);
          else await target.appendFile(text);
        });
        await target?.sync();
        return rows;
      } catch (error) {
        if (target !== null) await rm(file, { force: true }); // a part would be taken for the whole
        throw error;
      } finally {
        await target?.close();
      }
    },
    { mayCreate: false },
  );
  console.error(`${file}: ${count} users`);
}

async function writeAll(database: Database, write: (text: string) => Promise<void>): Promise<number> {
  const shared = await sharedNames(database, soon());
  /** A name that would not be found again is written as the id. */
  const lineOf = ({ username, serial, device_name, site, talkgroups, is_admin, is_dispatcher }: Exported) =>
    csvLine([
      ...[username, serial ?? '', device_name ?? '', site ?? ''],
      talkgroups
        .map(({ id, name }) =>
          shared.has(name) || name.includes(SEPARATOR) || name.trim() !== name ? id : name,
        )
        .join(SEPARATOR),
      is_admin ? '' : is_dispatcher ? 'yes' : 'no',
    ]);
  await write(csvLine(COLUMNS.filter((column) => column !== 'password')));
  let count = 0;
  for (let after: UserId | null = null; ; ) {
    const users: Exported[] = await exportedAfter(database, soon(), after);
    if (users.length === 0) return count;
    await write(users.map(lineOf).join(''));
    count += users.length;
    after = users.at(-1)?.id ?? null;
  }
}
