// Names the file of a recording.
import type { Recording } from '../../client/recordings/types.js';

/** Some systems count in bytes. */
const NAME_CHARACTERS_MAX = 40;

/** As `Fire-1_2026-11-25T140322Z_ann.ogg`. The time is that of UTC, without a colon, which Windows does not accept. */
export function fileNameOf({
  talkgroup_name,
  started_at,
  username,
}: Pick<Recording, 'talkgroup_name' | 'started_at' | 'username'>): string {
  const time = `${new Date(started_at).toISOString().slice(0, 19).replaceAll(':', '')}Z`;
  return `${[plain(talkgroup_name), time, plain(username ?? '')].filter(Boolean).join('_')}.ogg`;
}

/** Letters and digits of all languages. */
const plain = (text: string) =>
  [...text.normalize('NFC').replaceAll(/[^\p{L}\p{M}\p{N}]+/gu, '-')]
    .slice(0, NAME_CHARACTERS_MAX)
    .join('')
    .replaceAll(/^-|-$/g, '');
