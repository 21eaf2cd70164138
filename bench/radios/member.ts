// States what a radio of the bench knows of its user.

/** A talkgroup's id, as control messages name it, and its number, as frames carry it. */
export interface Talkgroup {
  readonly id: string;
  readonly number: number;
}

/** A user. Plain data. */
export interface Member {
  readonly token: string;
  readonly username: string;
  /** null: it has none. */
  readonly deviceId: string | null;
  readonly talkgroups: readonly Talkgroup[];
}
