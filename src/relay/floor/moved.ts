// Lets what a talk has of the floor go on at another relay, because its session moves there.
import type { RunningTalker } from '../../protocol/bodies.js';
import type { EndCode } from '../../protocol/codes.js';
import { EMERGENCY } from '../../protocol/frame.js';
import type { Turn } from '../../protocol/turn.js';
import { flushHeld } from '../delivery/feed.js';
import { isInEmergency, type Membership, mayTalk } from '../members/members.js';
import type { FloorControl } from './control.js';
import { runningBody, talkStarted } from './messages.js';
import type { MovedBurst, MovedTalk } from './moved-burst.js';
import { RemoteBurst, type RemoteServices } from './remote.js';
import type { Talk } from './talk.js';

/** Whether it moves with its session in `open`. Every other claim there ends where it is, as `disconnected`. */
export const movesAlong = ({ claim, talkgroup }: Talk): boolean =>
  claim === 'talks' && talkgroup.floorMode === 'open';

export function movedBurst(talk: Talk, nowMs: number): MovedBurst {
  const recording = talk.tape?.moving() ?? null;
  return {
    number: talk.number,
    burst: talk.burst,
    frames: talk.frames,
    sequence: talk.sequence,
    priority: talk.priority,
    ...(talk.codec !== null && { codec: talk.codec }),
    ...(talk.crypto !== null && { crypto: talk.crypto }),
    started_at: new Date(talk.startedAt).toISOString(),
    age_ms: nowMs - talk.startedAtMs,
    silent_ms: Math.max(0, nowMs - talk.lastFrameAtMs),
    has_returned: talk.relayed === talk.relayedAtReturn,
    ...(recording !== null && { recording }),
  };
}

/** The burst goes on, and was announced when it began. */
export function resume(talk: Talk, moved: MovedBurst, nowMs: number): void {
  talk.startedAt = Date.parse(moved.started_at);
  talk.startedAtMs = nowMs - moved.age_ms;
  talk.relayedBefore = talk.relayed - moved.frames;
  talk.relayedAtReturn = moved.has_returned ? talk.relayed : -1;
  talk.sequence = moved.sequence;
  talk.lastFrameAtMs = nowMs - moved.silent_ms;
}

/** The burst of a session that leaves is one of another relay from now on. No member here is told. */
export function asRemote(services: RemoteServices, talk: Talk): RemoteBurst {
  flushHeld(talk.feed);
  const { talkgroup, startedAtMs } = talk;
  const burst = new RemoteBurst(services, talkgroup, runningBody(talk) as RunningTalker, startedAtMs);
  services.bursts.delete(talk);
  services.bursts.addRemote(burst);
  talk.tape?.left();
  talk.tape = null;
  return burst;
}

/**
 * The burst of a session that comes goes on here. Where it was heard as one of another relay no member is told, else it is
 * announced now. When it may not go on, its end is announced.
 */
export function goOn(
  services: RemoteServices & { readonly floor: Pick<FloorControl, 'goOn'> },
  talk: Talk,
  moved: MovedBurst,
): void {
  const { bursts, floor, nowMs } = services;
  const { talkgroup } = talk;
  const remote = remoteOf(services, talk, moved.burst);
  // It counts toward the limits once.
  if (remote !== undefined) bursts.deleteRemote(remote);
  const goesOn =
    talkgroup.floorMode === 'open' &&
    mayTalk(talk.membership) &&
    mayGoOnAs(talk.membership, moved.crypto !== undefined) &&
    floor.goOn(talk, moved, nowMs());
  if (!goesOn) {
    services.tapes.endMoved(talk, moved, 'disconnected');
    return endMoved(talk, moved, remote);
  }
  announce(services, talk, moved, remote);
}

/** The change to `required`, or the loss of a permission, may have been read here and not yet at the relay it comes from. */
export const mayGoOnAs = (membership: Membership, isEncrypted: boolean): boolean =>
  membership.talkgroup.encryption !== 'required' ||
  isInEmergency(membership) ||
  (isEncrypted && membership.mayHaveKeys);

/** No member here is told of a burst that was heard as one of another relay, `remote`. */
function announce(
  { fanout, nowMs }: RemoteServices,
  talk: Talk,
  { frames }: MovedBurst,
  remote: RemoteBurst | undefined,
): void {
  flushHeld(talk.feed);
  if (remote === undefined) fanout.event(talk.feed, (event) => talkStarted(talk, event));
  else remote.goesOnHere(frames, nowMs());
  talk.feed.elsewhere?.started(runningBody(talk));
}

export const movedTalk = ({ burst, hasAsked, codec, crypto }: Talk): MovedTalk => ({
  ...{ burst, has_asked: hasAsked },
  ...(codec !== null && { codec }),
  ...(crypto !== null && { crypto }),
});

/** The same in a new talk. `claim` is what it has of the floor now. */
export function takeUp(
  talk: Talk,
  { burst, has_asked, codec, crypto }: MovedTalk,
  claim: 'waits' | 'has' | 'talks',
): void {
  // It is told of the grant when it returns.
  talk.claim = burst === 0 && claim === 'has' ? 'waits' : claim;
  talk.burst = claim === 'waits' ? 0 : burst;
  talk.hasAsked = has_asked;
  talk.codec = codec ?? null;
  talk.crypto = crypto ?? null;
  if (claim === 'talks') talk.expect();
}

/** Whether the burst may go on here, where other bursts may have been played that are later. */
export const mayGoOn = (talk: Talk, moved: MovedBurst, turn: Turn): boolean =>
  talk.feed.turns?.mayGoOn(nameOf(talk, moved), turn) === true;

const nameOf = ({ sender }: Talk, { burst, frames }: MovedBurst) => ({ sender, burst, frames });

/** The burst goes on here in `single` or `broadcast`, as `goOn` in `open`. The floor has its claim already. */
export function goOnInTurn(services: RemoteServices, talk: Talk, moved: MovedBurst): void {
  const { bursts, nowMs } = services;
  const at = nowMs();
  const remote = remoteOf(services, talk, moved.burst);
  if (remote !== undefined) bursts.deleteRemote(remote);
  talk.priority = moved.priority;
  talk.emergencyFlag = isInEmergency(talk.membership) ? EMERGENCY : 0;
  resume(talk, moved, at);
  talk.feed.turns?.goesOnHere(talk, at);
  bursts.add(talk);
  talk.tape = services.tapes.goOn(talk, moved.recording);
  announce(services, talk, moved, remote);
}

/** The burst does not go on: all members are told. */
export function endInTurn(
  services: RemoteServices,
  talk: Talk,
  moved: MovedBurst,
  turn: Turn,
  code: EndCode,
): void {
  const { frames, age_ms } = moved;
  remoteOf(services, talk, moved.burst)?.end(code, { durationMs: age_ms, frames });
  talk.feed.turns?.endedBefore(nameOf(talk, moved), turn, code, age_ms);
  services.tapes.endMoved(talk, moved, code);
}

const remoteOf = ({ bursts }: RemoteServices, { talkgroup, sender }: Talk, burst: number) =>
  [...bursts.remoteIn(talkgroup)].find(
    (one): one is RemoteBurst =>
      one instanceof RemoteBurst && one.sender === sender && one.talker.burst === burst,
  );

function endMoved(talk: Talk, { burst, frames, age_ms }: MovedBurst, remote: RemoteBurst | undefined): void {
  remote?.end('disconnected', { durationMs: age_ms, frames });
  talk.feed.elsewhere?.ended({ sender: talk.sender, burst, frames }, 'disconnected', age_ms);
}
