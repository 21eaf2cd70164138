// What radios say, as schemas: every message of the protocol from the client's side.
import { type ClientMessageType, clientMessages } from '../../src/protocol/client-messages.js';
import type { Schema } from './schema.js';

type Commands = Readonly<Record<ClientMessageType, Schema>>;

const coded = clientMessages as Commands; // as JSON Schema, which they are

/** Without `type`. */
export const commands = Object.fromEntries(
  Object.entries(coded).map(([name, schema]): [string, Schema] => [name, withoutType(schema)]),
) as Commands; // the same names

function withoutType({ properties = {}, required = [], ...schema }: Schema): Schema {
  const { type, codec, ...fields } = properties;
  return {
    ...schema,
    properties: { ...fields, ...(codec !== undefined && { codec: sized(codec) }) },
    required: required.filter((field) => field !== 'type'),
  };
}

/** With bounds of its own: the protocol has one for all of it, in bytes. */
function sized(codec: Schema): Schema {
  return {
    ...codec,
    properties: {
      name: { type: 'string', maxLength: 200 },
      sample_rate: { type: 'integer', minimum: 1, maximum: 192_000 },
      frame_ms: { type: 'number', minimum: 1, maximum: 120 },
    },
  };
}
