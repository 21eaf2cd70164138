// Writes the messages about a change of a talkgroup: TALKGROUP_CHANGED and KEY_ROTATED.
import { textOf } from '../../protocol/server-messages.js';
import type { Talkgroup } from '../members/members.js';

export const talkgroupChanged = ({ id, name, floorMode, maxTalkMs }: Talkgroup) =>
  textOf({
    type: 'TALKGROUP_CHANGED',
    talkgroup_id: id,
    name,
    floor_mode: floorMode,
    max_talk_ms: maxTalkMs,
    encryption: 'allowed',
    clear_emergency: true,
  });

export const keyRotated = (talkgroup: Talkgroup, event: number) =>
  textOf({
    type: 'KEY_ROTATED',
    talkgroup_id: talkgroup.id,
    event,
    rotation_counter: talkgroup.rotationCounter,
    talk_counter: talkgroup.rotationCounter,
    use_in_ms: 0,
  });
