// Declares the ids as distinct types, so that a user's id cannot be passed as a talkgroup's.

declare const brand: unique symbol;
type Branded<Name extends string> = string & { readonly [brand]: Name };

export type UserId = Branded<'user'>;
export type TalkgroupId = Branded<'talkgroup'>;
export type DeviceId = Branded<'device'>;
/** An installation that holds keys. */
export type HolderId = Branded<'holder'>;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** The text as an id in PostgreSQL's own spelling (lower case), or null: a malformed id names nothing. */
export function readId<Id extends UserId | TalkgroupId | DeviceId | HolderId>(text: unknown): Id | null {
  return typeof text === 'string' && UUID.test(text) ? (text.toLowerCase() as Id) : null;
}
