// Answers EMERGENCY_RAISE, EMERGENCY_ACK and EMERGENCY_CLEAR.
import { readId } from '../../ids.js';
import type { ClientMessageOf } from '../../protocol/client-messages.js';
import { mayTalk } from '../members/members.js';
import { type Asker, confirm, membershipOf, okText, refuse, refuseStranger, withDatabase } from './asker.js';

/** Answered with OK and the id: of a new emergency, or of the one that the user has open there. */
export function raise(
  asker: Asker,
  { talkgroup_id, lat, lng, alt, ref }: ClientMessageOf<'EMERGENCY_RAISE'>,
): void {
  const { session, services, arrivedAtMs } = asker;
  const membership = membershipOf(asker, talkgroup_id);
  if (membership === null) return refuseStranger(asker, talkgroup_id, ref);
  if (!mayTalk(membership)) return refuse(asker, 'unavailable', ref);
  const where = {
    ...(lat !== undefined && { lat }),
    ...(lng !== undefined && { lng }),
    ...(alt !== undefined && { alt }),
  };
  const raised = services.emergencies.raise(membership, where, arrivedAtMs);
  if (raised.kind !== 'open') return refuse(asker, raised.kind, ref);
  if (ref !== undefined) session.send(okText(ref, { emergency_id: raised.id }));
}

/** Answered with OK. Only for administrators. */
export async function acknowledge(
  asker: Asker,
  { emergency_id, ref }: ClientMessageOf<'EMERGENCY_ACK'>,
): Promise<void> {
  const { user } = asker.session;
  const id = readId(emergency_id);
  if (!user.isAdmin) return refuse(asker, 'forbidden', ref);
  if (id === null) return refuse(asker, 'unknown_emergency', ref);
  if (!mayAskOf(asker, id)) return refuse(asker, 'rate_limited', ref);
  await withDatabase(asker, ref, async () => {
    const isKnown = await asker.services.emergencies.acknowledge(id, user.id);
    if (isKnown) confirm(asker, ref);
    else refuse(asker, 'unknown_emergency', ref);
  });
}

/** Answered with OK. Only for the user who raised it, and administrators. */
export async function clear(
  asker: Asker,
  { emergency_id, ref }: ClientMessageOf<'EMERGENCY_CLEAR'>,
): Promise<void> {
  const { user } = asker.session;
  const id = readId(emergency_id);
  if (id === null) return refuse(asker, 'unknown_emergency', ref);
  if (!mayAskOf(asker, id)) return refuse(asker, 'rate_limited', ref);
  await withDatabase(asker, ref, async () => {
    const outcome = await asker.services.emergencies.clear(id, user);
    if (outcome === 'cleared') confirm(asker, ref);
    else refuse(asker, outcome === 'unknown' ? 'unknown_emergency' : outcome, ref);
  });
}

/** An emergency that is open here costs no statement and has no rate: a dispatcher may clear many at once. */
const mayAskOf = ({ session, services, arrivedAtMs }: Asker, id: string) =>
  services.emergencies.knows(id) || session.allowance(arrivedAtMs).takeUnknown(arrivedAtMs);
