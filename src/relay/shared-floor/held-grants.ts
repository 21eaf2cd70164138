import type { Placed } from './bodies.js';
// Keeps the grants that sessions of this relay have not been told of, because an earlier burst still plays.

export class HeldGrants {
  private readonly grants = new Map<number, { readonly placed: Placed; readonly askedAtMs: number | null }>();

  has(session: number): boolean {
    return this.grants.has(session);
  }

  /** How the home placed the grant. */
  of(session: number): Placed | undefined {
    return this.grants.get(session)?.placed;
  }

  hold(session: number, placed: Placed): void {
    this.grants.set(session, { placed, askedAtMs: this.grants.get(session)?.askedAtMs ?? null });
  }

  /** The grant answers a question of this time (monotonic ms), if it is held back and answers no earlier one. */
  answers(session: number, askedAtMs: number): void {
    const grant = this.grants.get(session);
    if (grant !== undefined && grant.askedAtMs === null) this.grants.set(session, { ...grant, askedAtMs });
  }

  delete(session: number): void {
    this.grants.delete(session);
  }

  all(): readonly (readonly [session: number, placed: Placed])[] {
    return [...this.grants].map(([session, { placed }]) => [session, placed]);
  }

  /** Sessions whose question of this time or earlier has no other answer yet. */
  askedBefore(ms: number): readonly number[] {
    return [...this.grants].flatMap(([session, { askedAtMs }]) =>
      askedAtMs !== null && askedAtMs <= ms ? [session] : [],
    );
  }
}
