// One other relay with receivers of a talkgroup: what it says there, and its bursts that are played here.
import type { EndCode } from '../../protocol/codes.js';
import { checkFrame, PAYLOAD_BYTES_MAX, readBurst, readSender, readTalkgroup } from '../../protocol/frame.js';
import { type Count, type Here, type Hold, type Past, readBody, type Started } from './bodies.js';
import type { ClusterCounts } from './counts.js';
import { HEADER_BYTES, type Header, kinds } from './header.js';
import { Listed } from './listed.js';
import { UNLISTED_MS } from './listing.js';
import type { PlayedBurst, Shared, Stage } from './stage.js';

/** A frame that was on its way for longer (ms) is old speech: half of what a receiver may lag. */
const LATE_MS_MAX = 500;
/** A burst without a frame for this time (ms) may have ended: T1 of its relay is 2 s, unless its operator changed it. */
const SILENT_MS_MAX = 2500;
/** Time (ms) between two questions to it. */
const ASK_MS = 100;

export interface OtherServices<Talkgroup extends Shared> {
  /** Its id. */
  readonly relay: number;
  readonly talkgroup: Talkgroup;
  readonly stage: Stage<Talkgroup>;
  readonly counts: ClusterCounts;
  /** Asks it what it has of the talkgroup. */
  readonly ask: () => void;
}

/** A running burst of it. `index` is that of the last frame. */
interface Heard {
  readonly burst: number;
  readonly played: PlayedBurst;
  /** Of the message that announced it. */
  readonly seq: number;
  index: number;
  heardAtMs: number;
}

type Ended = Parameters<PlayedBurst['end']>[1];

export class Other<Talkgroup extends Shared> {
  /** Sessions of it that get the talkgroup's events. */
  online = 0;
  /** One of them watches. */
  watches = false;
  private changes = 0;
  private readonly services: OtherServices<Talkgroup>;
  /** Of its last message. null: nothing has come of it. */
  private seq: number | null = null;
  /** Messages of it are missing. An answer that knows of this number, or a later one, makes up for them. 0: none is. */
  private missingSeq = 0;
  /** When it last showed that it has receivers. null: since the next watch. */
  private listedAtMs: number | null = null;
  private askedAtMs = Number.NEGATIVE_INFINITY;
  /** It has told its running bursts once. */
  private isKnown = false;
  /** Its running bursts by session. */
  private readonly bursts = new Map<number, Heard>();
  /** Its emergencies that are not stored. */
  readonly emergencies: Listed<Talkgroup>;

  constructor(services: OtherServices<Talkgroup>) {
    this.services = services;
    this.emergencies = new Listed(services);
  }

  /** A message of it about the talkgroup. `delayMs` is how long it was on its way. */
  receive(header: Header, bytes: Uint8Array, delayMs: number, nowMs: number): void {
    const { kind, seq } = header;
    // What an answer told before is newer.
    const isNews = this.hears(seq, seq - 1, nowMs);
    const body = bytes.subarray(HEADER_BYTES);
    if (kind === kinds.frame) return this.frame(header, body, delayMs, nowMs);
    const isRead =
      (kind === kinds.started && this.started(header, body, nowMs)) ||
      (kind === kinds.ended && this.ended(header, body, nowMs)) ||
      (kind === kinds.count && this.counted(body, isNews)) ||
      (kind === kinds.roster && this.rostered(body, isNews)) ||
      (kind === kinds.emergencies && this.emergencies.receive(body, seq, nowMs));
    if (!isRead) this.services.counts.unreadable++;
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
    this.services.ask();
  }

  private frame({ index }: Header, body: Uint8Array, delayMs: number, nowMs: number): void {
    const { counts, talkgroup } = this.services;
    const view = new DataView(body.buffer, body.byteOffset, body.byteLength);
    // The other relay has checked the length of the payload by its own settings.
    if (checkFrame(view, 64 * PAYLOAD_BYTES_MAX) !== null || readTalkgroup(view) !== talkgroup.number) {
      counts.unreadable++;
      return;
    }
    counts.framesIn++;
    if (talkgroup.floorMode !== 'open') return;
    const session = readSender(view);
    const heard = this.bursts.get(session);
    if (heard === undefined || heard.burst !== readBurst(view)) {
      counts.framesUnknown++;
      return this.ask(nowMs);
    }
    heard.heardAtMs = nowMs;
    if (index <= heard.index) return;
    const lost = index - heard.index - 1;
    const isLate = delayMs > LATE_MS_MAX;
    heard.index = index;
    counts.framesLost += lost;
    if (isLate) counts.framesLate++;
    if (lost > 0 || isLate) heard.played.missed(lost + (isLate ? 1 : 0), nowMs);
    if (isLate) return;
    const { buffer, byteOffset, byteLength } = body;
    // A copy, because the memory of the bus holds other messages, too. Its memory is never shared between threads.
    const message = buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer;
    heard.played.frame(message, index, nowMs);
  }

