// Numbers the grants of a floor that several relays share, so that each of them plays bursts in the same order.

/**
 * Given with each grant in `single` and `broadcast`. `count` grows, and `home` is the relay that gave it, so no two relays
 * give the same turn.
 */
export interface Turn {
  readonly count: number;
  /** Id of the relay. */
  readonly home: number;
}

/** Before every turn. */
export const NO_TURN: Turn = { count: 0, home: 0 };

/** Negative: the first one is earlier. 0: they are the same. */
export const compareTurns = (one: Turn, other: Turn): number =>
  one.count - other.count || one.home - other.home;

/** The later one of the two. */
export const laterTurn = (one: Turn, other: Turn): Turn => (compareTurns(one, other) >= 0 ? one : other);
