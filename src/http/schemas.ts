// Declares the schemas that all features share.

import { EXAMPLE } from '../examples.js';
import { CLEAR_TEXT_RULE, isClear } from '../text.js';
import { type TSchema, Type } from '../typebox.js';

/** Maximum length of names, sites and serials (code points). */
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
 * The answers of a route. A key that is not in the schema is not sent. `config.refusals` of the route lists the statuses
 * and texts of its errors.
 */
export const answers = <Success extends TSchema>(success: Success) =>
  ({ 200: success, '4xx': Failure, '5xx': Failure }) as const;

/** The answers of a route that sends bytes. */
export const answersWithBytes = (description: string) =>
  ({
    200: {
      description,
      content: {
        'application/octet-stream': { schema: Type.Unsafe<Buffer>({ type: 'string', format: 'binary' }) },
      },
    },
    '4xx': Failure,
    '5xx': Failure,
  }) as const;

/** A UUID. */
export const Id = Type.String({ format: 'uuid' });
/** A time in ISO 8601. */
export const Timestamp = Type.String({ format: 'date-time', description: 'ISO 8601, UTC' });

/**
 * The id in the path of a route. The format is documented and not checked: a malformed id names nothing and is answered
 * like an unknown one (paths.ts).
 */
export const idInPath = (description: string, example: string) =>
  Type.Object({ id: shownId(description, example) });

/** An id in a path or a query, as the reference shows it. */
export const shownId = (description: string, example: string) =>
  Type.String({ description, examples: [example], [SHOWN_AS]: { type: 'string', format: 'uuid' } });

/** Keyword of a parameter: the schema that the reference shows instead of the checked one. */
export const SHOWN_AS = 'x-shown-as';

/** The path of a route about one user. */
export const UserInPath = idInPath('Id of the user.', EXAMPLE.user);

/** A name, site or serial as a client may send it: 1 to 128 characters, no control characters. */
export const Text = (description: string) =>
  Type.Refine(
    Type.String({ minLength: 1, maxLength: TEXT_CHARACTERS_MAX, description }),
    isClear,
    () => CLEAR_TEXT_RULE,
  );
