// A recording as the service lists it.
import type { Recording } from '../../../src/client/recordings/types.js';
import { recordingIdOf } from '../../../src/protocol/recording-id.js';

const STARTED_AT = Date.parse('2026-11-25T14:03:22.000Z');

/** Of ann in Fire 1, 4 s long. `session` tells recordings of the same moment apart. */
export function recordingOf(over: Partial<Recording> & { startedAt?: number } = {}): Recording {
  const { startedAt = STARTED_AT, ...fields } = over;
  const { session = 1026, burst = 1, piece = 0 } = fields;
  return {
    recording_id: recordingIdOf({ startedAt, session, burst, piece }),
    ...{
      talkgroup_id: 'fire',
      talkgroup_name: 'Fire 1',
      session,
      burst,
      piece,
      user_id: 'ann',
      username: 'ann',
    },
    ...{ started_at: new Date(startedAt).toISOString(), expires_at: '2027-01-01T00:00:00.000Z' },
    ...{
      duration_ms: 4_000,
      frames: 200,
      stored_frames: 200,
      missing: 0,
      missing_because: {},
      code: 'released',
    },
    ...{ priority: 1, emergency: false, erased_at: null, ...fields },
  };
}
