// Describes what a session keeps for an operator: where its client comes from, and the last refusal.

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
  /** null: none was named, or by something that is no id. A client may send any text there. */
  readonly talkgroupId: string | null;
  readonly atMs: number;
}
