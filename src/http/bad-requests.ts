// Lists the texts of the 400 answers of an operation, with samples that its own schemas give.
import type { FastifySchema } from 'fastify';
import type { TObject } from '../typebox.js';
import { type BadRequest, badRequestAdvice } from './advice.js';
import { describeFirst, validatorCompiler } from './body.js';

/** Causes with their texts. A text is a sample when badRequestAdvice has a `sample` for its cause. */
export type BadRequests = readonly (readonly [cause: BadRequest, text: string])[];

interface Described {
  readonly method: string;
  readonly schema: FastifySchema | undefined;
  /** Causes that the handler finds. */
  readonly others: readonly BadRequest[];
}

/** The causes of a 400 that names its cause. Any operation may also answer with the text of `bad_request`. */
export function badRequestsOf({ method, schema, others }: Described): BadRequests {
  // fastify parses a body of any other method, also where the operation takes none.
  const parsed: BadRequest[] = method === 'GET' || method === 'HEAD' ? [] : ['invalid_json', 'invalid_utf8'];
  return [
    ...parsed.map((cause) => listed(cause)),
    ...samples('body', schema?.body, ['incomplete_body', 'invalid_body']),
    ...samples('querystring', schema?.querystring, ['incomplete_query', 'invalid_query']),
    ...others.map((cause) => listed(cause)),
  ];
}

function listed(cause: BadRequest): [BadRequest, string] {
  const known = badRequestAdvice[cause];
  return [cause, 'text' in known ? known.text : known.sample];
}

/** The texts that this part gets when it is empty and when its first field is wrong, where the schema rejects that. */
function samples(
  httpPart: 'body' | 'querystring',
  schema: unknown,
  [incomplete, invalid]: readonly [BadRequest, BadRequest],
): [BadRequest, string][] {
  if (schema === undefined) return [];
  const { properties, examples = [{}] } = schema as TObject & { readonly examples?: readonly object[] }; // all are
  const validate = validatorCompiler({ schema: schema as TObject, httpPart, method: '', url: '' });
  const [first = ''] = Object.keys(properties);
  // No field of a body is a list. A query has texts only.
  const wrong = httpPart === 'body' ? [] : '';
  const tried: [BadRequest, object][] = [
    [incomplete, {}],
    [invalid, { ...examples[0], [first]: wrong }],
  ];
  return tried.flatMap(([cause, value]): [BadRequest, string][] => {
    const { error } = validate(value) as { error?: Parameters<typeof describeFirst>[0] }; // as describeFirst gets it
    return error === undefined ? [] : [[cause, describeFirst(error, httpPart).message]];
  });
}
