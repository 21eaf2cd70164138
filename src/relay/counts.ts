// What the relay counts: plain numbers, because the hot path increments them.

export type DropReason =
  | 'bad_frame'
  | 'not_member'
  | 'rate_limited'
  | 'too_many_talkgroups'
  | 'withdrawn'
  | 'muted'
  | 'no_burst';

export interface Counts {
  framesIn: number;
  framesRelayed: number;
  bursts: number;
  /** Deliveries the engine refused because a receiver's buffer was full. */
  undelivered: number;
  readonly dropped: Record<DropReason, number>;
}

export const newCounts = (): Counts => ({
  framesIn: 0,
  framesRelayed: 0,
  bursts: 0,
  undelivered: 0,
  dropped: {
    bad_frame: 0,
    not_member: 0,
    rate_limited: 0,
    too_many_talkgroups: 0,
    withdrawn: 0,
    muted: 0,
    no_burst: 0,
  },
});