  private started({ seq }: Header, body: Uint8Array, nowMs: number): boolean {
    const started = readBody('started', body);
    if (started === null || started.talkgroup_id !== this.services.talkgroup.id) return false;
    this.begin(started, seq, nowMs);
    return true;
  }

  private begin({ settings, previous, ...talker }: Started, seq: number, nowMs: number): void {
    this.settle(settings);
    const { talkgroup, stage } = this.services;
    const { session, burst, frames } = talker;
    const isKnown = this.bursts.get(session)?.burst === burst;
    if (isKnown || talkgroup.floorMode !== 'open' || talker.talkgroup_id !== talkgroup.id) return;
    // The end of the one before was lost.
    if (previous !== undefined) this.finish(previous, nowMs);
    const before = this.bursts.get(session);
    if (before !== undefined) this.end(session, before, 'disconnected');
    const played = stage.begin(talkgroup, talker, nowMs);
    this.bursts.set(session, { burst, played, seq, index: frames, heardAtMs: nowMs });
    // It began after the last answer, and that message was lost with the frames since.
    if (this.isKnown && frames > 0) {
      this.services.counts.framesLost += frames;
      played.missed(frames, nowMs);
    }
  }

  private ended({ index }: Header, body: Uint8Array, nowMs: number): boolean {
    const ended = readBody('ended', body);
    if (ended === null) return false;
    this.finish({ ...ended, frames: index }, nowMs);
    return true;
  }

  /** The burst has ended there. */
  private finish({ session, burst, code, duration_ms, frames }: Past, nowMs: number): void {
    const heard = this.bursts.get(session);
    if (heard === undefined || heard.burst !== burst) return;
    const lost = frames - heard.index;
    if (lost > 0) {
      this.services.counts.framesLost += lost;
      heard.played.missed(lost, nowMs);
    }
    this.end(session, heard, code, { durationMs: duration_ms, frames });
  }

  private end(
    session: number,
    heard: Heard,
    code: EndCode,
    ended: Ended = { durationMs: null, frames: heard.index },
  ): void {
    this.bursts.delete(session);
    heard.played.end(code, ended);
  }

  private counted(body: Uint8Array, isNews: boolean): boolean {
    const count = readBody('count', body);
    if (count !== null && isNews) this.counts(count);
    return count !== null;
  }

  private settle(settings: Count['settings']): void {
    if (settings !== undefined) this.services.stage.settled(this.services.talkgroup, settings);
  }

  /** The number of sessions there. Which ones came or left is not said. */
  private counts(count: Omit<Count, 'changes'> & Partial<Count>): void {
    const { online, changes = this.changes, watches = false, settings } = count;
    this.settle(settings);
    const { stage, talkgroup } = this.services;
    if (changes !== this.changes) stage.counted(talkgroup);
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
      this.services.stage.toldElsewhere(this.services.talkgroup, joined, left);
    }
    this.counts({ online, changes, watches: watches ?? false });
    return true;
  }

  /** It asks what is here. What it said before, and did not arrive, is asked for. */
  asks(entry: Hold['talkgroups'][number], nowMs: number): void {
    const isOld = this.seq !== null && entry.seq < this.seq;
    this.listed(entry.seq, nowMs);
    if (!isOld) this.counts(entry);
  }

  /** It says what the number of its last message is. One that begins now was asked for all that it has when it came. */
  listed(seq: number, nowMs: number): void {
    this.hears(seq, this.seq === null ? 0 : seq, nowMs);
  }

  /** Its answer: these bursts run there. */
  tells(entry: Here['talkgroups'][number], nowMs: number): void {
    const { seq, bursts, isWhole, unsaved, ended = [] } = entry;
    // First: the bursts are those of its floor mode.
    if (seq >= (this.seq ?? 0)) this.counts(entry);
    if (seq >= this.missingSeq) this.missingSeq = 0;
    for (const past of ended) this.finish(past, nowMs);
    if (unsaved !== undefined) this.emergencies.hear(unsaved, seq, nowMs);
    const running = new Set(bursts.map(({ session, burst }) => `${session}.${burst}`));
    for (const [session, heard] of [...this.bursts]) {
      const isOver = isWhole && !running.has(`${session}.${heard.burst}`) && heard.seq <= seq;
      if (isOver) this.end(session, heard, 'disconnected');
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
    if (isUnlisted || this.missingSeq > 0 || this.emergencies.isOverdue(nowMs)) this.ask(nowMs);
    for (const heard of this.bursts.values()) {
      if (nowMs - heard.heardAtMs < SILENT_MS_MAX) continue;
      heard.heardAtMs = nowMs - SILENT_MS_MAX / 2; // again in half of the time, until it is answered
      this.ask(nowMs);
    }
  }

  /** Whatever runs there from now on, it was not lost: it was not meant for this relay. */
  endAll(code: EndCode): void {
    this.isKnown = false;
    for (const [session, heard] of [...this.bursts]) this.end(session, heard, code);
  }

  /** The talkgroup has no receiver here any more. */
  dropAll(): void {
    for (const { played } of this.bursts.values()) played.drop();
    this.bursts.clear();
    this.emergencies.forget();
  }
}
