// Parses request bodies: JSON in strict UTF-8, or no body. Compiles the schemas of requests and of answers.
import type { IncomingHttpHeaders } from 'node:http';
import { type RouteDefinition, SerializerSelector } from '@fastify/fast-json-stringify-compiler';
import type { FastifyInstance, FastifySerializerCompiler } from 'fastify';
import { AppError, badRequestTexts } from '../errors.js';
import { nullsRemover } from '../nulls.js';
import { TypeBoxValidatorCompiler } from './validator.js';

/** Replaces fastify's parsers. An empty body with a content type counts as no body: many stacks send that on DELETE. */
export function addBodyParsers(app: FastifyInstance): void {
  const parseJson = app.getDefaultJsonParser('error', 'error');
  app.removeAllContentTypeParsers();

  app.addContentTypeParser<Buffer>('application/json', { parseAs: 'buffer' }, (request, bytes, done) => {
    if (bytes.length === 0) return done(null);
    if (!isPlainUtf8(request.headers)) return done(new AppError('unsupported_media_type'));
    const text = decode(bytes);
    if (text === null) return done(new AppError('bad_request', badRequestTexts.invalid_utf8));
    return parseJson(request, text, done);
  });

  app.addContentTypeParser('*', (request, _bytes, done) => {
    const { 'content-length': length, 'transfer-encoding': encoding } = request.headers;
    const empty = encoding === undefined && (length === undefined || Number(length) === 0);
    done(empty ? null : new AppError('unsupported_media_type'));
  });
}

const validators = new WeakMap<object, ReturnType<typeof TypeBoxValidatorCompiler>>();

/** Checks each part of a request. In a body, null for an optional field counts as absent. Each schema is compiled once. */
export const validatorCompiler: typeof TypeBoxValidatorCompiler = (route) => {
  const validate = validators.get(route.schema) ?? TypeBoxValidatorCompiler(route);
  validators.set(route.schema, validate);
  if (route.httpPart !== 'body') return validate;
  const removeNulls = nullsRemover(route.schema);
  return (body) => {
    removeNulls(body);
    return validate(body);
  };
};

const compile = SerializerSelector()();
const serializers = new WeakMap<object, ReturnType<typeof compile>>();

/** As fastify's own, but each schema once: that of a refusal is part of every route. */
export const serializerCompiler: FastifySerializerCompiler<unknown> = (route) => {
  const schema = route.schema as object;
  const serialize = serializers.get(schema) ?? compile(route as RouteDefinition);
  serializers.set(schema, serialize);
  return serialize;
};

/** One sentence, naming the field: `body/lat must be <= 90`. */
export function describeFirst(faults: readonly Fault[], part: string): AppError {
  const [first] = faults;
  return new AppError(
    'bad_request',
    `${part}${first?.instancePath ?? ''} ${first?.message ?? 'is not valid'}`,
  );
}

interface Fault {
  readonly instancePath: string;
  readonly message?: string;
}

/** JSON is UTF-8 (RFC 8259, 8.1). A body that declares another charset is rejected. */
function isPlainUtf8({
  'content-type': type = '',
  'content-encoding': packing = 'identity',
}: IncomingHttpHeaders) {
  const [, charset = 'utf-8'] = /;\s*charset="?([^\s";]*)/i.exec(type) ?? [];
  return /^utf-?8$/i.test(charset) && packing.toLowerCase() === 'identity';
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

function decode(bytes: Buffer): string | null {
  try {
    return utf8.decode(bytes);
  } catch {
    // Expected: bytes that are no UTF-8. Decoded leniently they would be stored as U+FFFD.
    return null;
  }
}
