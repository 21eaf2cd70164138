// The ledger: every write by REST with what was said of it, and what is there when all is quiet again.
import type postgres from 'postgres';
import { AppError } from '../../src/errors.js';
import type { Random } from '../helpers/random.js';
import { inTime } from './database.js';
import type { Entry, History } from './history.js';
import type { Person, Talkgroup } from './radio.js';
import type { Answer, Call } from './requests.js';

export interface Ledger {
  /** One write of something, then often a look whether it is there, and a note of both. */
  write(): Promise<void>;
  /** Reads everything back that was ever written, and begins a new page with that. Throws when it is not answered. */
  close(): Promise<LedgerPage>;
}

export type LedgerPage = Pick<History, 'entries' | 'before' | 'surprises'>;

export interface LedgerParts {
  readonly call: Call;
  readonly sql: postgres.Sql;
  readonly random: Random;
  readonly adminToken: string;
  /** Who joins and leaves, and whose devices get fixes. */
  readonly people: readonly Person[];
  /** Where they join and leave. No radio is there. */
  readonly talkgroups: readonly Talkgroup[];
  /** Begins the names of those that it registers. */
  readonly newcomers: string;
  /** Devices that are switched on and off. No user has them. */
  readonly spareDevices: readonly string[];
}

/** Something that has one value at a time. */
interface Key {
  readonly name: string;
  write(): Promise<{ readonly value: string; readonly answer: Answer }>;
  /** null: it was not answered. */
  read(): Promise<string | null>;
}

/** Each may take 2.5 s. */
const LOOKS_MAX = 5;

/** A ledger that takes what it finds as the start. */
export async function openLedger(parts: LedgerParts): Promise<Ledger> {
  const { random } = parts;
  const keys = [...membershipKeys(parts), ...fixKeys(parts), ...deviceKeys(parts)];
  const busy = new Set<Key>();
  let newcomers: Key[] = [];
  let entries: Entry[] = [];
  let surprises: string[] = [];
  let before = new Map<string, string>();
  let newcomerCount = 0;

  async function write(key: Key): Promise<void> {
    const { value, answer } = await key.write();
    const outcome = outcomeOf(answer);
    if (outcome === null) surprises.push(`${key.name}: ${answer.status} ${JSON.stringify(answer.body)}`);
    else entries.push({ key: key.name, value, outcome });
    if (random.next() < 0.5) await look(key);
  }

  async function look(key: Key): Promise<string | null> {
    const value = await key.read();
    if (value !== null) entries.push({ key: key.name, value, outcome: 'found' });
    return value;
  }

  /** On a busy machine a read may get 503, which says nothing of what is stored. */
  async function lookAgain(key: Key): Promise<string | null> {
    for (let tries = 1; tries < LOOKS_MAX; tries++) {
      const value = await look(key);
      if (value !== null) return value;
    }
    return look(key);
  }

  function newcomer(): Key {
    const key = newcomerKey(parts, `${parts.newcomers}-${newcomerCount++}`);
    before.set(key.name, 'absent');
    newcomers.push(key);
    return key;
  }

  async function close(): Promise<LedgerPage> {
    const found = new Map<string, string>();
    for (const key of [...keys, ...newcomers]) {
      const value = await lookAgain(key);
      if (value === null) throw new Error(`the ledger could not be read back: ${key.name}`);
      found.set(key.name, value);
    }
    const page = { entries, before, surprises };
    [entries, before, surprises, newcomers] = [[], found, [], []];
    return page;
  }

  for (const key of keys) before.set(key.name, (await key.read()) ?? '');
  return {
    async write() {
      // A registration costs 50 ms of hashing: one in twelve.
      const free = keys.filter((key) => !busy.has(key));
      const [key = newcomer()] = random.next() < 1 / 12 ? [] : random.some(free, 1);
      busy.add(key); // two writes of one key at a time would leave open which came last
      await write(key);
      busy.delete(key);
    },
    close,
  };
}

/** null: an answer that a right write should never get. */
export function outcomeOf({ status, wasConnected, body }: Omit<Answer, 'atMs'>): Entry['outcome'] | null {
  if (status === 200) return 'stored';
  if (status === null) return wasConnected ? 'unknown' : 'refused';
  if (status === 429) return 'refused';
  if (status !== 503) return null;
  if (body.error === STORED) return 'stored';
  return body.error === UNKNOWN ? 'unknown' : 'refused';
}

const { message: STORED } = new AppError('relay_unconfirmed');
const { message: UNKNOWN } = new AppError('outcome_unknown');

function membershipKeys({ call, random, people, talkgroups }: LedgerParts): Key[] {
  return people.flatMap(({ name, token }) =>
    talkgroups.map((talkgroup) => ({
      name: `${name} in ${talkgroup.name}`,
      async write() {
        const joins = random.next() < 0.5;
        const [method, path] = joins ? ['POST', 'join'] : ['DELETE', 'leave'];
        const answer = await call({ method, path: `/talkgroups/${talkgroup.id}/${path}`, token });
        return { value: joins ? 'in' : 'out', answer };
      },
      async read() {
        const { status, body } = await call({ method: 'GET', path: '/talkgroups', token });
        if (status !== 200) return null;
        const { talkgroups: own } = body as { talkgroups: { talkgroup_id: string }[] };
        return own.some(({ talkgroup_id }) => talkgroup_id === talkgroup.id) ? 'in' : 'out';
      },
    })),
  );
}

function fixKeys({ call, random, people }: LedgerParts): Key[] {
  return people.map(({ deviceId, token }) => {
    const path = `/devices/${deviceId}/gps`;
    return {
      name: `fix of ${deviceId}`,
      async write() {
        const [lat, lng, alt] = [random.whole(-90, 90), random.whole(-180, 180), random.whole(0, 1000)];
        const answer = await call({ method: 'POST', path, token, body: { lat, lng, alt } });
        return { value: `${lat} ${lng} ${alt}`, answer };
      },
      async read() {
        const { status, body } = await call({ method: 'GET', path, token });
        if (status === 404) return 'none';
        if (status !== 200) return null;
        const { lat, lng, alt } = body.gps as { lat: number; lng: number; alt: number };
        return `${lat} ${lng} ${alt}`;
      },
    };
  });
}

function deviceKeys({ call, random, spareDevices, adminToken: token }: LedgerParts): Key[] {
  return spareDevices.map((device) => ({
    name: `device ${device}`,
    async write() {
      const active = random.next() < 0.5;
      const answer = await call({
        method: 'PATCH',
        path: `/devices/${device}/status`,
        token,
        body: { active },
      });
      return { value: active ? 'active' : 'disabled', answer };
    },
    async read() {
      const { status, body } = await call({ method: 'GET', path: '/devices', token });
      if (status !== 200) return null;
      const { devices } = body as { devices: { id: string; active: boolean }[] };
      return devices.find(({ id }) => id === device)?.active ? 'active' : 'disabled';
    },
  }));
}

function newcomerKey({ call, sql }: LedgerParts, username: string): Key {
  return {
    name: `user ${username}`,
    async write() {
      const body = { username, password: 'over and out' };
      return { value: 'there', answer: await call({ method: 'POST', path: '/auth/register', body }) };
    },
    // Around the service, for no route tells whether a name is taken without taking it.
    async read() {
      const rows = await inTime(sql`select 1 from users where username = ${username}`).catch(() => null);
      if (rows === null) return null; // expected: the database is one of those that are broken
      return rows.length > 0 ? 'there' : 'absent';
    },
  };
}
