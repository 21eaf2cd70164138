// Runs the commands that list users and talkgroups, and change what belongs to a user.
import { createPasswords } from '../auth/passwords.js';
import { accountNamed, register, registerWithDevice } from '../auth/store.js';
import { readConfig } from '../config/config.js';
import { normalizeUsername } from '../credentials/usernames.js';
import type { Database } from '../db/client.js';
import { linkDevice, SITE_UNKNOWN } from '../db/device-link.js';
import { noticeOf } from '../db/notice.js';
import { dispatcherToo, takeBack } from '../db/revocation.js';
import { deviceToo } from '../devices/links/store.js';
import { TEXT_CHARACTERS_MAX } from '../http/schemas.js';
import { type DeviceId, readId, type TalkgroupId, type UserId } from '../ids.js';
import { checkSecrets } from '../keys/secrets.js';
import { createKeyring } from '../keys/wrapping.js';
import type { FloorMode } from '../protocol/codes.js';
import * as memberships from '../talkgroups/members/store.js';
import * as talkgroups from '../talkgroups/store.js';
import { CLEAR_TEXT_RULE, isClear } from '../text.js';
import * as users from '../users/store.js';
import { fail, inDataDir, operator, readNewPassword, readUsername, soon, withDatabase } from './running.js';
import { linesOf, type Row, tableOf } from './table.js';

/** Rows that one statement reads. */
const ROWS_AT_ONCE = 1000;

interface Listed {
  readonly json?: boolean;
}

/** Prints the users in the order of their names. */
export async function listUsersCommand({ search, json }: Listed & { search?: string }): Promise<void> {
  await printUsers({ find: search?.normalize('NFC') ?? null, role: null, json });
}

/** Prints the administrators. */
export const listAdminsCommand = ({ json }: Listed): Promise<void> =>
  printUsers({ find: null, role: 'admin', json });

async function printUsers({
  find,
  role,
  json,
}: {
  find: string | null;
  role: 'admin' | null;
  json: boolean | undefined;
}): Promise<void> {
  const order = { column: 'username', kind: 'text', isDescending: false } as const;
  const all = await withDatabase(
    (database) =>
      everyPage((after) => {
        const page = { limit: ROWS_AT_ONCE, order, after, find };
        return users.usersNamed(database, soon(), { start: null, role, page });
      }),
    { mayCreate: false },
  );
  print(
    all.map(({ id, username, role: its, dispatcher, device, created_at }) => ({
      ...{ username, role: roleOf(its, dispatcher), serial: device?.serial ?? null },
      ...{ device_enabled: device?.active ?? null, created_at, id },
    })),
    json,
  );
}

/** Reads a sorted list to its end. Each page has one row more than its limit when another one follows. */
async function everyPage<Item extends { readonly id: string; readonly sort_key?: string }>(
  read: (after: { key: string; id: string } | null) => Promise<Item[]>,
): Promise<Item[]> {
  const all: Item[] = [];
  for (;;) {
    const last = all.at(-1);
    const rows = await read(last === undefined ? null : { key: last.sort_key ?? '', id: last.id });
    all.push(...rows.slice(0, ROWS_AT_ONCE));
    if (rows.length <= ROWS_AT_ONCE) return all;
  }
}

function print(rows: readonly Row[], json: boolean | undefined): void {
  process.stdout.write(json === true ? linesOf(rows) : tableOf(rows));
}

/** As `user set-role` takes it. A dispatcher has the role `user` beside the right. */
const roleOf = (role: 'admin' | 'user', isDispatcher: boolean) =>
  role === 'user' && isDispatcher ? 'dispatcher' : role;

