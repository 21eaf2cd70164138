// Gives a schema its meaning in docs/protocol.md, and its default where it has one.
import type { TSchema } from '../typebox.js';

/** The same schema with these annotations. They change no check. A spread would lose the marks that TypeBox hides. */
export function described<Schema extends TSchema>(
  schema: Schema,
  description: string,
  preset?: string | number | boolean,
): Schema {
  const copy = Object.defineProperties({}, Object.getOwnPropertyDescriptors(schema)) as Schema; // all of it
  return Object.assign(copy, { description }, preset === undefined ? {} : { default: preset });
}
