// Writes the reference of docs/rest-api.md from the OpenAPI document.
import { refusalCodes } from '../errors.js';
import { advice, badRequestAdvice, textOf } from './advice.js';
import type { Document, Operation, Parameter, Reference, Response, Schema } from './openapi-document.js';
import type { Access } from './router.js';

/** The table of all errors: status, code, text, meaning and whether to try again. */
export function errorTable(): string {
  const causes = Object.values(badRequestAdvice).map((cause) => {
    const text = 'text' in cause ? `\`${cause.text}\`` : `such as \`${cause.sample}\``;
    return ['400', '`bad_request`', text, cause.means, advice.bad_request.retry];
  });
  const rows = refusalCodes.flatMap((code) => {
    const { status, text } = textOf(code);
    const { means, retry, sample } = advice[code];
    const row = [
      String(status),
      `\`${code}\``,
      sample === undefined ? `\`${text}\`` : `such as \`${sample}\``,
      means,
      retry,
    ];
    return code === 'bad_request' ? [row, ...causes] : [row];
  });
  return table(['status', 'code', 'text', 'meaning', 'may I retry'], rows);
}

interface Described extends Operation {
  readonly method: string;
  readonly path: string;
}

/** All operations by tag, with callers, parameters, body, answer and errors. */
export function referenceOf(document: Document): string {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, one]) => ({ ...one, method: method.toUpperCase(), path })),
  );
  const everywhere = commonErrors(document, operations);
  const overview = operations.map(({ summary, method, path, 'x-access': access }) => [
    `[${summary}](#${anchorOf(summary)})`,
    `\`${method} ${path}\``,
    CALLERS[access],
  ]);
  const tags = [...new Set(operations.flatMap(({ tags }) => tags))];
  return [
    table(['operation', 'request', 'access'], overview),
    'Every operation may also answer with these errors. They are not repeated below.',
    table(['status', 'code', 'text'], everywhere.map(cellsOfError)),
    ...tags.flatMap((tag) => [
      `### ${tag}`,
      ...operations
        .filter(({ tags }) => tags.includes(tag))
        .flatMap((operation) => section(document, operation, everywhere)),
    ]),
  ].join('\n\n');
}

const CALLERS: Readonly<Record<Access, string>> = {
  public: 'everyone',
  user: 'users',
  dispatcher: 'dispatchers',
  admin: 'administrators',
};

function section(document: Document, operation: Described, everywhere: readonly Listed[]): string[] {
  const { method, path, summary, operationId, description, parameters = [], requestBody } = operation;
  const body = requestBody?.content['application/json'];
  const success = resolve(document, operation.responses[200]);
  const answer = success.content['application/json'];
  const fields = answer === undefined ? [] : rowsOf(document, answer.schema);
  const own = errorsOf(document, operation).filter(
    ({ code }) => !everywhere.some((common) => common.code === code),
  );
  return [
    `#### ${summary}`,
    `\`${method} ${path}\`, operation \`${operationId}\``,
    description,
    ...(parameters.length === 0
      ? []
      : [table(['parameter', 'in', 'type', 'required', 'meaning'], parameters.map(cellsOfParameter))]),
    ...(body === undefined
      ? []
      : [
          'Body:',
          table(['field', 'type', 'required', 'meaning'], rowsOf(document, body.schema)),
          json(body),
        ]),
    `Answer 200: ${success.description}`,
    ...(fields.length <= 1 ? [] : [table(['field', 'type', 'always', 'meaning'], fields)]),
    ...(answer === undefined ? [] : [json(answer)]),
    ...(own.length === 0 ? [] : ['Errors:', table(['status', 'code', 'text'], own.map(cellsOfError))]),
  ];
}

interface Listed {
  readonly status: string;
  readonly code: string;
  readonly text: string;
}

function errorsOf(document: Document, { responses }: Operation): Listed[] {
  return Object.entries(responses).flatMap(([status, response]) => {
    const { examples = {} } = resolve(document, response).content['application/json'] ?? {};
    return Object.entries(examples).map(([code, { value }]) => ({ status, code, text: value.error }));
  });
}

/** Those of every operation. */
function commonErrors(document: Document, operations: readonly Operation[]): Listed[] {
  const [first, ...others] = operations.map((operation) => errorsOf(document, operation));
  return (first ?? []).filter(({ code }) =>
    others.every((errors) => errors.some((one) => one.code === code)),
  );
}

function cellsOfError({ status, code, text }: Listed): string[] {
  const described = Object.entries({ ...advice, ...badRequestAdvice });
  const varies = described.some(([name, one]) => name === code && 'sample' in one);
  const name = code in badRequestAdvice ? 'bad_request' : code;
  return [status, `\`${name}\``, varies ? `such as \`${text}\`` : `\`${text}\``];
}

const cellsOfParameter = ({ name, in: place, schema, required, description = '' }: Parameter) => [
  `\`${name}\``,
  place,
  typeOf(schema),
  required ? 'yes' : 'no',
  description,
];

/** The fields of an object, those of objects and lists in it included: `devices[].id`. */
function rowsOf(document: Document, schema: Schema, prefix = ''): string[][] {
  const { properties = {}, required = [] } = resolve(document, schema);
  return Object.entries(properties).flatMap(([key, property]) => {
    const field = resolve(document, property);
    const inner = resolve(document, field.items ?? field.anyOf?.find(({ type }) => type !== 'null') ?? field);
    const name = `${prefix}${key}`;
    const below = field.items === undefined ? `${name}.` : `${name}[].`;
    return [
      [`\`${name}\``, typeOf(field), required.includes(key) ? 'yes' : 'no', field.description ?? ''],
      ...rowsOf(document, inner, below),
    ];
  });
}

function typeOf(schema: Schema): string {
  const { type = 'object', format, enum: values, anyOf, minimum, maximum, minLength, maxLength } = schema;
  if (values !== undefined) return values.map((value) => `\`${value}\``).join(', ');
  if (anyOf !== undefined)
    return anyOf.map((one) => (one.type === 'null' ? 'null' : typeOf(one))).join(' or ');
  if (type === 'array') return 'list';
  if (format !== undefined) return NAMES[format] ?? format;
  if (minimum !== undefined && maximum !== undefined) return `${type}, ${minimum} to ${maximum}`;
  if (maxLength !== undefined) return `${type}, ${minLength ?? 0} to ${maxLength} characters`;
  return type;
}

const NAMES: Readonly<Record<string, string>> = { uuid: 'UUID', 'date-time': 'time' };

function resolve<Value extends Schema | Response>(
  document: Document,
  value: Value | Reference | undefined,
): Value {
  if (value === undefined) throw new Error('the document lacks a part');
  const { $ref } = value as { readonly $ref?: string };
  if ($ref === undefined) return value as Value;
  const [, , kind = '', name = ''] = $ref.split('/');
  const components = document.components as unknown as Record<string, Record<string, Value>>;
  const found = components[kind]?.[name];
  if (found === undefined) throw new Error(`the document lacks ${$ref}`);
  return found;
}

const json = ({ example }: { readonly example?: unknown }) =>
  ['```json', JSON.stringify(example, null, 2), '```'].join('\n');

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), `|${head.map(() => '---|').join('')}`, ...rows.map(line)].join('\n');
}

/** As GitHub names a heading. */
const anchorOf = (heading: string) =>
  heading
    .toLowerCase()
    .replaceAll(/[^\w -]/g, '')
    .replaceAll(' ', '-');
