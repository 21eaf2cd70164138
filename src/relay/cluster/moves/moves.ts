// Moves sessions between relays: looks for the session of a radio that returns elsewhere, and hands it over once.
//
// A session is at one relay, or on its way to one. The relay that has it gives it to one question of one other relay.
// That question is asked again when its answer was lost, and each question takes one answer.
import type { Clock } from '../../clock.js';
import { bodyOf } from '../../nodes/body.js';
import { type Kind, kinds } from '../../nodes/header.js';
import type { ClusterCounts } from '../counts.js';
import { NumberedQuestions } from '../question.js';
import type { Found, MovedSession, Taken, WantedSession } from './bodies.js';

/** The sessions of this relay. */
export interface MovableSessions {
  /** For how long (ms) a session is kept for its radio, and so the place where it went. */
  readonly keepMs: number;
  /** Sessions kept for their radios at once. */
  readonly max: number;
  /** Whether it is here, with a socket or without one. */
  has(key: string, user: string): boolean;
  /** Takes the session out, for the relay `to`. null: there is none of this key and user, or it is too big. */
  give(key: string, user: string, to: number): MovedSession | null;
}

export interface MovesOptions {
  /** Id of this relay. */
  readonly relay: number;
  readonly isUp: (relay: number) => boolean;
  readonly say: (relay: number, kind: Kind, body: Uint8Array) => void;
  readonly sessions: MovableSessions;
  readonly counts: Pick<ClusterCounts, 'moved'>;
  readonly clock: Clock;
}

/** A session by the hash of its token. */
export type Wanted = Omit<WantedSession, 'ask'>;

/** Time (ms) between two of the same question. */
const AGAIN_MS = 300;
/** `find` runs beside the load of the account, which takes at most 2 s. */
const FIND_MS_MAX = 2000;
/** The handshake waits this long (ms) for a session that was found. */
const TAKE_MS_MAX = 600;
/** Relays that are asked one after the other, each named by the one before. */
const HOPS_MAX = 4;
/** Handshakes that look for a session at once. One more gets a new session. */
const ASKS_MAX = 20_000;
/** What was given away is kept for this time (ms), because the answer may be lost. */
const COPY_MS = 3000;

interface Copy {
  readonly to: number;
  readonly ask: number;
  readonly moved: MovedSession;
  readonly atMs: number;
}

export class Moves {
  private readonly options: MovesOptions;
  private readonly finds: NumberedQuestions<Found>;
  private readonly takes: NumberedQuestions<Taken>;
  /** By key, the oldest first: sessions given away, for COPY_MS. */
  private readonly copies = new Map<string, Copy>();
  /** By key, the oldest first: where sessions went. At most `sessions.max`, the oldest is forgotten first. */
  private readonly went = new Map<string, { readonly to: number; readonly atMs: number }>();

  constructor(options: MovesOptions) {
    this.options = options;
    this.finds = new NumberedQuestions(options.clock, AGAIN_MS);
    this.takes = new NumberedQuestions(options.clock, AGAIN_MS);
  }

  /**
   * Looks for a session whose token names this relay or another one. Resolves with the relay that has it, or with null
   * after 2 s at most. null at once: there is no relay to ask.
   */
  find(named: number, wanted: Wanted): Promise<number | null> | null {
    // It may have been here and gone on.
    const first = this.went.get(wanted.key)?.to ?? named;
    const isElsewhere = first !== this.options.relay && this.options.isUp(first);
    if (!isElsewhere || this.finds.size >= ASKS_MAX) return null;
    return this.findAt(first, wanted, this.options.clock.nowMs() + FIND_MS_MAX);
  }

  private async findAt(first: number, wanted: Wanted, untilMs: number): Promise<number | null> {
    let relay = first;
    for (let hop = 0; hop < HOPS_MAX; hop++) {
      const msMax = untilMs - this.options.clock.nowMs();
      const found = await this.ask(this.finds, relay, kinds.find, wanted, msMax);
      if (found === null) {
        this.options.counts.moved.lost++;
        return null;
      }
      if (found.where !== 'elsewhere') return found.where === 'none' ? null : relay;
      if (found.relay === this.options.relay) return null;
      relay = found.relay;
    }
    return null;
  }

  /** Takes the session from the relay that has it. null: another relay has it, or no answer came in 600 ms. */
  async take(relay: number, wanted: Wanted): Promise<MovedSession | null> {
    const taken = await this.ask(this.takes, relay, kinds.take, wanted, TAKE_MS_MAX);
    const { moved } = this.options.counts;
    if (taken === null) moved.lost++;
    if (taken === null || taken.moved === null) return null;
    moved.taken++;
    this.went.delete(wanted.key); // it is back
    return taken.moved;
  }

  /** null: the relay did not answer in time, or is down. */
  private async ask<Answer>(
    questions: NumberedQuestions<Answer>,
    relay: number,
    kind: Kind,
    wanted: Wanted,
    msMax: number,
  ): Promise<Answer | null> {
    const { isUp, say } = this.options;
    if (!isUp(relay) || msMax <= 0) return null;
    const ask = questions.next();
    const body = bodyOf({ ask, ...wanted });
    const { told } = await questions.ask(ask, [relay], msMax, () => say(relay, kind, body));
    return told[0] ?? null;
  }

  /** The other relay says where the session is. */
  found(relay: number, found: Found): void {
    this.finds.answered(relay, found.ask, found);
  }

  /** The other relay hands the session over, or has none. */
  taken(relay: number, taken: Taken): void {
    this.takes.answered(relay, taken.ask, taken);
  }

  /** Another relay looks for a session. */
  tellWhere(relay: number, { ask, key, user }: WantedSession): void {
    const { sessions, say } = this.options;
    const isHere = sessions.has(key, user);
    const went = isHere ? undefined : this.went.get(key);
    const found: Found = went
      ? { ask, where: 'elsewhere', relay: went.to }
      : { ask, where: isHere ? 'live' : 'none' };
    say(relay, kinds.found, bodyOf(found));
  }

  /** Another relay takes a session: the first one to ask gets it, and gets it again when it asks the same again. */
  give(to: number, { ask, key, user }: WantedSession): void {
    const { sessions, say, clock, counts } = this.options;
    const copy = this.copies.get(key);
    const isRepeated = copy !== undefined && copy.to === to && copy.ask === ask;
    const moved = isRepeated ? copy.moved : sessions.give(key, user, to);
    if (moved === null) counts.moved.refused++;
    else if (!isRepeated) {
      counts.moved.given++;
      const atMs = clock.nowMs();
      this.copies.delete(key);
      this.copies.set(key, { to, ask, moved, atMs });
      this.went.delete(key);
      this.went.set(key, { to, atMs });
      const [oldest] = this.went.keys();
      if (this.went.size > sessions.max && oldest !== undefined) this.went.delete(oldest);
    }
    const taken: Taken = { ask, moved };
    say(to, kinds.taken, bodyOf(taken));
  }

  /** Forgets what is too old. */
  tick(nowMs: number): void {
    for (const [key, { atMs }] of this.copies) {
      if (nowMs - atMs < COPY_MS) break;
      this.copies.delete(key);
    }
    for (const [key, { atMs }] of this.went) {
      if (nowMs - atMs < this.options.sessions.keepMs) break;
      this.went.delete(key);
    }
  }

  /** The relay is down. */
  forget(relay: number): void {
    this.finds.forget(relay);
    this.takes.forget(relay);
  }

  /** No question waits any longer. */
  close(): void {
    this.finds.close();
    this.takes.close();
  }
}
