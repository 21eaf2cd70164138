// Whether the reference lists an error for the operation that answered it.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { refusalCodes } from '../../../src/errors.js';
import { textOf } from '../../../src/http/advice.js';
import type { Document, Operation } from '../../../src/http/openapi-document.js';

/** docs/openapi.json, from dist/test/helpers/http. */
export const reference: Document = JSON.parse(
  readFileSync(new URL('../../../../docs/openapi.json', import.meta.url), 'utf8'),
);

interface Refused {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly text: string;
}

/** Throws for an operation of the reference that does not list this status with this text. */
export function assertDocumented({ method, path, status, text }: Refused): void {
  const operation = operationAt(method, path);
  if (operation === undefined) return; // the router refused
  const response = operation.responses[status];
  assert(response !== undefined, `the reference lists no ${status} for ${method} ${path}: ${text}`);
  const isDocumented = status === 400 ? isListed400 : isListed;
  assert(isDocumented(response, text), `the reference does not list ${status} ${text} for ${method} ${path}`);
}

type Listed = Operation['responses'][string];

const texts = new Map(refusalCodes.map((code) => [code, textOf(code).text]));

/** Only the texts of `not_ready` are no texts of the catalogue: they are reasons. */
function isListed(response: Listed, text: string): boolean {
  const codes = '$ref' in response ? (response.$ref.split('/').at(-1) ?? '').split('.') : [];
  const meant = refusalCodes.filter((code) => texts.get(code) === text);
  return meant.length === 0 ? codes.includes('not_ready') : meant.some((code) => codes.includes(code));
}

/** One of the examples, but for numbers, or any fault of a part of which the examples show a fault. */
function isListed400(response: Listed, text: string): boolean {
  const [part = ''] = /^(?:body|querystring)(?=(?:\/\w+)? must )/.exec(text) ?? [];
  return textsOf(response).some((listed) =>
    part === '' ? plain(listed) === plain(text) : new RegExp(`^${part}(?:/\\w+)? must `).test(listed),
  );
}

const plain = (text: string) => text.replaceAll(/\d+/g, 'N');

/** The texts of its examples. */
export function textsOf(response: Listed | undefined): string[] {
  const name = response !== undefined && '$ref' in response ? response.$ref.split('/').at(-1) : '';
  const examples = reference.components.responses[name ?? '']?.content['application/json']?.examples ?? {};
  return Object.values(examples).map(({ value }) => value.error);
}

const templates = Object.keys(reference.paths).map((template) => ({
  template,
  pattern: new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
}));

function operationAt(method: string, path: string) {
  const [name = ''] = path.split('?', 1);
  const template =
    name in reference.paths ? name : templates.find(({ pattern }) => pattern.test(name))?.template;
  return template === undefined ? undefined : reference.paths[template]?.[method.toLowerCase()];
}
