// Runs the command that prints the audit log.
import { isAct, type OneAct } from '../audit/schemas.js';
import { actsRead, usersNamedInActs } from '../audit/store.js';
import { normalizeUsername } from '../credentials/usernames.js';
import { ACT_NAMES, type Act } from '../db/acts.js';
import type { Database } from '../db/client.js';
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

/** Prints the acts of administrators and commands, the newest last, in parts: there may be any number. */
export async function auditCommand({ since, user: named, act: text, json }: AuditOptions): Promise<void> {
  const from = since === undefined ? null : readTime(since);
  const act = text === undefined ? null : readAct(text);
  await withDatabase(
    async (database) => {
      const who = named === undefined ? { users: null, name: null } : await readWho(database, named);
      for (let after = 0; ; ) {
        const wanted = { limit: ROWS_AT_ONCE, page: { after }, ...who, act, since: from };
        const rows = await actsRead(database, soon(), wanted, operator());
        const acts = rows.slice(0, ROWS_AT_ONCE);
        process.stdout.write(json === true ? linesOf(acts) : tableOf(acts.map(rowOf)));
        if (rows.length <= ROWS_AT_ONCE) return;
        after = acts.at(-1)?.id ?? 0;
      }
    },
    { mayCreate: false },
  );
}

/** A user, also one that was deleted, or a command by its name. */
async function readWho(database: Database, named: string) {
  const name = normalizeUsername(named);
  const users = await usersNamedInActs(database, soon(), name);
  const isCommand = /^command |^service$/.test(name);
  if (users.length === 0 && !isCommand) fail(`no such user: ${name}`);
  return { users, name: isCommand ? name : null };
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

/** Without a zone a time is one of UTC, as the printed ones are. JavaScript would take it for a local one. */
const inUtc = (text: string) => (/T[\d:.]+$/.test(text) ? `${text}Z` : text);

/** A time in ISO 8601, or how long ago, such as `2d`. */
function readTime(text: string): string {
  const [, count, unit] = /^(\d{1,5})([smhd])$/.exec(text) ?? [];
  const time =
    unit === undefined
      ? new Date(/^\d{4}-\d{2}-\d{2}/.test(text) ? inUtc(text) : Number.NaN)
      : new Date(Date.now() - Number(count) * MS[unit as keyof typeof MS]);
  if (Number.isNaN(time.getTime()))
    fail(`--since must be a time such as 2026-01-31 or 2026-01-31T08:00Z, or an age such as 90m, 12h or 2d`);
  return time.toISOString();
}
