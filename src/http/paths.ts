// Reads the ids in paths and bodies. A malformed id is answered like an unknown one.
import { AppError, type RefusalCode } from '../errors.js';
import { type DeviceId, type HolderId, readId, type TalkgroupId, type UserId } from '../ids.js';

/** Throws `talkgroup_not_found` for a malformed id. Called after validation, which reports an invalid body first. */
export const readTalkgroupId = (text: string) => readOrRefuse<TalkgroupId>(text, 'talkgroup_not_found');

/** Throws `device_not_found` for a malformed id. */
export const readDeviceId = (text: string) => readOrRefuse<DeviceId>(text, 'device_not_found');

/** Throws `user_not_found` for a malformed id. */
export const readUserId = (text: string) => readOrRefuse<UserId>(text, 'user_not_found');

/** Throws `holder_not_found` for a malformed id. */
export const readHolderId = (text: string) => readOrRefuse<HolderId>(text, 'holder_not_found');

/** Throws `emergency_not_found` for a malformed id. */
export const readEmergencyId = (text: string): string => readOrRefuse(text, 'emergency_not_found');

function readOrRefuse<Id extends TalkgroupId | DeviceId | UserId | HolderId>(
  text: string,
  refusal: RefusalCode,
): Id {
  const id = readId<Id>(text);
  if (id === null) throw new AppError(refusal);
  return id;
}
