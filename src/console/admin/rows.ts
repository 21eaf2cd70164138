// Declares what administration lists, as REST answers it.

export interface User {
  readonly id: string;
  readonly username: string;
  readonly role: 'admin' | 'user';
  /** null: no device is linked to the user. */
  readonly device_id: string | null;
  readonly created_at: string;
}

export type FloorMode = 'open' | 'single' | 'broadcast';

export interface Talkgroup {
  readonly id: string;
  readonly number: number;
  readonly name: string;
  readonly rotation_counter: number;
  readonly floor_mode: FloorMode;
  /** 0: no limit. */
  readonly max_talk_ms: number;
  readonly members: number;
  readonly created_at: string;
}

export interface Member {
  readonly user_id: string;
  readonly site: string;
  readonly user: { readonly id: string; readonly username: string; readonly role: 'admin' | 'user' };
}

export interface Device {
  readonly id: string;
  readonly name: string;
  readonly site: string;
  readonly serial: string;
  readonly active: boolean;
  readonly created_at: string;
}

/** `next` is the `after` of the next page, null on the last one. */
export type Page<Key extends string, Item> = { readonly [K in Key]: readonly Item[] } & {
  readonly next: string | null;
};

/** The query of a page, with `?`. An empty value is left out. */
export function queryOf(values: Readonly<Record<string, string | number | null>>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value !== null && value !== '') query.set(name, String(value));
  }
  return `?${query}`;
}

/** The query of the page with this row alone: the one behind the id before it. */
export const oneOf = (id: string) => queryOf({ limit: 1, after: idBefore(id) });

/** The UUID before this one in the order of pages. The lowest one has none and stays. */
export function idBefore(id: string): string {
  const value = BigInt(`0x${id.replaceAll('-', '')}`);
  const digits = (value > 0n ? value - 1n : value).toString(16).padStart(32, '0');
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
