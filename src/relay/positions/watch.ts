// Follows positions for one session. It lists the devices, sends what changed meanwhile, and then gets what is published
// for all. A receiver that falls behind gets what changed by itself, a message at a time, each when the one before was read.
import type { Ref } from '../../protocol/bodies.js';
import type { WatchInterval } from '../../protocol/codes.js';
import type { Clock } from '../clock.js';
import { DROPPED, type Peer } from '../delivery/peer.js';
import type { Talkgroup, User } from '../members/members.js';
import type { Device, Devices } from './devices.js';
import { DEVICES_MAX, type List } from './list.js';
import { GONE_MAX, partsOf, positionsText, watchingText } from './messages.js';
import type { Round } from './round.js';

/** A session as its watch uses it. */
export interface WatchingSession {
  readonly user: User;
  readonly socket: Peer | null;
  /** null: it keeps up. */
  readonly reception: { readonly behind: object | null };
  readonly telling: { whenRead(act: () => void): void };
  send(text: string): void;
}

/** One talkgroup of a watch. */
export interface WatchedTalkgroup {
  readonly talkgroup: Talkgroup;
  readonly list: List;
  readonly round: Round;
  /** The permission is withdrawn: the last change before. null: it is granted. */
  withdrawnAt: number | null;
}

export interface WatchOptions {
  readonly devices: Devices;
  readonly counts: { sent: number };
  readonly clock: Pick<Clock, 'nowMs' | 'unixMs'>;
  readonly intervalMs: WatchInterval;
  readonly ref: Ref | undefined;
}

/** A message that the engine dropped shows within this time (ms). */
const LOST_MS = 5000;
/**
 * A receiver that was behind gets its positions by itself for this time (ms): what is published for all was too much for it.
 * LIMIT: of 1,000 that fall behind at once each gets a tenth of the positions. One text for those with the same changes would
 * lift that.
 */
const ALONE_MS = 30_000;

export class Watch {
  readonly session: WatchingSession;
  readonly talkgroups: Map<Talkgroup, WatchedTalkgroup>;
  /** Devices that the session named. null: it watches talkgroups. */
  readonly own: List | null;
  private readonly peer: Peer;
  private readonly options: WatchOptions;
  private ref: Ref | undefined;
  isOver = false;
  /** It gets what is published. */
  private isLive = false;
  /** Something was sent that the client has not read yet, or the devices are being listed. */
  private isBusy = false;
  /** The devices must be listed anew. */
  private isStale = false;
  /** It has all changes up to this one, and those that wait in `queue`. */
  private since = 0;
  private readonly queue = new Set<Device>();
  /** Of these nothing was in the last list, because their permission was withdrawn then. */
  private readonly unlisted = new Set<Talkgroup>();
  /** When a change of the devices was last published for all that watch. */
  private changedAtMs = Number.NEGATIVE_INFINITY;
  private dueAtMs = Number.NEGATIVE_INFINITY;
  private liveAtMs = Number.NEGATIVE_INFINITY;

  constructor(
    session: WatchingSession,
    peer: Peer,
    watched: readonly WatchedTalkgroup[] | List,
    options: WatchOptions,
  ) {
    this.session = session;
    this.peer = peer;
    this.options = options;
    this.ref = options.ref;
    this.own = 'devices' in watched ? watched : null;
    this.talkgroups = new Map('devices' in watched ? [] : watched.map((one) => [one.talkgroup, one]));
    for (const { round } of this.talkgroups.values()) round.watches++;
    this.list();
  }

  /** Its socket is gone, or goes on as that of another session. */
  get isLost(): boolean {
    return this.session.socket !== this.peer;
  }

  private *devices(): Iterable<Device> {
    for (const list of this.lists()) yield* list.devices;
  }

  private sees(device: Device): boolean {
    return this.lists().some((list) => list.has(device));
  }

