// Says in words why a request failed, and tells a change that is stored from one that is not.
import { texts } from './texts.js';

/** What REST rejected, as `RestError` of the console has it. */
interface Rejection {
  readonly status: number;
  readonly message: string;
  readonly retryAfterS: number | null;
}

export function wordsOf(error: unknown): string {
  const rejection = rejectionOf(error);
  if (rejection === null) return texts.noAnswer;
  const { status, message, retryAfterS } = rejection;
  if (/outcome is unknown/.test(message)) return texts.unknownOutcome;
  switch (status) {
    case 400:
      return texts.notAccepted(message);
    case 401:
      return texts.loggedOut;
    case 403:
      return /^registration/.test(message) ? texts.notAccepted(message) : texts.forbidden;
    case 409:
      return conflictOf(message);
    case 404:
      return texts.missing;
    case 429:
    case 503: {
      const reason = status === 429 ? texts.busy : texts.unavailable;
      return retryAfterS === null ? reason : `${reason} ${texts.wait(retryAfterS)}`;
    }
    default:
      return texts.failed(status, message);
  }
}

/** What an administrator or the operator must do first. */
function conflictOf(message: string): string {
  if (/^the master secret must be encrypted/.test(message)) return texts.noSecretsKey;
  return /^not every node/.test(message) ? texts.notEnforced : texts.notAccepted(message);
}

/** null: no answer of the service, such as a lost connection. */
function rejectionOf(error: unknown): Rejection | null {
  if (!(error instanceof Error) || !('status' in error)) return null;
  const { status } = error;
  const retryAfterS = 'retryAfterS' in error ? error.retryAfterS : null;
  if (typeof status !== 'number' || status === 0) return null;
  return {
    status,
    message: error.message,
    retryAfterS: typeof retryAfterS === 'number' ? retryAfterS : null,
  };
}
