// One other relay with receivers of a talkgroup: what it says there, and its bursts that are played here.

import type { EndCode } from '../../protocol/codes.js';
import { checkFrame, PAYLOAD_BYTES_MAX, readBurst, readSender, readTalkgroup } from '../../protocol/frame.js';
import type { Talkgroup } from '../members/members.js';
import { HEADER_BYTES, type Header, kinds, seqNear } from '../nodes/header.js';
import type { Turns } from '../shared-floor/turns/turns.js';
import { type Count, type Here, type Hold, type Past, readBody, type Started } from './bodies.js';
import { copyOf, HeardBursts, LATE_MS_MAX } from './heard-bursts.js';
import { Listed } from './listed.js';
import { UNLISTED_MS } from './listing.js';
import type { StreamServices } from './services.js';

/** Time (ms) between two questions to it. */
const ASK_MS = 100;

export interface OtherOptions {
  /** Its id. */
  readonly relay: number;
  readonly talkgroup: Talkgroup;
  readonly services: StreamServices;
  /** The order of bursts in `single` and `broadcast`. */
  readonly turns: Turns;
  /** Asks it what it has of the talkgroup. */
  readonly ask: () => void;
  /** The bursts of another relay with this one: its session may have moved. */
  readonly elsewhere: (session: number, burst: number) => HeardBursts | undefined;
}

export class Other {
  /** Sessions of it that get the talkgroup's events. */
  online = 0;
  /** One of them watches. */
  watches = false;
  private changes = 0;
  private readonly options: OtherOptions;
  private readonly services: StreamServices;
  /**
   * Of its last message. null: nothing has come of it. Messages carry it modulo 2^32, so what comes is compared only as
   * `near` has it.
   */
  private seq: number | null = null;
  /** Messages of it are missing. An answer that knows of this number, or a later one, makes up for them. 0: none is. */
  private missingSeq = 0;
  /** When it last showed that it has receivers. null: since the next watch. */
  private listedAtMs: number | null = null;
  private askedAtMs = Number.NEGATIVE_INFINITY;
  /** It has told its running bursts once. */
  private isKnown = false;
  /** Its running bursts in `open`. */
  readonly bursts: HeardBursts;
  /** Its emergencies that are not stored. */
  readonly emergencies: Listed;

  constructor(options: OtherOptions) {
    const { relay, talkgroup, services } = options;
    this.options = options;
    this.services = services;
    this.bursts = new HeardBursts(options);
    this.emergencies = new Listed({ relay, talkgroup, emergencies: services.emergencies });
  }

  /** A message of it about the talkgroup. `delayMs` is how long it was on its way. */
  receive(header: Header, bytes: Uint8Array, delayMs: number, nowMs: number): void {
    const { kind } = header;
    const seq = this.near(header.seq);
    // What an answer told before is newer.
    const isNews = this.hears(seq, seq - 1, nowMs);
    const body = bytes.subarray(HEADER_BYTES);
    if (kind === kinds.frame) return this.frame(header, body, delayMs, nowMs);
    const isRead =
      (kind === kinds.started && this.started(seq, body, nowMs)) ||
      (kind === kinds.ended && this.ended(header, body, nowMs)) ||
      (kind === kinds.count && this.counted(body, isNews)) ||
      (kind === kinds.roster && this.rostered(body, isNews)) ||
      (kind === kinds.emergencies && this.emergencies.receive(body, seq, nowMs));
    if (!isRead) this.services.counts.unreadable++;
  }

  private near(seq: number): number {
    return this.seq === null ? seq : seqNear(this.seq, seq);
  }

  /** Its last message has the number `seq`, and those up to `wholeSeq` should have come. false: that is known. */
  private hears(seq: number, wholeSeq: number, nowMs: number): boolean {
    this.listedAtMs = nowMs;
    if (this.seq !== null && seq <= this.seq) return false;
    if (wholeSeq > (this.seq ?? 0)) {
      this.missingSeq = wholeSeq;
      this.ask(nowMs);
    }
    this.seq = seq;
    return true;
  }

