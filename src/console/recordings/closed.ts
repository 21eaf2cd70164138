// Says in words why a recording cannot be played here.
import { isOpus } from '../../client/audio/opus.js';
import type { OpenedRecording, Recording } from '../../client/recordings/types.js';
import type { ReplayFrame } from '../worker/messages.js';
import { recordings as words } from './texts.js';

const { closed, failed } = words;

/**
 * Before it is loaded, because the service notes who listened. null: it may be played. `isHolder`: this browser is an accepted
 * key holder.
 */
export function closedBecause(
  { erased_at, codec, crypto }: Pick<Recording, 'erased_at' | 'codec' | 'crypto'>,
  { isHolder, isAdmin }: { isHolder: boolean; isAdmin: boolean },
): string | null {
  if (erased_at !== null) return failed.recording_erased;
  if (!isOpus(codec)) return closed.codec(codec?.name ?? '');
  if (crypto === undefined || isHolder) return null;
  return isAdmin ? closed.notAccepted : closed.no_key;
}

/** The frames, or in words why there are none. A recording of which some frames are closed is played without those. */
export function speechOf({
  frames,
  unopened,
}: Pick<OpenedRecording, 'frames' | 'unopened'>): readonly ReplayFrame[] | string {
  if (frames.length > 0) return frames.map(({ sequence, payload, atMs }) => ({ sequence, payload, atMs }));
  const [reason] = Object.keys(unopened) as (keyof typeof unopened)[]; // its own keys
  return reason === undefined ? closed.empty : closed[reason];
}
