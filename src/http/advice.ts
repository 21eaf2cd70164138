// Describes for each error what it means and whether to try again, for the OpenAPI document and docs/rest-api.md.
import { AppError, badRequestTexts, type RefusalCode } from '../errors.js';

/** The description of one error. */
export interface Advice {
  /** Cause, at most 12 words. */
  readonly means: string;
  /** Whether and when the same request may be sent again, at most 12 words. */
  readonly retry: string;
  /** An example, when the text differs from that of errors.ts. */
  readonly sample?: string;
}

const LATER = 'Yes, after `Retry-After` seconds.';
const NO = 'No.';
const FIX = 'No. Correct the request.';

export const advice: Readonly<Record<RefusalCode, Advice>> = {
  bad_request: {
    means: 'The request line, a header, the path or the length is malformed.',
    retry: FIX,
  },
  invalid_token: {
    means: 'The token is missing, not valid or revoked.',
    retry: 'After a new login. When the login fails, stop.',
  },
  invalid_credentials: {
    means: 'The username or the password is wrong.',
    retry: 'No. Ask the user.',
  },
  device_disabled: {
    means: 'An administrator disabled the device.',
    retry: 'Yes, at most once a minute.',
  },
  wrong_proof: {
    means: 'The key holder that accepts did not open the challenge.',
    retry: 'With the proof of a new challenge. Otherwise no.',
  },
  holders_full: {
    means: 'Each of the 8 key holders of the account is accepted.',
    retry: 'After one was deleted.',
  },
  setup_code_invalid: {
    means: 'The code is unknown, used or expired.',
    retry: 'With another code. Ask an administrator for one.',
  },
  admin_only: {
    means: 'The role in the token is not `admin`.',
    retry: 'No. After a promotion, log in again.',
  },
  dispatcher_only: {
    means: 'The user is neither a dispatcher nor an administrator.',
    retry: 'Yes, after an administrator made the user a dispatcher. The token stays the same.',
  },
  registration_closed: {
    means: 'The operator set `REGISTRATION=closed`.',
    retry: 'No. The operator adds accounts.',
  },
  admin_account: {
    means: 'The user is an administrator.',
    retry: 'No. The operator has a command for it.',
  },
  not_your_emergency: {
    means: 'Another user raised the emergency.',
    retry: NO,
  },
  unknown_path: {
    means: 'No operation has this path.',
    retry: FIX,
  },
  talkgroup_not_found: {
    means: 'No talkgroup has this id.',
    retry: 'No. Read the list of talkgroups again.',
  },
  user_not_found: {
    means: 'No user has this id.',
    retry: 'No. Read the id again.',
  },
  device_not_found: {
    means: 'No device has this id.',
    retry: 'No. Read the id again.',
  },
  gps_not_found: {
    means: 'The device has not reported a position.',
    retry: 'Yes, when the device may have reported one.',
  },
  emergency_not_found: {
    means: 'No open emergency has this id.',
    retry: 'No. It may have been cleared.',
  },
  recording_not_found: {
    means: 'The caller may hear no recording with this id.',
    retry: 'No. It may have expired.',
  },
  holder_not_found: {
    means: 'No key holder that the caller may see has this id.',
    retry: 'No. Read the list of key holders again.',
  },
  member_not_found: {
    means: 'The user is not a member of the talkgroup.',
    retry: 'No. Add the user first.',
  },
  epochs_not_found: {
    means: 'The caller may not have these keys with this key holder.',
    retry: 'No. Wait for acceptance or for an administrator.',
  },
  method_not_allowed: {
    means: 'The path does not have this method. `Allow` lists its methods.',
    retry: FIX,
  },
  request_timeout: {
    means: 'The request arrived too slowly and was not carried out.',
    retry: 'Yes, on a new connection.',
  },
  username_taken: {
    means: 'An account has this name.',
    retry: 'No. Choose another name.',
  },
  device_inactive: {
    means: 'An administrator disabled the device with this serial.',
    retry: 'After the device is enabled.',
  },
  open_emergency: {
    means: 'An emergency of the user is not cleared.',
    retry: 'After the emergency is cleared.',
  },
  no_secrets_key: {
    means: '`SECRETS_KEY` is unset, or this master secret is unencrypted.',
    retry: 'Yes, after `talkgroup-radio secrets rotate` with `SECRETS_KEY`.',
  },
  not_enforced: {
    means: 'Some relays of the service could relay clear audio.',
    retry: 'Yes, when every node can be reached.',
  },
  not_recorded_by_all: {
    means: 'A node cannot be reached, or has `RECORDING_GB` at 0. Speech there would be lost.',
    retry: 'Yes, when every node can be reached and records.',
  },
  recording_off: {
    means: 'The operator set `RECORDING_GB` to 0 at this node.',
    retry: 'After the operator allows recordings.',
  },
  recording_erased: {
    means: 'An administrator erased the speech of this recording.',
    retry: NO,
  },
  body_too_large: {
    means: 'The body is larger than `BODY_BYTES`.',
    retry: FIX,
  },
  uri_too_long: {
    means: 'Path and query are longer than `URL_BYTES`.',
    retry: FIX,
  },
  unsupported_media_type: {
    means: 'The body is compressed, not JSON or not UTF-8.',
    retry: FIX,
  },
  expectation_failed: {
    means: 'The service supports no such `Expect` header.',
    retry: 'Yes, without the header.',
  },
  too_many_wrong_passwords: {
    means: 'Too many passwords were wrong. This one was not checked.',
    retry: LATER,
  },
  too_many_registrations: {
    means: 'Too many registrations came from this address.',
    retry: LATER,
  },
  too_many_holders: {
    means: 'The user registered too many key holders today.',
    retry: LATER,
  },
  too_many_keys: {
    means: 'The user, or all users together, requested too many keys.',
    retry: LATER,
  },
  too_many_downloads: {
    means: 'The node sends as many recordings as it may at once.',
    retry: LATER,
  },
  too_many_requests: {
    means: 'Too many requests of this user or address are unanswered.',
    retry: LATER,
  },
  headers_too_large: {
    means: 'The headers are larger than `HEADER_BYTES`.',
    retry: FIX,
  },
  internal: {
    means: 'The service has a defect. Its log has the details.',
    retry: 'No. Report it.',
  },
  database_unavailable: {
    means: 'The database is not available. Nothing was changed.',
    retry: LATER,
  },
  outcome_unknown: {
    means: 'The change was sent to the database, which did not answer.',
    retry: 'Read first, then decide.',
  },
  relay_unconfirmed: {
    means: 'The change is stored. Live sockets may follow later.',
    retry: 'No. The change is stored.',
  },
  login_queue_full: {
    means: 'Too many passwords wait to be hashed. Nothing was changed.',
    retry: LATER,
  },
  sealing_unavailable: {
    means: 'The thread that seals keys failed, or cannot decrypt a secret.',
    retry: LATER,
  },
  range_outside: {
    means: 'The map file of the console ends before these bytes.',
    retry: FIX,
  },
  map_unavailable: {
    means: 'The map file of the console was removed or replaced.',
    retry: 'After the operator has started the service again.',
  },
  not_ready: {
    means: 'The service cannot serve. The text is the reason.',
    retry: LATER,
    sample: 'draining',
  },
};

