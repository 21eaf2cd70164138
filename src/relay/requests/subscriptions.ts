// Answers SUBSCRIBE, UNSUBSCRIBE and SYNC.
import type { ClientMessageOf } from '../../protocol/client-messages.js';
import { HOLDS, type Hold } from '../delivery/held.js';
import { Bucket } from '../limits/bucket.js';
import { type Membership, mayTalk } from '../members/members.js';
import type { Subscription } from '../reception/subscription.js';
import { syncedText } from '../session/messages.js';
import { type Asker, confirm, membershipOf, refuse, refuseStranger } from './asker.js';

const UNSUBSCRIBED: Subscription = { mode: 'none', presence: false, hold: null };
/** Snapshots per second and at once that a user may ask for: 2 µs and 300 bytes each. A console may hear 500. */
const SNAPSHOTS_RATE = [100, 2000] as const;

/** Answered with SUBSCRIBED: as many snapshots as fit into one part. The rest follows. */
export function subscribe(asker: Asker, asked: ClientMessageOf<'SUBSCRIBE'>): void {
  const { session, nowMs } = asker;
  const { talkgroup_ids, mode = 'talk', presence = false, ref } = asked;
  const subscription = { mode, presence, hold: holdOf(asked) };
  const memberships: Membership[] = [];
  const others: string[] = [];
  for (const id of new Set(talkgroup_ids)) {
    const membership = membershipOf(asker, id);
    if (membership === null) others.push(id);
    else memberships.push(membership);
  }
  if (!paysFor(asker, memberships.length)) return refuse(asker, 'rate_limited', ref);
  for (const membership of memberships) session.subscribe(membership, subscription, nowMs);
  const refused = others.map((id) => ({ talkgroup_id: id, code: 'not_member' as const }));
  session.telling.subscribed(memberships.filter(mayTalk), refused, ref);
}

/** How its audio is to be buffered. null: it is live. */
function holdOf({ coalesce_ms, bundle_ms }: ClientMessageOf<'SUBSCRIBE'>): Hold | null {
  if (coalesce_ms !== undefined) return HOLDS.coalesce_ms[coalesce_ms];
  return bundle_ms === undefined ? null : HOLDS.bundle_ms[bundle_ms];
}

/** Of one user over all sockets. The last question that is answered may ask for more than is left. */
function paysFor({ session: { user }, arrivedAtMs }: Asker, snapshots: number): boolean {
  user.snapshots ??= new Bucket(...SNAPSHOTS_RATE, arrivedAtMs);
  return user.snapshots.takeOwing(arrivedAtMs, snapshots);
}

/** Answered with OK. What is no membership is ignored. */
export function unsubscribe(asker: Asker, { talkgroup_ids, ref }: ClientMessageOf<'UNSUBSCRIBE'>): void {
  for (const id of talkgroup_ids) {
    const membership = membershipOf(asker, id);
    if (membership !== null) asker.session.subscribe(membership, UNSUBSCRIBED, asker.nowMs);
  }
  confirm(asker, ref);
}

/** Answered with SYNCED, at its rate. */
export function sync(asker: Asker, { talkgroup_id, ref }: ClientMessageOf<'SYNC'>): void {
  const { session, services, arrivedAtMs } = asker;
  const membership = membershipOf(asker, talkgroup_id);
  if (membership === null) return refuseStranger(asker, talkgroup_id, ref);
  if (!mayTalk(membership)) return refuse(asker, 'unavailable', ref);
  const { talkgroup } = membership;
  if (!session.allowance(arrivedAtMs).takeSync(talkgroup, arrivedAtMs) || !paysFor(asker, 1))
    return refuse(asker, 'rate_limited', ref);
  session.send(syncedText(services.snapshot(membership), ref));
}
