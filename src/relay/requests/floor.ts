// Answers FLOOR_REQUEST and FLOOR_RELEASE.
import type { ClientMessageOf } from '../../protocol/client-messages.js';
import { Ask } from '../delivery/ask.js';
import { type FloorDenial, floorDenied } from '../floor/messages.js';
import { hasPart, type Talk } from '../floor/talk.js';
import { isSameCrypto } from '../members/crypto.js';
import { type Asker, confirm, membershipOf } from './asker.js';

/** A request with an epoch that this relay has not read waits for the read at most this long (ms). */
const READ_MS_MAX = 200;

type Asked = ClientMessageOf<'FLOOR_REQUEST'>;

/** Answered with FLOOR_GRANTED, FLOOR_DENIED or FLOOR_QUEUED, or with an ERROR. */
export const requestFloor = (asker: Asker, asked: Asked): void => request(asker, asked, true);

/** `mayRead`: the talkgroup may be read once for a newer epoch. */
function request(asker: Asker, asked: Asked, mayRead: boolean): void {
  const { session, services, nowMs } = asker;
  const { talkgroup_id, priority = 1, queue = false, codec = null, crypto = null, ref } = asked;
  const membership = membershipOf(asker, talkgroup_id);
  const deny = (denial: FloorDenial) =>
    session.refuse(denial.code, talkgroup_id, floorDenied(talkgroup_id, denial));
  if (membership === null) return deny({ code: 'not_member', ref });
  const { talks } = session.uplink;
  const talk = talks.of(membership, nowMs);
  talk.isMutedToRequest = false;
  const isSame = talk.claim === 'talks' && isSameCrypto(talk.crypto, crypto);
  if (!isSame) talk.cryptoBefore = null;
  // Another salt is another run of the talker.
  if (talk.claim === 'talks' && !isSame) services.floor.release(talk, 'released', nowMs);
  const refusal = talks.checkRequest(talk, nowMs);
  if (refusal !== null) {
    talk.isMutedToRequest = crypto !== null;
    const { code, retryMs } = refusal;
    if (code === 'too_many_talkgroups') return session.refuseText(code, { ref, talkgroup_id });
    return deny({ code, ref, retryMs });
  }
  if (talk.claim !== 'talks') {
    const isAhead = crypto !== null && talk.talkgroup.epochs.judge(crypto.epoch, nowMs) === 'ahead';
    if (isAhead && mayRead && talk.talkgroup.encryption !== 'off') return hold(asker, asked, talk);
    talk.crypto = crypto;
    const refused = talks.judge(talk, nowMs);
    if (refused !== null) {
      talk.crypto = null;
      talk.isMutedToRequest = crypto !== null;
      talk.mute(nowMs);
      return session.refuseText(refused, { ref, talkgroup_id });
    }
    talk.codec = codec; // a running burst keeps the codec it was announced with
  }
  services.floor.request(talk, { priority, queue, ref }, nowMs);
}

/** What the session sends there meanwhile waits behind the request, as behind a question to another node. */
function hold(asker: Asker, asked: Asked, talk: Talk): void {
  const { services, session } = asker;
  const held = new Ask(false, asked.ref);
  held.isHeld = true;
  held.isLate = true;
  const { claim } = talk;
  talk.ask = held;
  if (claim === 'none') talk.claim = 'asks';
  services.readAgain(talk.talkgroup, READ_MS_MAX, session, (nowMs) => {
    // The burst, the membership or the session ended meanwhile, and answered it.
    if (talk.ask !== held) return;
    talk.ask = null;
    if (talk.claim === 'asks') talk.claim = 'none';
    request({ ...asker, nowMs }, asked, false);
    session.uplink.answered(talk, held, nowMs);
  });
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
