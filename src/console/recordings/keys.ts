// The keys by which the console opens encrypted recordings.
import type { RecordingKeys } from '../../client/recordings/types.js';

/** null: this browser opens none. The table then says so of each of them, and none is loaded. */
export const recordingKeys = (): RecordingKeys | null => null;
