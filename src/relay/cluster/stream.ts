// One talkgroup with receivers here: what its talkers say to the other relays, and the other relays that hear it, too.
import type { RunningTalker } from '../../protocol/bodies.js';
import type { EndCode } from '../../protocol/codes.js';
import type { Draft } from '../../protocol/server-messages.js';
import type { Elsewhere, OwnBurst } from '../delivery/elsewhere.js';
import { bodyOf, type Here, type Hold, NO_BODY, type Rostered, type UnsavedEmergency } from './bodies.js';
import { type Bus, type Subject, talkgroupSubject } from './bus.js';
import type { ClusterCounts } from './counts.js';
import { type Header, type HeaderWriter, type Kind, kinds } from './header.js';
import { Other } from './other.js';
import type { PlayedBurst, Shared, Stage } from './stage.js';

/** Bursts in one answer: 350 KiB with names and codecs of the greatest length. */
const BURSTS_MAX = 500;

/** Time (ms) between two lists of the emergencies that are not stored here. */
const UNSAVED_MS = 500;

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
  /** Sessions came or left here since then. */
  private isMoved = false;
  /** What the others were told last: sessions online here, and whether one of them watches. */
  private onlineTold = 0;
  private watchesTold = false;
  /** The others know of emergencies that were not stored here, and when they last were told (monotonic ms). */
  private hasUnsaved = false;
  private unsavedAtMs = Number.NEGATIVE_INFINITY;
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
    const settings = this.services.stage.settings(this.talkgroup);
    this.say(kinds.started, 0, bodyOf({ ...burst, settings }));
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

  /** Sessions came or left here. */
  moved(): this {
    this.isMoved = true;
    return this;
  }

  /** Tells the others how many sessions are online here, when that is due. */
  tellCount(): void {
    const { stage } = this.services;
    const watches = stage.isWatched(this.talkgroup);
    // Where one of the others watches, those that came and left are told with their names, once a second.
    const isCounted = this.isMoved && !this.talkgroup.feed.isWatchedElsewhere;
    if (!isCounted && watches === this.watchesTold) return;
    if (isCounted) {
      this.changes++;
      this.onlineTold = stage.online(this.talkgroup);
      this.isMoved = false;
    }
    this.watchesTold = watches;
    this.say(kinds.count, 0, bodyOf({ online: this.onlineTold, changes: this.changes, watches }));
  }

  /** Tells the others which sessions came and left here. */
  tellRoster(roster: Pick<Draft<Rostered>, 'online' | 'joined' | 'left'>): void {
    this.changes++;
    this.onlineTold = roster.online;
    this.isMoved = false;
    const rest = { changes: this.changes, watches: this.watchesTold };
    this.say(kinds.roster, 0, bodyOf({ ...roster, ...rest }));
  }

  /** Tells the others at once of a change that is not stored here yet. */
  tellEmergency(told: UnsavedEmergency): void {
    if (!this.isShared) return; // one that comes later asks
    this.hasUnsaved = true;
    this.say(kinds.emergencies, 0, bodyOf({ emergencies: [told], isWhole: false }));
  }

  /** Every UNSAVED_MS while one is not stored, and once more when all are. */
  private tellUnsaved(nowMs: number): void {
    if (nowMs - this.unsavedAtMs < UNSAVED_MS) return;
    const unsaved = this.services.stage.emergencies.unsaved(this.talkgroup);
    const hasUnsaved = unsaved.emergencies.length > 0;
    if (!hasUnsaved && !this.hasUnsaved) return;
    this.hasUnsaved = hasUnsaved;
    this.unsavedAtMs = nowMs;
    this.say(kinds.emergencies, 0, bodyOf(unsaved));
  }

  /** The relays with receivers of the talkgroup. */
  get relays(): readonly number[] {
    return [...this.others.keys()];
  }

  /** What another relay must know to hear this one from now on. */
  get held(): Hold['talkgroups'][number] {
    const { number, feed } = this.talkgroup;
    const { stage } = this.services;
    const online = feed.isWatchedElsewhere ? this.onlineTold : stage.online(this.talkgroup);
    const settings = stage.settings(this.talkgroup);
    const watches = stage.isWatched(this.talkgroup);
    return { number, seq: this.seq, online, changes: this.changes, watches, settings };
  }

  /** The same with the bursts that run here, and the emergencies that are not stored here. */
  get here(): Draft<Here['talkgroups'][number]> {
    const { talkgroup, held } = this;
    const { stage } = this.services;
    const bursts = talkgroup.floorMode === 'open' ? stage.running(talkgroup) : [];
    const isWhole = bursts.length <= BURSTS_MAX;
    const unsaved = stage.emergencies.unsaved(talkgroup);
    this.hasUnsaved ||= unsaved.emergencies.length > 0;
    return { ...held, bursts: bursts.slice(0, BURSTS_MAX), isWhole, unsaved };
  }

  /** A message about the talkgroup, of a relay that is up. `delayMs` is how long it was on its way. */
  receive(header: Header, bytes: Uint8Array, delayMs: number, nowMs: number): void {
    if (header.kind === kinds.bye) return this.drop(header.relay);
    this.otherOf(header.relay).receive(header, bytes, delayMs, nowMs);
    if (header.kind === kinds.count) this.sum();
    else if (header.kind === kinds.roster) this.sum('told');
  }

  /** One that is heard for the first time has receivers, too. */
  private otherOf(relay: number): Other<Talkgroup> {
    const known = this.others.get(relay);
    if (known !== undefined) return known;
    const { talkgroup } = this;
    const { stage, counts, ask } = this.services;
    const other: Other<Talkgroup> = new Other({
      ...{ relay, talkgroup, stage, counts },
      ask: () => ask(relay, talkgroup.number),
      elsewhere: (...burst) => [...this.others.values()].find((one) => one !== other && one.has(...burst)),
    });
    this.others.set(relay, other);
    this.connect();
    return other;
  }

  /** `told`: where somebody watches, the change has been told already. */
  private sum(how: 'told' | 'counted' = 'counted'): void {
    const { feed } = this.talkgroup;
    let online = 0;
    let isWatched = false;
    for (const other of this.others.values()) {
      online += other.online;
      isWatched ||= other.watches;
    }
    if (feed.isWatchedElsewhere !== isWatched) this.watchedElsewhere(isWatched);
    if (feed.onlineElsewhere === online) return;
    feed.onlineElsewhere = online;
    if (how === 'counted') this.services.stage.counted(this.talkgroup);
  }

  /** From here on those that come and leave are told with their names, or only counted. */
  private watchedElsewhere(isWatched: boolean): void {
    const { talkgroup, services } = this;
    // In either case what was not told yet is counted.
    talkgroup.feed.isWatchedElsewhere = false;
    this.tellCount();
    this.onlineTold = services.stage.online(talkgroup);
    talkgroup.feed.isWatchedElsewhere = isWatched;
    services.stage.watchedElsewhere(talkgroup, isWatched);
  }

  /** The relay has receivers of the talkgroup, and asks about it. */
  asked(relay: number, entry: Hold['talkgroups'][number]): void {
    const other = this.otherOf(relay);
    other.asks(entry.seq);
    other.counts(entry);
    this.sum();
  }

  /** The relay answers. */
  answered(relay: number, entry: Here['talkgroups'][number], nowMs: number): void {
    const other = this.otherOf(relay);
    other.counts(entry); // first: the bursts are those of its floor mode
    other.tells(entry, nowMs);
    this.sum();
  }

  /** A session that was here is at this relay from now on, and its burst is played here as one of that relay. */
  handOver(relay: number, { sender, burst, frames }: OwnBurst, played: PlayedBurst, nowMs: number): void {
    this.otherOf(relay).expect(sender, burst, played, frames, nowMs);
  }

  /** A session came here from another relay, and its burst goes on or has ended. */
  cameHere(session: number): void {
    for (const other of this.others.values()) other.forget(session);
  }

  /** The relay has no receivers of the talkgroup any more, or cannot be reached. */
  drop(relay: number): void {
    const other = this.others.get(relay);
    if (other === undefined) return;
    this.others.delete(relay);
    other.endAll('disconnected');
    other.emergencies.lost();
    this.sum();
    this.connect();
  }

  /** Tells what is due. Asks about bursts that have been silent for too long, and lists that were not heard. */
  watch(nowMs: number): void {
    this.tellUnsaved(nowMs);
    for (const other of this.others.values()) other.watch(nowMs);
  }

  /** It is deleted: no burst of it is played any more. */
  deleted(): void {
    for (const other of this.others.values()) other.endAll('deleted');
  }

  /** Its settings have changed, and the others are told. In another floor mode, bursts of other relays end here, and those of this relay end there. */
  changed(): void {
    if (this.isShared) this.say(kinds.count, 0, bodyOf(this.held));
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
    for (const other of this.others.values()) other.dropAll();
    this.others.clear();
    this.sum();
    this.connect();
    // After the last message: any other says that there are receivers.
    this.say(kinds.bye, 0, NO_BODY);
  }
}
