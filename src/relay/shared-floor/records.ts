// Keeps what a relay knows of the sessions that share a floor, beside the floor: one record for each session.
import type { Turn } from '../../protocol/turn.js';
import type { Claim } from '../floor/claim.js';
import type { Placed } from './bodies.js';

/** A question of a session of this relay that no home has answered yet. */
export interface OpenQuestion {
  readonly ask: number;
  readonly claim: Claim;
  readonly isFirstFrame: boolean;
  readonly queue: boolean;
  /** When the session first asked: a queued one keeps the time of its place (monotonic ms). */
  readonly askedAtMs: number;
  /** When it asked this question (monotonic ms). */
  readonly sinceMs: number;
}

export interface SessionRecord {
  /** A question of a session of this relay that waits for the home. */
  ask: OpenQuestion | null;
  /** Number of the question that its claim began with. At the home also that of sessions of other relays. */
  asked: number | null;
  /** Of its grant. null: it has none, or was granted in `open`, or without the word of a home. */
  turn: Turn | null;
  /** How the home placed the grant of a session of this relay. */
  placed: Placed | null;
  /** Its own relay granted it, because the home did not answer and its user is in an emergency. */
  isAlone: boolean;
  /** The place in the queue of a session of this relay, as its home told it. */
  queued: { readonly position: number; readonly size: number } | null;
  /** It moved to another relay with its claim, which stays here until that relay tells it: moves before that. null: it did not. */
  left: number | null;
  /** It has not been told of its grant, because an earlier burst still plays. */
  held: HeldGrant | null;
}

export interface HeldGrant {
  readonly placed: Placed;
  /** Time (monotonic ms) of the question that the grant answers. null: it answers none. */
  readonly askedAtMs: number | null;
}

/** Of a session of which nothing is known. */
const NOTHING: Readonly<SessionRecord> = {
  ...{ ask: null, asked: null, turn: null, placed: null },
  ...{ isAlone: false, queued: null, left: null, held: null },
};

export class Records {
  private readonly bySession = new Map<number, SessionRecord>();

  of(session: number): Readonly<SessionRecord> {
    return this.bySession.get(session) ?? NOTHING;
  }

  /** To be written to. */
  record(session: number): SessionRecord {
    const known = this.bySession.get(session) ?? { ...NOTHING };
    this.bySession.set(session, known);
    return known;
  }

  /** As they are now. */
  all(): readonly (readonly [session: number, record: SessionRecord])[] {
    return [...this.bySession];
  }

  /** A question of this relay waits for the home. */
  get isAsking(): boolean {
    for (const { ask } of this.bySession.values()) if (ask !== null) return true;
    return false;
  }

  /** Questions that wait for the home, the oldest record first. */
  get asks(): readonly OpenQuestion[] {
    return [...this.bySession.values()].flatMap(({ ask }) => ask ?? []);
  }

  /** Grants of which their sessions have not been told. */
  get held(): readonly (readonly [session: number, grant: HeldGrant])[] {
    return [...this.bySession].flatMap(([session, { held }]) =>
      held === null ? [] : [[session, held] as const],
    );
  }

  forget(session: number): void {
    this.bySession.delete(session);
  }
}
