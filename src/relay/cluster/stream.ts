// One talkgroup with receivers here: what its talkers say to the other relays, and the other relays that hear it, too.
import type { RunningTalker } from '../../protocol/bodies.js';
import type { EndCode } from '../../protocol/codes.js';
import type { Draft } from '../../protocol/server-messages.js';
import type { Elsewhere, OwnBurst } from '../delivery/elsewhere.js';
import { bodyOf, type Here, type Hold, NO_BODY } from './bodies.js';
import { type Bus, type Subject, talkgroupSubject } from './bus.js';
import type { ClusterCounts } from './counts.js';
import { type Header, type HeaderWriter, type Kind, kinds } from './header.js';
import { Other } from './other.js';
import type { Shared, Stage } from './stage.js';

/** Bursts in one answer: 350 KiB with names and codecs of the greatest length. */
const BURSTS_MAX = 500;

/** What the streams of one relay share. */
export interface StreamServices<Talkgroup extends Shared> {
  readonly bus: Pick<Bus, 'publish'>;
  readonly writer: HeaderWriter;
  readonly stage: Stage<Talkgroup>;
  readonly counts: ClusterCounts;
  readonly nowMs: () => number;
  /** Asks this relay what it has of the talkgroup. */
  readonly ask: (relay: number, number: number) => void;
}

export class Stream<Talkgroup extends Shared> implements Elsewhere {
  readonly talkgroup: Talkgroup;
  private readonly services: StreamServices<Talkgroup>;
  private readonly subject: Subject;
  /** Of the last message sent. */
  private seq = 0;
  /** Times that the others were told the count of sessions. */
  private changes = 0;
  private readonly others = new Map<number, Other<Talkgroup>>();

  constructor(services: StreamServices<Talkgroup>, talkgroup: Talkgroup) {
    this.services = services;
    this.talkgroup = talkgroup;
    this.subject = talkgroupSubject(talkgroup.number);
  }

  /** Whether another relay has receivers of the talkgroup. */
  get isShared(): boolean {
    return this.others.size > 0;
  }

  started(burst: Draft<RunningTalker>): void {
    this.say(kinds.started, 0, bodyOf(burst));
  }

  frame({ frames }: OwnBurst, message: ArrayBuffer, nowMs: number): void {
    const { bus, writer, counts } = this.services;
    if (bus.publish(this.subject, writer.write(kinds.frame, ++this.seq, nowMs, frames), message))
      counts.framesOut++;
  }

  ended({ sender, burst, frames }: OwnBurst, code: EndCode, durationMs: number): void {
    const body = { session: sender, burst, code, duration_ms: Math.round(durationMs) };
    this.say(kinds.ended, frames, bodyOf(body));
  }

  private say(kind: Kind, index: number, body: Uint8Array): void {
    const { bus, writer, nowMs } = this.services;
    bus.publish(this.subject, writer.write(kind, ++this.seq, nowMs(), index), body);
  }

  /** Tells the others how many sessions are online here: some came or left. */
  tellCount(): void {
    const online = this.services.stage.online(this.talkgroup);
    this.changes++;
    this.say(kinds.count, 0, bodyOf({ online, changes: this.changes }));
  }

  /** The relays with receivers of the talkgroup. */
  get relays(): readonly number[] {
    return [...this.others.keys()];
  }

  /** What another relay must know to hear this one from now on. */
  get held(): Hold['talkgroups'][number] {
    const { number } = this.talkgroup;
    return { number, seq: this.seq, online: this.services.stage.online(this.talkgroup) };
  }

  /** The same with the bursts that run here. */
  get here(): Draft<Here['talkgroups'][number]> {
    const bursts = this.talkgroup.floorMode === 'open' ? this.services.stage.running(this.talkgroup) : [];
    return { ...this.held, bursts: bursts.slice(0, BURSTS_MAX), isWhole: bursts.length <= BURSTS_MAX };
  }

  /** A message about the talkgroup, of a relay that is up. `delayMs` is how long it was on its way. */
  receive(header: Header, bytes: Uint8Array, delayMs: number, nowMs: number): void {
    if (header.kind === kinds.bye) return this.drop(header.relay);
    this.otherOf(header.relay).receive(header, bytes, delayMs, nowMs);
    if (header.kind === kinds.count) this.sum();
  }

  /** One that is heard for the first time has receivers, too. */
  private otherOf(relay: number): Other<Talkgroup> {
    const known = this.others.get(relay);
    if (known !== undefined) return known;
    const { talkgroup } = this;
    const { stage, counts, ask } = this.services;
    const other = new Other({ talkgroup, stage, counts, ask: () => ask(relay, talkgroup.number) });
    this.others.set(relay, other);
    this.connect();
    return other;
  }

  private sum(): void {
    const { feed } = this.talkgroup;
    let online = 0;
    for (const other of this.others.values()) online += other.online;
    if (feed.onlineElsewhere === online) return;
    feed.onlineElsewhere = online;
    this.services.stage.counted(this.talkgroup);
  }

  /** The relay has receivers of the talkgroup, and asks about it. */
  asked(relay: number, { seq, online }: Hold['talkgroups'][number]): void {
    const other = this.otherOf(relay);
    other.asks(seq);
    other.online = online;
    this.sum();
  }

  /** The relay answers. */
  answered(relay: number, entry: Here['talkgroups'][number], nowMs: number): void {
    const other = this.otherOf(relay);
    other.tells(entry, nowMs);
    other.online = entry.online;
    this.sum();
  }

  /** The relay has no receivers of the talkgroup any more, or cannot be reached. */
  drop(relay: number): void {
    const other = this.others.get(relay);
    if (other === undefined) return;
    this.others.delete(relay);
    other.endAll('disconnected');
    this.sum();
    this.connect();
  }

  /** Asks about bursts that have been silent for too long. */
  watch(nowMs: number): void {
    for (const other of this.others.values()) other.watch(nowMs);
  }

  /** It is deleted: no burst of it is played any more. */
  deleted(): void {
    for (const other of this.others.values()) other.endAll('deleted');
  }

  /** Its floor mode may have changed. Bursts of other relays end here, and those of this relay end there. */
  changed(): void {
    if (this.talkgroup.floorMode !== 'open') {
      for (const other of this.others.values()) other.endAll('mode');
      const isHeard = this.talkgroup.feed.elsewhere !== null;
      if (isHeard) for (const burst of this.services.stage.running(this.talkgroup)) this.leaveOut(burst);
    }
    this.connect();
  }

  /** The burst goes on here alone. */
  private leaveOut({ session: sender, burst, frames, started_at }: Draft<RunningTalker>): void {
    this.ended({ sender, burst, frames }, 'mode', Date.now() - Date.parse(started_at));
  }

  /** The hot path asks the feed whether any relay elsewhere hears the talkgroup. */
  private connect(): void {
    const { feed, floorMode } = this.talkgroup;
    feed.elsewhere = this.isShared && floorMode === 'open' ? this : null;
  }

  /** The last receiver here left. */
  close(): void {
    this.say(kinds.bye, 0, NO_BODY);
    for (const other of this.others.values()) other.dropAll();
    this.others.clear();
    this.sum();
    this.connect();
  }
}