/** A cause that the text of a 400 names. */
export type BadRequest = keyof typeof badRequestAdvice;

/** The causes that the text of a 400 names. `text` is fixed, `sample` is an example. */
export const badRequestAdvice = {
  invalid_json: { means: 'The body is not JSON.', text: badRequestTexts.invalid_json },
  invalid_utf8: { means: 'The body is not UTF-8.', text: badRequestTexts.invalid_utf8 },
  incomplete_body: {
    means: 'The body lacks a required field.',
    sample: 'body must have required properties name',
  },
  invalid_body: { means: 'A field of the body is not valid.', sample: 'body/lat must be <= 90' },
  incomplete_query: {
    means: 'The query lacks a required parameter.',
    sample: 'querystring must have required properties talkgroup_id',
  },
  invalid_query: {
    means: 'A parameter of the query is not valid.',
    sample: 'querystring/limit must be an integer from 1 to 1000',
  },
  short_password: {
    means: 'The password is shorter than `PASSWORD_MIN_LENGTH`.',
    sample: 'the password must have at least 12 characters',
  },
  unstorable_text: {
    means: 'The encoding of the database lacks a character.',
    text: badRequestTexts.unstorable_text,
  },
} as const satisfies Readonly<
  Record<string, { readonly means: string } & ({ readonly text: string } | { readonly sample: string })>
>;

/** The status and the text of an error in errors.ts. */
export function textOf(code: RefusalCode): { readonly status: number; readonly text: string } {
  const { status, message } = new AppError(code);
  return { status, text: message };
}
