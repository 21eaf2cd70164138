// What the relay does on each message a client may send, and how it answers.
import { AppError } from '../errors.js';
import { type DeviceId, readId, type TalkgroupId } from '../ids.js';
import type { Ref } from '../protocol/bodies.js';
import type { ClientMessageOf, ClientMessageType } from '../protocol/client-messages.js';
import type { TextRefusal } from '../protocol/codes.js';
import { HOLDS, type Hold } from './delivery/held.js';
import { hasPart } from './floors.js';
import type { House } from './house.js';
import { Bucket } from './limits/bucket.js';
import { type Membership, mayTalk } from './members/members.js';
import { say } from './messages.js';
import type { Subscription } from './reception/subscription.js';
import type { Session } from './session.js';

/** Who asks, and when. */
interface Asker {
  readonly session: Session;
  readonly house: House;
  readonly nowMs: number;
  /** By which its rates count. */
  readonly arrivedAtMs: number;
}

/** By type of message; each answers at once, or behind the database. */
export const answers: {
  readonly [Type in ClientMessageType]: (asker: Asker, asked: ClientMessageOf<Type>) => void | Promise<void>;
} = {
  PING: ({ session }, { t, ref }) => session.send(say.pong(t, ref)),
  GPS_UPDATE: storeFix,
  SUBSCRIBE: subscribe,
  UNSUBSCRIBE: unsubscribe,
  SYNC: sync,
  MEMBERS: members,
  FLOOR_REQUEST: requestFloor,
  FLOOR_RELEASE: releaseFloor,
  EMERGENCY_RAISE: raise,
  EMERGENCY_ACK: acknowledge,
  EMERGENCY_CLEAR: clear,
};

const MEMBERS_LIMIT = 100;
const UNSUBSCRIBED: Subscription = { mode: 'none', presence: false, hold: null };

/** About ten at a time at most: what the bucket lets in until the database's deadline. */
async function storeFix(
  asker: Asker,
  { device_id, lat, lng, alt, ref }: ClientMessageOf<'GPS_UPDATE'>,
): Promise<void> {
  const { session, house } = asker;
  const deviceId = device_id === undefined ? session.user.deviceId : readId<DeviceId>(device_id);
  if (deviceId === null) return refuse(asker, 'unknown_device', ref);
  await behindDatabase(asker, ref, async () => {
    const stored = await house.storeFix({ deviceId, lat, lng, alt });
    if (stored) confirm(asker, ref);
    else refuse(asker, 'unknown_device', ref);
  });
}

function subscribe(asker: Asker, asked: ClientMessageOf<'SUBSCRIBE'>): void {
  const { session, house, nowMs } = asker;
  const { talkgroup_ids, mode = 'talk', presence = false, ref } = asked;
  const subscription = { mode, presence, hold: holdOf(asked) };
  const memberships: Membership[] = [];
  const others: string[] = [];
  for (const id of new Set(talkgroup_ids)) {
    const membership = membershipOf(session, house, id);
    if (membership === null) others.push(id);
    else memberships.push(membership);
  }
  if (!paysFor(asker, memberships.length)) return refuse(asker, 'rate_limited', ref);
  for (const membership of memberships) session.subscribe(membership, subscription, nowMs);
  const refused = others.map((id) => ({ talkgroup_id: id, code: 'not_member' as const }));
  session.telling.subscribed(memberships.filter(mayTalk), refused, ref);
}

/** Snapshots a second and at once that a user may ask for: some 2 µs and 300 bytes each, and a console may hold 500. */
const SNAPSHOTS_RATE = [100, 2000] as const;

/** Of one user over all sockets. The last question that is answered may ask for more than is left. */
function paysFor({ session: { user }, arrivedAtMs }: Asker, snapshots: number): boolean {
  user.snapshots ??= new Bucket(...SNAPSHOTS_RATE, arrivedAtMs);
  return user.snapshots.takeOwing(arrivedAtMs, snapshots);
}

/** How its audio is to be held; null: not at all. */
function holdOf({ coalesce_ms, bundle_ms }: ClientMessageOf<'SUBSCRIBE'>): Hold | null {
  if (coalesce_ms !== undefined) return HOLDS.coalesce_ms[coalesce_ms];
  return bundle_ms === undefined ? null : HOLDS.bundle_ms[bundle_ms];
}

function unsubscribe(asker: Asker, { talkgroup_ids, ref }: ClientMessageOf<'UNSUBSCRIBE'>): void {
  const { session, house, nowMs } = asker;
  for (const id of talkgroup_ids) {
    const membership = membershipOf(session, house, id);
    if (membership !== null) session.subscribe(membership, UNSUBSCRIBED, nowMs);
  }
  confirm(asker, ref);
}

function sync(asker: Asker, { talkgroup_id, ref }: ClientMessageOf<'SYNC'>): void {
  const { session, house, arrivedAtMs } = asker;
  const membership = membershipOf(session, house, talkgroup_id);
  if (membership === null) return refuseStranger(asker, talkgroup_id, ref);
  if (!mayTalk(membership)) return refuse(asker, 'unavailable', ref);
  if (!session.reception.maySync(membership.talkgroup, arrivedAtMs) || !paysFor(asker, 1))
    return refuse(asker, 'rate_limited', ref);
  session.send(say.synced(session.snapshot(membership.talkgroup), ref));
}

