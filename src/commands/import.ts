// Runs the commands that import a fleet from a CSV file, and export it to one.
import { randomInt } from 'node:crypto';
import { type FileHandle, open, readFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { createPasswords, type Passwords } from '../auth/passwords.js';
import { accountsOf } from '../auth/store.js';
import { readConfig } from '../config/config.js';
import { normalizeUsername } from '../credentials/usernames.js';
import type { Database } from '../db/client.js';
import { COLUMNS, csvLine, type LineError, readCsv, SEPARATOR } from '../fleet/csv.js';
import { type Group, type Plan, planOf, type Step } from '../fleet/plan.js';
import {
  type Exported,
  exportedAfter,
  readKnown,
  renameDevices,
  type Write,
  writeRows,
} from '../fleet/store.js';
import type { TalkgroupId, UserId } from '../ids.js';
import { checkSecrets } from '../keys/secrets.js';
import { createKeyring } from '../keys/wrapping.js';
import { createTalkgroup } from '../talkgroups/store.js';
import { fail, soon, withDatabase } from './running.js';

/** Rows of a statement. */
const ROWS_AT_ONCE = 500;
/** Users of a statement that are there already: each relay reads them again. So many in a second. */
const CHANGED_AT_ONCE = 200;
const CHANGED_MS = 1000;
const ERRORS_SHOWN = 100;
const CHANGES_SHOWN = 20;
/** Of a password that is made: 60 bits. None of its characters looks like another one. */
const PASSWORD_CHARACTERS = 12;
const ALPHABET = 'abcdefghijkmnpqrstuvwxyz23456789';
const OWNER_ONLY = 0o600;

export interface ImportOptions {
  readonly dryRun?: boolean;
  readonly createTalkgroups?: boolean;
  /** The file for the passwords that are made. */
  readonly passwords?: string;
}

/** Adds what the file has and the database lacks. It removes nothing, and changes no password and no device link. */
export async function importCommand(file: string, options: ImportOptions): Promise<void> {
  const { lines, errors } = readCsv(await readFile(file));
  await withDatabase(
    async (database) => {
      const known = await readKnown(database, soon, {
        usernames: unique(lines.map(({ cells }) => normalizeUsername(cells.username ?? ''))),
        serials: unique(lines.flatMap(({ cells }) => cells.serial?.normalize('NFC') ?? [])),
        talkgroups: unique(
          lines.flatMap(({ cells }) =>
            (cells.talkgroups ?? '').split(SEPARATOR).map((one) => one.trim().normalize('NFC')),
          ),
        ),
      });
      const plan = planOf(lines, {
        known,
        mayCreateTalkgroups: options.createTalkgroups === true,
        makesPasswords: options.passwords !== undefined,
        passwordLengthMin: readConfig().PASSWORD_MIN_LENGTH,
      });
      refuse([...errors, ...plan.errors]);
      if (options.dryRun === true) return console.log(inWords(plan, 'would be'));
      await carryOut(database, plan, options.passwords);
    },
    { mayCreate: true },
  );
}

const unique = (texts: readonly string[]) => [...new Set(texts)].filter((text) => text !== '');

/** The whole file is checked first: with one error nothing is written. */
function refuse(errors: readonly LineError[]): void {
  if (errors.length === 0) return;
  const shown = [...errors].sort((one, other) => one.line - other.line).slice(0, ERRORS_SHOWN);
  for (const { line, column, text } of shown)
    console.error(`line ${line}${column === null ? '' : `, ${column}`}: ${text}`);
  fail(`${errors.length === 1 ? '1 error' : `${errors.length} errors`}: nothing was written`);
}

function inWords({ steps, unchanged, devices, talkgroups }: Plan, verb: string): string {
  const added = steps.filter(({ user }) => user === null).length;
  const changes = steps
    .slice(0, CHANGES_SHOWN)
    .map(({ line, username, user, device, talkgroups: groups }) => {
      const parts = [
        ...(user === null ? ['new'] : []),
        ...(device === null ? [] : [`device ${device.serial}`]),
        ...(groups.length === 0
          ? []
          : [`${groups.length === 1 ? '1 talkgroup' : `${groups.length} talkgroups`}`]),
      ];
      return `line ${line}: ${username}, ${parts.join(', ')}`;
    });
  return [
    ...changes,
    ...(steps.length > CHANGES_SHOWN ? [`and ${steps.length - CHANGES_SHOWN} further rows`] : []),
    ...(talkgroups.length > 0 ? [`new talkgroups: ${talkgroups.join(', ')}`] : []),
    ...(devices.length > 0 ? [`${devices.length} devices ${verb} renamed or moved to another site`] : []),
    `${added} users ${verb} added, ${steps.length - added} changed, ${unchanged} unchanged`,
  ].join('\n');
}

async function carryOut(database: Database, plan: Plan, passwordsFile: string | undefined): Promise<void> {
  const secrets = passwordsFile === undefined ? null : await open(passwordsFile, 'wx', OWNER_ONLY);
  try {
    await secrets?.write(csvLine(['username', 'password']));
    const made = await createTalkgroups(database, plan.talkgroups);
    for (let from = 0; from < plan.devices.length; from += CHANGED_AT_ONCE) {
      if (from > 0) await delay(CHANGED_MS);
      await renameDevices(database, soon(), plan.devices.slice(from, from + CHANGED_AT_ONCE));
    }
    const hashers = Array.from({ length: availableParallelism() }, () => createPasswords());
    const idOf = (group: Group) => ('id' in group ? group.id : made.get(group.name));
    let done = 0;
    let written = 0;
    for (const steps of batchesOf(plan.steps)) {
      const rows = await rowsOf(steps, { hashers, secrets, idOf });
      await secrets?.sync(); // before the accounts: a password that nobody has is lost for ever
      written += await writeRows(database, soon(), rows, accountsOf);
      done += steps.length;
      if (done < plan.steps.length) console.error(`${done} of ${plan.steps.length} rows`);
      if (steps.some(({ user }) => user !== null) && done < plan.steps.length) await delay(CHANGED_MS);
    }
    const added = plan.steps.filter(({ user }) => user === null).length;
    console.log(
      `${added} users added, ${plan.steps.length - added} changed, ${plan.unchanged} unchanged` +
        (written === done ? '' : `. ${done - written} rows changed meanwhile: run it again`),
    );
    if (written !== done) process.exitCode = 1;
  } finally {
    await secrets?.close();
  }
}

async function createTalkgroups(
  database: Database,
  names: readonly string[],
): Promise<ReadonlyMap<string, TalkgroupId>> {
  const made = new Map<string, TalkgroupId>();
  if (names.length === 0) return made;
  const keyring = createKeyring(readConfig().SECRETS_KEY);
  await checkSecrets(database, soon(), keyring); // else nodes could not decrypt the new ones
  for (const name of names) {
    const { id } = await createTalkgroup(database, soon(), { name, wrap: keyring.wrap });
    made.set(name, id as TalkgroupId);
  }
  return made;
}

/** At most 500 rows each, and at most 200 of users that are there already. */
function* batchesOf(steps: readonly Step[]): Iterable<readonly Step[]> {
  let batch: Step[] = [];
  let changed = 0;
  for (const step of steps) {
    if (batch.length === ROWS_AT_ONCE || (step.user !== null && changed === CHANGED_AT_ONCE)) {
      yield batch;
      batch = [];
      changed = 0;
    }
    batch.push(step);
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
  if (made.length > 0) await secrets?.write(made.join(''));
  const rows: Write[] = [];
  const queue = [...steps.entries()];
  await Promise.all(
    hashers.map(async (hasher) => {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
        const [at, { username, user, device, talkgroups }] = next;
        const password = passwords[at] ?? null;
        const hash = user === null && password !== null ? await hasher.hash(password) : null;
        rows[at] = { username, user, hash, device, talkgroups: talkgroups.flatMap((one) => idOf(one) ?? []) };
      }
    }),
  );
  return rows;
}

const newPassword = () =>
  Array.from({ length: PASSWORD_CHARACTERS }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');

/** Writes all users with devices and talkgroups to a new file. An import of it changes nothing. */
export async function exportCommand(file: string): Promise<void> {
  let count = 0;
  await withDatabase(
    async (database) => {
      const target = file === '-' ? null : await open(file, 'wx', OWNER_ONLY);
      const write = async (text: string) => {
        if (target === null) process.stdout.write(text);
        else await target.write(text);
      };
      try {
        await write(csvLine(COLUMNS.filter((column) => column !== 'password')));
        let after: UserId | null = null;
        for (;;) {
          const users: Exported[] = await exportedAfter(database, soon(), after);
          if (users.length === 0) break;
          await write(users.map(lineOf).join(''));
          count += users.length;
          after = users.at(-1)?.id ?? null;
        }
        await target?.sync();
      } finally {
        await target?.close();
      }
    },
    { mayCreate: false },
  );
  console.error(`${file}: ${count} users`);
}

/** A name that stands for several talkgroups, or has the separator, is written as the id. */
const lineOf = ({ username, serial, device_name, site, talkgroups }: Exported) =>
  csvLine([
    ...[username, serial ?? '', device_name ?? '', site ?? ''],
    talkgroups
      .map(({ id, name, is_alone }) => (is_alone && !name.includes(SEPARATOR) ? name : id))
      .join(SEPARATOR),
  ]);
