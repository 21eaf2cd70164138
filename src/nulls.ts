// Reads null for an optional field as absence: several JSON libraries write absent fields that way.
import type { TSchema } from './typebox.js';

/** Removes the properties of a parsed body or message that are null and that the schema does not require. */
export function nullsRemover(schema: TSchema): (value: unknown) => void {
  const { properties = {}, required = [] } = schema as { properties?: object; required?: readonly string[] };
  const optional = Object.keys(properties).filter((name) => !required.includes(name));
  return (value) => {
    if (typeof value !== 'object' || value === null) return;
    const fields = value as Record<string, unknown>; // a cast to what any object might have
    for (const name of optional) if (fields[name] === null) delete fields[name];
  };
}
