// Answers EMERGENCY_RAISE, EMERGENCY_ACK and EMERGENCY_CLEAR.
import { readId } from '../../ids.js';
import { Position } from '../../protocol/bodies.js';
import type { ClientMessageOf } from '../../protocol/client-messages.js';
import { Compile } from '../../typebox.js';
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
  const raised = services.emergencies.raise(membership, placeOf({ lat, lng, alt }), arrivedAtMs);
  if (raised.kind !== 'open') return refuse(asker, raised.kind, ref);
  if (ref !== undefined) session.send(okText(ref, { emergency_id: raised.id }));
}

const axes = {
  lat: Compile(Position.properties.lat),
  lng: Compile(Position.properties.lng),
  alt: Compile(Position.properties.alt),
};
const fits = (axis: keyof Position, value: number | undefined) =>
  value === undefined || axes[axis].Check(value);

type Place = { [Axis in keyof Position]?: number | undefined };

/** What is out of range is left out, of latitude and longitude both. */
function placeOf({ lat, lng, alt }: Place): Partial<Position> {
  const isPlace = fits('lat', lat) && fits('lng', lng);
  return {
    ...(isPlace && lat !== undefined && { lat }),
    ...(isPlace && lng !== undefined && { lng }),
    ...(alt !== undefined && fits('alt', alt) && { alt }),
  };
}

/** Answered with OK. Only for dispatchers and administrators. */
export async function acknowledge(
  asker: Asker,
  { emergency_id, ref }: ClientMessageOf<'EMERGENCY_ACK'>,
): Promise<void> {
  const { user } = asker.session;
  const id = readId(emergency_id);
  if (!user.mayDispatch) return refuse(asker, 'forbidden', ref);
  if (id === null) return refuse(asker, 'unknown_emergency', ref);
  if (!mayAskOf(asker, id)) return refuse(asker, 'rate_limited', ref);
  await withDatabase(asker, ref, async () => {
    const isKnown = await asker.services.emergencies.acknowledge(id, user.id);
    if (isKnown) confirm(asker, ref);
    else refuse(asker, 'unknown_emergency', ref);
  });
}

/** Answered with OK. Only for the user who raised it, dispatchers and administrators. */
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
