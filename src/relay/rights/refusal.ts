// Decides whether a token is still valid by what a read shows of its user.
import type { Account } from '../../directory/records.js';
import { type Close, closes } from '../../protocol/closes.js';

/** The close for a session with a token issued at `issuedAt` (Unix seconds). null: the token is valid. */
export function refusalOf(account: Account | null, issuedAt: number): Close | null {
  if (account === null) return closes.unknown_user;
  if (issuedAt < account.valid_from) return closes.invalid_token;
  return account.device_active ? null : closes.device_disabled;
}
