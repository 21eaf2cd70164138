// Declares and reads pages of a list: `limit` and `after` in the query, `next` in the answer.

import type { Page } from '../db/pages.js';
import { readId } from '../ids.js';
import { type Static, type TProperties, type TSchema, Type } from '../typebox.js';
import { Id, SHOWN_AS } from './schemas.js';

/** Items of a page without `limit`. */
const LIMIT_PRESET = 100;

/** The query of a list. Both fields are texts, because a conversion to numbers would also accept 1e3 and 5.7. */
export type PageQuery = Static<typeof PageQuery>;
export const PageQuery = pageQuery({ maximum: 1000 });

/** The query of a list with smaller pages. */
export const SmallPageQuery = pageQuery({ maximum: 200 });

/** The query of a list with pages of at most `maximum` items, and of `preset` without `limit`. */
export function pageQuery({ maximum, preset = LIMIT_PRESET }: { maximum: number; preset?: number }) {
  return Type.Object({
    limit: limitInQuery({ maximum, preset }),
    after: Type.Optional(
      Type.Refine(
        Type.String({
          description:
            'The page begins after this id, which need not exist any more. Send `next` of the last page.',
          [SHOWN_AS]: { type: 'string', format: 'uuid' },
        }),
        (text) => readId(text) !== null,
        () => 'must be an id',
      ),
    ),
  });
}

/** How many items a page may have, of at most `maximum`. */
export function limitInQuery({ maximum, preset }: { maximum: number; preset: number }) {
  const description = `Number of items in a page, 1 to ${maximum}. A page has ${preset} when this is left out.`;
  return Type.Optional(
    Type.Refine(
      Type.String({ description, [SHOWN_AS]: { type: 'integer', minimum: 1, maximum } }),
      (text) => /^[1-9]\d*$/.test(text) && Number(text) <= maximum,
      () => `must be an integer from 1 to ${maximum}`,
    ),
  );
}

const Next = Type.Union([Id, Type.Null()], {
  description:
    'Value of `after` for the next page, null on the last page. Present only in an answer that is a page.',
});

/** The answer of a list that may be read in pages. */
export const InPages = <List extends TProperties>(list: List, options: Shown) =>
  Type.Object({ ...list, next: Type.Optional(Next) }, options);

/** The answer of a list that is read in pages only. */
export const OnePage = <List extends Record<string, TSchema>>(list: List, options: Shown) =>
  Type.Object({ ...list, next: Next }, options);

/** How the reference shows it. */
type Shown = {
  readonly title: string;
  readonly description: string;
  readonly examples: object[];
};

/** The requested page. null: the client requested the whole list. */
export function readPage(query: PageQuery): Page | null {
  return query.limit === undefined && query.after === undefined ? null : firstOrNext(query);
}

/** The requested page, for a list that is read in pages only. */
export function firstOrNext({ limit, after }: PageQuery, preset = LIMIT_PRESET): Page {
  return { limit: limit === undefined ? preset : Number(limit), after: readId(after) };
}

/** The answer with one page, from the rows that db/pages.ts read for it. */
export function pageOf<Name extends string, Item>(
  { limit }: Page,
  name: Name,
  { rows, idOf }: { rows: readonly Item[]; idOf: (item: Item) => string },
): { [name in Name]: Item[] } & { next: string | null } {
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  const next = rows.length > limit && last !== undefined ? idOf(last) : null;
  return { ...({ [name]: items } as { [name in Name]: Item[] }), next };
}
