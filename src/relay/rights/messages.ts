// Writes the messages about a change of a talkgroup: TALKGROUP_CHANGED and KEY_ROTATED. Writes KEY_HOLDERS.
import { textOf } from '../../protocol/server-messages.js';
import type { Talkgroup } from '../members/members.js';

export const talkgroupChanged = ({
  id,
  name,
  floorMode,
  maxTalkMs,
  encryption,
  emergencyMayBeClear,
  recordingDays,
}: Talkgroup) =>
  textOf({
    type: 'TALKGROUP_CHANGED',
    talkgroup_id: id,
    name,
    floor_mode: floorMode,
    max_talk_ms: maxTalkMs,
    encryption,
    clear_emergency: emergencyMayBeClear,
    recording_days: recordingDays,
  });

export const keyRotated = (talkgroup: Talkgroup, event: number, nowMs: number) =>
  textOf({
    type: 'KEY_ROTATED',
    talkgroup_id: talkgroup.id,
    event,
    rotation_counter: talkgroup.rotationCounter,
    talk_counter: talkgroup.epochs.talkCounter(nowMs),
    use_in_ms: talkgroup.epochs.useInMs(nowMs),
  });

export const keyHolders = (waiting: number) => textOf({ type: 'KEY_HOLDERS', waiting });
