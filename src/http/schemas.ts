// The shapes and texts every feature's schemas are made of.
import { type TSchema, Type } from 'typebox';

/** Names, sites and serials. */
export const TEXT_CHARACTERS_MAX = 128;

/** `{ok: true}`, the seed's answer to a change. */
export const Ok = Type.Object(
  { ok: Type.Literal(true) },
  { title: 'Ok', description: 'Success.', examples: [{ ok: true }] },
);
export const ok = { ok: true } as const;

/** The seed's only error body. */
export const Failure = Type.Object({ error: Type.String() });

/**
 * A route's answers. They are allow-lists: a key that is not in the schema is not sent. Which statuses a failure may
 * have, and with which texts, is told by the route's `config.refusals`.
 */
export const answers = <Success extends TSchema>(success: Success) =>
  ({ 200: success, '4xx': Failure, '5xx': Failure }) as const;

export const Id = Type.String({ format: 'uuid' });
export const Timestamp = Type.String({ format: 'date-time', description: 'ISO 8601, UTC' });

/**
 * The id in the path of a route. The format is documented and not checked: a malformed id names nothing and is answered
 * like an unknown one (paths.ts).
 */
export const idInPath = (description: string, example: string) =>
  Type.Object({ id: shownId(description, example) });

/** An id as a client sends it in a path or a query. */
export const shownId = (description: string, example: string) =>
  Type.String({ description, examples: [example], [SHOWN_AS]: { type: 'string', format: 'uuid' } });

/** Keyword of a parameter: the schema that the reference shows instead of the one that is checked. */
export const SHOWN_AS = 'x-shown-as';

/** A name, site or serial as a client may send it: 1 to 128 characters, no control characters. */
export const Text = (description: string) =>
  Type.Refine(
    Type.String({ minLength: 1, maxLength: TEXT_CHARACTERS_MAX, description }),
    isPrintable,
    () => 'must not hold control characters or unpaired surrogates',
  );

/** No C0, DEL or C1 control character and no unpaired surrogate: can be stored, and shown on one line. */
export const isPrintable = (text: string) => !/[\p{Cc}\p{Cs}]/u.test(text);
