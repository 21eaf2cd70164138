// Declares what administration lists, as REST answers it.

export interface User {
  readonly id: string;
  readonly username: string;
  readonly role: 'admin' | 'user';
  readonly dispatcher: boolean;
  /** null: no device is linked to the user. */
  readonly device_id: string | null;
  /** null: the same. */
  readonly device: { readonly name: string; readonly serial: string; readonly active: boolean } | null;
  readonly created_at: string;
}

/** A dispatcher logs out plain users only. Of a member the list does not say who is a dispatcher: the service decides. */
export const mayRevoke = (
  caller: { readonly role: User['role'] } | null,
  user: { readonly role: User['role']; readonly dispatcher?: boolean; readonly isOwn?: boolean },
): boolean =>
  caller?.role === 'admin' || (user.role === 'user' && user.dispatcher !== true && user.isOwn !== true);

/** What the card shows of a user. */
export interface OneUser {
  readonly device: (Omit<Device, 'created_at'> & { readonly position_at: string | null }) | null;
  readonly talkgroups: readonly {
    readonly id: string;
    readonly name: string;
    readonly encryption: Encryption;
    readonly may_have_keys: boolean;
  }[];
  readonly talkgroups_total: number;
  readonly tokens_valid_from: string | null;
}

/** Why a radio of the user may hear nothing. */
export interface Diagnosis {
  readonly findings: readonly { readonly text: string; readonly action: string }[];
  readonly sessions: readonly {
    readonly session: number;
    readonly since: string;
    /** null: it has one. */
    readonly detached_since: string | null;
    readonly address: string | null;
    readonly client: string | null;
    readonly round_trip_ms: number | null;
  }[];
  readonly relays: { readonly asked: number; readonly answered: number };
}

export type FloorMode = 'open' | 'single' | 'broadcast';

export type Encryption = 'off' | 'allowed' | 'required';

export interface Talkgroup {
  readonly id: string;
  readonly number: number;
  readonly name: string;
  readonly rotation_counter: number;
  readonly floor_mode: FloorMode;
  /** 0: no limit. */
  readonly max_talk_ms: number;
  readonly encryption: Encryption;
  /** Where encryption is required: an open emergency may be talked in the clear. */
  readonly clear_emergency: boolean;
  /** 0: it is not recorded. */
  readonly recording_days: number;
  readonly members: number;
  readonly created_at: string;
}

export interface Member {
  readonly user_id: string;
  readonly site: string;
  readonly user: { readonly id: string; readonly username: string; readonly role: 'admin' | 'user' };
  /** null: the talkgroup does not require encryption, or the member came after the list was read. */
  readonly keys: MemberKeys | null;
}

export interface MemberKeys {
  readonly may_have_keys: boolean;
  /** How many accepted key holders the user has. */
  readonly holders: number;
}

export interface Holder {
  readonly holder_id: string;
  readonly user_id: string;
  readonly public_key: string;
  readonly name: string;
  readonly fingerprint: string;
  readonly created_at: string;
  readonly accepted: boolean;
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