  private ask(nowMs: number): void {
    if (nowMs - this.askedAtMs < ASK_MS) return;
    this.askedAtMs = nowMs;
    this.services.counts.asked++;
    this.options.ask();
  }

  private frame(header: Header, body: Uint8Array, delayMs: number, nowMs: number): void {
    const { talkgroup } = this.options;
    const { counts } = this.services;
    const view = new DataView(body.buffer, body.byteOffset, body.byteLength);
    // The other relay has checked the length of the payload by its own settings.
    if (checkFrame(view, 64 * PAYLOAD_BYTES_MAX) !== null || readTalkgroup(view) !== talkgroup.number) {
      counts.unreadable++;
      return;
    }
    counts.framesIn++;
    const session = readSender(view);
    if (talkgroup.floorMode !== 'open')
      return this.turned(header, session, readBurst(view), body, delayMs, nowMs);
    if (header.count > 0) return; // this relay or the sender has not read the new mode
    const burst = readBurst(view);
    if (this.bursts.frame(session, burst, header.index, body, delayMs, nowMs)) return;
    this.ask(nowMs);
    const moved = this.options.elsewhere(session, burst);
    if (moved === undefined) counts.framesUnknown++;
    else moved.frame(session, burst, header.index, body, delayMs, nowMs);
  }

  /** A frame in `single` or `broadcast`. */
  private turned(
    header: Header,
    session: number,
    burst: number,
    body: Uint8Array,
    delayMs: number,
    nowMs: number,
  ): void {
    const { turns, talkgroup } = this.options;
    const { counts, floors } = this.services;
    if (header.count === 0) return; // the other relay has not read the new mode
    if (delayMs > LATE_MS_MAX) {
      counts.framesLate++; // the index of the next one shows that it is missing
      return;
    }
    const fate = turns.frame(header, session, burst, copyOf(body), nowMs);
    if (fate === 'fenced') floors.fenced(talkgroup, nowMs);
    if (fate !== 'unknown') return;
    counts.framesUnknown++;
    this.ask(nowMs);
  }

  private started(seq: number, body: Uint8Array, nowMs: number): boolean {
    const started = readBody('started', body);
    if (started === null || started.talkgroup_id !== this.options.talkgroup.id) return false;
    this.begin(started, seq, nowMs);
    return true;
  }

  private begin(started: Started, seq: number, nowMs: number): void {
    const { settings, previous, placed, claim = null, alone = 0, moves = 0, ...talker } = started;
    this.settle(settings);
    const { talkgroup, turns, relay } = this.options;
    const isHere = this.services.movesOf(talker.session) !== undefined;
    const isTurned = placed !== undefined;
    // Else this relay or the sender has not read the new mode.
    const isOurMode = isTurned === (talkgroup.floorMode !== 'open');
    if (!isOurMode || talker.talkgroup_id !== talkgroup.id || isHere) return;
    if (!isTurned && this.bursts.isKnown(talker.session, talker.burst, seq)) return;
    // The end of the one before was lost.
    if (previous !== undefined) this.finish(previous, nowMs);
    // When it began after the last answer, that message was lost with the frames since.
    const lost = this.isKnown ? talker.frames - alone : 0;
    if (isTurned) turns.started(relay, { talker, claim }, placed, { seq, lost, moves }, nowMs);
    else this.bursts.begin(talker, seq, lost, nowMs);
  }

  private ended(header: Header, body: Uint8Array, nowMs: number): boolean {
    const ended = readBody('ended', body);
    if (ended === null) return false;
    const { count, home, index } = header;
    const turn = count > 0 ? { turn: { count, home } } : {};
    this.finish({ ...ended, frames: index, ...turn }, nowMs);
    return true;
  }

