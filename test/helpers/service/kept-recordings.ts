// Recordings as a relay hands them over, without a radio that speaks.
import postgres from 'postgres';
import type { Test } from 'tap';
import type { Database } from '../../../src/db/client.js';
import type { RecordingTail } from '../../../src/protocol/recording-batch.js';
import { recordingIdOf } from '../../../src/protocol/recording-id.js';
import { storeRecordings } from '../../../src/recordings/intake/store.js';
import { deleteErased, deleteExpired } from '../../../src/recordings/upkeep/store.js';
import type { Service } from './service.js';

export const NO_DEADLINE = { at: Number.POSITIVE_INFINITY };

/** Connections of their own, as those of another node, but without a time limit: a busy machine may be slow. */
export function keptIn(t: Test, s: Pick<Service, 'sql' | 'url' | 'admin'>) {
  const sql = postgres(s.url, { max: 4 });
  t.teardown(() => sql.end());
  const writes: Pick<Database, 'write'> = { write: (_deadline, statement) => statement(sql as never) };
  const database = writes as Database;
  let session = 4_100_000_000;

  /** Its id. Two frames of which a third one is missing, or those of `payloads`, each a period behind the other. */
  async function kept({
    payloads = ['A', 'B'],
    isWhole = false,
    ...over
  }: Partial<RecordingTail> & {
    payloads?: readonly (string | Uint8Array | null)[];
    isWhole?: boolean;
  } = {}) {
    const started_at = over.started_at ?? Date.now();
    const id = recordingIdOf({ startedAt: started_at, session: ++session, burst: 1, piece: 0 });
    const stored = payloads.flatMap((payload, index) => (payload === null ? [] : [partOf(index, payload)]));
    const row: RecordingTail = {
      ...{ id, talkgroup_id: s.admin.id as never, talkgroup_number: 7, talkgroup_name: 'kept' },
      ...{ user_id: s.admin.id, username: 'ann', started_at, days: 1, epoch: 0, was_required: false },
      ...{ priority: 1, emergency: false, codec: null, crypto: null, first_frame: 1 },
      ...{ frames: payloads.length + (isWhole ? 0 : 1), duration_ms: 60, code: 'released', lost: {} },
      ...over,
    };
    const parts = stored.map(({ index, bytes }) => ({ id, from: row.first_frame + index, frames: 1, bytes }));
    await storeRecordings(database, NO_DEADLINE, { rows: [row], parts });
    return id;
  }

  return {
    database,
    kept,
    expire: (id: string, ago: string) =>
      s.sql`update recordings set expires_at = now() - ${ago}::text::interval where id = ${id}`,
    /** As upkeep does it, once. */
    deleteOld: async () => {
      await deleteExpired(database, NO_DEADLINE);
      await deleteErased(database, NO_DEADLINE);
    },
    partsOf: (id: string) =>
      s.sql`select from_frame::int from recording_parts where recording_id = ${id} order by 1`,
    isThere: async (id: string) => (await s.sql`select from recordings where id = ${id}`).length === 1,
  };
}

/** As in a part: the first four bytes of the header, u16 length, payload. */
function partOf(index: number, payload: string | Uint8Array) {
  const text = typeof payload === 'string' ? Buffer.from(payload) : Buffer.from(payload);
  const bytes = new Uint8Array(6 + text.length);
  const view = new DataView(bytes.buffer);
  view.setUint8(0, 0x40);
  view.setUint16(2, index);
  view.setUint16(4, text.length);
  bytes.set(text, 6);
  return { index, bytes };
}
