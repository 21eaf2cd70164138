// Declares what a talk needs of the radio's connection.
import type { TalkEncryption } from '../encryption/encryption.js';

/** The connection as a talk sees it. */
export type Uplink = {
  readonly isOpen: boolean;
  /** When the connection opened (ms, by the radio's clock). */
  readonly openedAtMs: number;
  readonly session: number | null;
  readonly bufferedBytes: number;
  numberOf(talkgroupId: string): number | null;
  /** True if the talkgroup's number is not known and may be in a part of the snapshots that has not arrived. */
  isAwaited(talkgroupId: string): boolean;
  readonly encryption: TalkEncryption;
  send(data: string | Uint8Array<ArrayBuffer>): boolean;
  /** Sends a message that the server answers. */
  ask(text: string): boolean;
};
