// Logs what happens with other relays: which are reached, which are ignored, and which messages failed.
import type { Header } from '../header.js';
import { LineLimit, leaving } from './line-limit.js';
import { PEERS_MAX } from './peers.js';

export interface Log {
  info(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** Other databases that are logged, and as many relays that are ignored. */
const TOLD_MAX = 64;

export class RelayLog {
  private readonly ownDatabase: number;
  private readonly counts: { otherDatabase: number };
  private readonly log: Log;
  private readonly databases = new Set<number>();
  private readonly strangers = new Set<number>();
  private readonly ignoredRelays = new Set<number>();
  private readonly changes = new LineLimit();
  private readonly failures = new LineLimit();

  constructor(ownDatabase: number, counts: { otherDatabase: number }, log: Log) {
    this.ownDatabase = ownDatabase;
    this.counts = counts;
    this.log = log;
  }

  /** Relays of another database use the same subjects: each service would play the speech of the other. Told once each. */
  otherDatabase({ relay, database }: Pick<Header, 'relay' | 'database'>): void {
    this.counts.otherDatabase++;
    if (!isNew(this.databases, database)) return;
    this.log.error(
      { relay, database, ownDatabase: this.ownDatabase },
      'relay of another database on the same NATS subjects: give each service a NATS_PREFIX of its own',
    );
  }

  /** A token that one of the two relays signed or accepts is refused at the other one. Told once for each relay. */
  otherKeys(relay: number): void {
    if (!isNew(this.strangers, relay)) return;
    this.log.error(
      { relay },
      'relay accepts none of the keys of this one: set the same JWT_SECRET, or JWT_SECRET_PREVIOUS, on every node',
    );
  }

  /** There are too many relays. Told once each. */
  ignored(relay: number): void {
    if (!isNew(this.ignoredRelays, relay)) return;
    this.log.error(
      { relay, limit: PEERS_MAX },
      'relay ignored, because this one reaches the limit of other relays: run fewer nodes, or set RELAY_THREADS to less',
    );
  }

  /** It hears this relay, or does not any more. A relay may come and go without a pause. */
  reached(relay: number, isUp: boolean, nowMs: number): void {
    this.changes.line(relay, nowMs, (leftOut) => {
      const about = { relay, ...leaving(leftOut) };
      if (isUp) this.log.info(about, 'relay reached');
      else this.log.info(about, 'relay not reached any more');
    });
  }

  /** A message of the relay threw, or work of this relay did. That is a bug, and the next message may have it, too. */
  failed(relay: number, error: unknown, nowMs: number): void {
    this.failures.line(relay, nowMs, (leftOut) =>
      this.log.error({ relay, err: error, ...leaving(leftOut) }, 'cluster message failed'),
    );
  }

  /** Must be called every second or more often. */
  tick(nowMs: number): void {
    this.changes.flush(nowMs);
    this.failures.flush(nowMs);
  }
}

function isNew(told: Set<number>, one: number): boolean {
  if (told.has(one) || told.size >= TOLD_MAX) return false;
  told.add(one);
  return true;
}
