// Calls the REST API of the service from the page.

/** The service rejected a call, or did not answer it (`status` 0). The message is the text of `{error}`. */
export class RestError extends Error {
  constructor(
    /** HTTP status. 0: no answer. */
    readonly status: number,
    message: string,
    /** Seconds of `Retry-After`, null without it. */
    readonly retryAfterS: number | null,
  ) {
    super(message);
    this.name = 'RestError';
  }
}

/** Same origin, Bearer token, JSON. 401 logs out, but not for a wrong password. All calls reject with RestError. */
export interface Rest {
  get<T>(path: string): Promise<T>;
  post<T>(path: string, body?: unknown): Promise<T>;
  patch<T>(path: string, body: unknown): Promise<T>;
  put<T>(path: string, body?: unknown): Promise<T>;
  remove<T>(path: string): Promise<T>;
}

const NO_ANSWER = 'no answer from the service';
/** The error of a call that has a password in its body. The token is valid. */
const WRONG_PASSWORD = 'invalid credentials';

/** `onLoggedOut`: the service does not accept the token any more. */
export function createRest(token: string, onLoggedOut: () => void): Rest {
  const call = async <T>(method: string, path: string, body?: unknown): Promise<T> => {
    try {
      return await callRest<T>({ method, path, token, body });
    } catch (error) {
      if (error instanceof RestError && error.status === 401 && error.message !== WRONG_PASSWORD)
        onLoggedOut();
      throw error;
    }
  };
  return {
    get: (path) => call('GET', path),
    post: (path, body) => call('POST', path, body),
    patch: (path, body) => call('PATCH', path, body),
    put: (path, body) => call('PUT', path, body),
    remove: (path) => call('DELETE', path),
  };
}

/** One call. Without a `token` it has no Authorization header, as POST /auth/login. */
export async function callRest<T>({
  method,
  path,
  token = null,
  body,
}: {
  method: string;
  path: string;
  token?: string | null;
  body?: unknown;
}): Promise<T> {
  const headers = {
    ...(token !== null && { authorization: `Bearer ${token}` }),
    ...(body !== undefined && { 'content-type': 'application/json' }),
  };
  const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) };
  // TypeError: the network failed, or the page is being left.
  const response = await fetch(path, init).catch((cause: unknown) => {
    throw Object.assign(new RestError(0, NO_ANSWER, null), { cause });
  });
  const answer: unknown = await response.json().catch(() => null); // SyntaxError: a proxy sent a page of its own
  if (response.ok) return answer as T; // the caller names what docs/openapi.json promises for the path
  const wait = Number(response.headers.get('retry-after') ?? Number.NaN);
  throw new RestError(response.status, errorIn(answer, response.status), Number.isFinite(wait) ? wait : null);
}

function errorIn(answer: unknown, status: number): string {
  const isError = typeof answer === 'object' && answer !== null && 'error' in answer;
  return isError && typeof answer.error === 'string' ? answer.error : `the service answered ${status}`;
}
