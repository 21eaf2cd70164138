// Reads what a denial means for a talk: whether it ends the talk, and with what outcome.
import type { ErrorCode } from '../../protocol/codes.js';
import type { ServerMessageOf } from '../../protocol/types.js';
import type { TalkOutcome } from './talk.js';

export type Denial = ServerMessageOf<'FLOOR_DENIED' | 'ERROR'>;

export const UNSENT: TalkOutcome = { kind: 'ended', code: 'unsent' };
export const LOST: TalkOutcome = { kind: 'ended', code: 'lost' };

/** ERROR codes that reject a whole burst. `bad_frame` rejects one frame. */
export const REFUSALS = new Set<ErrorCode>([
  'not_member',
  'listen_only',
  'too_many_talkgroups',
  'forbidden',
  'rate_limited',
  'encryption_required',
  'encryption_off',
  'keys_forbidden',
]);

/** ERROR codes after which the talk begins another run, with a new salt and the epoch of now. */
export const RESTARTS = new Set<ErrorCode>(['encryption_unannounced', 'stale_epoch']);

/** The outcome of a talk that ends with it. */
export function outcomeOf(denial: Denial): TalkOutcome {
  const { code } = denial;
  if (denial.type === 'ERROR') return { kind: 'denied', code };
  const { talker, retry_ms } = denial;
  return { kind: 'denied', code, ...(talker && { talker }), ...(retry_ms !== undefined && { retry_ms }) };
}

/** The talk may ask again after this time (ms). null: it ends. */
export function retryMsOf(denial: Denial): number | null {
  return denial.type === 'FLOOR_DENIED' && denial.code === 'retry_later' ? (denial.retry_ms ?? null) : null;
}
