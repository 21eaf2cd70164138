// Lists every error that a client can receive over REST (code, HTTP status, text), and the errors that stop the start.

const refusals = {
  bad_request: [400, 'the request is not valid'],
  invalid_token: [401, 'missing or invalid token'],
  invalid_credentials: [401, 'invalid credentials'],
  device_disabled: [401, 'device disabled'],
  setup_code_invalid: [401, 'setup code is not valid'],
  admin_only: [403, 'admin role required'],
  dispatcher_only: [403, 'dispatcher or admin role required'],
  registration_closed: [403, 'registration is closed'],
  wrong_proof: [403, 'the proof is not that of the accepted key holder'],
  admin_account: [403, 'the account of an administrator is changed on the command line'],
  not_your_emergency: [403, 'only an admin or the user who raised the emergency may clear it'],
  unknown_path: [404, 'no such path'],
  talkgroup_not_found: [404, 'talkgroup not found'],
  user_not_found: [404, 'user not found'],
  device_not_found: [404, 'device not found'],
  gps_not_found: [404, 'no GPS position recorded for this device'],
  emergency_not_found: [404, 'no such open emergency'],
  recording_not_found: [404, 'recording not found'],
  holder_not_found: [404, 'key holder not found'],
  member_not_found: [404, 'the user is not a member'],
  epochs_not_found: [404, 'no keys for this talkgroup and key holder'],
  method_not_allowed: [405, 'method not allowed'],
  request_timeout: [408, 'request not received in time'],
  username_taken: [409, 'username taken'],
  device_inactive: [409, 'the device is disabled'],
  open_emergency: [409, 'the user has an open emergency'],
  holders_full: [409, 'the account has 8 accepted key holders: delete one first'],
  no_secrets_key: [409, 'the master secret must be encrypted before encryption can be required'],
  not_enforced: [409, 'not every node of the service can enforce encryption'],
  not_recorded_by_all: [409, 'not every node of the service records'],
  recording_off: [409, 'this node records nothing: RECORDING_GB is 0'],
  recording_erased: [410, 'the recording was erased'],
  body_too_large: [413, 'request body too large'],
  uri_too_long: [414, 'request target too long'],
  unsupported_media_type: [415, 'request body must be uncompressed application/json in UTF-8'],
  range_outside: [416, 'the map file does not have these bytes'],
  expectation_failed: [417, 'expectation not supported'],
  too_many_wrong_passwords: [429, 'too many wrong passwords'],
  too_many_registrations: [429, 'too many registrations'],
  too_many_holders: [429, 'too many new key holders'],
  too_many_keys: [429, 'too many keys requested'],
  too_many_downloads: [429, 'too many recordings are read now'],
  too_many_requests: [429, 'too many requests at once'],
  headers_too_large: [431, 'request headers too large'],
  internal: [500, 'internal error'],
  /** The service changed nothing. */
  database_unavailable: [503, 'database unavailable'],
  /** The statement was sent and not answered. The change may be stored or not. */
  outcome_unknown: [503, 'the database did not answer in time: the outcome is unknown'],
  /** The change is stored. The relay did not confirm that live sockets follow it. */
  relay_unconfirmed: [503, 'the change is stored, but the relay has not confirmed it'],
  login_queue_full: [503, 'too many logins at once'],
  sealing_unavailable: [503, 'keys cannot be sealed now'],
  not_ready: [503, 'not ready'],
  map_unavailable: [503, 'the map file is missing or has changed: the service must be started again'],
} as const satisfies Record<string, readonly [status: number, sentence: string]>;

export type RefusalCode = keyof typeof refusals;

/** Texts of a `bad_request` that names its cause. http/bad-requests.ts lists the operations that answer with each. */
export const badRequestTexts = {
  invalid_json: 'the body is not valid JSON',
  invalid_utf8: 'the body is not valid UTF-8',
  unstorable_text: 'a text contains characters that cannot be stored',
} as const;

/** All codes, in the order of the reference. */
export const refusalCodes = Object.keys(refusals) as readonly RefusalCode[];

/** An expected error of a request. http/failures.ts turns it into an HTTP answer, protocol/closes.ts into a close code. */
export class AppError extends Error {
  readonly code: RefusalCode;
  readonly status: number;
  /** Seconds after which a client may try again, sent as Retry-After. null unless the status is 429 or 503. */
  readonly retryAfterS: number | null;

  constructor(code: RefusalCode, detail?: string, retryAfterS = 1) {
    const [status, sentence] = refusals[code];
    super(detail ?? sentence);
    this.name = 'AppError';
    this.code = code;
    this.status = status;
    this.retryAfterS = status === 503 || status === 429 ? retryAfterS : null;
  }
}

/** Of an account, or its role, that is no plain user's. null: there is no such user. */
export const notPlainUser = (account: object | string | null) =>
  new AppError(account === null ? 'user_not_found' : 'admin_account');

/** A setting has a wrong value, or two settings contradict each other. The process prints this sentence and exits. */
export class ConfigError extends Error {
  override name = 'ConfigError';
}

/** Null unless listening failed because the port of this setting is in use or not permitted. */
export function portError(
  error: unknown,
  { name, host, port }: { readonly name: string; readonly host: string; readonly port: number },
): ConfigError | null {
  const { code } = error as NodeJS.ErrnoException;
  if (code !== 'EADDRINUSE' && code !== 'EACCES') return null;
  const reason = code === 'EACCES' ? 'permission denied' : 'in use';
  return new ConfigError(`cannot listen on ${name} ${port} of ${host}: ${reason} (${code})`);
}
