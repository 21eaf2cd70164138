// Declares what a talk needs of the radio's connection.

/** The connection as a talk sees it. */
export type Uplink = {
  readonly isOpen: boolean;
  /** When the connection opened, by the clock. */
  readonly openedAtMs: number;
  readonly session: number | null;
  readonly bufferedBytes: number;
  numberOf(talkgroupId: string): number | null;
  /** Its number is not known, but may be in a part of the snapshots that has not come yet. */
  isAwaited(talkgroupId: string): boolean;
  send(data: string | Uint8Array<ArrayBuffer>): boolean;
  /** Sends what will be answered. */
  ask(text: string): boolean;
};