/** Makes a user a dispatcher, or a plain user again, which revokes the tokens. */
export async function setRoleCommand(text: string, role: 'user' | 'dispatcher'): Promise<void> {
  const username = normalizeUsername(text);
  const by = operator();
  const done = await withDatabase(
    async (database) => {
      const account = await users.userShown(database, soon(), { username });
      if (account === null) fail(`no such user: ${username}`);
      const { id, dispatcher: isDispatcher, role: stored } = account.user;
      if (stored === 'admin') fail(`${username} is an admin: use 'admin remove' before`);
      if (role === 'dispatcher') {
        const admitted = await users.admitDispatcher(database, soon(), { user: id as UserId, by });
        if (admitted === null) fail(`${username} was deleted or promoted meanwhile`);
        return isDispatcher ? 'a dispatcher, as before' : 'a dispatcher';
      }
      const isTaken = await takeBack(database, soon(), {
        ...{ username, by, act: 'dispatcher_removed', who: 'dispatcher', withLogins: true },
        also: dispatcherToo(false),
      });
      return isTaken ? 'a plain user, revoked' : 'a plain user, as before';
    },
    { mayCreate: false },
  );
  console.log(`${username}: ${done}`);
}

/** Prints a user with device, talkgroups, key holders and open emergencies. */
export async function showUserCommand(text: string, { json }: Listed): Promise<void> {
  const username = normalizeUsername(text);
  const shown = await withDatabase((database) => users.userShown(database, soon(), { username }), {
    mayCreate: false,
  });
  if (shown === null) fail(`no such user: ${username}`);
  if (json === true) return void process.stdout.write(linesOf([shown]));
  const { user, device, key_holders: holders } = shown;
  process.stdout.write(
    [
      `${user.username}, ${roleOf(user.role, user.dispatcher)}, since ${user.created_at}, id ${user.id}`,
      device === null
        ? 'device: none. So there is no position and no lock by device'
        : `device: ${device.name}, serial ${device.serial}, site ${device.site}, ${device.active ? 'enabled' : 'disabled'}, position ${device.position_at ?? 'unknown'}`,
      `tokens: ${shown.tokens_valid_from === null ? 'none was revoked' : `revoked when issued before ${shown.tokens_valid_from}`}`,
      `key holders: ${holders.accepted} accepted, ${holders.waiting} waiting`,
      `open emergencies: ${shown.emergencies.length}`,
      `talkgroups: ${shown.talkgroups_total}`,
      '',
    ].join('\n'),
  );
  print(
    shown.talkgroups.map(({ id, name, site, floor_mode, encryption, may_have_keys }) => ({
      ...{ name, site, floor_mode, encryption, may_have_keys, id },
    })),
    false,
  );
}

interface NewUser {
  readonly serial?: string;
  readonly site?: string;
  readonly talkgroup?: readonly string[];
}

/** Adds a user, also while REGISTRATION is closed. Asks for the password. */
export async function addUserCommand(
  text: string,
  { serial, site = SITE_UNKNOWN, talkgroup: named = [] }: NewUser,
): Promise<void> {
  const username = readUsername(text);
  if (serial !== undefined) readText('--serial', serial);
  readText('--site', site);
  const passwordHash = await createPasswords().hash(await readNewPassword());
  await withDatabase(
    async (database) => {
      const groups: TalkgroupId[] = [];
      for (const called of named) groups.push(await talkgroupCalled(database, called));
      const account = { username, passwordHash, by: operator() };
      const added =
        serial === undefined
          ? await register(database, soon(), account)
          : await registerWithDevice(database, soon(), { ...account, serial: serial.normalize('NFC'), site });
      if (added === 'username_taken') fail(`username taken: ${username}`);
      if (added === 'device_disabled') fail(`the device ${serial} is disabled: no user was added`);
      for (const group of groups) await join(database, added.id, group);
    },
    { mayCreate: named.length === 0 },
  );
  console.log(`${username}: created${inDataDir()}`);
}

async function join(database: Database, user: UserId, talkgroup: TalkgroupId): Promise<void> {
  const notice = noticeOf({ kind: 'joined', user, talkgroup });
  const joined = await memberships.join(database, soon(), {
    ...{ user, talkgroup, notice, by: operator() },
  });
  if (joined !== 'joined') fail(`the user is added, and talkgroup ${talkgroup} was deleted meanwhile`);
}

/** The id of a talkgroup that is named by its name or its id. */
export async function talkgroupCalled(database: Database, called: string): Promise<TalkgroupId> {
  const id = readId<TalkgroupId>(called);
  const all = await talkgroupsWith(database, id === null ? called : null);
  const [one, second] = all.filter((each) => (id === null ? each.name === called : each.id === id));
  if (one === undefined) fail(`no such talkgroup: ${called}`);
  if (second !== undefined) fail(`several talkgroups are named ${called}: use the id`);
  return one.id as TalkgroupId;
}

