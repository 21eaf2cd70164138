// Describes what a session keeps for who asks about it: where its client comes from, and why it was last told no.

export interface Arrival {
  readonly address: string;
  /** Name of the app, as it sent it. null: it sent none. */
  readonly client: string | null;
  readonly atMs: number;
  /** It goes on with this session over another socket than before. */
  readonly isResumed: boolean;
}

export interface LastRefusal {
  /** Of the ERROR or FLOOR_DENIED. */
  readonly code: string;
  readonly talkgroupId: string | null;
  readonly atMs: number;
}
