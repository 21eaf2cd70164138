// Lists the sessions that hear one talkgroup, page by page.

/**
 * The sessions in the order of their numbers. The first request for a page makes the listing, and later changes keep it
 * current. So the cost of a page depends on its own length, not on the size of the talkgroup.
 */
export class Listing<Session extends { readonly number: number }> {
  private readonly sorted: Session[];

  constructor(sessions: Iterable<Session>) {
    this.sorted = [...sessions].sort((one, other) => one.number - other.number);
  }

  /** The session came. A second call changes nothing. */
  add(session: Session): void {
    const at = this.indexBehind(session.number);
    if (this.sorted[at - 1]?.number !== session.number) this.sorted.splice(at, 0, session);
  }

  /** The session left, if it was there. */
  delete({ number }: Session): void {
    const at = this.indexBehind(number) - 1;
    if (this.sorted[at]?.number === number) this.sorted.splice(at, 1);
  }

  /**
   * The `limit` (1 or more) sessions with the lowest numbers above `after`, in order. `next` is the `after` of the next
   * page, null at the end. A session that stays is on exactly one page, whatever other sessions do.
   */
  page(after: number, limit: number): { readonly page: readonly Session[]; readonly next: number | null } {
    const from = this.indexBehind(after);
    const page = this.sorted.slice(from, from + limit);
    const hasMore = this.sorted.length > from + limit;
    return { page, next: hasMore ? (page.at(-1)?.number ?? null) : null };
  }

  /** The index of the first session with a higher number. */
  private indexBehind(number: number): number {
    let low = 0;
    let high = this.sorted.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.sorted[middle]?.number ?? Number.POSITIVE_INFINITY) <= number) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
