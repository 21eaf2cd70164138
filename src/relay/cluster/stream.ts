// One talkgroup with receivers here: what its talkers say to the other relays, and the other relays that hear it, too.

import type { RunningTalker } from '../../protocol/bodies.js';
import type { EndCode } from '../../protocol/codes.js';
import type { Draft } from '../../protocol/server-messages.js';
import type { UnsavedEmergency } from '../emergencies/messages.js';
import type { Talkgroup } from '../members/members.js';
import { bodyOf, NO_BODY } from '../nodes/body.js';
import { type Header, kinds, wireSeq } from '../nodes/header.js';
import { homeOf } from '../shared-floor/home.js';
import type { PlayedBurst } from '../shared-floor/turns/plays.js';
import { Turns } from '../shared-floor/turns/turns.js';
import type { Here, Hold, Rostered } from './bodies.js';
import { heardElsewhere, keptOf } from './heard-bursts.js';
import { Unsaved } from './listed.js';
import { Other } from './other.js';
import { Outgoing } from './outgoing.js';
import { type StreamServices, settingsBody } from './services.js';

export class Stream {
  readonly talkgroup: Talkgroup;
  private readonly services: StreamServices;
  /** Times that the others were told the count of sessions. */
  private changes = 0;
  /** Sessions came or left here since then. */
  private isMoved = false;
  /** What the others were told last: sessions online here, and whether one of them watches. */
  private onlineTold = 0;
  private watchesTold = false;
  private readonly unsaved: Unsaved;
  private readonly others = new Map<number, Other>();
  readonly turns: Turns;
  /** What this relay says. */
  readonly out: Outgoing;
  /** The relay that decides the floor in `single` and `broadcast`. */
  home: number;
  /** The floor mode was `open` when the settings last changed. */
  private wasOpen: boolean;

  /** The numbers of its messages follow `lastSeq`. */
  constructor(services: StreamServices, talkgroup: Talkgroup, lastSeq: number) {
    this.services = services;
    this.talkgroup = talkgroup;
    this.home = services.relay;
    const kept = keptOf(this.others);
    this.turns = new Turns(services.turns, { talkgroup, home: () => this.home, kept });
    this.wasOpen = this.isOpen;
    this.out = new Outgoing(services, talkgroup, this.turns, lastSeq);
    talkgroup.feed.turns = this.out;
    this.unsaved = new Unsaved(
      (max) => services.emergencies.unsaved(talkgroup, max),
      (body) => this.out.say(kinds.emergencies, 0, body),
    );
  }

  private get isOpen(): boolean {
    return this.talkgroup.floorMode === 'open';
  }

  /** Sessions here that get its events. */
  private get online(): number {
    return this.services.fanout.onlineHere(this.talkgroup.feed);
  }

  /** Whether another relay has receivers of the talkgroup. */
  get isShared(): boolean {
    return this.others.size > 0;
  }

  /** The number of the last message sent. */
  get lastSeq(): number {
    return this.out.seq;
  }

  /** Sessions came or left here. */
  moved(): this {
    this.isMoved = true;
    return this;
  }

  /** Tells the others how many sessions are online here, when that is due. */
  tellCount(): void {
    const watches = this.services.presence.isWatched(this.talkgroup);
    // Where one of the others watches, those that came and left are told with their names, once a second.
    const isCounted = this.isMoved && !this.talkgroup.feed.isWatchedElsewhere;
    if (!isCounted && watches === this.watchesTold) return;
    if (isCounted) {
      this.changes++;
      this.onlineTold = this.online;
      this.isMoved = false;
    }
    this.watchesTold = watches;
    this.out.say(kinds.count, 0, bodyOf({ online: this.onlineTold, changes: this.changes, watches }));
  }

  /** Tells the others which sessions came and left here. */
  tellRoster(roster: Pick<Draft<Rostered>, 'online' | 'joined' | 'left'>): void {
    this.changes++;
    this.onlineTold = roster.online;
    this.isMoved = false;
    const rest = { changes: this.changes, watches: this.watchesTold };
    this.out.say(kinds.roster, 0, bodyOf({ ...roster, ...rest }));
  }

  /** Of a change that is not stored here yet. One that comes later asks. */
  tellEmergency(told: UnsavedEmergency): void {
    if (!this.isShared) return; // one that comes later asks
    this.unsaved.tell(told);
  }

  /** The relays with receivers of the talkgroup. */
  get relays(): readonly number[] {
    return [...this.others.keys()];
  }

  /** What another relay must know to hear this one from now on. */
  get held(): Hold['talkgroups'][number] {
    const { number, feed } = this.talkgroup;
    const online = feed.isWatchedElsewhere ? this.onlineTold : this.online;
    const settings = settingsBody(this.talkgroup);
    const watches = this.services.presence.isWatched(this.talkgroup);
    return { number, seq: wireSeq(this.lastSeq), online, changes: this.changes, watches, settings };
  }

  /** The same with the bursts that run here, and the emergencies that are not stored here. */
  get here(): Draft<Here['talkgroups'][number]> {
    return { ...this.held, ...this.out.bursts, unsaved: this.unsaved.now };
  }

  /** A message about the talkgroup, of a relay that is up. `delayMs` is how long it was on its way. */
  receive(header: Header, bytes: Uint8Array, delayMs: number, nowMs: number): void {
    if (header.kind === kinds.bye) return this.drop(header.relay);
    this.otherOf(header.relay).receive(header, bytes, delayMs, nowMs);
    if (header.kind === kinds.count) this.sum();
    else if (header.kind === kinds.roster) this.sum('told');
  }

