// A process to be cut off: opens the guarded client and a listener, says when the database is up and down, and closes
// both when its standard input ends.
import { setTimeout as delay } from 'node:timers/promises';
import { openDatabase } from '../../../src/db/client.js';
import { deadlineIn } from '../../../src/db/deadline.js';
import { listenForNotices } from '../../../src/db/notices.js';
import { HANGS_MS } from '../eventually.js';

const [url = ''] = process.argv.slice(2);
const log = { warn() {}, info() {} };
const database = openDatabase({ url, connections: 4, log });
const listening = new Promise<void>((resolve) => {
  const notices = listenForNotices({ url, database, onNotice() {}, onGap: () => resolve(), log, beatMs: 50 });
  process.stdin.resume().once('end', async () => {
    await notices.close();
    await database.close();
  });
});
await listening;
await database.up(deadlineIn(HANGS_MS));
console.log('up');
while (database.trouble() === null) {
  // Refused on a broken link, which is what is waited for.
  await database.read(deadlineIn(1000), (sql) => sql`select 1`).catch(() => {});
  await delay(20);
}
if (database.trouble() !== 'closed') console.log('down');
