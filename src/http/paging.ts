// Declares and reads pages of a list: `limit` and `after` in the query, `next` in the answer.

import type { Kind, Listing, Page } from '../db/pages.js';
import { AppError } from '../errors.js';
import { readId } from '../ids.js';
import { isPrintable } from '../text.js';
import { type Static, type TProperties, type TSchema, Type } from '../typebox.js';
import { Id, SHOWN_AS, TEXT_CHARACTERS_MAX } from './schemas.js';

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

/** Where a page of numbered entries begins, the newest first. `entry`: one of them, with its article. */
export function beforeInQuery(entry: string) {
  return Type.Optional(
    Type.Refine(
      Type.String({
        description:
          'The page begins before this id, which need not exist any more. Send `next` of the last page.',
        [SHOWN_AS]: { type: 'integer', minimum: 1 },
      }),
      (text) => /^[1-9]\d{0,14}$/.test(text),
      () => `must be an id of ${entry}`,
    ),
  );
}

/** The columns that a list is sorted by, and how PostgreSQL compares each. */
export type Columns = Readonly<Record<string, Kind>>;

/** The query of a list that is also sorted and searched. `found` says where `find` looks. */
export function listingQuery<const Sorts extends Columns>({
  columns,
  found,
  ...size
}: {
  columns: Sorts;
  found: string;
  maximum: number;
  preset?: number;
}) {
  const names = Object.keys(columns) as (keyof Sorts & string)[];
  return Type.Object({
    limit: pageQuery(size).properties.limit,
    after: Type.Optional(
      Type.String({
        description:
          'The page begins after this item, which need not exist any more. Send `next` of the last page, with the same `sort`. Without `sort` it is an id.',
      }),
    ),
    sort: Type.Optional(
      Type.Enum([...names, ...names.map((name) => `-${name}` as const)], {
        description:
          'Column that the list is sorted by, with `-` before it for descending. Texts are in the order of their characters, with a to z as one case. Items with equal values are in the order of ids. Without it the list is in the order of ids.',
      }),
    ),
    find: Type.Optional(
      Type.Refine(
        Type.String({
          maxLength: TEXT_CHARACTERS_MAX,
          description: `Text that is found anywhere in ${found}. It is plain text. The letters a to z match in both cases.`,
        }),
        isPrintable,
        () => 'must not contain control characters or unpaired surrogates',
      ),
    ),
  });
}

interface ListingQuery {
  readonly limit?: string;
  readonly after?: string;
  readonly sort?: string;
  readonly find?: string;
}

/** True when the client requested no page of a list that may be read as a whole. */
export const isWhole = ({ limit, after, sort, find }: ListingQuery) =>
  [limit, after, sort, find].every((value) => value === undefined);

/** The requested page of a listing. Refuses a foreign `after` with `bad_request`. */
export function readListing<Sorts extends Columns>(
  columns: Sorts,
  { limit, after, sort, find }: ListingQuery,
  preset = LIMIT_PRESET,
): Listing<keyof Sorts & string> {
  const size = limit === undefined ? preset : Number(limit);
  const text = find === undefined || find === '' ? null : find.normalize('NFC');
  if (sort === undefined) {
    const id = readId(after);
    if (after !== undefined && id === null) throw badAfter('must be an id');
    return { limit: size, order: null, after: id === null ? null : { key: '', id }, find: text };
  }
  const column = sort.replace(/^-/, ''); // the schema has checked it
  const order = { column, kind: columns[column] ?? 'text', isDescending: sort !== column };
  return { limit: size, order, after: after === undefined ? null : readEnd(after, sort, order), find: text };
}

const badAfter = (rule: string) => new AppError('bad_request', `querystring/after ${rule}`);

/** Names the last item of a page: the order, its key and its id. It is no secret. */
const endOf = (...parts: readonly [sort: string, key: string, id: string]) =>
  Buffer.from(JSON.stringify(parts)).toString('base64url');

function readEnd(text: string, sort: string, { kind }: { kind: Kind }): { key: string; id: string } {
  const [ofSort, key, end] = partsOf(text);
  const id = readId(end);
  const isKey = typeof key === 'string' && (kind === 'number' ? /^-?\d{1,18}$/ : /^[^\0]*$/).test(key);
  if (ofSort !== sort || !isKey || id === null) throw badAfter('must be `next` of a page with the same sort');
  return { key, id };
}

function partsOf(text: string): readonly unknown[] {
  try {
    const parts: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
    return Array.isArray(parts) ? parts : [];
  } catch {
    return []; // SyntaxError: it is no text of this service
  }
}

/** The answer with one page of a listing. Each row of a sorted one has its `sort_key`. */
export function listingOf<Name extends string, Item extends { id: string; sort_key?: string }>(
  { sort, page }: { sort: string | undefined; page: Listing },
  name: Name,
  rows: readonly Item[],
): { [name in Name]: Item[] } & { next: string | null } {
  const idOf = ({ id, sort_key = '' }: Item) => (sort === undefined ? id : endOf(sort, sort_key, id));
  return pageOf(page, name, { rows, idOf });
}

const NEXT =
  'Value of `after` for the next page, null on the last page. Present only in an answer that is a page.';

const NextOfListing = Type.Union([Type.String(), Type.Null()], { description: NEXT });

/** The answer of a list with `sort` that may be read in pages. */
export const InListings = <List extends TProperties>(list: List, options: Shown) =>
  Type.Object({ ...list, next: Type.Optional(NextOfListing) }, options);

/** The answer of a list with `sort` that is read in pages only. */
export const OneListing = <List extends Record<string, TSchema>>(list: List, options: Shown) =>
  Type.Object({ ...list, next: NextOfListing }, options);

const Next = Type.Union([Id, Type.Null()], { description: NEXT });

/** The answer of a list that may be read in pages. */
export const InPages = <List extends TProperties>(list: List, options: Shown) =>
  Type.Object({ ...list, next: Type.Optional(Next) }, options);

/** The answer of a list that is read in pages only. */
export const OnePage = <List extends Record<string, TSchema>>(list: List, options: Shown) =>
  Type.Object({ ...list, next: Next }, options);

/** The answer of a list of numbered entries, the newest first. */
export const PageBefore = <List extends Record<string, TSchema>>(list: List, options: Shown) =>
  Type.Object(
    {
      ...list,
      next: Type.Union([Type.String(), Type.Null()], {
        description: 'Value of `before` for the next page, null on the last page.',
      }),
    },
    options,
  );

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
  { limit }: Pick<Page, 'limit'>,
  name: Name,
  { rows, idOf }: { rows: readonly Item[]; idOf: (item: Item) => string },
): { [name in Name]: Item[] } & { next: string | null } {
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  const next = rows.length > limit && last !== undefined ? idOf(last) : null;
  return { ...({ [name]: items } as { [name in Name]: Item[] }), next };
}
