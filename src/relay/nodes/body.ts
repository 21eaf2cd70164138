// Reads and writes the bodies of messages between relays: JSON that fits a schema.
import { Compile, type Static, type TSchema } from '../../typebox.js';
import { keepKnownOf } from './known-fields.js';

/** Any bytes are read without a throw. null: they are no such body. */
export type BodyReader<Body> = (bytes: Uint8Array) => Body | null;

/** Reads bodies of this schema, without fields that this version does not know. */
export function bodyReader<Schema extends TSchema>(schema: Schema): BodyReader<Static<Schema>> {
  const validator = Compile(schema);
  const keepKnown = keepKnownOf(schema);
  return (bytes) => {
    let value: unknown;
    try {
      value = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString());
    } catch {
      return null; // expected: bytes that are no JSON
    }
    if (!validator.Check(value)) return null;
    keepKnown(value);
    return value as Static<Schema>; // as its validator has checked
  };
}

export const bodyOf = (body: object): Uint8Array => Buffer.from(JSON.stringify(body));

export const NO_BODY = new Uint8Array(0);

/** Bytes of JSON in one message: half of what the bus takes. */
const PIECE_BYTES_MAX = 256 * 1024;

/** Texts of JSON in as many messages as they need, each with at least one text. */
export function piecesOf(texts: Iterable<string>): string[][] {
  const pieces: string[][] = [];
  let last: string[] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const text of texts) {
    const more = Buffer.byteLength(text) + 1;
    if (bytes + more > PIECE_BYTES_MAX) {
      last = [];
      pieces.push(last);
      bytes = 0;
    }
    last.push(text);
    bytes += more;
  }
  return pieces;
}
