// Ids as clients write them, in paths and bodies: one that is malformed names nothing, like an unknown one.
import { AppError, type RefusalCode } from '../errors.js';
import { type DeviceId, readId, type TalkgroupId } from '../ids.js';

/** Throws `talkgroup_not_found`. Called after validation: a bad body is told first. */
export const readTalkgroupId = (text: string) => readOrRefuse<TalkgroupId>(text, 'talkgroup_not_found');

/** Throws `device_not_found`. */
export const readDeviceId = (text: string) => readOrRefuse<DeviceId>(text, 'device_not_found');

function readOrRefuse<Id extends TalkgroupId | DeviceId>(text: string, refusal: RefusalCode): Id {
  const id = readId<Id>(text);
  if (id === null) throw new AppError(refusal);
  return id;
}
