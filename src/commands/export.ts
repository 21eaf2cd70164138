// Runs the command that exports a fleet to a CSV file.
import { rm } from 'node:fs/promises';
import { noteAct } from '../db/acts.js';
import type { Database } from '../db/client.js';
import { COLUMNS, csvLine, SEPARATOR } from '../fleet/csv.js';
import { type Exported, exportedAfter, sharedNames } from '../fleet/store.js';
import type { UserId } from '../ids.js';
import { LONG_COMMAND, standBack } from '../priority.js';
import { createNew, operator, soon, withDatabase } from './running.js';

/** Writes all users with devices and talkgroups to a new file. An import of it changes nothing. */
export async function exportCommand(file: string): Promise<void> {
  standBack(LONG_COMMAND); // before any thread is started: audio must not wait for it
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
      is_dispatcher && !is_admin ? 'yes' : '',
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
