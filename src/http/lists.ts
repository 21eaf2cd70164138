// Answers the routes that send a list, as a page or as a whole, without blocking other requests.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FastifyReply } from 'fastify';
import { createGate } from '../db/gate.js';
import type { Page } from '../db/pages.js';
import { type PageQuery, pageOf, readPage } from './paging.js';

/** The whole lists under way on a server. */
export type Lists = ReturnType<typeof createLists>;

interface List<Name extends string, Item> {
  /** The key of the items in the answer. */
  readonly name: Name;
  /** Reads the items of one page, plus one if more follow. null: reads all items. */
  readonly read: (page: Page | null) => Promise<readonly Item[]>;
  readonly idOf: (item: Item) => string;
}

type Answer<Name extends string, Item> = { [name in Name]: Item[] } & { next?: string | null };

/** Whole lists in progress and waiting. Above it a request is rejected immediately. */
const LISTS_MAX = 1024;

/**
 * One user has one whole list in work at once, from its statement until its body is built. Its others wait, each until
 * the deadline of its request. They are counted here as well as with the requests under way, because a request whose
 * client has gone is under way no more.
 */
const SHARE = { placesOfCaller: 1, callsOfCaller: 1 / 16, callsOfAddress: 3 / 4 };

/** Items serialised in one turn of the event loop: about 1 ms. The 10,000 members of a talkgroup would take 10 to 20. */
const ITEMS_PER_TURN = 500;

/** Creates the one instance of a server. */
export function createLists() {
  const { enter, leave } = createGate({
    places: Number.POSITIVE_INFINITY, // the database's gate bounds the statements of all users
    callsMax: LISTS_MAX,
    share: SHARE,
  });

  return {
    /** Returns the answer of a route that sends one list. */
    async answer<const Name extends string, Item>(
      reply: FastifyReply,
      query: PageQuery,
      { name, read, idOf }: List<Name, Item>,
    ): Promise<Answer<Name, Item>> {
      const page = readPage(query);
      if (page !== null) return pageOf(page, name, { rows: await read(page), idOf });
      return whole(reply, name, () => read(null));
    },
    whole,
  };

  /** Returns the answer with all items. */
  async function whole<const Name extends string, Item>(
    reply: FastifyReply,
    name: Name,
    read: () => Promise<readonly Item[]>,
  ): Promise<Answer<Name, Item>> {
    const { deadline } = reply.request;
    await enter(deadline);
    try {
      const isGone = reply.raw.destroyed; // while it waited
      return await inPieces(reply, name, isGone ? [] : await read());
    } finally {
      leave(deadline);
    }
  }
}

/** A short list as it is, a long one as the bytes that the route's own schema makes of it, built piece by piece. */
async function inPieces<Name extends string, Item>(
  reply: FastifyReply,
  name: Name,
  items: readonly Item[],
): Promise<Answer<Name, Item>> {
  const whole = (part: readonly Item[]) => ({ [name]: part }) as Answer<Name, Item>;
  if (items.length <= ITEMS_PER_TURN) return whole(items);
  const opening = `{"${name}":[`;
  const closing = ']}';
  const pieces: Buffer[] = [];
  for (let from = 0; from < items.length; from += ITEMS_PER_TURN) {
    const part = whole(items.slice(from, from + ITEMS_PER_TURN));
    const text = reply.serializeInput(part, '200') as string; // as every schema of JSON does
    pieces.push(Buffer.from(`${from === 0 ? opening : ','}${text.slice(opening.length, -closing.length)}`));
    await nextTurn();
  }
  pieces.push(Buffer.from(closing));
  reply.type('application/json; charset=utf-8');
  // Bytes are sent as they are. For fastify's types they are the body that they spell.
  return Buffer.concat(pieces) as unknown as Answer<Name, Item>;
}
