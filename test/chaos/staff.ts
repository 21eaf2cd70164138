// The people of a run and their talkgroups, made by REST as any client makes them.
import type postgres from 'postgres';
import { eventually } from '../helpers/eventually.js';
import type { FloorMode, Person, Talkgroup } from './radio.js';
import type { Call } from './requests.js';

/** Members are the crew from one index to another, around the end. */
export interface TalkgroupPlan {
  readonly name: string;
  readonly mode: FloorMode;
  readonly from: number;
  readonly to: number;
}

export interface Staff {
  readonly adminToken: string;
  readonly talkgroups: readonly Talkgroup[];
  /** For the ledger: talkgroups without talk, people without radios, devices without users who care. */
  readonly files: readonly Talkgroup[];
  readonly clerks: readonly Person[];
  readonly spareDevices: readonly string[];
  /** Those with a radio. */
  readonly crew: readonly Person[];
}

/** Radios. */
export const CREW = 24;
export const CLERKS = 5;
/** All of them, over one node. One in four of the crew is an administrator where a talkgroup is `broadcast`. */
export async function recruit(
  call: Call,
  { sql, plans }: { sql: postgres.Sql; plans: readonly TalkgroupPlan[] },
): Promise<Staff> {
  async function must(ask: Parameters<Call>[0]): Promise<Record<string, unknown>> {
    const { status, body } = await call(ask);
    if (status !== 200) throw new Error(`${ask.method} ${ask.path}: ${status} ${JSON.stringify(body)}`);
    return body;
  }
  const login = { username: ADMIN.ADMIN_USERNAME, password: ADMIN.ADMIN_PASSWORD };
  const adminToken = String((await must({ method: 'POST', path: '/auth/login', body: login })).jwt);

  async function talkgroup(name: string, mode: FloorMode): Promise<Talkgroup> {
    const body = { name, floor_mode: mode };
    const created = await must({ method: 'POST', path: '/talkgroups', token: adminToken, body });
    const { id } = created.talkgroup as { id: string };
    const [row] = await sql`select number::int from talkgroups where id = ${id}`;
    return { id, name, number: row?.number, mode };
  }

  async function account(
    name: string,
  ): Promise<Omit<Person, 'talkgroups' | 'index' | 'deviceId' | 'isAdmin'>> {
    const body = { username: name, password: PASSWORD, deviceSerial: `of ${name}` };
    const { jwt, userId } = await must({ method: 'POST', path: '/auth/register', body });
    return { name, password: PASSWORD, id: String(userId), token: String(jwt) };
  }

  const talkgroups = await Promise.all(plans.map(({ name, mode }) => talkgroup(name, mode)));
  for (const { id } of talkgroups) {
    const body = { recording_days: 1 };
    // Nodes that have just begun do not know of each other yet.
    await eventually(() => must({ method: 'PATCH', path: `/talkgroups/${id}`, token: adminToken, body }));
  }
  const files = await Promise.all(['File A', 'File B'].map((name) => talkgroup(name, 'open')));
  const accounts = [];
  for (let index = 0; index < CREW + CLERKS + SPARE_DEVICES; index++)
    accounts.push(await account(`ann-${index}`));
  const listed = await must({ method: 'GET', path: '/devices', token: adminToken });
  const devices = new Map(
    (listed.devices as { id: string; serial: string }[]).map(({ id, serial }) => [serial, id]),
  );
  const hasAdmins = plans.some(({ mode }) => mode === 'broadcast');
  const people = accounts.map((one, index) => ({
    ...{ ...one, index, deviceId: devices.get(`of ${one.name}`) ?? '' },
    isAdmin: hasAdmins && index < CREW && index % 4 === 0,
    talkgroups: index < CREW ? talkgroups.filter((_, at) => isMember(index, plans[at])) : [],
  }));
  const admins = people.filter(({ isAdmin }) => isAdmin).map(({ id }) => id);
  await sql`update users set role = 'admin' where id = any(${admins}::uuid[])`;
  for (const person of people) {
    for (const { id } of person.talkgroups)
      await must({ method: 'POST', path: `/talkgroups/${id}/join`, token: person.token });
  }
  return {
    adminToken,
    talkgroups,
    files,
    crew: people.slice(0, CREW),
    clerks: people.slice(CREW, CREW + CLERKS),
    spareDevices: people.slice(CREW + CLERKS).map(({ deviceId }) => deviceId),
  };
}

const SPARE_DEVICES = 3;
const PASSWORD = 'over and out';
/** Settings of the service that the scene relies on. */
export const ADMIN = { ADMIN_USERNAME: 'chief', ADMIN_PASSWORD: 'chief of chaos' };

function isMember(index: number, { from, to }: TalkgroupPlan = NOBODY): boolean {
  return (index >= from && index < to) || (index + CREW >= from && index + CREW < to);
}

const NOBODY: TalkgroupPlan = { name: '', mode: 'open', from: 0, to: 0 };
