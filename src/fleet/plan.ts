// Plans an import: a function of the rows of the file and of what the database has. It writes nothing.
import { isPassword } from '../credentials/passwords.js';
import { isNewUsername, normalizeUsername } from '../credentials/usernames.js';
import { SITE_UNKNOWN } from '../db/device-link.js';
import { TEXT_CHARACTERS_MAX } from '../http/schemas.js';
import { type DeviceId, readId, type TalkgroupId, type UserId } from '../ids.js';
import { CLEAR_TEXT_RULE, isClear } from '../text.js';
import { type Column, type Line, type LineError, SEPARATOR } from './csv.js';

const TALKGROUPS_MAX = 64;

/** What the database has of the rows. */
export interface Known {
  readonly users: ReadonlyMap<string, KnownUser>;
  /** By serial, in NFC. */
  readonly devices: ReadonlyMap<string, KnownDevice>;
  readonly talkgroups: readonly { readonly id: TalkgroupId; readonly name: string }[];
}

export interface KnownUser {
  readonly id: UserId;
  /** null: no device is linked. */
  readonly serial: string | null;
  readonly talkgroups: readonly TalkgroupId[];
  readonly is_admin: boolean;
  readonly is_dispatcher: boolean;
}

export interface KnownDevice {
  readonly id: DeviceId;
  readonly name: string;
  readonly site: string;
  readonly active: boolean;
}

/** What the rows name, each once, in the form in which it is looked for. */
export interface Names {
  readonly usernames: readonly string[];
  readonly serials: readonly string[];
  /** Names and ids. */
  readonly talkgroups: readonly string[];
}

const usernameIn = ({ cells }: Line) => normalizeUsername(cells.username ?? '');
const serialIn = ({ cells }: Line) => cells.serial?.normalize('NFC');
const calledIn = ({ cells }: Line) => (cells.talkgroups ?? '').split(SEPARATOR).map((one) => one.trim());

/** Without what the database cannot look for: the plan names its line. */
export function namesIn(lines: readonly Line[]): Names {
  const unique = (texts: readonly string[]) =>
    [...new Set(texts)].filter((text) => text !== '' && !text.includes('\0'));
  return {
    usernames: unique(lines.map(usernameIn)),
    serials: unique(lines.flatMap((line) => serialIn(line) ?? [])),
    talkgroups: unique(lines.flatMap(calledIn)),
  };
}

export interface PlanOptions {
  readonly known: Known;
  readonly mayCreateTalkgroups: boolean;
  readonly makesPasswords: boolean;
  readonly passwordLengthMin: number;
  /** ADMIN_USERNAME, whose account the service makes itself. */
  readonly adminUsername: string;
}

/** A talkgroup by its id, or by its name when the import is to create it. */
export type Group = { readonly id: TalkgroupId } | { readonly name: string };

/** What one row adds. */
export interface Step {
  readonly line: number;
  readonly username: string;
  /** null: a new user. */
  readonly user: UserId | null;
  /** Of a new user. null: one is to be made. */
  readonly password: string | null;
  /** To link, and to create when there is none. null: the link stays as it is. */
  readonly device: NewDevice | null;
  readonly talkgroups: readonly Group[];
  /** Becomes one. */
  readonly isDispatcher: boolean;
}

export interface NewDevice {
  readonly serial: string;
  readonly name: string;
  readonly site: string;
}

export interface Plan {
  /** Rows that add something. */
  readonly steps: readonly Step[];
  readonly unchanged: number;
  /** Devices that are there and get another name or site. */
  readonly devices: readonly { readonly id: DeviceId; readonly name: string; readonly site: string }[];
  /** Names of new talkgroups. */
  readonly talkgroups: readonly string[];
  /** With one of them nothing is written. */
  readonly errors: readonly LineError[];
}

/** What a row says of its device. */
interface Row {
  readonly line: number;
  readonly name: string | undefined;
  readonly site: string | undefined;
}

/** Name and site of a device, and the line that says so. */
type Named = { [Column in 'device_name' | 'site']?: { readonly text: string; readonly line: number } };

const TEXT_RULE = `must have 1 to ${TEXT_CHARACTERS_MAX} characters and ${CLEAR_TEXT_RULE}`;
const isText = (text: string) => [...text].length <= TEXT_CHARACTERS_MAX && isClear(text);

