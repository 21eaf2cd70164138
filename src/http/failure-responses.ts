// Describes the failures of the operations as responses of the OpenAPI document, one for each status.
import { type RefusalCode, refusalCodes } from '../errors.js';
import { advice, badRequestAdvice, textOf } from './advice.js';
import type { BadRequests } from './bad-requests.js';

/** References to the responses of all codes, one for each status. Adds to `responses` those that it lacks. */
export function refer(
  responses: Record<string, object>,
  codes: ReadonlySet<RefusalCode>,
  { operationId, badRequests }: { operationId: string; badRequests: BadRequests },
): Record<string, { readonly $ref: string }> {
  const byStatus = new Map<number, RefusalCode[]>();
  for (const code of refusalCodes.filter((one) => codes.has(one))) {
    const { status } = textOf(code);
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  const references: Record<string, { readonly $ref: string }> = {};
  for (const [status, same] of byStatus) {
    const named = status === 400 ? badRequests : [];
    const isOwn = named.some(([cause]) => 'sample' in badRequestAdvice[cause]);
    const name = [...same, ...(isOwn ? [operationId] : named.map(([cause]) => cause))].join('.');
    responses[name] ??= failureResponse(status, same, named);
    references[status] = { $ref: `#/components/responses/${name}` };
  }
  return references;
}

function failureResponse(status: number, codes: readonly RefusalCode[], named: BadRequests): object {
  const general = codes.map((code) => {
    const { means, retry, sample } = advice[code];
    const texts = sample === undefined ? `\`${textOf(code).text}\`` : `Such as \`${sample}\``;
    return `${texts}: ${means} Retry: ${retry}`;
  });
  const causes = named.map(([cause, text]) => {
    const { means } = badRequestAdvice[cause];
    const texts = 'sample' in badRequestAdvice[cause] ? `Such as \`${text}\`` : `\`${text}\``;
    return `${texts}: ${means} Retry: ${advice.bad_request.retry}`;
  });
  const headers = {
    'Error-Code': { $ref: '#/components/headers/Error-Code' },
    ...(status === 401 && { 'WWW-Authenticate': { $ref: '#/components/headers/WWW-Authenticate' } }),
    ...((status === 429 || status === 503) && {
      'Retry-After': { $ref: '#/components/headers/Retry-After' },
    }),
  };
  const texts = [...codes.map((code) => [code, advice[code].sample ?? textOf(code).text] as const), ...named];
  const examples = texts.map(([name, error]) => [name, { value: { error } }]);
  const lines = [...general, ...causes];
  return {
    description: lines.length === 1 ? lines[0] : lines.map((line) => `- ${line}`).join('\n'),
    headers,
    content: {
      'application/json': {
        schema: { $ref: '#/components/schemas/Failure' },
        examples: Object.fromEntries(examples),
      },
    },
  };
}
