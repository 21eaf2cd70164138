// One REST call with a token and a JSON body, for tests that drive the service and do not test its answers.
type Json = Record<string, unknown>;

export interface Call {
  readonly method: string;
  readonly url: string;
  readonly token?: string | null | undefined;
  readonly body?: unknown;
}

/** Status and body of the answer, whatever it is. */
export async function callJson({ method, url, token, body }: Call): Promise<{ status: number; body: Json }> {
  const response = await fetch(url, {
    method,
    headers: {
      ...(token != null && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as Json };
}