export function planOf(lines: readonly Line[], options: PlanOptions): Plan {
  const { known } = options;
  const errors: LineError[] = [];
  const steps: (Omit<Step, 'device'> & { readonly device: string | null })[] = [];
  const lineOf = new Map<string, number>();
  const named = new Map<string, Named>();
  const created = new Set<string>();
  const idsOf = new Map<string, TalkgroupId[]>();
  const byId = new Set(known.talkgroups.map(({ id }) => id));
  for (const { id, name } of known.talkgroups) idsOf.set(name, [...(idsOf.get(name) ?? []), id]);
  let unchanged = 0;

  function planLine(row: Line): void {
    const { line, cells } = row;
    const before = errors.length;
    const fault = (column: Column, text: string) => void errors.push({ line, column, text });
    const username = usernameIn(row);
    const user = known.users.get(username) ?? null;
    // Accounts of before may have names that are not clear.
    if (user === null && !isNewUsername(username))
      return fault('username', `must have 1 to 64 characters and ${CLEAR_TEXT_RULE}`);
    if (user === null && username === options.adminUsername)
      return fault('username', `${username} is ADMIN_USERNAME: use 'admin add'`);
    const first = lineOf.get(username);
    if (first !== undefined) return fault('username', `${username} is in line ${first} as well`);
    lineOf.set(username, line);
    const serial = serialIn(row);
    const device = serial === undefined ? undefined : known.devices.get(serial);
    const text = (column: 'serial' | 'device_name' | 'site', value: string | undefined, stored?: string) => {
      if (value === undefined || value === stored || isText(value)) return value;
      fault(column, TEXT_RULE);
      return undefined;
    };
    text('serial', serial, device && serial);
    const name = text('device_name', cells.device_name, device?.name);
    const site = text('site', cells.site, device?.site);
    if (serial === undefined && (name ?? site) !== undefined)
      fault(name === undefined ? 'site' : 'device_name', 'needs a serial');
    const linked = user?.serial?.normalize('NFC') ?? null;
    const links = serial !== undefined && linked === null;
    if (serial !== undefined && linked !== null && linked !== serial)
      fault('serial', `${username} has the device ${linked}: use 'user set-device'`);
    if (links && device?.active === false) fault('serial', `the device ${serial} is disabled`);
    const password = user === null ? passwordOf(cells.password, fault) : null;
    const isDispatcher = isNewDispatcher(row, user, fault);
    const groups = groupsOf(calledIn(row), user?.talkgroups ?? [], fault);
    if (errors.length > before) return;
    if (serial !== undefined) nameDevice(serial, { line, name, site }, fault);
    if (errors.length > before) return;
    if (user !== null && !links && groups.length === 0 && !isDispatcher) {
      unchanged++;
      return;
    }
    steps.push({
      ...{ line, username, user: user?.id ?? null, password },
      ...{ device: links ? serial : null, talkgroups: groups, isDispatcher },
    });
  }

  type Fault = (column: Column, text: string) => void;

  /** All rows of a device must agree, because it is there once. */
  function nameDevice(serial: string, { line, name, site }: Row, fault: Fault): void {
    const device = named.get(serial) ?? {};
    named.set(serial, device);
    for (const [column, text] of [
      ['device_name', name],
      ['site', site],
    ] as const) {
      if (text === undefined) continue;
      device[column] ??= { text, line };
      const other = device[column];
      if (other.text !== text)
        fault(column, `${serial} has another ${column === 'site' ? 'site' : 'name'} in line ${other.line}`);
    }
  }

  /** An import takes no right away. */
  function isNewDispatcher({ cells }: Line, user: KnownUser | null, fault: Fault): boolean {
    const { dispatcher } = cells;
    if (dispatcher === undefined) return false;
    if (dispatcher !== 'yes' && dispatcher !== 'no') fault('dispatcher', 'must be yes or no');
    else if (dispatcher === 'no' && user?.is_dispatcher)
      fault('dispatcher', `${usernameIn({ line: 0, cells })} is a dispatcher: use 'user set-role'`);
    else if (dispatcher === 'yes' && user?.is_admin)
      fault('dispatcher', `${usernameIn({ line: 0, cells })} is an admin, who may do the same`);
    return dispatcher === 'yes' && user?.is_dispatcher !== true;
  }

  function passwordOf(password: string | undefined, fault: Fault): string | null {
    if (password === undefined) {
      if (!options.makesPasswords)
        fault('password', 'a new user needs one: add it, or use --codes or --passwords');
      return null;
    }
    if (!isPassword(password)) fault('password', 'must have 1 to 72 bytes of UTF-8 without NUL');
    else if ([...password].length < options.passwordLengthMin)
      fault('password', `must have at least ${options.passwordLengthMin} characters`);
    return password;
  }

  /** Those that the user is not in. */
  function groupsOf(cell: readonly string[], isIn: readonly TalkgroupId[], fault: Fault): Group[] {
    const added: Group[] = [];
    for (const called of new Set(cell)) {
      const group = called === '' ? null : groupCalled(called, fault);
      if (group !== null && !('id' in group && isIn.includes(group.id))) added.push(group);
    }
    if (added.length > TALKGROUPS_MAX)
      fault('talkgroups', `adds ${added.length} talkgroups, at most ${TALKGROUPS_MAX}`);
    return added;
  }

  function groupCalled(called: string, fault: Fault): Group | null {
    const id = readId<TalkgroupId>(called);
    if (id !== null && byId.has(id)) return { id };
    const [one, second] = idsOf.get(called) ?? [];
    if (one !== undefined && second === undefined) return { id: one };
    if (second !== undefined) fault('talkgroups', `several talkgroups are named ${called}: use the id`);
    else if (!isText(called)) fault('talkgroups', `a name ${TEXT_RULE}`);
    else if (id !== null) fault('talkgroups', `no such talkgroup: ${called}`);
    else if (!options.mayCreateTalkgroups)
      fault('talkgroups', `no such talkgroup: ${called}. --create-talkgroups creates it`);
    else {
      created.add(called);
      return { name: called };
    }
    return null;
  }

  /** Another row than the one that links it may name it. */
  const deviceOf = (serial: string): NewDevice => {
    const { device_name, site } = named.get(serial) ?? {};
    return { serial, name: device_name?.text ?? serial, site: site?.text ?? SITE_UNKNOWN };
  };

  for (const line of lines) planLine(line);
  const devices = [...named].flatMap(([serial, { device_name, site }]) => {
    const device = known.devices.get(serial);
    if (device === undefined) return [];
    const wanted = {
      ...{ id: device.id, name: device_name?.text ?? device.name, site: site?.text ?? device.site },
    };
    return wanted.name === device.name && wanted.site === device.site ? [] : [wanted];
  });
  return {
    steps: steps.map((step) => ({ ...step, device: step.device === null ? null : deviceOf(step.device) })),
    ...{ unchanged, devices, talkgroups: [...created], errors },
  };
}
