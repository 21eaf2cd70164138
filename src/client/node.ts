// Exports the client for Node: radio.ts over the package `ws`, because Node 20 has no WebSocket.
import { WebSocket } from 'ws';
import { nodePrimitives } from '../protocol/node-primitives.js';
import { createKeyringWith, type Keyring, type KeyringOptions } from './encryption/keyring.js';
import {
  type KeysOfRecordings,
  type RecordingKeysOptions,
  recordingKeysWith,
} from './encryption/recorded.js';
import { createRadio as createAnyRadio, type Radio, type RadioOptions } from './radio.js';

export {
  type FileMemory,
  keepHolderId,
  openHolderFile,
  openMemoryFile,
  type StoredHolder,
} from './encryption/holder-file.js';
export * from './radio.js';

/**
 * The WebSocket of `ws` without compression, because Opus does not compress further and compression would only delay the
 * packets. Its `error` event has the cause of a failed connection, which its close event does not have.
 */
export class UncompressedWebSocket extends WebSocket {
  constructor(address: string) {
    super(address, { perMessageDeflate: false });
  }
}

/** Same as createRadio of radio.ts. The option WebSocket defaults to the one of `ws`. */
export function createRadio(options: RadioOptions): Radio {
  return createAnyRadio({ ...options, WebSocket: options.WebSocket ?? UncompressedWebSocket });
}

/** Same as createKeyring of radio.ts, with the cryptography of Node, which is faster. */
export function createKeyring(options: KeyringOptions): Keyring {
  return createKeyringWith(nodePrimitives, options);
}

/** Same as recordingKeys of radio.ts, with the cryptography of Node. */
export function recordingKeys(options: RecordingKeysOptions): KeysOfRecordings {
  return recordingKeysWith(nodePrimitives, options);
}