/** In the order of their names. */
function talkgroupsWith(database: Database, find: string | null) {
  const order = { column: 'name', kind: 'text', isDescending: false } as const;
  return everyPage((after) =>
    talkgroups.managedTalkgroups(database, soon(), { limit: ROWS_AT_ONCE, order, after, find }),
  );
}

/** Deletes a plain user. */
export async function deleteUserCommand(text: string): Promise<void> {
  const username = normalizeUsername(text);
  const deleted = await withDatabase(
    async (database) => {
      const account = await accountNamed(database, soon(), username);
      return account === null
        ? 'user_not_found'
        : users.deleteUser(database, soon(), { user: account.id, by: operator() });
    },
    { mayCreate: false },
  );
  if (deleted === 'user_not_found') fail(`no such user: ${username}`);
  if (deleted === 'admin_account') fail(`${username} is an admin: use 'admin remove' before`);
  if (deleted === 'open_emergency') fail(`${username} has an open emergency: clear it before`);
  console.log(`${username}: deleted`);
}

/** Links a user with the device of a serial, or takes the device away. */
export async function setDeviceCommand(
  text: string,
  serial: string | undefined,
  { none: isNone = false, site = SITE_UNKNOWN }: { none?: boolean; site?: string },
): Promise<void> {
  const username = normalizeUsername(text);
  if ((serial === undefined) !== isNone) fail('give either a serial or --none');
  if (serial !== undefined) readText('the serial', serial);
  readText('--site', site);
  const done = await withDatabase(
    async (database) => {
      const account = await accountNamed(database, soon(), username);
      if (account === null) fail(`no such user: ${username}`);
      const move = (device: DeviceId | null) =>
        takeBack(database, soon(), {
          ...{ username, by: operator(), act: device === null ? 'device_unlinked' : 'device_linked' },
          ...{ also: deviceToo(device), withLogins: true, isRelinked: true },
        });
      if (serial === undefined) {
        if (account.device_id === null) return 'no device, as before';
        await move(null);
        return 'no device, revoked';
      }
      const link = { user: account.id, by: operator(), serial, site, mayBeAdmin: true };
      const linking = await linkDevice(database, soon(), link);
      const device = linking?.device ?? fail(`no such user: ${username}`);
      if (!device.active) fail(`the device ${serial} is disabled: nothing was changed`);
      if (linking?.before === device.id) return `device ${serial}, as before`;
      if (linking?.before === null) return `device ${serial}`;
      await move(device.id);
      return `device ${serial}, revoked`;
    },
    { mayCreate: false },
  );
  console.log(`${username}: ${done}`);
}

/** Prints the talkgroups in the order of their names. */
export async function listTalkgroupsCommand({ json }: Listed): Promise<void> {
  const all = await withDatabase((database) => talkgroupsWith(database, null), { mayCreate: false });
  print(
    all.map(({ id, name, floor_mode, max_talk_ms, encryption, members }) => ({
      ...{ name, floor_mode, max_talk_ms, encryption, members, id },
    })),
    json,
  );
}

/** Adds a talkgroup. */
export async function addTalkgroupCommand(
  name: string,
  { floorMode }: { floorMode: FloorMode },
): Promise<void> {
  readText('the name', name);
  const keyring = createKeyring(readConfig().SECRETS_KEY);
  const { id } = await withDatabase(
    async (database) => {
      await checkSecrets(database, soon(), keyring); // else nodes could not decrypt the new one
      return talkgroups.createTalkgroup(database, soon(), {
        name,
        floor_mode: floorMode,
        wrap: keyring.wrap,
        by: operator(),
      });
    },
    { mayCreate: true },
  );
  console.log(`${name}: created${inDataDir()}, id ${id}`);
}

/** As REST takes a name, a serial or a site. */
function readText(what: string, text: string): void {
  const characters = [...text].length;
  if (characters < 1 || characters > TEXT_CHARACTERS_MAX || !isClear(text))
    fail(`${what} must have 1 to ${TEXT_CHARACTERS_MAX} characters and ${CLEAR_TEXT_RULE}`);
}
