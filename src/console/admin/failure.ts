// Says in words why a request failed, and tells a change that is stored from one that is not.
import { RestError } from '../../client/rest.js';
import { texts } from './texts.js';

export function wordsOf(error: unknown): string {
  if (!(error instanceof RestError) || error.status === 0) return texts.noAnswer;
  const { status, message, code, retryAfterS } = error;
  switch (code) {
    case 'outcome_unknown':
      return texts.unknownOutcome;
    case 'registration_closed':
      return texts.notAccepted(message);
    // What an administrator or the operator must do first.
    case 'no_secrets_key':
      return texts.noSecretsKey;
    case 'not_enforced':
      return texts.notEnforced;
    case 'recordings_encrypted':
      return texts.wouldForget;
  }
  switch (status) {
    case 400:
    case 409:
      return texts.notAccepted(message);
    case 401:
      return texts.loggedOut;
    case 403:
      return texts.forbidden;
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
