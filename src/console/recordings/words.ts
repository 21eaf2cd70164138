// Says in words why recordings could not be listed, played or deleted.
import { RestError } from '../../client/rest.js';
import { recordings as words } from './texts.js';

const { failed } = words;
type Coded = Exclude<keyof typeof failed, 'noAnswer' | 'loggedOut' | 'forbidden' | 'busy' | 'other'>;
const codes: ReadonlySet<string> = new Set<Coded>([
  ...(['recording_not_found', 'recording_erased', 'recording_held'] as const),
  ...(['recording_key_lost'] as const),
  ...(['outcome_unknown', 'talkgroup_not_found'] as const),
]);

export function wordsOf(error: unknown): string {
  if (!(error instanceof RestError) || error.status === 0) return failed.noAnswer;
  const { status, code, message } = error;
  if (isCoded(code)) return failed[code];
  if (status === 401) return failed.loggedOut;
  if (status === 403) return failed.forbidden;
  return status === 429 || status === 503 ? failed.busy : failed.other(status, message);
}

const isCoded = (code: string | null): code is Coded => code !== null && codes.has(code);
