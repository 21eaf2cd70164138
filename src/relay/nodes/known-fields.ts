// Removes from a checked body the fields that its schema does not name.
//
// TypeBox has this as Clean. That sorts the alternatives of all unions of the schema again for each message, which costs
// more than everything else that is done with one.
import { Compile, type TSchema, Type } from '../../typebox.js';

/** Takes a value that fits the schema, and changes it in place. */
export type KeepKnown = (value: unknown) => void;

/** Throws for a schema with other parts than objects, lists, tuples, unions and plain values. */
export function keepKnownOf(schema: TSchema): KeepKnown {
  return keeperOf(schema) ?? (() => {});
}

/** null: the schema has no fields anywhere. */
function keeperOf(schema: TSchema): KeepKnown | null {
  if (Type.IsObject(schema)) return ofObject(schema.properties, isOpen(schema));
  if (Type.IsArray(schema)) return ofArray(keeperOf(schema.items));
  if (Type.IsTuple(schema)) return ofTuple(schema.items.map(keeperOf));
  if (Type.IsUnion(schema)) return ofUnion(schema.anyOf);
  if (isPlain(schema)) return null;
  throw new TypeError(`a body has no ${JSON.stringify(schema)}`);
}

const isPlain = (schema: TSchema): boolean =>
  [
    Type.IsString,
    Type.IsInteger,
    Type.IsNumber,
    Type.IsBoolean,
    Type.IsNull,
    Type.IsLiteral,
    Type.IsEnum,
  ].some((is) => is(schema));

/** What it has beside its known fields is kept. */
const isOpen = (schema: TSchema): boolean =>
  'additionalProperties' in schema && schema.additionalProperties === true;

function ofObject(properties: Readonly<Record<string, TSchema>>, isOpen: boolean): KeepKnown {
  const known = new Set(Object.keys(properties));
  const keepers = Object.entries(properties).flatMap(([key, schema]) => {
    const keep = keeperOf(schema);
    return keep === null ? [] : [[key, keep] as const];
  });
  return (value) => {
    const fields = value as Record<string, unknown>; // as the validator of the schema has checked, here and below
    if (!isOpen) for (const key of Object.keys(fields)) if (!known.has(key)) delete fields[key];
    for (const [key, keep] of keepers) if (fields[key] !== undefined) keep(fields[key]);
  };
}

function ofArray(keep: KeepKnown | null): KeepKnown | null {
  if (keep === null) return null;
  return (value) => {
    for (const item of value as unknown[]) keep(item);
  };
}

function ofTuple(keepers: readonly (KeepKnown | null)[]): KeepKnown | null {
  if (keepers.every((keep) => keep === null)) return null;
  return (value) => {
    for (const [at, keep] of keepers.entries()) keep?.((value as unknown[])[at]);
  };
}

/** The first alternative that fits counts. */
function ofUnion(alternatives: readonly TSchema[]): KeepKnown | null {
  const keepers = alternatives.map(keeperOf);
  if (keepers.every((keep) => keep === null)) return null;
  const validators = alternatives.map((schema) => Compile(schema));
  return (value) => {
    const at = validators.findIndex((validator) => validator.Check(value));
    keepers[at]?.(value);
  };
}
