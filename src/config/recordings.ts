// Declares the settings of recorded speech.
import { MANY, settingsOf } from './setting.js';

const recordings = settingsOf('Recorded speech');

export const recordingSettings = {
  RECORDING_ACCESS: recordings.choice(['members', 'admin'], {
    level: 'basic',
    unit: 'choice',
    default: 'members',
    description: 'Users that may list and hear recordings.',
    notes:
      '`members`: members hear what was said after they joined, and administrators hear everything. `admin`: administrators alone.',
  }),
  RECORDING_GB: recordings.whole({
    level: 'basic',
    unit: 'GB',
    minimum: 0,
    maximum: MANY,
    default: 20,
    description: 'Largest amount of recorded speech in the database.',
    beyond: 'The service stores the entries of recordings, and no speech.',
    notes:
      'It deletes nothing early. The amount is an estimate of the database, taken every 5 minutes. At 0 this node records nothing.',
  }),
  RECORDING_MEMORY_MB: recordings.whole({
    level: 'tuning',
    unit: 'MB',
    minimum: 8,
    maximum: 1024,
    default: 64,
    description: 'Recorded speech of all relay threads that waits for the database.',
    beyond: 'New frames are not recorded, and the recording says how many are missing. Listeners hear them.',
    notes: 'Bursts without an open emergency use seven eighths of it.',
  }),
};