  /** Sends WATCHING, the next part when the client has read the one before. An empty buffer here would not tell that. */
  private list(): void {
    this.isStale = false;
    this.changedAtMs = Number.NEGATIVE_INFINITY;
    this.unlisted.clear();
    for (const { talkgroup, withdrawnAt } of this.talkgroups.values())
      if (withdrawnAt !== null) this.unlisted.add(talkgroup);
    this.queue.clear();
    this.since = this.options.devices.lastChange;
    const [one, ...others] = this.lists();
    if (others.length > 0) this.listTogether();
    else this.tellPart(one?.parts ?? [[]], 0, one?.total ?? 0);
  }

  /** What it may see now. */
  private lists(): List[] {
    if (this.own !== null) return [this.own];
    return [...this.talkgroups.values()].flatMap(({ list, withdrawnAt }) =>
      withdrawnAt === null ? [list] : [],
    );
  }

  /** A device of several talkgroups is listed once. */
  private listTogether(): void {
    const lists = this.lists();
    const listed = new Set<Device>();
    for (const list of lists)
      for (const device of list.devices) {
        if (listed.size === DEVICES_MAX) break;
        listed.add(device);
      }
    const total = (of: (list: List) => number) => lists.reduce((sum, list) => sum + of(list), 0);
    // To count further devices once each would take longer than speech can wait.
    const all =
      listed.size < DEVICES_MAX
        ? listed.size + total(({ total, size }) => total - size)
        : total(({ total }) => total);
    this.tellPart(partsOf(listed), 0, all);
  }

  private tellPart(parts: readonly (readonly Device[])[], at: number, total: number): void {
    const devices = (parts[at] ?? []).filter((device) => this.sees(device)); // also now
    const { ref } = this;
    this.session.send(watchingText({ ref, devices, total, part: at + 1, parts: parts.length }));
    this.afterRead(() => {
      if (at + 1 < parts.length) return this.tellPart(parts, at + 1, total);
      this.ref = undefined; // of further lists
      this.dueAtMs = this.options.clock.nowMs();
    });
  }

  private afterRead(act: () => void): void {
    this.isBusy = true;
    this.session.telling.whenRead(() => {
      if (this.isOver) return;
      this.isBusy = false;
      act();
    });
  }

  /** Devices came to the list or left it. `isPublished`: all that get what is published have been told. */
  changed(list: List, isPublished: boolean): void {
    const watched = [...this.talkgroups.values()].find((one) => one.list === list);
    if (watched === undefined && this.own !== list) return;
    const isTold = isPublished && this.isLive && watched?.withdrawnAt === null;
    if (isTold) this.changedAtMs = this.options.clock.nowMs();
    else this.isStale = true;
  }

  /** The client may have an older list: what is published comes later than a change, and a slow receiver may lose it. */
  private mayBeStale(nowMs: number): boolean {
    return this.isStale || nowMs - this.changedAtMs < this.options.intervalMs + LOST_MS;
  }

  /** Called every 50 ms, or less often where there are many. */
  tick(nowMs: number): void {
    if (this.session.reception.behind !== null) {
      if (this.isLive) this.fallBack(nowMs);
      this.liveAtMs = nowMs + ALONE_MS;
      return;
    }
    if (this.isBusy || this.session.user.withdrawn) return;
    if (this.isStale) {
      this.leaveTopics();
      this.list();
    } else if (!this.isLive && nowMs >= this.dueAtMs) this.sendChanges(nowMs);
  }

  /** Whatever was published since may be lost. */
  private fallBack(nowMs: number): void {
    this.leaveTopics();
    this.isStale = this.mayBeStale(nowMs);
    this.since = Math.max(this.since, this.sentSurely(nowMs));
    this.dueAtMs = nowMs;
  }

  private sentSurely(nowMs: number): number {
    const { devices, intervalMs } = this.options;
    return devices.changeBefore(intervalMs + LOST_MS, nowMs);
  }