function members(
  asker: Asker,
  { talkgroup_id, after = 0, limit = MEMBERS_LIMIT, ref }: ClientMessageOf<'MEMBERS'>,
): void {
  const { session, house } = asker;
  const membership = membershipOf(session, house, talkgroup_id);
  if (membership === null) return refuseStranger(asker, talkgroup_id, ref);
  if (!mayTalk(membership)) return refuse(asker, 'unavailable', ref);
  const { talkgroup } = membership;
  session.send(say.members(talkgroup, house.presence.page(talkgroup, after, limit), ref));
}

function requestFloor(asker: Asker, asked: ClientMessageOf<'FLOOR_REQUEST'>): void {
  const { session, house, nowMs } = asker;
  const { talkgroup_id, priority = 1, queue = false, codec = null, ref } = asked;
  const membership = membershipOf(session, house, talkgroup_id);
  const talk = membership && session.talkIn(membership.talkgroup.number, nowMs);
  if (talk === null) return session.send(say.floorDenied(talkgroup_id, { code: 'not_member', ref }));
  const refusal = session.checkRequest(talk, nowMs);
  if (refusal === null) {
    if (!talk.isTalking) talk.codec = codec; // a running burst keeps the one it was announced with
    return house.floors.request(talk, { priority, queue, ref }, nowMs);
  }
  const { code, retryMs } = refusal;
  if (code === 'too_many_talkgroups') return session.refuseText(code, { ref, talkgroup_id });
  session.send(say.floorDenied(talkgroup_id, { code, ref, retryMs }));
}

function releaseFloor(asker: Asker, { talkgroup_id, ref }: ClientMessageOf<'FLOOR_RELEASE'>): void {
  const { session, house, nowMs } = asker;
  const membership = membershipOf(session, house, talkgroup_id);
  const talk = membership && session.talkAt(membership.talkgroup);
  if (!talk || !hasPart(talk)) return session.refuseText('not_holder', { ref, talkgroup_id });
  house.floors.release(talk, 'released', nowMs);
  talk.mute(nowMs); // frames of the released burst may still be on their way
  confirm(asker, ref);
}

function raise(asker: Asker, { talkgroup_id, lat, lng, alt, ref }: ClientMessageOf<'EMERGENCY_RAISE'>): void {
  const { session, house, arrivedAtMs } = asker;
  const membership = membershipOf(session, house, talkgroup_id);
  if (membership === null) return refuseStranger(asker, talkgroup_id, ref);
  if (!mayTalk(membership)) return refuse(asker, 'unavailable', ref);
  const where = {
    ...(lat !== undefined && { lat }),
    ...(lng !== undefined && { lng }),
    ...(alt !== undefined && { alt }),
  };
  const raised = house.emergencies.raise(membership, where, arrivedAtMs);
  if (raised.kind !== 'open') return refuse(asker, raised.kind, ref);
  if (ref !== undefined) session.send(say.ok(ref, { emergency_id: raised.id }));
}

async function acknowledge(
  asker: Asker,
  { emergency_id, ref }: ClientMessageOf<'EMERGENCY_ACK'>,
): Promise<void> {
  const { user } = asker.session;
  const id = readId(emergency_id);
  if (!user.isAdmin) return refuse(asker, 'forbidden', ref);
  if (id === null) return refuse(asker, 'unknown_emergency', ref);
  if (!mayAskOf(asker, id)) return refuse(asker, 'rate_limited', ref);
  await behindDatabase(asker, ref, async () => {
    const isKnown = await asker.house.emergencies.acknowledge(id, user.id);
    if (isKnown) confirm(asker, ref);
    else refuse(asker, 'unknown_emergency', ref);
  });
}

async function clear(asker: Asker, { emergency_id, ref }: ClientMessageOf<'EMERGENCY_CLEAR'>): Promise<void> {
  const { user } = asker.session;
  const id = readId(emergency_id);
  if (id === null) return refuse(asker, 'unknown_emergency', ref);
  if (!mayAskOf(asker, id)) return refuse(asker, 'rate_limited', ref);
  await behindDatabase(asker, ref, async () => {
    const outcome = await asker.house.emergencies.clear(id, user);
    if (outcome === 'cleared') confirm(asker, ref);
    else refuse(asker, outcome === 'unknown' ? 'unknown_emergency' : outcome, ref);
  });
}

/** What is open here costs no statement and has no rate of its own: a dispatcher may clear many at once. */
const mayAskOf = ({ session, house, arrivedAtMs }: Asker, id: string) =>
  house.emergencies.knows(id) || session.mayAskOfUnknown(arrivedAtMs);

/** null: a malformed id, or not a member. */
function membershipOf(session: Session, house: House, text: string): Membership | null {
  const id = readId<TalkgroupId>(text);
  const talkgroup = id === null ? undefined : house.talkgroups.get(id);
  return (talkgroup && session.user.memberships.get(talkgroup.number)) ?? null;
}

/** Also where there is no such talkgroup: which ids exist is not told to strangers. */
const refuseStranger = ({ session }: Asker, talkgroup_id: string, ref: Ref | undefined) =>
  session.refuseText('not_member', { ref, talkgroup_id });

const refuse = ({ session }: Asker, code: TextRefusal, ref: Ref | undefined) =>
  session.refuseText(code, { ref });

function confirm({ session }: Asker, ref: Ref | undefined): void {
  if (ref !== undefined) session.send(say.ok(ref));
}

async function behindDatabase(asker: Asker, ref: Ref | undefined, act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (error) {
    // Expected: the database is away or late. Anything else is a bug, and is logged as one.
    if (!(error instanceof AppError))
      asker.house.log.error({ session: asker.session.number, err: error }, 'control message failed');
    refuse(asker, 'unavailable', ref);
  }
}
