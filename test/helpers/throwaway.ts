// A PostgreSQL server for tests alone, with nothing left of it afterwards.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type EmbeddedPostgres, startEmbedded } from '../../src/db/embedded.js';

/** A server in a fresh temporary folder, both gone after `stop`. */
export async function startThrowaway(): Promise<EmbeddedPostgres> {
  const dataDir = await mkdtemp(join(tmpdir(), 'talkgroup-radio-test-'));
  const log = { info() {}, warn: console.error, error: console.error };
  // Many test files at once, each with its pools; and nothing here needs to survive a power failure.
  const database = await startEmbedded({ dataDir, log, settings: { max_connections: '400', fsync: 'off' } });
  return {
    url: database.url,
    async stop() {
      await database.stop();
      await rm(dataDir, { recursive: true });
    },
  };
}
