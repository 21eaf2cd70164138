// The emergencies of one talkgroup that are not stored: those of one other relay, as it lists them, and those of this one.

import type { Draft } from '../../protocol/server-messages.js';
import type { EmergenciesElsewhere } from '../emergencies/elsewhere.js';
import type { UnsavedEmergency } from '../emergencies/messages.js';
import type { Talkgroup } from '../members/members.js';
import { bodyOf } from '../nodes/body.js';
import { type Emergencies, readBody, UNSAVED_MAX } from './bodies.js';

/** Emergencies of one relay in one talkgroup. One more is followed when it is told, but its end is not noticed. */
const LISTED_MAX = 10_000;
/** A list that did not come for this time (ms) is asked for: it is due every 500 ms while it is not empty. */
const OVERDUE_MS = 1500;
/** Time (ms) between two lists of them. */
const UNSAVED_MS = 500;

export interface ListedServices {
  /** Id of the other relay. */
  readonly relay: number;
  readonly talkgroup: Talkgroup;
  readonly emergencies: EmergenciesElsewhere;
}

export class Listed {
  private readonly services: ListedServices;
  /** By id: the number of the message that last listed it. */
  private readonly ids = new Map<string, number>();
  private heardAtMs = 0;

  constructor(services: ListedServices) {
    this.services = services;
  }

  /** false: the body cannot be read. */
  receive(body: Uint8Array, seq: number, nowMs: number): boolean {
    const list = readBody('emergencies', body);
    if (list !== null) this.hear(list, seq, nowMs);
    return list !== null;
  }

  /** `seq` is that of the last message it knows of: an answer may be older than what came before it. */
  hear({ emergencies, isWhole }: Draft<Emergencies>, seq: number, nowMs: number): void {
    const { relay, talkgroup, emergencies: elsewhere } = this.services;
    this.heardAtMs = nowMs;
    const listed = new Set<string>();
    for (const told of emergencies) {
      if (told.talkgroup_id !== talkgroup.id) continue;
      const id = told.emergency_id;
      listed.add(id);
      if (this.ids.has(id) || this.ids.size < LISTED_MAX)
        this.ids.set(id, Math.max(seq, this.ids.get(id) ?? 0));
      elsewhere.heard(talkgroup, told, relay);
    }
    if (!isWhole) return;
    for (const [id, lastSeq] of [...this.ids]) {
      if (listed.has(id) || lastSeq > seq) continue;
      this.ids.delete(id);
      elsewhere.stored(id, relay);
    }
  }

  /** Whether a list is due that did not come. */
  isOverdue(nowMs: number): boolean {
    return this.ids.size > 0 && nowMs - this.heardAtMs >= OVERDUE_MS;
  }

  /** The relay cannot be reached any more, or the talkgroup has no receiver here any more. */
  end(how: 'lost' | 'forget'): void {
    const ids = [...this.ids.keys()];
    this.ids.clear();
    for (const id of ids) this.services.emergencies[how](id, this.services.relay);
  }
}

/** Tells the other relays of those of this one. */
export class Unsaved {
  private readonly list: (max: number) => Draft<Emergencies>;
  private readonly say: (body: Uint8Array) => void;
  /** The others know of some, and when they last were told (monotonic ms). */
  private isTold = false;
  private toldAtMs = Number.NEGATIVE_INFINITY;

  constructor(list: (max: number) => Draft<Emergencies>, say: (body: Uint8Array) => void) {
    this.list = list;
    this.say = say;
  }

  /** At once: a change that is not stored yet. */
  tell(told: UnsavedEmergency): void {
    this.isTold = true;
    this.say(bodyOf({ emergencies: [told], isWhole: false }));
  }

  /** For an answer. */
  get now(): Draft<Emergencies> {
    const unsaved = this.list(UNSAVED_MAX);
    this.isTold ||= unsaved.emergencies.length > 0;
    return unsaved;
  }

  /** Every UNSAVED_MS while one is not stored, and once more when all are. */
  repeat(nowMs: number): void {
    if (nowMs - this.toldAtMs < UNSAVED_MS) return;
    const unsaved = this.list(UNSAVED_MAX);
    const isAny = unsaved.emergencies.length > 0;
    if (!isAny && !this.isTold) return;
    this.isTold = isAny;
    this.toldAtMs = nowMs;
    this.say(bodyOf(unsaved));
  }
}
