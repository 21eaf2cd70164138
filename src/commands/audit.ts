// Runs the command that prints the audit log.
import { isAct, type OneAct } from '../audit/schemas.js';
import { actsRead, userOfActs } from '../audit/store.js';
import { normalizeUsername } from '../credentials/usernames.js';
import { ACT_NAMES, type Act } from '../db/acts.js';
import { fail, operator, soon, withDatabase } from './running.js';
import { linesOf, tableOf } from './table.js';

/** Rows that one statement reads. */
const ROWS_AT_ONCE = 1000;

const MS = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

export interface AuditOptions {
  readonly since?: string;
  readonly user?: string;
  readonly act?: string;
  readonly json?: boolean;
}

/** Prints what administrators and commands did, the newest last. */
export async function auditCommand({ since, user: named, act: text, json }: AuditOptions): Promise<void> {
  const from = since === undefined ? null : readTime(since);
  const act = text === undefined ? null : readAct(text);
  const acts = await withDatabase(
    async (database) => {
      const username = named === undefined ? null : normalizeUsername(named);
      const user = username === null ? null : await userOfActs(database, soon(), username);
      if (username !== null && user === null) fail(`no such user: ${username}`);
      const all: OneAct[] = [];
      for (let before: number | null = null; ; ) {
        const wanted = { limit: ROWS_AT_ONCE, before, user, act, since: from };
        const rows = await actsRead(database, soon(), wanted, operator());
        all.push(...rows.slice(0, ROWS_AT_ONCE));
        if (rows.length <= ROWS_AT_ONCE) return all.reverse();
        before = all.at(-1)?.id ?? null;
      }
    },
    { mayCreate: false },
  );
  process.stdout.write(json === true ? linesOf(acts) : tableOf(acts.map(rowOf)));
}

/** An act for eyes: names in the place of ids. */
function rowOf({ at, by_name: by, way, act, details: { username, serial, talkgroup, ...rest } }: OneAct) {
  const more = Object.entries(rest).map(([key, value]) => `${key} ${value}`);
  return {
    ...{ at, by, way, act, user: username ?? null, device: serial ?? null, talkgroup: talkgroup ?? null },
    details: more.join(', ') || null,
  };
}

function readAct(text: string): Act {
  return isAct(text) ? text : fail(`--act must be one of ${ACT_NAMES.join(', ')}`);
}

/** A time in ISO 8601, or how long ago, such as `2d`. */
function readTime(text: string): string {
  const [, count, unit] = /^(\d{1,5})([smhd])$/.exec(text) ?? [];
  const time =
    unit === undefined
      ? new Date(/^\d{4}-\d{2}-\d{2}/.test(text) ? text : Number.NaN)
      : new Date(Date.now() - Number(count) * MS[unit as keyof typeof MS]);
  if (Number.isNaN(time.getTime()))
    fail(`--since must be a time such as 2026-01-31 or 2026-01-31T08:00Z, or an age such as 90m, 12h or 2d`);
  return time.toISOString();
}
