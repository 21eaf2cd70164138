// The routes as the running service documents them: every one must get its input, one added tomorrow as well.
import type { Schema } from './schema.js';

/** What a path parameter names, by the collection in front of it. */
export type Named = 'talkgroup' | 'device' | 'emergency' | 'user' | 'holder' | 'recording';

export interface Parameter {
  readonly name: string;
  /** `count`: a number of items, or any text. `fixed`: it has the value of RIGHT_VALUES. */
  readonly named: Named | 'count' | 'fixed';
}

export interface Route {
  readonly method: string;
  /** As documented: `/talkgroups/{id}`. */
  readonly path: string;
  readonly parameters: readonly Parameter[];
  readonly query: readonly Parameter[];
  /** Of the JSON body. null: it takes none. */
  readonly body: Schema | null;
  /** null: bytes. */
  readonly answer: Schema | null;
  readonly needsToken: boolean;
  /** Hashes a password when its body is right, and so takes 50 ms of the one that hashes. */
  readonly hashes: boolean;
}

interface Operation {
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
  readonly security?: readonly unknown[];
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema: Schema }>> }>
  >;
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components?: { readonly schemas: Schemas };
}

type Schemas = Readonly<Record<string, Schema>>;

/** All routes of the document. Throws at what the generators would have no input for. */
export function routesOf({ paths, components: { schemas } = { schemas: {} } }: Document): Route[] {
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) =>
      routeOf({ method: method.toUpperCase(), path, operation, schemas }),
    ),
  );
}

interface Documented extends Pick<Route, 'method' | 'path'> {
  readonly operation: Operation;
  readonly schemas: Schemas;
}

function routeOf({ method, path, operation, schemas }: Documented): Route {
  const content = operation.responses['200']?.content ?? {};
  const answer =
    content['application/json']?.schema ?? (content['application/octet-stream'] ? null : undefined);
  if (answer === undefined) throw new Error(`${method} ${path} documents no answer`);
  const body = operation.requestBody?.content['application/json']?.schema ?? null;
  const fields = Object.keys((body && resolved(body, schemas))?.properties ?? {});
  const named = (place: string) => (operation.parameters ?? []).filter((one) => one.in === place);
  return {
    method,
    path,
    parameters: named('path').map(({ name }) => ({ name, named: namedIn(path, name) })),
    query: named('query').map(({ name }) => ({ name, named: namedAs(name) })),
    body: body && resolved(body, schemas),
    answer: answer && resolved(answer, schemas),
    needsToken: (operation.security ?? []).length > 0,
    hashes: fields.some((field) => /password/i.test(field)),
  };
}

/** The schema with what its references name in their place. None of them refers to itself. */
function resolved(schema: Schema, schemas: Schemas): Schema {
  const text = JSON.stringify(schema, (_key, part: unknown) => {
    const { $ref } = (part ?? {}) as Schema; // of a text or a number it is undefined
    if ($ref === undefined) return part;
    const named = schemas[$ref.replace('#/components/schemas/', '')];
    if (named === undefined) throw new Error(`${$ref} names nothing`);
    return named;
  });
  return JSON.parse(text);
}

/** `/talkgroups/{id}` names a talkgroup. */
function namedIn(path: string, name: string): Named {
  const [, collection = ''] = new RegExp(`([^/]+)/\\{${name}\\}`).exec(path) ?? [];
  const named = COLLECTIONS[collection];
  if (named === undefined) throw new Error(`what {${name}} of ${path} names is not known here: add it`);
  return named;
}

const COLLECTIONS: Readonly<Record<string, Named>> = {
  talkgroups: 'talkgroup',
  devices: 'device',
  emergencies: 'emergency',
  holders: 'holder',
  members: 'user',
  recordings: 'recording',
  users: 'user',
};

/** Of what names no row and is no count. */
export const RIGHT_VALUES: Readonly<Record<string, string>> = {
  sort: 'created_at',
  since: '2026-01-01T00:00:00Z',
  until: '2100-01-01T00:00:00Z',
  emergency: 'true',
  order: 'oldest',
};

/** `talkgroup_id` names a talkgroup. A page may begin behind any id. */
export function namedAs(name: string): Parameter['named'] {
  if (['limit', 'q', 'from', 'find', 'before', 'act', 'talker'].includes(name)) return 'count';
  if (RIGHT_VALUES[name] !== undefined) return 'fixed';
  if (name === 'after') return 'talkgroup';
  const named = /^(talkgroup|device|emergency|user|holder|recording)_id$/.exec(name)?.[1];
  if (named === undefined) throw new Error(`what ${name} names is not known here: add it`);
  return named as Named;
}
