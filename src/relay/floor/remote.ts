// Plays bursts of other relays to the receivers here. Their own relays grant and end them.
import type { RunningTalker } from '../../protocol/bodies.js';
import type { EndCode } from '../../protocol/codes.js';
import {
  EMERGENCY,
  ENCRYPTED,
  HEADER_BYTES,
  readFlags,
  readSequence,
  unwrapSequence,
} from '../../protocol/frame.js';
import type { Fanout } from '../delivery/fanout.js';
import type { Holding } from '../delivery/holding.js';
import type { Source } from '../delivery/source.js';
import type { Sampling } from '../figures/sampling.js';
import type { Talkgroup } from '../members/members.js';
import type { Bursts, RemoteTalk } from './bursts.js';
import { EMERGENCY_PRIORITY, FRAME_PRIORITY } from './claim.js';
import { missedFrames, remoteStarted, talkEnded } from './messages.js';
import type { Taping } from './taping.js';

/** Time (ms) between two MISSED about one burst. */
const MISSED_MS = 500;

/** What the audio of the burst may still be played after. Every other code revokes it. */
const AUDIBLE: ReadonlySet<EndCode> = new Set(['released', 'silence', 'disconnected']);

export interface RemoteServices {
  readonly bursts: Bursts;
  readonly fanout: Pick<Fanout, 'event' | 'tell' | 'absent'>;
  readonly sampling: Sampling;
  readonly holding: Pick<Holding, 'live' | 'keep' | 'discard'>;
  readonly nowMs: () => number;
  readonly tapes: Taping;
}

/** A burst of another relay. */
export class RemoteBurst implements Source, RemoteTalk {
  readonly talkgroup: Talkgroup;
  readonly startedAtMs: number;
  readonly socket = null;
  /** As the talker's relay announced it, with the frames relayed there and the sequence of the last one here. */
  readonly talker: RunningTalker;
  private readonly services: RemoteServices;
  private isOver = false;
  private isRevoked = false;
  /** Frames missed and not yet told, and when the last ones were (monotonic ms). */
  private untold = 0;
  private toldAtMs = Number.NEGATIVE_INFINITY;

  constructor(services: RemoteServices, talkgroup: Talkgroup, talker: RunningTalker, startedAtMs: number) {
    this.services = services;
    this.talkgroup = talkgroup;
    this.talker = { ...talker };
    this.startedAtMs = startedAtMs;
  }

  get sender(): number {
    return this.talker.session;
  }

  mayTalk(): boolean {
    return !this.isRevoked;
  }

  frame(message: ArrayBuffer, index: number, nowMs: number): void {
    if (this.isOver) return;
    const { services, talker } = this;
    const { feed } = this.talkgroup;
    const view = new DataView(message);
    talker.frames = index;
    talker.sequence = unwrapSequence(talker.sequence, readSequence(view));
    // The talker's relay has not read yet what this one has.
    if (this.talkgroup.encryption === 'required' && !mayBePlayed(view)) return this.missed(1, nowMs);
    const flags = readFlags(view);
    const isEmergency = (flags & EMERGENCY) !== 0;
    if (isEmergency !== talker.emergency) this.followEmergency(isEmergency);
    feed.relayed++;
    const isSent = services.holding.live(services.fanout.absent, feed, this, message, flags, nowMs);
    if (services.sampling.isArmed) services.sampling.take(nowMs, message.byteLength, isSent ? null : feed);
    if (feed.held !== null) services.holding.keep(feed, this, message, nowMs);
    if (this.untold > 0) this.tellMissed(nowMs);
  }

  /** As the floor at the talker's relay does. Frames tell of it, no message does. */
  private followEmergency(isEmergency: boolean): void {
    this.talker.emergency = isEmergency;
    this.talker.priority = isEmergency ? EMERGENCY_PRIORITY : FRAME_PRIORITY;
  }

  missed(frames: number, nowMs: number): void {
    if (this.isOver) return;
    this.untold += frames;
    this.tellMissed(nowMs);
  }

  /** At most twice a second. */
  private tellMissed(nowMs: number): void {
    if (nowMs - this.toldAtMs < MISSED_MS) return;
    this.toldAtMs = nowMs;
    this.services.fanout.tell(this.talkgroup.feed, missedFrames(this.talker, this.untold));
    this.untold = 0;
  }

  end(code: EndCode, { durationMs, frames }: { durationMs: number | null; frames: number }): void {
    if (this.isOver) return;
    const { services } = this;
    const { feed } = this.talkgroup;
    const nowMs = services.nowMs();
    this.isRevoked = !AUDIBLE.has(code);
    if (this.isRevoked) services.holding.discard(feed, this);
    if (this.untold > 0) {
      this.toldAtMs = Number.NEGATIVE_INFINITY;
      this.tellMissed(nowMs);
    }
    this.drop();
    const ended = { code, frames, durationMs: durationMs ?? nowMs - this.startedAtMs };
    services.fanout.event(feed, (event) => talkEnded(this.talker, event, ended));
  }

  /** Its session is here now, and the burst goes on as its own behind so many frames. Those that did not come are missed. */
  goesOnHere(frames: number, nowMs: number): void {
    this.untold += Math.max(0, frames - this.talker.frames);
    this.toldAtMs = Number.NEGATIVE_INFINITY;
    if (this.untold > 0) this.tellMissed(nowMs);
    this.drop();
  }

  /** No member here is told. */
  drop(): void {
    this.isOver = true;
    this.services.bursts.deleteRemote(this);
  }
}

/**
 * In a talkgroup that requires encryption: what is encrypted, has no speech, or is a call for help in the clear. One that runs
 * goes on when that is forbidden, and its relay lets no other begin.
 */
const mayBePlayed = (view: DataView): boolean =>
  (readFlags(view) & (ENCRYPTED | EMERGENCY)) !== 0 || view.byteLength === HEADER_BYTES;

/** The burst begins here now, whenever it began there. */
export function beginRemote(
  services: RemoteServices,
  talkgroup: Talkgroup,
  talker: RunningTalker,
  nowMs: number,
): RemoteBurst {
  const burst = new RemoteBurst(services, talkgroup, talker, nowMs);
  services.bursts.addRemote(burst);
  services.fanout.event(talkgroup.feed, (event) => remoteStarted(burst.talker, event));
  return burst;
}
