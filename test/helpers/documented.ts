// Whether the reference lists an error for the operation that answered it.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { refusalCodes } from '../../src/errors.js';
import { textOf } from '../../src/http/advice.js';
import type { Document } from '../../src/http/openapi-document.js';

/** docs/openapi.json, from dist/test/helpers. */
export const reference: Document = JSON.parse(
  readFileSync(new URL('../../../docs/openapi.json', import.meta.url), 'utf8'),
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
  const codes = '$ref' in response ? (response.$ref.split('/').at(-1) ?? '').split('.') : [];
  const meant = refusalCodes.filter((code) => textOf(code).text === text);
  // A text that is not in the catalogue names a field or a reason.
  const isListed = meant.length === 0 || meant.some((code) => codes.includes(code));
  assert(isListed, `the reference does not list ${status} ${text} for ${method} ${path}`);
}

function operationAt(method: string, path: string) {
  const [name = ''] = path.split('?', 1);
  const isAt = (template: string) => new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(name);
  const template = name in reference.paths ? name : Object.keys(reference.paths).find(isAt);
  return template === undefined ? undefined : reference.paths[template]?.[method.toLowerCase()];
}
