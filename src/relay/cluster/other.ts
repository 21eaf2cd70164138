// One other relay with receivers of a talkgroup: what it says there, and its bursts that are played here.
import type { EndCode } from '../../protocol/codes.js';
import { checkFrame, PAYLOAD_BYTES_MAX, readBurst, readSender, readTalkgroup } from '../../protocol/frame.js';
import { type Count, type Here, readBody, type Started } from './bodies.js';
import type { ClusterCounts } from './counts.js';
import { HEADER_BYTES, type Header, kinds } from './header.js';
import { Listed } from './listed.js';
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
  /** The burst as a burst of another relay: its session may have moved. */
  readonly elsewhere: (session: number, burst: number) => Other<Talkgroup> | undefined;
}

/** A running burst of it. `index` is that of the last frame. */
interface Heard {
  readonly burst: number;
  readonly played: PlayedBurst;
  /** Of the message that announced it. Infinite while a burst is expected that moves there. */
  seq: number;
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
  /** Of its last message. */
  private seq = 0;
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
    if (seq > this.seq + 1) this.ask(nowMs); // something is missing
    if (seq > this.seq) this.seq = seq;
    const body = bytes.subarray(HEADER_BYTES);
    if (kind === kinds.frame) return this.frame(header, body, delayMs, nowMs);
    const isRead =
      (kind === kinds.started && this.started(header, body, nowMs)) ||
      (kind === kinds.ended && this.ended(header, body, nowMs)) ||
      (kind === kinds.count && this.counted(body)) ||
      (kind === kinds.roster && this.rostered(body)) ||
      (kind === kinds.emergencies && this.emergencies.receive(body, seq, nowMs));
    if (!isRead) this.services.counts.unreadable++;
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
    const heard = this.heard(readSender(view), readBurst(view), nowMs);
    if (heard === undefined) {
      counts.framesUnknown++;
      return;
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

  /** The running burst of this or, when its session moves, of another relay. Asks about one that is not its own. */
  private heard(session: number, burst: number, nowMs: number): Heard | undefined {
    const own = this.bursts.get(session);
    if (own?.burst === burst) return own;
    this.ask(nowMs);
    return this.services.elsewhere(session, burst)?.bursts.get(session);
  }

  private started({ seq }: Header, body: Uint8Array, nowMs: number): boolean {
    const started = readBody('started', body);
    if (started === null) return false;
    const { settings, ...burst } = started;
    this.settle(settings);
    this.begin(burst, seq, nowMs);
    return true;
  }

  private begin(started: Started, seq: number, nowMs: number): void {
    const { talkgroup, stage } = this.services;
    const { session, burst, frames } = started;
    const before = this.bursts.get(session);
    if (before?.burst === burst) before.seq = Math.min(before.seq, seq);
    if (before?.burst === burst || talkgroup.floorMode !== 'open' || stage.isHere(session)) return;
    // The end of the one before was lost.
    if (before !== undefined) this.end(session, before, 'disconnected');
    if (this.takeOver(session, burst, { frames, seq }, nowMs)) return;
    const played = stage.begin(talkgroup, started, nowMs);
    this.bursts.set(session, { burst, played, seq, index: frames, heardAtMs: nowMs });
    // It began after the last answer, and that message was lost with the frames since.
    if (this.isKnown && frames > 0) {
      this.services.counts.framesLost += frames;
      played.missed(frames, nowMs);
    }
  }

  /** Its session came there from another relay: the burst goes on, and nobody here is told. false: it did not. */
  private takeOver(
    session: number,
    burst: number,
    { frames, seq }: { frames: number; seq: number },
    nowMs: number,
  ): boolean {
    const other = this.services.elsewhere(session, burst);
    const heard = other?.bursts.get(session);
    // Fewer frames than were heard: the message is older than the move.
    if (other === undefined || heard === undefined) return false;
    if (frames < heard.index) return true;
    other.bursts.delete(session);
    this.bursts.set(session, { ...heard, seq, heardAtMs: nowMs });
    return true;
  }

  /** A burst of a session that this relay gave to the other one: it is played here, and its end is announced. */
  expect(session: number, burst: number, played: PlayedBurst, index: number, nowMs: number): void {
    this.forget(session);
    const seq = Number.POSITIVE_INFINITY;
    this.bursts.set(session, { burst, played, seq, index, heardAtMs: nowMs });
  }

  /** The session is here now, and its burst is none of this relay any more. */
  forget(session: number): void {
    const heard = this.bursts.get(session);
    // One that goes on here has stopped as a burst of another relay. The end of any other one was lost.
    if (heard !== undefined) this.end(session, heard, 'disconnected');
  }

  /** Whether this burst is one of its running ones. */
  has(session: number, burst: number): boolean {
    return this.bursts.get(session)?.burst === burst;
  }

  private ended({ index }: Header, body: Uint8Array, nowMs: number): boolean {
    const ended = readBody('ended', body);
    if (ended === null) return false;
    const { session, burst, code, duration_ms } = ended;
    const other = this.bursts.get(session)?.burst === burst ? this : this.services.elsewhere(session, burst);
    const heard = other?.bursts.get(session);
    if (other === undefined || heard === undefined) return true;
    const lost = index - heard.index;
    if (lost > 0) {
      this.services.counts.framesLost += lost;
      heard.played.missed(lost, nowMs);
    }
    other.end(session, heard, code, { durationMs: duration_ms, frames: index });
    return true;
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

  private counted(body: Uint8Array): boolean {
    const count = readBody('count', body);
    if (count !== null) this.counts(count);
    return count !== null;
  }

  private settle(settings: Count['settings']): void {
    if (settings !== undefined) this.services.stage.settled(this.services.talkgroup, settings);
  }

  /** So many sessions are there. Who came or left is not said. */
  counts(count: Omit<Count, 'changes'> & Partial<Count>): void {
    const { online, changes = this.changes, watches = false, settings } = count;
    this.settle(settings);
    const { stage, talkgroup } = this.services;
    if (changes !== this.changes) stage.counted(talkgroup);
    this.changes = changes;
    this.online = online;
    this.watches = watches;
  }

  private rostered(body: Uint8Array): boolean {
    const roster = readBody('roster', body);
    if (roster === null) return false;
    const { online, changes, watches, joined, left } = roster;
    // Else those who came and left before it are not known.
    if (changes === this.changes + 1 && joined !== undefined && left !== undefined) {
      this.changes = changes;
      this.services.stage.toldElsewhere(this.services.talkgroup, joined, left);
    }
    this.counts({ online, changes, watches: watches ?? false });
    return true;
  }

  /** It asks what is here. Its numbers begin anew when it had no receivers meanwhile. */
  asks(seq: number): void {
    if (seq < this.seq) this.emergencies.begin();
    this.seq = seq;
  }

  /** Its answer: these bursts run there. */
  tells({ seq, bursts, isWhole, unsaved }: Here['talkgroups'][number], nowMs: number): void {
    if (unsaved !== undefined) this.emergencies.hear(unsaved, seq, nowMs);
    const running = new Set(bursts.map(({ session, burst }) => `${session}.${burst}`));
    for (const [session, heard] of [...this.bursts]) {
      const isOver = isWhole && !running.has(`${session}.${heard.burst}`) && heard.seq <= seq;
      if (isOver) this.end(session, heard, 'disconnected');
    }
    for (const burst of bursts) this.begin(burst, seq, nowMs);
    this.isKnown = true;
    this.seq = Math.max(this.seq, seq);
  }

  /** Asks about bursts that have been silent for too long, and about a list that is due. */
  watch(nowMs: number): void {
    if (this.emergencies.isOverdue(nowMs)) this.ask(nowMs);
    for (const heard of this.bursts.values()) {
      if (nowMs - heard.heardAtMs < SILENT_MS_MAX) continue;
      heard.heardAtMs = nowMs - SILENT_MS_MAX / 2; // again in half of the time, until it is answered
      heard.seq = Math.min(heard.seq, this.seq);
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
