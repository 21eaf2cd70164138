// Declares the change notifications that the side that writes rows sends to the relays.
//
// A notification says which row may have changed and never carries the new state. The receiver reads the database.
import { randomUUID } from 'node:crypto';
import type { DeviceId, TalkgroupId, UserId } from '../ids.js';
import type { Sql } from './pool.js';

type TalkgroupKind = 'talkgroup_deleted' | 'talkgroup_changed' | 'key_rotated' | 'emergency_changed';

/** What may have changed, and the key under which to read it again. */
export type Change =
  | {
      readonly kind: 'joined' | 'left' | 'keys_changed';
      readonly user: UserId;
      readonly talkgroup: TalkgroupId;
    }
  | { readonly kind: TalkgroupKind; readonly talkgroup: TalkgroupId }
  | { readonly kind: 'device_changed'; readonly device: DeviceId }
  | { readonly kind: 'user_revoked' | 'user_promoted' | 'holders_changed'; readonly user: UserId };

/** No change: each relay is to write what it knows of the user's sessions, and of the talkgroup, under this id. */
export interface Question {
  readonly id: string;
  readonly kind: 'report_asked';
  readonly user: UserId;
  readonly talkgroup: TalkgroupId | null;
}

/** A change with the id that makes its second copy (notification and direct message) harmless. */
export type Notice = Change & { readonly id: string };

export const noticeOf = (change: Change): Notice => ({ ...change, id: randomUUID() });

/** Hands a notice to this node's relay. Resolves once live sockets follow it, rejects when the relay does not answer. */
export type Tell = (notice: Notice) => Promise<void>;

/** The channel of LISTEN and NOTIFY. */
export const CHANNEL = 'talkgroup_radio';

/** The expression that sends the notification with its statement. Write it in RETURNING or in the outermost SELECT. */
export const notify = (sql: Sql, notice: Notice | Question) =>
  sql`pg_notify(${CHANNEL}, ${JSON.stringify(notice)})`;

/** The same for several. */
export const notifyAll = (sql: Sql, notices: readonly Notice[]) => sql`
  (select count(*) from json_array_elements_text(${JSON.stringify(notices)}::text::json) notice, pg_notify(${CHANNEL}, notice))`;

/** The same for a statement that itself finds the talkgroup, in the column `talkgroup_id`. */
export const notifyOwnTalkgroup = (sql: Sql, { id, kind }: { id: string; kind: TalkgroupKind }) =>
  sql`pg_notify(${CHANNEL}, json_build_object('id', ${id}::text, 'kind', ${kind}::text, 'talkgroup', talkgroup_id)::text)`;

/** The same for a statement that itself finds the user, in the column `id` of `users`. */
export const notifyOwnUser = (
  sql: Sql,
  { id, kind }: { id: string; kind: 'user_promoted' | 'user_revoked' | 'holders_changed' },
) =>
  sql`pg_notify(${CHANNEL}, json_build_object('id', ${id}::text, 'kind', ${kind}::text, 'user', users.id)::text)`;

/** The same for a statement that itself finds the owner of key holders, in the column `user_id`. */
export const notifyOwnHolders = (sql: Sql, id: string) =>
  sql`pg_notify(${CHANNEL}, json_build_object('id', ${id}::text, 'kind', 'holders_changed', 'user', user_id)::text)`;

const kinds = new Set([
  'joined',
  'left',
  'keys_changed',
  'talkgroup_deleted',
  'talkgroup_changed',
  'key_rotated',
  'emergency_changed',
  'device_changed',
  'user_revoked',
  'user_promoted',
  'holders_changed',
  'report_asked',
]);

/** null for anything another version of this service might send. The gap detection does not depend on it. */
export function readNotice(payload: string): Notice | Question | null {
  try {
    const notice = JSON.parse(payload) as Notice | Question; // ours or that of another version. Checked as far as we use it blindly
    return typeof notice.id === 'string' && kinds.has(notice.kind) ? notice : null;
  } catch {
    // Expected: a payload that is not ours.
    return null;
  }
}
