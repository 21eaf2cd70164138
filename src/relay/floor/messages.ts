// Writes the messages of floor control: FLOOR_* to a talker, TALK_* to the talkgroup.
import type { Ref, RunningTalker, Talker } from '../../protocol/bodies.js';
import type { DenyCode, EndCode, RevokeCode } from '../../protocol/codes.js';
import { type Draft, textOf } from '../../protocol/server-messages.js';
import type { Talkgroup } from '../members/members.js';
import type { Bursts, RemoteTalk } from './bursts.js';
import type { Talk } from './talk.js';

// A snapshot fits into one message of 32 KiB whatever is stored, with names and codecs of the greatest length.
/** Running bursts in a snapshot. `talkers_total` is the number of all. */
const SNAPSHOT_TALKERS_MAX = 32;
/** Bytes of these as JSON. 32 bursts without `codec` always fit. */
const SNAPSHOT_TALKERS_BYTES_MAX = 22 * 1024;

/** A burst as TALK_STARTED, FLOOR_DENIED and snapshots show it. */
export function talkBody(talk: Talk): Draft<Talker> {
  const { session, membership } = talk;
  return {
    talkgroup_id: membership.talkgroup.id,
    session: session.number,
    burst: talk.burst,
    user_id: membership.user.id,
    username: membership.user.username,
    priority: talk.priority,
    emergency: talk.emergencyFlag !== 0,
    ...(talk.codec !== null && { codec: talk.codec }),
    ...(talk.crypto !== null && { crypto: talk.crypto }),
    started_at: new Date(talk.startedAt).toISOString(),
  };
}

/** The talkers that a snapshot shows: the oldest bursts, as many as there is room for. */
export function talkersIn(talkgroup: Talkgroup, bursts: Bursts): Draft<RunningTalker>[] {
  const talkers: Draft<RunningTalker>[] = [];
  let bytes = 0;
  for (const burst of inOrder(bursts.in(talkgroup), bursts.remoteIn(talkgroup))) {
    const talker = 'talker' in burst ? burst.talker : runningBody(burst);
    bytes += Buffer.byteLength(JSON.stringify(talker));
    if (talkers.length === SNAPSHOT_TALKERS_MAX || bytes > SNAPSHOT_TALKERS_BYTES_MAX) break;
    talkers.push(talker);
  }
  return talkers;
}

/** The burst of a session here, as a snapshot and another relay are told of it. */
export const runningBody = (talk: Talk): Draft<RunningTalker> => ({
  ...talkBody(talk),
  frames: talk.frames,
  sequence: talk.sequence,
});

/** The oldest burst first. Each set is in that order. */
function inOrder(own: ReadonlySet<Talk>, remote: ReadonlySet<RemoteTalk>): Iterable<Talk | RemoteTalk> {
  return remote.size === 0 ? own : [...own, ...remote].sort((a, b) => a.startedAtMs - b.startedAtMs);
}

export const floorGranted = (
  { membership, burst, priority }: Talk,
  talkMsMax: number,
  ref: Ref | undefined,
) =>
  textOf({
    type: 'FLOOR_GRANTED',
    ref,
    talkgroup_id: membership.talkgroup.id,
    burst,
    priority,
    max_talk_ms: talkMsMax,
  });

/** Why FLOOR_REQUEST or a first frame was not granted. */
export interface FloorDenial {
  readonly code: DenyCode;
  readonly ref: Ref | undefined;
  /** Has the floor. */
  readonly talker?: Draft<Talker> | undefined;
  readonly retryMs?: number | undefined;
}

export const floorDenied = (talkgroupId: string, { code, ref, talker, retryMs }: FloorDenial) =>
  textOf({
    type: 'FLOOR_DENIED',
    ref,
    talkgroup_id: talkgroupId,
    code,
    talker,
    retry_ms: retryMs,
  });

export const floorQueued = (
  { membership }: Talk,
  { position, size }: { readonly position: number; readonly size: number },
  ref: Ref | undefined,
) => textOf({ type: 'FLOOR_QUEUED', ref, talkgroup_id: membership.talkgroup.id, position, size });

export const floorRevoked = ({ membership, burst }: Talk, code: RevokeCode) =>
  textOf({ type: 'FLOOR_REVOKED', talkgroup_id: membership.talkgroup.id, burst, code });

export const talkStarted = (talk: Talk, event: number) =>
  textOf({ type: 'TALK_STARTED', event, ...talkBody(talk) });

/** A burst of another relay, without what only a snapshot has. */
export const talkerOf = ({ frames, sequence, ...talker }: RunningTalker): Talker => talker;

export const remoteStarted = (talker: RunningTalker, event: number) =>
  textOf({ ...talkerOf(talker), type: 'TALK_STARTED', event }); // whatever the other relay said

/** Of any relay. */
export const talkEnded = (
  { talkgroup_id, session, burst }: Pick<Draft<Talker>, 'talkgroup_id' | 'session' | 'burst'>,
  event: number,
  { code, durationMs, frames }: { code: EndCode; durationMs: number; frames: number },
) =>
  textOf({
    type: 'TALK_ENDED',
    talkgroup_id,
    event,
    session,
    burst,
    code,
    duration_ms: Math.round(durationMs),
    frames,
  });

/** Frames of it that were lost between the relays. */
export const missedFrames = ({ talkgroup_id, session, burst }: RunningTalker, missed: number) =>
  textOf({ type: 'MISSED', talkgroup_id, session, burst, missed });
