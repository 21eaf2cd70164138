// Calls the REST API of the service with JSON, for radios and for the page of the console.

/** The service rejected a call, or did not answer it (`status` 0). The message is the text of `{error}`. */
export class RestError extends Error {
  constructor(
    /** HTTP status. 0: no answer, or one that is not what the API promises. */
    readonly status: number,
    message: string,
    /** Seconds of `Retry-After`, null without it. */
    readonly retryAfterS: number | null = null,
    /** `Error-Code`, such as `username_taken`. null: no answer, or one of an intermediary. */
    readonly code: string | null = null,
  ) {
    super(message);
    this.name = 'RestError';
  }
}

/** All calls reject with RestError. `T` is what docs/openapi.json promises for the path. */
export interface Rest {
  get<T extends object>(path: string): Promise<T>;
  post<T extends object>(path: string, body?: unknown): Promise<T>;
  patch<T extends object>(path: string, body: unknown): Promise<T>;
  put<T extends object>(path: string, body?: unknown): Promise<T>;
  remove<T extends object>(path: string): Promise<T>;
  /** An answer that is not JSON, such as the frames of a recording. */
  getBytes(path: string): Promise<Uint8Array<ArrayBuffer>>;
}

/** What it needs of the global `fetch`. */
export type Fetch = (
  address: string,
  init: { method: string; headers: Record<string, string>; body?: string; signal?: AbortSignal },
) => Promise<{
  ok: boolean;
  status: number;
  headers: { get(name: string): string | null };
  json(): Promise<unknown>;
  arrayBuffer(): Promise<ArrayBuffer>;
}>;

/** The service answers within 5 s. The rest is for the network. */
const ANSWER_MS_MAX = 10_000;
/** 4 MiB at 35 KB/s. */
const BYTES_MS_MAX = 120_000;
const NO_ANSWER = 'no answer from the service';

/**
 * `url`: address of the REST API, such as https://radio.example. A page of the same origin leaves it out. `onRejected` hears
 * of each failed call.
 */
export function createRest({
  onRejected = () => {},
  ...service
}: {
  url?: string;
  token: string;
  fetch?: Fetch;
  onRejected?: (error: RestError) => void;
}): Rest {
  const told = (error: RestError): never => {
    onRejected(error);
    throw error;
  };
  const call = <T extends object>(method: string, path: string, body?: unknown) =>
    callRest<T>({ ...service, method, path, body }).catch(told);
  return {
    get: (path) => call('GET', path),
    post: (path, body) => call('POST', path, body),
    patch: (path, body) => call('PATCH', path, body),
    put: (path, body) => call('PUT', path, body),
    remove: (path) => call('DELETE', path),
    getBytes: (path) => readBytes({ ...service, method: 'GET', path }).catch(told),
  };
}

type Call = {
  url?: string;
  method: string;
  path: string;
  token?: string | null;
  body?: unknown;
  fetch?: Fetch;
};

type Answer = Awaited<ReturnType<Fetch>>;

/** One call. Without a `token` it has no Authorization header, as POST /auth/login. Rejects with RestError. */
export async function callRest<T extends object>(call: Call): Promise<T> {
  const response = await send(call, ANSWER_MS_MAX);
  // SyntaxError: from an intermediary. AbortError, TypeError: the rest of the answer did not come.
  const answer: unknown = await response.json().catch(() => null);
  if (!response.ok) throw failureOf(response, answer);
  if (!isObject(answer)) throw new RestError(0, NO_ANSWER);
  return answer as T; // the caller names what docs/openapi.json promises for the path
}

async function readBytes(call: Call): Promise<Uint8Array<ArrayBuffer>> {
  const response = await send(call, BYTES_MS_MAX);
  if (!response.ok) throw failureOf(response, await response.json().catch(() => null));
  return new Uint8Array(await response.arrayBuffer().catch(noAnswer));
}

/** `answerMsMax`: until the whole answer is there. */
async function send(
  { url = '', method, path, token = null, body, fetch = globalFetch }: Call,
  answerMsMax: number,
): Promise<Answer> {
  const headers = {
    ...(token !== null && { authorization: `Bearer ${token}` }),
    ...(body !== undefined && { 'content-type': 'application/json' }),
  };
  const text = body === undefined ? {} : { body: JSON.stringify(body) };
  const signal = AbortSignal.timeout(answerMsMax);
  return fetch(url.replace(/\/$/, '') + path, { method, headers, ...text, signal }).catch(noAnswer);
}

/** TypeError: the network failed, or the page is being left. TimeoutError: the answer did not come in time. */
function noAnswer(cause: unknown): never {
  throw Object.assign(new RestError(0, NO_ANSWER), { cause });
}

const isObject = (answer: unknown): answer is object => typeof answer === 'object' && answer !== null;

function failureOf(response: Answer, answer: unknown): RestError {
  const hasText = isObject(answer) && 'error' in answer && typeof answer.error === 'string';
  const error = hasText ? String(answer.error) : `the service answered ${response.status}`;
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN);
  const retryAfterS = Number.isFinite(seconds) ? seconds : null;
  const code = response.headers.get('error-code') ?? EARLIER_CODES.find(([, text]) => text.test(error))?.[0];
  return new RestError(response.status, error, retryAfterS, code ?? null);
}

/** During an update a node of the version before answers without a code. These decide what a client does. */
const EARLIER_CODES: readonly (readonly [code: string, text: RegExp])[] = [
  ['invalid_credentials', /^invalid c/],
  ['device_disabled', /^device d/],
  ['relay_unconfirmed', /is stored/],
  ['outcome_unknown', /is unknown$/],
];

/**
 * The answer of a change. null: the change is stored, and the relay has not confirmed it. Such a change must not be sent
 * again (docs/rest-api.md, "When to try again"). Rejects with RestError.
 */
export async function storedBy<Answer>(request: Promise<Answer>): Promise<Answer | null> {
  try {
    return await request;
  } catch (error) {
    if (error instanceof RestError && error.code === 'relay_unconfirmed') return null;
    throw error;
  }
}

const globalFetch: Fetch = (address, init) => fetch(address, init);
