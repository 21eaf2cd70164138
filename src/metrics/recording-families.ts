// Declares the metrics of recorded speech.
import { by, counter, type Family, gauge } from './family.js';

const MS_PER_S = 1000;

export const recordingFamilies: readonly Family[] = [
  counter(
    'talkgroup_recorder_frames_total',
    'Frames of recorded talkgroups, by what became of them: `stored`, or the reason why they are missing',
    ({ recordings }) => by('fate', recordings.frames),
    ['fate'],
  ),
  counter(
    'talkgroup_recorder_bursts_lost_total',
    'Talk bursts of recorded talkgroups of which nothing is recorded',
    ({ recordings }) => recordings.burstsLost,
  ),
  gauge(
    'talkgroup_recorder_waiting_bytes',
    'Recorded speech that the main thread has and the database has not stored yet',
    ({ recordings }) => recordings.waitingBytes,
  ),
  gauge(
    'talkgroup_recorder_oldest_waiting_seconds',
    'Age of the oldest recorded speech that is not stored yet',
    ({ recordings }) => recordings.oldestWaitingMs / MS_PER_S,
  ),
  gauge(
    'talkgroup_recordings_stored_bytes',
    'Estimate of the recorded speech in the database, and 0 until the first look',
    ({ recordings }) => recordings.storedBytes,
  ),
  gauge(
    'talkgroup_recordings_max_bytes',
    'Setting RECORDING_GB in bytes',
    ({ recordings }) => recordings.bytesMax,
  ),
  counter(
    'talkgroup_recordings_reads_total',
    'Recordings of which the speech was read',
    ({ recordings }) => recordings.reads,
  ),
];
