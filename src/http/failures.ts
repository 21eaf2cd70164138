// Turns every error into a status and a body `{error: string}`.
import { httpErrors } from '@fastify/sensible';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError, badRequestTexts, type RefusalCode } from '../errors.js';
import type { HttpCounts } from './counts.js';

/** Creates the error handler of routes and router. It sends expected errors, and logs all others as `internal`. */
export const failureAnswerer =
  (counts: HttpCounts) =>
  (error: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    const refusal = refusalOf(error);
    counts.refused[refusal.code]++;
    if (refusal.code === 'internal') request.log.error({ err: error }, 'request failed');
    const { statusCode, headers = {}, message } = httpErrorOf(refusal);
    // fastify closes the connection after a refused body. The bytes still unread would then reset it before the
    // client has read its answer. Node discards them instead, for as long as a request may take.
    reply.removeHeader('connection');
    void reply.code(statusCode).headers(headers).send(bodyOf(message));
  };

/** The AppError for any error. An unexpected error becomes `internal`. */
export function refusalOf(error: unknown): AppError {
  if (error instanceof AppError) return error;
  const { code, statusCode } = error as { code?: unknown; statusCode?: unknown };
  if (code === 'FST_ERR_CTP_INVALID_JSON_BODY')
    return new AppError('bad_request', badRequestTexts.invalid_json);
  return new AppError(meanings.get(statusCode) ?? 'internal');
}

/** What fastify and its plugins mean by a status. Their own sentences are not shown, some repeat the URL. */
const meanings = new Map<unknown, RefusalCode>([
  [400, 'bad_request'],
  [403, 'unknown_path'], // a dot file under /docs/static
  [404, 'unknown_path'],
  [412, 'bad_request'], // If-Match and the like for a file
  [413, 'body_too_large'],
  [414, 'uri_too_long'],
  [415, 'unsupported_media_type'],
]);

/** The body of every error. */
export const bodyOf = (message: string) => ({ error: message });

/** The error with its HTTP headers. The client also gets the message of a 503, which http-errors would hide. */
export const httpErrorOf = (refusal: AppError) =>
  httpErrors.createError(refusal.status, refusal.message, { headers: headersOf(refusal), expose: true });

/** The code for programs, and RFC 9110: a 401 names its scheme (11.6.1), a 429 and a 503 when to come back (10.2.3). */
function headersOf({ code, status, retryAfterS }: AppError): Record<string, string> {
  return {
    'error-code': code,
    ...(status === 401 && { 'www-authenticate': 'Bearer' }),
    ...(retryAfterS !== null && { 'retry-after': String(retryAfterS) }),
  };
}
