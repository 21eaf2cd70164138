// Asks the REST API of the service for JSON, with the token of the user.

/** The service rejected the request, or could not be reached (status 0). `retryAfterMs`: its Retry-After, else null. */
export class RestError extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly retryAfterMs: number | null = null,
  ) {
    super(message);
    this.name = 'RestError';
  }
}

/** Resolves with the JSON object of the answer. Rejects with RestError. */
export type Rest = (
  method: 'GET' | 'POST',
  path: string,
  body?: Readonly<Record<string, unknown>>,
) => Promise<Record<string, unknown>>;

/** What it needs of the global `fetch`. */
export type Fetch = (
  address: string,
  init: { method: string; headers: Record<string, string>; body?: string; signal?: AbortSignal },
) => Promise<{
  ok: boolean;
  status: number;
  headers: { get(name: string): string | null };
  json(): Promise<unknown>;
}>;

/** The service answers within 5 s. The rest is for the network. */
const ANSWER_MS_MAX = 10_000;

/** `url`: address of the REST API, such as https://radio.example. */
export function createRest({
  url,
  token,
  fetch = globalFetch,
}: {
  url: string;
  token: string;
  fetch?: Fetch;
}): Rest {
  const base = url.replace(/\/$/, '');
  return async (method, path, body) => {
    const headers = {
      authorization: `Bearer ${token}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    };
    const text = body === undefined ? {} : { body: JSON.stringify(body) };
    const signal = AbortSignal.timeout(ANSWER_MS_MAX);
    const response = await fetch(base + path, { method, headers, ...text, signal }).catch((error: Error) => {
      throw new RestError(0, `${method} ${path.split('?')[0]}: ${error.message}`);
    });
    const answer: unknown = await response.json().catch(() => null); // no JSON: from an intermediary
    const fields = typeof answer === 'object' && answer !== null ? (answer as Record<string, unknown>) : {};
    if (response.ok) return fields;
    const seconds = Number(response.headers.get('retry-after') ?? Number.NaN);
    const error = typeof fields.error === 'string' ? fields.error : `status ${response.status}`;
    throw new RestError(response.status, error, Number.isFinite(seconds) ? seconds * 1000 : null);
  };
}

const globalFetch: Fetch = (address, init) => fetch(address, init);
