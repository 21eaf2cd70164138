// What the relay counts: plain numbers, because the hot path increments them.

export type DropReason =
  /** Before WELCOME, or after we closed. */
  | 'no_session'
  | 'bad_frame'
  | 'not_member'
  | 'listen_only'
  | 'rate_limited'
  | 'too_many_talkgroups'
  | 'withdrawn'
  /** Of a burst that the server ended or denied. */
  | 'muted'
  /** The first of a burst that the floor denied. */
  | 'denied'
  | 'no_burst';

export interface Counts {
  /** Of sessions; each is relayed or dropped with a reason. */
  framesIn: number;
  framesRelayed: number;
  /** Relayed ones that some receivers were not given: held for them when the server took their burst back. */
  discarded: number;
  bursts: number;
  /** Times the engine dropped what was meant for a receiver whose buffer was full; how much it dropped it does not say. */
  overruns: number;
  /** Times a receiver was taken out of the audio for being too slow. */
  lagging: number;
  /** Pongs that answer no ping of ours. */
  strayPongs: number;
  /** Sessions that went on over another socket. */
  resumed: number;
  /** Sessions that ended by a fault of ours. */
  failed: number;
  readonly dropped: Record<DropReason, number>;
}

export const newCounts = (): Counts => ({
  framesIn: 0,
  framesRelayed: 0,
  discarded: 0,
  bursts: 0,
  overruns: 0,
  lagging: 0,
  strayPongs: 0,
  resumed: 0,
  failed: 0,
  dropped: {
    no_session: 0,
    bad_frame: 0,
    not_member: 0,
    listen_only: 0,
    rate_limited: 0,
    too_many_talkgroups: 0,
    withdrawn: 0,
    muted: 0,
    denied: 0,
    no_burst: 0,
  },
});
