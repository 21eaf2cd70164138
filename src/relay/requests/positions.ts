// Answers GPS_UPDATE.
import { type DeviceId, readId } from '../../ids.js';
import type { ClientMessageOf } from '../../protocol/client-messages.js';
import { type Asker, confirm, refuse, withDatabase } from './asker.js';

/** Answered with OK when the position is stored. At most about ten run at a time: what the rate admits within the database's time limit. */
export async function storeFix(
  asker: Asker,
  { device_id, lat, lng, alt, ref }: ClientMessageOf<'GPS_UPDATE'>,
): Promise<void> {
  const { session, services } = asker;
  const deviceId = device_id === undefined ? session.user.deviceId : readId<DeviceId>(device_id);
  if (deviceId === null) return refuse(asker, 'unknown_device', ref);
  await withDatabase(asker, ref, async () => {
    const isStored = await services.storeFix({ deviceId, lat, lng, alt });
    if (isStored) confirm(asker, ref);
    else refuse(asker, 'unknown_device', ref);
  });
}
