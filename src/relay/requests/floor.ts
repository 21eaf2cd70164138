// Answers FLOOR_REQUEST and FLOOR_RELEASE.
import type { ClientMessageOf } from '../../protocol/client-messages.js';
import { floorDenied } from '../floor/messages.js';
import { hasPart } from '../floor/talk.js';
import { type Asker, confirm, membershipOf } from './asker.js';

/** Answered with FLOOR_GRANTED, FLOOR_DENIED or FLOOR_QUEUED, or with ERROR too_many_talkgroups. */
export function requestFloor(asker: Asker, asked: ClientMessageOf<'FLOOR_REQUEST'>): void {
  const { session, services, nowMs } = asker;
  const { talkgroup_id, priority = 1, queue = false, codec = null, ref } = asked;
  const membership = membershipOf(asker, talkgroup_id);
  if (membership === null) return session.send(floorDenied(talkgroup_id, { code: 'not_member', ref }));
  const { talks } = session.uplink;
  const talk = talks.of(membership, nowMs);
  const refusal = talks.checkRequest(talk, nowMs);
  if (refusal === null) {
    if (talk.claim !== 'talks') talk.codec = codec; // a running burst keeps the codec it was announced with
    return services.floor.request(talk, { priority, queue, ref }, nowMs);
  }
  const { code, retryMs } = refusal;
  if (code === 'too_many_talkgroups') return session.refuseText(code, { ref, talkgroup_id });
  session.send(floorDenied(talkgroup_id, { code, ref, retryMs }));
}

/** Answered with OK: the grant, the burst or the place in the queue is given up. */
export function releaseFloor(asker: Asker, { talkgroup_id, ref }: ClientMessageOf<'FLOOR_RELEASE'>): void {
  const { session, services, nowMs } = asker;
  const membership = membershipOf(asker, talkgroup_id);
  const talk = membership && session.talkAt(membership.talkgroup.number);
  if (!talk || !hasPart(talk)) return session.refuseText('not_holder', { ref, talkgroup_id });
  services.floor.release(talk, 'released', nowMs);
  talk.mute(nowMs); // frames of the released burst may still be on their way
  confirm(asker, ref);
}
