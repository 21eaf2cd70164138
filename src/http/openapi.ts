// Completes the OpenAPI document that the schemas of the routes give with the callers and errors of each operation.
import { readFileSync } from 'node:fs';
import { type RefusalCode, refusalCodes } from '../errors.js';
import { advice, textOf } from './advice.js';
import type { Access } from './router.js';
import { SHOWN_AS } from './schemas.js';

/** The parts of OpenAPI 3.1 that the service uses. */
export interface Document {
  readonly openapi: string;
  readonly info: { readonly title: string; readonly version: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly responses: Readonly<Record<string, Response>>;
  };
}

export interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly security: readonly object[];
  readonly 'x-access': Access;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, Response | Reference>>;
}

export interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required: boolean;
  readonly description?: string;
  readonly schema: Schema;
}

export interface Response {
  readonly description: string;
  readonly content: Content;
}

export interface Content {
  readonly 'application/json': {
    readonly schema: Schema;
    readonly example?: unknown;
    readonly examples?: Readonly<Record<string, { readonly value: { readonly error: string } }>>;
  };
}

export interface Reference {
  readonly $ref: string;
}

export interface Schema {
  readonly $ref?: string;
  readonly title?: string;
  readonly type?: string;
  readonly format?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
}

/** The declarations in the `config` of a route. */
export interface Declared {
  readonly access: Access;
  readonly refusals: readonly RefusalCode[];
}

/** As in package.json. */
const version: string = JSON.parse(
  readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'),
).version;

const DESCRIPTION = `Accounts, talkgroups, devices, positions and emergencies. Audio travels over the WebSocket relay, which has its own port and protocol.

- Bodies are JSON in UTF-8. Every success has status 200. Every failure has a body \`{"error": "..."}\`.
- The service checks a request in this order: path and method (404, 405), token (401), role (403), body and parameters (400), ids (404).
- An unknown field is ignored. \`null\` for an optional field counts as absent. Types are not converted.
- Ids are UUIDs. A malformed id in a path or a body names nothing and gets 404.
- Times are ISO 8601 in UTC.
- The service answers each request within 5 s, if the client reads the answer.`;

/** The document without operations. */
export const preamble = {
  openapi: '3.1.0',
  info: {
    title: 'Talkgroup Radio Service',
    version,
    description: DESCRIPTION,
    license: { name: 'No licence chosen yet', identifier: 'LicenseRef-UNLICENSED' },
  },
  servers: [
    { url: '/', description: 'The server that serves this document.' },
    {
      url: 'http://127.0.0.1:3000',
      description: 'A server started with `make run` and the default settings.',
    },
    {
      url: 'https://{host}',
      description: 'A server behind a proxy, or with TLS of its own.',
      variables: { host: { default: 'radio.example.net', description: 'Host name, with a port if needed.' } },
    },
  ],
  security: [{ token: [] }],
  tags: [
    { name: 'auth', description: 'Accounts: register, log in, change a password.' },
    { name: 'talkgroups', description: 'Talkgroups and their members.' },
    { name: 'devices', description: 'Devices, and the caller with its device.' },
    { name: 'gps', description: 'Positions of devices.' },
    { name: 'keys', description: 'Rotation counters, from which clients derive keys.' },
    { name: 'emergencies', description: 'Open emergencies.' },
    { name: 'health', description: 'For supervisors and load balancers.' },
  ],
  components: {
    securitySchemes: {
      token: {
        type: 'http' as const,
        scheme: 'bearer',
        bearerFormat: 'JWT',
        description: 'The `jwt` from `POST /auth/register` or `POST /auth/login`. It does not expire.',
      },
    },
  },
};

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
  admin: [...OF_TOKENS, 'admin_only'],
};

const CALLERS: Readonly<Record<Access, string>> = {
  public: 'Access: everyone, without a token.',
  user: 'Access: every user with a valid token.',
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
      const { access, refusals } = declared.get(`${method.toUpperCase()} ${path}`) ?? UNDECLARED;
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
          responses: { 200: operation.responses[200], ...refer(responses, codes) },
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

const UNDECLARED: Declared = { access: 'admin', refusals: [] };

function shown({ schema, ...parameter }: Parameter): Parameter {
  const instead = (schema as Record<string, unknown>)[SHOWN_AS] as Schema | undefined; // as paging.ts and schemas.ts set it
  return { ...parameter, schema: instead ?? schema };
}

/** References to the responses of all codes, one for each status; adds to `responses` those that it lacks. */
function refer(
  responses: Record<string, object>,
  codes: ReadonlySet<RefusalCode>,
): Record<string, Reference> {
  const byStatus = new Map<number, RefusalCode[]>();
  for (const code of refusalCodes.filter((one) => codes.has(one))) {
    const { status } = textOf(code);
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  const references: Record<string, Reference> = {};
  for (const [status, same] of byStatus) {
    const name = same.join('.');
    responses[name] ??= failureResponse(status, same);
    references[status] = { $ref: `#/components/responses/${name}` };
  }
  return references;
}

function failureResponse(status: number, codes: readonly RefusalCode[]): object {
  const lines = codes.map((code) => {
    const { means, retry, sample } = advice[code];
    const texts = sample === undefined ? `\`${textOf(code).text}\`` : `Such as \`${sample}\``;
    return `${texts}: ${means} Retry: ${retry}`;
  });
  const headers = {
    ...(status === 401 && { 'WWW-Authenticate': { $ref: '#/components/headers/WWW-Authenticate' } }),
    ...((status === 429 || status === 503) && {
      'Retry-After': { $ref: '#/components/headers/Retry-After' },
    }),
  };
  const examples = codes.map((code) => [
    code,
    { value: { error: advice[code].sample ?? textOf(code).text } },
  ]);
  return {
    description: lines.length === 1 ? lines[0] : lines.map((line) => `- ${line}`).join('\n'),
    ...(Object.keys(headers).length > 0 && { headers }),
    content: {
      'application/json': {
        schema: { $ref: '#/components/schemas/Failure' },
        examples: Object.fromEntries(examples),
      },
    },
  };
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

/** The value with a reference in place of each schema that has a title; those are put into `schemas`. */
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
