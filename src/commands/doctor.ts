// Runs the command that finds out why a radio hears nothing.
import { accountNamed } from '../auth/store.js';
import { normalizeUsername } from '../credentials/usernames.js';
import { diagnose } from '../users/diagnosis/diagnosing.js';
import type { Diagnosis } from '../users/diagnosis/schemas.js';
import { talkgroupCalled } from './fleet.js';
import { fail, soon, withDatabase } from './running.js';
import { linesOf, tableOf } from './table.js';

/** Prints the findings in sentences, the likeliest cause first, and behind them what the relays know. */
export async function doctorCommand(
  text: string,
  { talkgroup: called, json }: { talkgroup?: string; json?: boolean },
): Promise<void> {
  const username = normalizeUsername(text);
  const diagnosis = await withDatabase(
    async (database) => {
      const account = await accountNamed(database, soon(), username);
      if (account === null) fail(`no such user: ${username}`);
      const talkgroup = called === undefined ? null : await talkgroupCalled(database, called);
      return diagnose(database, soon, { user: account.id, talkgroup });
    },
    { mayCreate: false },
  );
  if (typeof diagnosis === 'string') fail(`${username} or the talkgroup was deleted meanwhile`);
  const { findings, sessions, rejected, relays } = diagnosis;
  if (json === true) return void process.stdout.write(linesOf([diagnosis]));
  const tables = [tableOf(sessions.map(sessionRow)), tableOf(rejected)].filter((table) => table !== '');
  process.stdout.write(
    [
      ...findings.map(({ text, action }) => `${text}\n  ${action}\n`),
      `${relays.answered} of ${relays.asked} nodes answered\n`,
      ...tables,
    ].join('\n'),
  );
}

const sessionRow = ({
  node,
  session,
  since,
  address,
  client,
  round_trip_ms,
  heard_at,
  missed,
  last_refusal,
}: Diagnosis['sessions'][number]) => ({
  ...{ session, node, since, address, client, round_trip_ms, heard_at, missed },
  last_refusal: last_refusal?.code ?? null,
});
