// What the relay counts: plain numbers, because the hot path increments them.

export type DropReason =
  /** Before WELCOME, or after we closed. */
  | 'no_session'
  | 'bad_frame'
  | 'not_member'
  | 'rate_limited'
  | 'too_many_talkgroups'
  | 'withdrawn'
  | 'muted'
  | 'no_burst';

export interface Counts {
  /** Of sessions; each is relayed or dropped with a reason. */
  framesIn: number;
  framesRelayed: number;
  bursts: number;
  /** Times the engine dropped what was meant for a receiver whose buffer was full; how much it dropped it does not say. */
  overruns: number;
  /** Sessions that ended by a fault of ours. */
  failed: number;
  readonly dropped: Record<DropReason, number>;
}

export const newCounts = (): Counts => ({
  framesIn: 0,
  framesRelayed: 0,
  bursts: 0,
  overruns: 0,
  failed: 0,
  dropped: {
    no_session: 0,
    bad_frame: 0,
    not_member: 0,
    rate_limited: 0,
    too_many_talkgroups: 0,
    withdrawn: 0,
    muted: 0,
    no_burst: 0,
  },
});
