// Databases for tests: one PostgreSQL server for many test files, an empty database for each test that asks.
import { randomBytes } from 'node:crypto';
import postgres from 'postgres';
import t, { type Test } from 'tap';
import { databaseOf, MIGRATED, startThrowaway } from './throwaway.js';

/**
 * Connection string of the server the tests share: the one of `run.ts`, or, for a test file started by itself, one
 * that lives as long as this process.
 */
export function clusterUrl(): Promise<string> {
  url ??= process.env.TEST_CLUSTER_URL ? Promise.resolve(process.env.TEST_CLUSTER_URL) : startOwn();
  return url;
}

let url: Promise<string> | undefined;

async function startOwn(): Promise<string> {
  const cluster = await startThrowaway();
  t.teardown(() => {
    url = undefined;
    return cluster.stop();
  });
  return cluster.url;
}

/** Connection string of a new, empty database that is dropped, with all that are still connected, when `t` ends. */
export function freshDatabase(t: Test): Promise<string> {
  return copyOf(t, 'template1');
}

/** The same, migrated: a copy costs a fifth of the migrations, and they are the same for every service. */
export function migratedDatabase(t: Test): Promise<string> {
  return copyOf(t, MIGRATED);
}

async function copyOf(t: Test, template: string): Promise<string> {
  const cluster = await clusterUrl();
  const name = `test_${randomBytes(8).toString('hex')}`;
  const sql = postgres(cluster, { max: 1, onnotice: () => {} });
  // By its files: page by page through the log it costs twice the CPU, ten times while memory is still untouched.
  await sql.unsafe(`create database ${name} template ${template} strategy file_copy`);
  t.teardown(async () => {
    await sql.unsafe(`drop database if exists ${name} with (force)`);
    await sql.end();
  });
  return databaseOf(cluster, name);
}