  /** The burst has ended there. It may have been said before. */
  private finish(past: Past, nowMs: number): void {
    const { session, code, turn } = past;
    if (turn === undefined) return this.bursts.finish(past, nowMs);
    const { turns, talkgroup, relay } = this.options;
    const { burst, frames, duration_ms: durationMs } = past;
    turns.ended(relay, turn, { session, burst, code, durationMs, frames }, nowMs);
    this.services.floors.ended(talkgroup, { session, turn, code }, nowMs);
  }

  private counted(body: Uint8Array, isNews: boolean): boolean {
    const count = readBody('count', body);
    if (count !== null && isNews) this.counts(count);
    return count !== null;
  }

  private settle(settings: Count['settings']): void {
    if (settings !== undefined) this.services.settled(this.options.talkgroup, settings);
  }

  /** The number of sessions there. Which ones came or left is not said. */
  private counts(count: Count): void {
    const { online, changes, watches = false, settings } = count;
    this.settle(settings);
    if (changes !== this.changes) this.services.members.recounted(this.options.talkgroup);
    this.changes = changes;
    this.online = online;
    this.watches = watches;
  }

  private rostered(body: Uint8Array, isNews: boolean): boolean {
    const roster = readBody('roster', body);
    if (roster === null || !isNews) return roster !== null;
    const { online, changes, watches, joined, left } = roster;
    // Else those who came and left before it are not known.
    if (changes === this.changes + 1 && joined !== undefined && left !== undefined) {
      this.changes = changes;
      this.services.members.toldElsewhere(this.options.talkgroup, joined, left);
    }
    this.counts({ online, changes, watches: watches ?? false });
    return true;
  }

  /** It asks what is here. What it said before, and did not arrive, is asked for. */
  asks(entry: Hold['talkgroups'][number], nowMs: number): void {
    const isOld = this.seq !== null && this.near(entry.seq) < this.seq;
    this.listed(entry.seq, nowMs);
    if (!isOld) this.counts(entry);
  }

  /** It says what the number of its last message is. One that begins now was asked for all that it has when it came. */
  listed(told: number, nowMs: number): void {
    const seq = this.near(told);
    this.hears(seq, this.seq === null ? 0 : seq, nowMs);
  }

  /** Its answer: these bursts run there. */
  tells(entry: Here['talkgroups'][number], nowMs: number): void {
    const { bursts, isWhole, moved = [], unsaved, ended } = entry;
    const seq = this.near(entry.seq);
    // First: the bursts are those of its floor mode.
    if (seq >= (this.seq ?? 0)) this.counts(entry);
    if (seq >= this.missingSeq) this.missingSeq = 0;
    for (const past of ended) this.finish(past, nowMs);
    this.emergencies.hear(unsaved, seq, nowMs);
    if (isWhole) {
      const { turns, relay } = this.options;
      const running = [...bursts, ...moved].map(({ session, burst }) => ({ relay, session, burst }));
      this.bursts.keep(running, seq);
      turns.tells(relay, running, seq, nowMs);
    }
    for (const burst of bursts) this.begin(burst, seq, nowMs);
    this.isKnown = true;
    this.listedAtMs = nowMs;
    this.seq = Math.max(this.seq ?? 0, seq);
  }

  /** Asks about what is missing, bursts that have been silent for too long, and a list that is due. */
  watch(nowMs: number): void {
    this.listedAtMs ??= nowMs;
    const isUnlisted = nowMs - this.listedAtMs >= UNLISTED_MS;
    if (isUnlisted) this.listedAtMs = nowMs; // the question is repeated until it is answered
    const isSilent = this.bursts.isSilent(this.seq ?? 0, nowMs);
    if (isUnlisted || isSilent || this.missingSeq > 0 || this.emergencies.isOverdue(nowMs)) this.ask(nowMs);
  }

  /** The floor mode changed. Whatever runs there from now on, it was not lost: it was not meant for this relay. */
  changed(): void {
    this.isKnown = false;
  }

  endAll(code: EndCode): void {
    this.isKnown = false;
    this.bursts.endAll(code);
  }

  /** The talkgroup has no receiver here any more. */
  dropAll(): void {
    this.bursts.dropAll();
    this.emergencies.end('forget');
  }
}
