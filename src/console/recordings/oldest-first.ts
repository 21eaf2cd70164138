// Lists the recordings of several talkgroups as one, the oldest first, and reads no page before it is needed.
import type { Recording, RecordingPage } from '../../client/recordings/types.js';

/** Times are Unix time (ms) of the server: the recordings that began from `since` on and before `until`. */
export type Part = { talkgroupId: string; since: number; until: number };

type Row = { part: Part; rows: Recording[]; next: string | null };

/** `read` gets one page of a part. The ids of recordings sort by time. Rejects as `read` does. */
export async function* oldestFirst(
  parts: readonly Part[],
  read: (part: Part, after: string | null) => Promise<RecordingPage>,
): AsyncGenerator<Recording, void, undefined> {
  const open: Row[] = [];
  for (const part of parts) {
    const { recordings: rows, next } = await read(part, null);
    open.push({ part, rows, next });
  }
  for (;;) {
    for (const one of open) {
      // A page may be empty where a filter left nothing of it.
      while (one.rows.length === 0 && one.next !== null) {
        const { recordings: rows, next } = await read(one.part, one.next);
        Object.assign(one, { rows: [...rows], next });
      }
    }
    const [first, ...others] = open.filter(({ rows }) => rows.length > 0);
    if (first === undefined) return;
    const oldest = others.reduce((best, one) => (idOf(one) < idOf(best) ? one : best), first);
    const recording = oldest.rows.shift();
    if (recording !== undefined) yield recording;
  }
}

const idOf = ({ rows: [first] }: Row): string => first?.recording_id ?? '';
