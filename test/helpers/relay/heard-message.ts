// Compares what a test hears of the relay with the schemas of src/protocol. Strict: a field that a schema does not name
// is a fault, too, because a client is told of no other.

import { serverMessages } from '../../../src/protocol/server-messages.js';
import { Compile, type TSchema } from '../../../src/typebox.js';

const schemas = new Map(Object.entries(serverMessages));
/** Compiled when the first message of the type is heard: compiling all of them takes a tenth of a second. */
const validators = new Map<string, ReturnType<typeof compiled>>();
const compiled = (schema: TSchema) => Compile(strict(schema) as TSchema); // a copy of one

function validatorOf(type: string): ReturnType<typeof compiled> | undefined {
  const schema = schemas.get(type);
  if (schema !== undefined && !validators.has(type)) validators.set(type, compiled(schema));
  return validators.get(type);
}

/** What is wrong with the message, and the message, or null. */
export function faultIn(message: unknown): string | null {
  const type =
    typeof message === 'object' && message !== null && 'type' in message ? message.type : undefined;
  const validator = validatorOf(String(type));
  if (validator === undefined) return `no type of the protocol: ${shown(message)}`;
  if (validator.Check(message)) return null;
  const faults = validator
    .Errors(message)
    .map(({ instancePath, message: fault }) => `${instancePath} ${fault}`);
  return `not as its schema (${faults.join(', ')}): ${shown(message)}`;
}

const SHOWN_MAX = 2000;
const shown = (message: unknown) => JSON.stringify(message).slice(0, SHOWN_MAX);

/** The text as a message. A fault in it goes to `fail`. */
export function messageIn(text: string, fail: (fault: string) => void): Record<string, unknown> {
  const message = JSON.parse(text);
  const fault = faultIn(message);
  if (fault !== null) fail(fault);
  return message;
}

/** A copy that allows no further fields. In a codec it does, because the relay passes codecs on as they are. */
function strict(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(strict);
  if (typeof schema !== 'object' || schema === null) return schema;
  const copy = Object.fromEntries(Object.entries(schema).map(([key, inner]) => [key, strict(inner)]));
  return copy.type === 'object' && copy.title !== 'codec' ? { ...copy, additionalProperties: false } : copy;
}
