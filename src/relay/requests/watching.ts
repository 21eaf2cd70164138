// Answers WATCH and UNWATCH.
import { type DeviceId, readId } from '../../ids.js';
import type { ClientMessageOf } from '../../protocol/client-messages.js';
import type { WatchInterval } from '../../protocol/codes.js';
import { type Membership, mayTalk } from '../members/members.js';
import type { AskedFor } from '../positions/positions.js';
import { type Asker, confirm, membershipOf, refuse, refuseStranger, withDatabase } from './asker.js';

const INTERVAL_MS: WatchInterval = 2000;

/** Answered with WATCHING when the devices were read. What the session watched before goes on until then. */
export async function watch(asker: Asker, asked: ClientMessageOf<'WATCH'>): Promise<void> {
  const { interval_ms = INTERVAL_MS, ref } = asked;
  const of = watchedIn(asker, asked);
  if (of === null) return;
  await withDatabase(asker, ref, async () => {
    const outcome = await asker.services.positions.watch(asker.session, {
      ...of,
      intervalMs: interval_ms,
      ref,
    });
    if (outcome !== 'watching') refuse(asker, 'unavailable', ref);
  });
}

/** null: it was refused. */
function watchedIn(
  asker: Asker,
  { talkgroup_ids, device_ids, ref }: ClientMessageOf<'WATCH'>,
): AskedFor | null {
  if (talkgroup_ids === undefined) {
    const ids = (device_ids ?? []).map((id) => readId<DeviceId>(id)).filter((id) => id !== null);
    return { kind: 'devices', ids: [...new Set(ids)] };
  }
  const memberships = new Set<Membership>();
  for (const id of talkgroup_ids) {
    const membership = membershipOf(asker, id);
    if (membership === null) {
      refuseStranger(asker, id, ref);
      return null;
    }
    memberships.add(membership);
  }
  if ([...memberships].every(mayTalk)) return { kind: 'talkgroups', memberships: [...memberships] };
  refuse(asker, 'unavailable', ref);
  return null;
}

/** Answered with OK, also when nothing was watched. */
export function unwatch(asker: Asker, { ref }: ClientMessageOf<'UNWATCH'>): void {
  asker.services.positions.unwatch(asker.session);
  confirm(asker, ref);
}
