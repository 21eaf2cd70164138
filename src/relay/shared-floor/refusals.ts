// What a home refused to sessions of other relays, until they have heard of it.

import { rankOf } from '../floor/claim.js';
import type { Floor } from '../floor/state.js';
import type { PartClaim, PartVerdict } from './bodies.js';
import { bare, isHolding } from './parts.js';

export type Refused = Extract<PartVerdict, { is: 'denied' | 'revoked' }>;

/** One for each session at most: the last one. Their number is bounded by that of the claims in the parts of the others. */
export class Refusals {
  private readonly bySession = new Map<number, Refused>();

  add({ session, ask }: PartClaim, verdict: Pick<Refused, 'is' | 'code'>): void {
    this.bySession.set(session, { ...verdict, session, ask } as Refused);
  }

  forget(session: number): void {
    this.bySession.delete(session);
  }

  /** The session moved, and its claim has this number now. */
  follow(session: number, ask: number): void {
    const refused = this.bySession.get(session);
    if (refused !== undefined) this.bySession.set(session, { ...refused, ask });
  }

  /** The session is none of the other relays any more. null: it was refused nothing. */
  take(session: number): Refused | null {
    const refused = this.bySession.get(session) ?? null;
    this.forget(session);
    return refused;
  }

  /** What this claim, or the question that it began with, was refused with. */
  of({ session, ask }: PartClaim): Refused | undefined {
    const refused = this.bySession.get(session);
    return refused?.ask === ask ? refused : undefined;
  }

  /**
   * Whether the refusal counts. It does not when a denied question was granted by its relay alone or by another home, and
   * when an emergency that talks on has nothing beside it in the floor that would keep it: it was refused for what is over.
   */
  isRefused(claim: PartClaim, { holders }: Floor): boolean {
    const refused = this.of(claim);
    if (refused === undefined) return false;
    if (refused.is === 'denied') return !isHolding(claim);
    if (!claim.inEmergency || claim.state !== 'talks') return true;
    const rank = rankOf(bare(claim));
    return holders.some(
      (one) => rankOf(one.claim) > rank || (rankOf(one.claim) === rank && one.startedAtMs !== null),
    );
  }
}
