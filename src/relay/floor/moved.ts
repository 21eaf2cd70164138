// Lets a running burst go on at another relay, because its session moves there. Only bursts in the floor mode `open` do.
import type { RunningTalker } from '../../protocol/bodies.js';
import { flushHeld } from '../delivery/feed.js';
import { mayTalk } from '../members/members.js';
import type { FloorControl } from './control.js';
import { runningBody, talkStarted } from './messages.js';
import type { MovedBurst } from './moved-burst.js';
import { RemoteBurst, type RemoteServices } from './remote.js';
import type { Talk } from './talk.js';

/** Whether the claim moves with its session. Every other claim ends where it is, as `disconnected`. */
export const movesAlong = ({ claim, talkgroup }: Talk): boolean =>
  claim === 'talks' && talkgroup.floorMode === 'open';

export const movedBurst = (talk: Talk, nowMs: number): MovedBurst => ({
  number: talk.number,
  burst: talk.burst,
  frames: talk.frames,
  sequence: talk.sequence,
  priority: talk.priority,
  ...(talk.codec !== null && { codec: talk.codec }),
  started_at: new Date(talk.startedAt).toISOString(),
  age_ms: nowMs - talk.startedAtMs,
  silent_ms: Math.max(0, nowMs - talk.lastFrameAtMs),
  has_returned: talk.relayed === talk.relayedAtReturn,
});

/** The burst goes on, and was announced when it began. As after every return, T1 begins again, unless it ran on before. */
export function resume(talk: Talk, moved: MovedBurst, nowMs: number): void {
  talk.startedAt = Date.parse(moved.started_at);
  talk.startedAtMs = nowMs - moved.age_ms;
  talk.relayedBefore = talk.relayed - moved.frames;
  talk.relayedAtReturn = talk.relayed;
  talk.sequence = moved.sequence;
  talk.lastFrameAtMs = moved.has_returned ? nowMs - moved.silent_ms : nowMs;
}

/** The burst of a session that leaves is one of another relay from now on. Nobody here is told. */
export function asRemote(services: RemoteServices, talk: Talk): RemoteBurst {
  flushHeld(talk.feed);
  const { talkgroup, startedAtMs } = talk;
  const burst = new RemoteBurst(services, talkgroup, runningBody(talk) as RunningTalker, startedAtMs);
  services.bursts.delete(talk);
  services.bursts.addRemote(burst);
  return burst;
}

/**
 * The burst of a session that comes goes on here. Where it was heard as one of another relay nobody is told, else it is
 * announced now. When it may not go on, its end is announced.
 */
export function goOn(
  services: RemoteServices & { readonly floor: Pick<FloorControl, 'goOn'> },
  talk: Talk,
  moved: MovedBurst,
): void {
  const { bursts, fanout, floor, nowMs } = services;
  const { talkgroup } = talk;
  const remote = remoteOf(services, talk, moved.burst);
  // It counts toward the limits once.
  if (remote !== undefined) bursts.deleteRemote(remote);
  const goesOn =
    talkgroup.floorMode === 'open' && mayTalk(talk.membership) && floor.goOn(talk, moved, nowMs());
  if (!goesOn) return endMoved(talk, moved, remote);
  flushHeld(talk.feed);
  if (remote === undefined) fanout.event(talk.feed, (event) => talkStarted(talk, event));
  else remote.goesOnHere(moved.frames, nowMs());
  talk.feed.elsewhere?.started(runningBody(talk));
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
