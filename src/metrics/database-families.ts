// Declares the metrics of the database. REST and the relay each have a connection pool.
import type { DatabaseFigures } from '../db/client.js';
import { by, counter, type Family, gauge, type Numbers, type Sample } from './family.js';
import { ownOf } from './relays.js';

export const databaseFamilies: readonly Family[] = [
  gauge(
    'talkgroup_database_up',
    '1 when the pool accepts statements, 0 while the circuit breaker is open',
    ofPools(({ isUp }) => (isUp ? 1 : 0)),
    ['pool'],
  ),
  gauge(
    'talkgroup_database_connections',
    'Connections of the pool',
    ofPools(({ connections }) => connections),
    ['pool'],
  ),
  gauge(
    'talkgroup_database_running',
    'Running statements',
    ofPools(({ gate }) => gate.inside),
    ['pool'],
  ),
  gauge(
    'talkgroup_database_waiting',
    'Statements waiting for a connection',
    ofPools(({ gate }) => gate.waiting),
    ['pool'],
  ),
  counter(
    'talkgroup_database_refused_total',
    'Statements not sent, because no connection was free in time (`gate`) or the circuit breaker was open (`breaker`)',
    ofPools(({ gate, refusedAway }) => by('reason', { gate: gate.refused, breaker: refusedAway })),
    ['pool', 'reason'],
  ),
  counter(
    'talkgroup_database_failed_total',
    'Failed statements, by cause, without errors of the caller',
    ofPools(({ failed }) => by('reason', failed)),
    ['pool', 'reason'],
  ),
  counter(
    'talkgroup_database_pools_replaced_total',
    'Number of times the connection pool was replaced',
    ofPools(({ poolsReplaced }) => poolsReplaced),
    ['pool'],
  ),
  gauge(
    'talkgroup_backup_age_seconds',
    'Age of the newest backup that the command `backup` took of this database. No series without one, or while it is unknown',
    ({ audit }) => audit.backupAgeS,
  ),
];

/** Reads a figure of each connection pool. */
function ofPools(read: (database: DatabaseFigures) => number | readonly Sample<number>[]): Numbers {
  return ({ database, relays }) => {
    const relayPools = ownOf(relays).map(([name, own]) => [name, own.database] as const);
    const pools = [['rest', database] as const, ...relayPools];
    return pools.flatMap(([pool, figures]) => {
      const value = read(figures);
      const samples = typeof value === 'number' ? [[{}, value] as const] : value;
      return samples.map(([labels, value]) => [{ pool, ...labels }, value] as const);
    });
  };
}
