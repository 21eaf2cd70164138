// The catalogue of faults. Each draws its particulars from the seed beforehand, so that a schedule is known, and can be
// had again, before anything happens. What a fault breaks it mends at its end.
import postgres from 'postgres';
import { END } from '../../src/protocol/frame.js';
import { eventually } from '../helpers/eventually.js';
import type { Random } from '../helpers/random.js';
import { inTime } from './database.js';
import {
  anyRadio,
  type Catalogue,
  existing,
  type Fault,
  type Mend,
  type Plan,
  repeat,
  type ScheduledFault,
  scheduleOf,
} from './fault.js';
import { databaseLinkFaults, relayLinkFaults } from './link-faults.js';
import type { CrewRadio, Talkgroup } from './radio.js';
import { rightFaults } from './right-faults.js';
import type { Scene } from './scene.js';
import { CREW } from './staff.js';

const FAULTS_MAX = 3;

/** One to three faults, each of another kind, for an episode of so long. The same for the same numbers. */
export const schedule = (random: Random, episodeMs: number): ScheduledFault[] =>
  scheduleOf(catalogue, { random, episodeMs, count: random.whole(1, FAULTS_MAX) });

const databaseFaults: readonly Fault[] = [
  {
    name: 'backends are killed',
    plan(random) {
      const everyMs = random.whole(50, 500);
      return {
        detail: `all, every ${everyMs} ms`,
        begin: ({ sql }) => repeat(everyMs, () => terminate(sql, 'talkgroup-radio%')),
      };
    },
  },
  {
    name: 'the notification connection is killed',
    plan(random) {
      const everyMs = random.whole(200, 1500);
      return {
        detail: `every ${everyMs} ms`,
        begin: ({ sql }) => repeat(everyMs, () => terminate(sql, 'talkgroup-radio-notices')),
      };
    },
  },
  {
    name: 'the postmaster is killed',
    plan: () => ({
      detail: 'kill -9; it is started again at once',
      async begin({ postmaster }) {
        await postmaster.kill();
        return () => {};
      },
    }),
  },
  {
    name: 'a table is locked',
    plan(random) {
      const table = random.pick(['memberships', 'users', 'devices', 'talkgroups', 'gps_fixes']);
      return { detail: table, begin: ({ databaseUrl }) => lock(databaseUrl, table) };
    },
  },
  {
    name: 'the database is read-only',
    plan: () => ({
      detail: 'as behind a failover to a replica',
      async begin({ sql, databaseUrl }) {
        const name = new URL(databaseUrl).pathname.slice(1);
        await sql.unsafe(`alter database ${name} set default_transaction_read_only = on`);
        await terminate(sql, 'talkgroup-radio%');
        return () =>
          eventually(() => sql.unsafe(`alter database ${name} reset default_transaction_read_only`)).then();
      },
    }),
  },
];

const processFaults: readonly Fault[] = [
  {
    name: 'the server is suspended',
    plan(random) {
      const ms = random.whole(1000, 3000);
      return {
        detail: `SIGSTOP, SIGCONT after ${ms} ms`,
        async begin({ server }) {
          await server.suspend(ms);
          return () => {};
        },
      };
    },
  },
  {
    name: 'the server is killed',
    plan: () => ({
      detail: 'kill -9, and started again',
      async begin({ server }) {
        await server.kill();
        await server.start();
        return () => {};
      },
    }),
  },
  {
    name: 'the server is restarted',
    plan: () => ({
      detail: 'SIGTERM, and started again',
      async begin({ server }) {
        await server.terminate();
        await server.start();
        return () => {};
      },
    }),
  },
];

const FLOOD_MS = 20;

const radioFaults: readonly Fault[] = [
  {
    name: 'listeners stop reading',
    plan(random) {
      const which = random.some([...Array(CREW).keys()], random.whole(1, 4));
      return {
        detail: `radios ${which.join(', ')}`,
        begin({ crew, notes }) {
          const deaf = which.map((index) => existing(crew[index]));
          for (const radio of deaf) {
            notes.touched.add(radio.index);
            radio.deaf(true);
          }
          return () => {
            for (const radio of deaf) radio.deaf(false);
          };
        },
      };
    },
  },
  {
    name: 'a radio floods with frames',
    plan: (random) => flood(random, (radio, talkgroup, sequence) => void radio.say(talkgroup, sequence, 0)),
  },
  {
    name: 'a radio floods with questions',
    plan: (random) => flood(random, (radio, _, t) => radio.sayText(JSON.stringify({ type: 'PING', t }))),
  },
];

const catalogue: Catalogue<Scene> = {
  databaseLink: databaseLinkFaults(),
  relayLink: relayLinkFaults(),
  database: databaseFaults,
  process: processFaults,
  radio: radioFaults,
  right: rightFaults,
};

async function terminate(sql: postgres.Sql, name: string): Promise<void> {
  await inTime(sql`select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and application_name like ${name}`);
}

/** Not by sql.begin: when the postmaster is killed meanwhile, the lock is gone, and there is no client to tell. */
async function lock(url: string, table: string): Promise<Mend> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  const locked = sql.unsafe(`begin read write; lock table ${table}`).simple();
  await locked.catch(() => {}); // expected: the database is away
  return () => sql.end({ timeout: 1 });
}

function flood(random: Random, say: (radio: CrewRadio, talkgroup: Talkgroup, count: number) => void): Plan {
  const [which, perTurn] = [anyRadio(random), random.whole(10, 60)];
  return {
    detail: `radio ${which}, ${(perTurn * 1000) / FLOOD_MS} a second`,
    begin({ crew, notes }) {
      const radio = existing(crew[which]);
      const [talkgroup] = radio.talkgroups;
      notes.touched.add(radio.index);
      radio.isAbusive = true;
      let count = 0;
      const stop = repeat(FLOOD_MS, () => {
        for (let one = 0; one < perTurn; one++) say(radio, existing(talkgroup), count++);
      });
      return async () => {
        await stop();
        radio.say(existing(talkgroup), count, END);
      };
    },
  };
}