  private sendChanges(nowMs: number): void {
    const { devices, intervalMs } = this.options;
    const { since } = this;
    this.since = devices.lastChange;
    this.dueAtMs = nowMs + intervalMs;
    for (const device of this.devices()) if (device.change > since) this.queue.add(device);
    if (this.queue.size > 0) this.sendQueued();
    if (this.queue.size === 0 && this.own === null && nowMs >= this.liveAtMs) this.enterTopics();
  }

  /** One message of what waits, and the next one when it was read. */
  private sendQueued(): void {
    const { counts, clock } = this.options;
    const [only] = this.talkgroups.values();
    const talkgroup = this.talkgroups.size === 1 ? only?.talkgroup.id : undefined;
    const text = positionsText(this.queue, { talkgroup, gone: [], serverTimeMs: clock.unixMs() });
    counts.sent++;
    // Its receiver is behind from now on, and gets what it missed.
    if (this.peer.send(Buffer.from(text), false) === DROPPED)
      this.since = Math.min(this.since, this.sentSurely(clock.nowMs()));
    this.afterRead(() => {
      if (this.queue.size > 0) this.sendQueued();
    });
  }

  private enterTopics(): void {
    this.isLive = true;
    for (const { round, withdrawnAt } of this.talkgroups.values())
      if (withdrawnAt === null) this.peer.subscribe(round.topic);
  }

  private leaveTopics(): void {
    if (!this.isLive) return;
    this.isLive = false;
    if (!this.isLost) for (const { round } of this.talkgroups.values()) this.peer.unsubscribe(round.topic);
  }

  /** Nothing of the talkgroup goes to the session, until `granted`. */
  withdrawn(talkgroup: Talkgroup): void {
    const watched = this.talkgroups.get(talkgroup);
    if (watched === undefined || this.isLost) return;
    const nowMs = this.options.clock.nowMs();
    this.isStale = this.mayBeStale(nowMs);
    watched.withdrawnAt ??= this.options.devices.changeBefore(this.options.intervalMs, nowMs);
    for (const device of watched.list.devices) this.queue.delete(device);
    this.peer.unsubscribe(watched.round.topic);
  }

  /** What moved meanwhile is sent. */
  granted(talkgroup: Talkgroup): void {
    const watched = this.talkgroups.get(talkgroup);
    if (watched === undefined || watched.withdrawnAt === null) return;
    const sent = this.sentSurely(this.options.clock.nowMs());
    const since = this.isLive ? Math.max(this.since, sent) : this.since;
    this.leaveTopics();
    this.since = Math.min(since, watched.withdrawnAt);
    watched.withdrawnAt = null;
    if (this.unlisted.has(talkgroup)) this.isStale = true;
    this.dueAtMs = this.options.clock.nowMs();
  }

  /** The membership is gone: the client is told which devices it watches no more, or has a new list. */
  left(talkgroup: Talkgroup): void {
    const watched = this.talkgroups.get(talkgroup);
    if (watched === undefined) return;
    this.talkgroups.delete(talkgroup);
    watched.round.watches--;
    if (this.isLost) return;
    this.peer.unsubscribe(watched.round.topic);
    const still = new Set(this.devices());
    const gone: number[] = [];
    for (const device of watched.list.devices) {
      if (still.has(device)) continue;
      this.queue.delete(device);
      gone.push(device.n);
    }
    if (this.mayBeStale(this.options.clock.nowMs())) {
      this.isStale = true;
      this.ref = undefined; // the new list answers no question
      if (this.talkgroups.size === 0) this.list(); // it ends before its next tick
      return;
    }
    while (gone.length > 0)
      this.session.send(
        positionsText(new Set(), {
          gone: gone.splice(0, GONE_MAX),
          serverTimeMs: this.options.clock.unixMs(),
        }),
      );
  }

  end(): void {
    this.isOver = true;
    this.leaveTopics();
    for (const { round } of this.talkgroups.values()) round.watches--;
  }
}
