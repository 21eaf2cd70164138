// Completes the OpenAPI document that the schemas of the routes give with the callers and errors of each operation.
import { type RefusalCode, refusalCodes } from '../errors.js';
import type { BadRequests } from './bad-requests.js';
import { refer } from './failure-responses.js';
import type { Document, Parameter, Schema } from './openapi-document.js';
import { preamble } from './openapi-preamble.js';
import type { Access } from './router.js';
import { SHOWN_AS } from './schemas.js';

/** The declarations in the `config` of a route. */
export interface Declared {
  readonly access: Access;
  readonly refusals: readonly RefusalCode[];
  readonly badRequests: BadRequests;
}

/** Any request may meet these: before it has a route, while it arrives, or because of a defect. */
const OF_ANY: readonly RefusalCode[] = [
  'bad_request',
  'request_timeout',
  'uri_too_long',
  'expectation_failed',
  'headers_too_large',
  'internal',
];
const OF_BODIES: readonly RefusalCode[] = ['body_too_large', 'unsupported_media_type'];
/** Errors of auth/guard.ts. */
const OF_TOKENS: readonly RefusalCode[] = [
  'invalid_token',
  'device_disabled',
  'too_many_requests',
  'database_unavailable',
];
const OF_ACCESS: Readonly<Record<Access, readonly RefusalCode[]>> = {
  public: [],
  user: OF_TOKENS,
  dispatcher: [...OF_TOKENS, 'dispatcher_only'],
  admin: [...OF_TOKENS, 'admin_only'],
};

const CALLERS: Readonly<Record<Access, string>> = {
  public: 'Access: everyone, without a token.',
  user: 'Access: every user with a valid token.',
  dispatcher: 'Access: dispatchers and administrators.',
  admin: 'Access: administrators.',
};

/**
 * Completes the generated document. Adds the callers and the error responses to each operation, and names each schema
 * that has a title. The keys of `declared` are method and path, as in `GET /talkgroups/{id}`.
 */
export function complete(generated: Document, declared: ReadonlyMap<string, Declared>): Document {
  const responses: Record<string, object> = {};
  const paths: Record<string, Record<string, object>> = {};
  for (const [path, operations] of Object.entries(generated.paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      const { access, refusals, badRequests } = declared.get(`${method.toUpperCase()} ${path}`) ?? UNDECLARED;
      const codes = new Set([
        ...OF_ANY,
        ...(method === 'get' ? [] : OF_BODIES),
        ...OF_ACCESS[access],
        ...refusals,
      ]);
      paths[path] = {
        ...paths[path],
        [method]: {
          ...operation,
          'x-access': access,
          description: [operation.description, CALLERS[access]].filter(Boolean).join('\n\n'),
          ...(operation.parameters && { parameters: operation.parameters.map(shown) }),
          responses: {
            200: operation.responses[200],
            ...refer(responses, codes, { operationId: operation.operationId, badRequests }),
          },
        },
      };
    }
  }
  const schemas: Record<string, Schema> = { Failure: FAILURE };
  const named = nameSchemas(paths, schemas) as Document['paths'];
  const { openapi, info, servers, security, tags, components } = { ...preamble, ...generated };
  return {
    openapi,
    info,
    servers,
    security,
    tags,
    paths: named,
    components: {
      securitySchemes: preamble.components.securitySchemes,
      ...components,
      schemas: sorted(schemas),
      responses: sorted(responses),
      headers: HEADERS,
    },
  } as Document; // with more in it than we read again
}

const UNDECLARED: Declared = { access: 'admin', refusals: [], badRequests: [] };

function shown({ schema, ...parameter }: Parameter): Parameter {
  const instead = (schema as Record<string, unknown>)[SHOWN_AS] as Schema | undefined; // as paging.ts and schemas.ts set it
  return { ...parameter, schema: instead ?? schema };
}

const FAILURE: Schema = {
  type: 'object',
  description: 'The body of every failure.',
  required: ['error'],
  properties: {
    error: { type: 'string', description: 'One sentence. The reference lists the texts of each status.' },
  },
};

const HEADERS = {
  'Error-Code': {
    description: 'The name of the error, for programs. It stays when the text changes.',
    required: true,
    schema: { type: 'string', enum: refusalCodes },
  },
  'Retry-After': {
    description: 'Seconds to wait before the next try.',
    required: true,
    schema: { type: 'integer', minimum: 1 },
    example: 1,
  },
  'WWW-Authenticate': {
    description: 'The scheme of the token.',
    required: true,
    schema: { type: 'string', enum: ['Bearer'] },
  },
};

/** The value with a reference in place of each schema that has a title. Those are put into `schemas`. */
function nameSchemas(value: unknown, schemas: Record<string, Schema>): unknown {
  if (Array.isArray(value)) return value.map((item) => nameSchemas(item, schemas));
  if (typeof value !== 'object' || value === null) return value;
  const { title, ...rest } = value as Record<string, unknown>;
  const isNamed = typeof title === 'string';
  const inner = Object.fromEntries(
    Object.entries(isNamed ? rest : value).map(([key, part]) => [
      key,
      EXAMPLES.has(key) ? part : nameSchemas(part, schemas),
    ]),
  );
  if (!isNamed) return inner;
  const known = schemas[title];
  if (known !== undefined && JSON.stringify(known) !== JSON.stringify(inner))
    throw new Error(`two schemas have the title ${title}`);
  schemas[title] = inner;
  return { $ref: `#/components/schemas/${title}` };
}

/** Their values are no schemas, whatever they are called. */
const EXAMPLES = new Set(['example', 'examples']);

const sorted = <Value>(record: Readonly<Record<string, Value>>): Record<string, Value> =>
  Object.fromEntries(Object.entries(record).sort(([one], [other]) => (one < other ? -1 : 1)));
