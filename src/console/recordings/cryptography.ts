// Makes what opens encrypted recordings. Loaded with the first one that this browser has a key for: the cryptography is in it.
import { browserPrimitives } from '../../client/encryption/browser-primitives.js';
import { type RecordingKeysOptions, recordingKeysWith } from '../../client/encryption/recorded.js';

export const recordingCryptography = {
  recordingKeysFor: (options: RecordingKeysOptions) => recordingKeysWith(browserPrimitives, options),
};

export type RecordingCryptography = typeof recordingCryptography;
