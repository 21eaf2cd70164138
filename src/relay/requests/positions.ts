// Answers GPS_UPDATE.
import { type DeviceId, readId } from '../../ids.js';
import type { ClientMessageOf } from '../../protocol/client-messages.js';
import { reportedFix } from '../../protocol/fix.js';
import { type Asker, confirm, refuse, withDatabase } from './asker.js';

/** Answered with OK when the position is stored. At most about ten run at a time: what the rate admits within the database's time limit. */
export async function storeFix(asker: Asker, asked: ClientMessageOf<'GPS_UPDATE'>): Promise<void> {
  const { session, services } = asker;
  const { device_id, ref } = asked;
  const deviceId = device_id === undefined ? session.user.deviceId : readId<DeviceId>(device_id);
  if (deviceId === null) return refuse(asker, 'unknown_device', ref);
  await withDatabase(asker, ref, async () => {
    const isStored = await services.storeFix(reportedFix(deviceId, asked, services.unixMs()));
    if (isStored) confirm(asker, ref);
    else refuse(asker, 'unknown_device', ref);
  });
}
