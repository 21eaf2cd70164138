// The rejection of the microphone, with a reason that the page can put into words.
import type { MicrophoneError, MicrophoneReason } from './sound-types.js';

const MESSAGES: Readonly<Record<MicrophoneReason, string>> = {
  refused: 'the user or the browser did not allow the microphone',
  missing: 'there is no microphone',
  insecure: 'browsers give a microphone only to pages of https and of localhost',
  failed: 'the microphone could not be opened',
};

/** By name of the DOMException of getUserMedia. */
const REASONS: Readonly<Record<string, MicrophoneReason>> = {
  NotAllowedError: 'refused',
  NotFoundError: 'missing',
  OverconstrainedError: 'missing',
  SecurityError: 'insecure',
};

export class NoMicrophone extends Error implements MicrophoneError {
  constructor(
    readonly reason: MicrophoneReason,
    options?: ErrorOptions,
  ) {
    super(MESSAGES[reason], options);
    this.name = 'MicrophoneError';
  }
}

/** The rejection for an error of getUserMedia. */
export function noMicrophone(error: unknown): NoMicrophone {
  const name = error instanceof Error ? error.name : '';
  return new NoMicrophone(REASONS[name] ?? 'failed', { cause: error });
}
