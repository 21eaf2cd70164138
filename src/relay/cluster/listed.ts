// The emergencies that one other relay has announced in a talkgroup and not stored, as it lists them.
import { type Emergencies, readBody } from './bodies.js';
import type { Shared, Stage } from './stage.js';

/** Emergencies of one relay in one talkgroup. One more is followed when it is told, but its end is not noticed. */
const LISTED_MAX = 10_000;
/** A list that did not come for this time (ms) is asked for: it is due every 500 ms while it is not empty. */
const OVERDUE_MS = 1500;

export interface ListedServices<Talkgroup extends Shared> {
  /** Id of the other relay. */
  readonly relay: number;
  readonly talkgroup: Talkgroup;
  readonly stage: Pick<Stage<Talkgroup>, 'emergencies'>;
}

export class Listed<Talkgroup extends Shared> {
  private readonly services: ListedServices<Talkgroup>;
  /** By id: the number of the message that last listed it. */
  private readonly ids = new Map<string, number>();
  private heardAtMs = 0;

  constructor(services: ListedServices<Talkgroup>) {
    this.services = services;
  }

  /** false: the body cannot be read. */
  receive(body: Uint8Array, seq: number, nowMs: number): boolean {
    const list = readBody('emergencies', body);
    if (list !== null) this.hear(list, seq, nowMs);
    return list !== null;
  }

  /** `seq` is that of the last message it knows of: an answer may be older than what came before it. */
  hear({ emergencies, isWhole }: Emergencies, seq: number, nowMs: number): void {
    const { relay, talkgroup, stage } = this.services;
    this.heardAtMs = nowMs;
    const listed = new Set<string>();
    for (const told of emergencies) {
      if (told.talkgroup_id !== talkgroup.id) continue;
      const id = told.emergency_id;
      listed.add(id);
      if (this.ids.has(id) || this.ids.size < LISTED_MAX)
        this.ids.set(id, Math.max(seq, this.ids.get(id) ?? 0));
      stage.emergencies.heard(talkgroup, told, relay);
    }
    if (!isWhole) return;
    for (const [id, lastSeq] of [...this.ids]) {
      if (listed.has(id) || lastSeq > seq) continue;
      this.ids.delete(id);
      stage.emergencies.stored(id, relay);
    }
  }

  /** Whether a list is due that did not come. */
  isOverdue(nowMs: number): boolean {
    return this.ids.size > 0 && nowMs - this.heardAtMs >= OVERDUE_MS;
  }

  /** The relay cannot be reached any more. */
  lost(): void {
    this.end('lost');
  }

  /** The talkgroup has no receiver here any more. */
  forget(): void {
    this.end('forget');
  }

  private end(how: 'lost' | 'forget'): void {
    const ids = [...this.ids.keys()];
    this.ids.clear();
    for (const id of ids) this.services.stage.emergencies[how](id, this.services.relay);
  }
}
