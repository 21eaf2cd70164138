// Bare commits beside a load: one row each, by one connection of the bench's own. They wait for the same disk, but not
// for the service: what they take is no delay of it.
import { createRecorder, type Latency } from '../figures/histogram.js';
import { nowMs } from '../machine/clock.js';
import { onSchedule } from '../machine/schedule.js';
import { connectTo } from './database.js';
import type { Relay } from './relay.js';

export interface Commits {
  /** Commits at COMMITS_PER_SECOND from `fromMs` on. From when each was due to its end. */
  play(piece: { readonly fromMs: number; readonly ms: number }): Promise<Latency>;
}

/** Enough for a p99 of two seconds, and a load that does not count. */
export const COMMITS_PER_SECOND = 50;

/** With a table of their own in the database of the relay. */
export async function withCommits<T>(relay: Relay, use: (commits: Commits) => Promise<T>): Promise<T> {
  const sql = await connectTo(relay);
  try {
    await sql`create table bench_commits (number integer not null)`;
    await sql`insert into bench_commits values (0)`;
    return await use({
      async play(piece) {
        const latency = createRecorder();
        const commits: Promise<void>[] = [];
        await onSchedule({ ...piece, perSecond: COMMITS_PER_SECOND }, (dueMs) => {
          const done = sql`update bench_commits set number = number + 1`;
          commits.push(done.then(() => latency.record(nowMs() - dueMs)));
        });
        await Promise.all(commits);
        return latency.latency();
      },
    });
  } finally {
    await sql.end();
  }
}