  /** One that is heard for the first time has receivers, too. */
  private otherOf(relay: number): Other {
    const known = this.others.get(relay);
    if (known !== undefined) return known;
    const { talkgroup, turns, services } = this;
    const other = new Other({
      ...{ relay, talkgroup, services, turns },
      ask: () => services.ask(relay, talkgroup.number),
      elsewhere: (...burst) => heardElsewhere(this.others, relay, ...burst),
    });
    this.others.set(relay, other);
    this.connect();
    return other;
  }

  /** A message of it to this relay alone shows that it has receivers. */
  meet(relay: number): void {
    if (this.others.has(relay)) return;
    this.otherOf(relay);
    this.services.ask(relay, this.talkgroup.number);
  }

  /** `told`: where a session watches, the change has been told already. */
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
    if (how === 'counted') this.services.members.recounted(this.talkgroup);
  }

  /** From here on those that come and leave are told with their names, or only counted. */
  private watchedElsewhere(isWatched: boolean): void {
    const { talkgroup, services } = this;
    // In either case what was not told yet is counted.
    talkgroup.feed.isWatchedElsewhere = false;
    this.tellCount();
    this.onlineTold = this.online;
    talkgroup.feed.isWatchedElsewhere = isWatched;
    services.presence.watchedElsewhere(talkgroup, isWatched);
  }

  /** The relay has receivers of the talkgroup, and asks about it. */
  asked(relay: number, entry: Hold['talkgroups'][number]): void {
    this.otherOf(relay).asks(entry, this.services.clock.nowMs());
    this.sum();
  }

  /** The relay answers. */
  answered(relay: number, entry: Here['talkgroups'][number], nowMs: number): void {
    this.otherOf(relay).tells(entry, nowMs);
    this.sum();
  }

  /** A session that was here is at this relay from now on, and its burst is played here as one of that relay. */
  handOver(relay: number, talker: RunningTalker, played: PlayedBurst, nowMs: number): void {
    this.out.gave(talker, nowMs);
    if (!this.isOpen) return this.out.goesOnThere(relay, talker, played, nowMs);
    const { session, burst, frames } = talker;
    this.otherOf(relay).bursts.expect(session, burst, played, frames, nowMs);
  }

  /** A session came here from another relay, and its burst goes on or has ended. */
  cameHere(session: number): void {
    for (const other of this.others.values()) other.bursts.forget(session);
  }

  /** The relay has receivers of the talkgroup, and its last message had this number. */
  listed(relay: number, seq: number, nowMs: number): void {
    const other = this.others.get(relay);
    if (other === undefined) this.services.ask(relay, this.talkgroup.number);
    else other.listed(seq, nowMs);
  }

  /** The relays have no receivers of the talkgroup any more, or cannot be reached. */
  drop(...relays: readonly number[]): void {
    for (const relay of relays) this.end(relay, 'disconnected');
    for (const relay of relays) this.others.get(relay)?.emergencies.end('lost');
    if (relays.filter((relay) => this.others.delete(relay)).length === 0) return;
    this.sum();
    this.connect();
  }

  private end(relay: number, code: EndCode): void {
    this.others.get(relay)?.endAll(code);
    // A burst may have moved there with its session before it said that it has receivers.
    this.turns.gone(relay, code, this.services.clock.nowMs());
  }

  /** Tells what is due. Asks about bursts that have been silent for too long, and what was not heard. */
  watch(nowMs: number): void {
    this.out.past.expire(nowMs);
    this.unsaved.repeat(nowMs);
    for (const other of this.others.values()) other.watch(nowMs);
    const silent = this.turns.silent(nowMs);
    if (silent !== null) this.services.ask(silent, this.talkgroup.number);
  }

  /** It is deleted: no burst of it is played any more. */
  deleted(): void {
    for (const relay of this.others.keys()) this.end(relay, 'deleted');
  }

  /** Its settings have changed. The others are told before they hear what follows from it. */
  tellSettings(): void {
    if (this.isShared) this.out.say(kinds.count, 0, bodyOf(this.held));
  }

  /**
   * Its settings have changed. Between `open` and another floor mode the bursts of other relays
   * stay until their relays say whether they go on.
   */
  changed(): void {
    if (this.isOpen === this.wasOpen) return;
    this.wasOpen = this.isOpen;
    if (this.isOpen) this.open();
    for (const other of this.others.values()) other.changed();
    this.out.begin();
    this.connect();
  }

  /** What plays goes on. What is held back begins when its relay says that it runs. */
  private open(): void {
    const nowMs = this.services.clock.nowMs();
    const on = this.turns.release();
    for (const relay of this.others.keys()) this.turns.gone(relay, 'mode', nowMs);
    if (on !== null) this.otherOf(on.relay).bursts.adopt(on.session, on.heard, nowMs);
  }

  /** The hot path asks the feed whether any relay elsewhere hears the talkgroup. */
  connect(): void {
    const { talkgroup, others, services } = this;
    const { relay, floors, clock } = services;
    talkgroup.feed.elsewhere = this.isShared ? this.out : null;
    this.out.goesTo(this.relays);
    this.home = homeOf([relay, ...others.keys()], talkgroup.number, services.isDraining);
    if (!this.isOpen) floors.viewed(talkgroup, clock.nowMs());
  }

  /** The last receiver here left. */
  close(): void {
    const { talkgroup, services } = this;
    for (const other of this.others.values()) other.dropAll();
    this.turns.drop();
    this.others.clear();
    this.sum();
    talkgroup.feed.elsewhere = null;
    talkgroup.feed.turns = null;
    services.floors.forget(talkgroup);
    // After the last message: any other says that there are receivers.
    this.out.say(kinds.bye, 0, NO_BODY);
  }
}
