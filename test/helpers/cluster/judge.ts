// Judges relays in virtual time by what they announced, played and granted.
import type { EndCode } from '../../../src/protocol/codes.js';
import { compareTurns, type Turn } from '../../../src/protocol/turn.js';
import { type BurstName, isSame } from '../../../src/relay/shared-floor/turns/plays.js';
import type { Node } from './node.js';
import { DEAD_MS, Overlaps } from './overlaps.js';
import type { Radio } from './radio.js';
import type { Network, Schedule } from './world.js';

/** A question is answered within this time (ms): 1,000, 100 while a grant is held back, and the time between two looks. */
const ANSWER_MS_MAX = 1200;
/** Relays that can reach each other again are one within this time (ms). */
const MERGE_MS_MAX = 500;
/** A relay that cannot be reached is found out after 1,500 ms, and a question before that is given up after 1,000. */
const QUIET_MS = 3200;
/** A relay with a first member is known to all, and what was asked before is answered. */
const MEMBERS_MS = 1300;
/** Bursts that all relays announce within this time (ms) are in the same order everywhere. */
const PROMPT_MS = 40;

/** A user is in an emergency for this time (ms) before every relay knows of it, and what it was before is over. */
const URGENT_MS = 1000;

/** Gets each line about what happens. null: none reads them. */
export type Trace = ((line: string) => void) | null;

interface Played {
  playing: BurstName | null;
  readonly open: Set<string>;
  over: Turn | null;
  /** All that were ever announced, with the frames played and the code of the end. */
  readonly known: Map<string, { frames: number; code: EndCode | null }>;
  /** Those that were announced with a turn, and when (virtual ms). */
  readonly begun: { readonly turn: Turn; readonly atMs: number }[];
  readonly announced: { readonly name: string; readonly atMs: number }[];
  /** A burst of another relay in an emergency that ended here a moment ago, and goes on there. */
  cut: { readonly session: Radio; readonly atMs: number } | null;
}

const nameOf = ({ relay, session, burst }: BurstName) => `${relay}.${session}.${burst}`;

export class Violation extends Error {
  readonly rule: string;
  constructor(rule: string, message: string) {
    super(`${rule}: ${message}`);
    this.rule = rule;
  }
}

export class Judge {
  readonly seen = new Map<string, number>();
  private isTrying = false;
  readonly relays = new Map<number, Node>();
  /** The relay of each session that ever was. */
  private readonly relayOf = new Map<number, number>();
  private readonly dead: Node[] = [];
  /** Sessions that left their relay. */
  private readonly gone: Radio[] = [];
  /** Messages between relays about floors. */
  partsSent = 0;
  /** When members or settings last changed (virtual ms). */
  changedAtMs = 0;
  /** When one relay last reached two others that did not reach each other (virtual ms). */
  private splitAtMs = Number.NEGATIVE_INFINITY;
  private readonly schedule: Schedule;
  private readonly network: Network;
  private readonly trace: Trace;
  readonly overlaps: Overlaps;
  private readonly plays = new Map<Node, Played>();
  private readonly clean = new Map<string, number>();

  constructor(schedule: Schedule, network: Network, trace: Trace) {
    this.schedule = schedule;
    this.network = network;
    this.trace = trace;
    this.overlaps = new Overlaps(schedule, network);
  }

  /** The history ends, also when a relay catches what this throws. */
  fail(rule: string, message: string): void {
    const violation = new Violation(rule, `${message}, at ${Math.round(this.schedule.now())} ms`);
    if (!this.isTrying) this.schedule.fail(violation);
    throw violation;
  }

  note(what: string): void {
    this.seen.set(what, (this.seen.get(what) ?? 0) + 1);
  }

  private of(relay: Node): Played {
    let played = this.plays.get(relay);
    if (played === undefined) {
      played = {
        playing: null,
        open: new Set(),
        known: new Map(),
        begun: [],
        over: null,
        announced: [],
        cut: null,
      };
      this.plays.set(relay, played);
    }
    return played;
  }

  private isOpen(relay: Node): boolean {
    return relay.mode === 'open';
  }

  /** Of what plays there. */
  private turnAt(relay: Node): Turn | null {
    return this.isOpen(relay) ? null : (relay.order?.on?.turn ?? null);
  }

  /** It lost its last member: none is told what becomes of the bursts. */
  emptied(relay: Node): void {
    const played = this.of(relay);
    played.open.clear();
    played.over = null;
    played.cut = null;
  }

  /** A relay got its first member, or lost its last one. */
  membersChanged(): void {
    this.changedAtMs = this.schedule.now();
    this.overlaps.changedAtMs = this.schedule.now();
  }

  /** All relays have read them within this time (ms), and have told each other. */
  settingsChange(msMax: number): void {
    this.changedAtMs = this.schedule.now() + msMax + 10;
    this.overlaps.changedAtMs = this.changedAtMs;
  }

  /** A new session. */
  seated(radio: Radio): void {
    this.relays.get(radio.relay.id)?.sessions.set(radio.number, radio);
    this.relayOf.set(radio.number, radio.relay.id);
    this.changedAtMs = this.schedule.now();
  }

  relayOfSession(session: number): number {
    return this.relayOf.get(session) ?? 0;
  }

  began(relay: Node, burst: BurstName): void {
    const turn = this.turnAt(relay);
    this.trace?.(`${this.schedule.now()} ${relay.id} announces ${nameOf(burst)}, turn ${turn?.count}`);
    if (burst.relay === relay.id) relay.sessions.get(burst.session)?.started(burst.burst);
    const played = this.of(relay);
    const name = nameOf(burst);
    if (played.open.has(name)) this.fail('C2', `relay ${relay.id} announces ${name} twice`);
    if (!this.isOpen(relay) && played.open.size > 0)
      this.fail('C1', `relay ${relay.id} plays ${[...played.open]} and ${name}`);
    if (turn !== null && played.over !== null && !this.isOpen(relay) && compareTurns(turn, played.over) <= 0)
      this.fail('C1', `relay ${relay.id} begins turn ${turn.count} after ${played.over.count} ended`);
    this.checkCut(played, relay, burst);
    played.open.add(name);
    if (!played.known.has(name)) played.known.set(name, { frames: 0, code: null });
    played.playing = burst;
    if (this.isOpen(relay)) return;
    const nowMs = this.schedule.now();
    if (turn !== null) played.begun.push({ turn, atMs: nowMs });
    if (burst.relay === relay.id && this.isCalm(2500)) this.clean.set(name, nowMs);
    const beganMs = this.clean.get(name);
    if (beganMs !== undefined && nowMs - beganMs <= PROMPT_MS) played.announced.push({ name, atMs: nowMs });
    this.note('began');
  }

  played(relay: Node, burst: BurstName): void {
    const turn = this.turnAt(relay);
    const played = this.of(relay);
    const name = nameOf(burst);
    if (!played.open.has(name))
      this.fail('C2', `relay ${relay.id} plays ${name}, which it has not announced`);
    const known = played.known.get(name);
    if (known !== undefined) known.frames++;
    if (turn !== null && played.over !== null && compareTurns(turn, played.over) <= 0)
      this.fail('C1', `relay ${relay.id} plays turn ${turn.count} after ${played.over.count} ended`);
  }

  /** With so many frames, as its relay counted them. */
  ended(relay: Node, burst: BurstName, code: EndCode, frames: number): void {
    this.trace?.(`${this.schedule.now()} ${relay.id} ends ${nameOf(burst)}, ${code}, frames ${frames}`);
    const played = this.of(relay);
    const known = played.known.get(nameOf(burst));
    if (known !== undefined) known.code = code;
    // A talker that no radio hears there is not played.
    if (known !== undefined && burst.relay === relay.id) known.frames = frames;
    const cleanMs = this.clean.get(nameOf(burst));
    const isClean = cleanMs !== undefined && this.network.changedAtMs() <= cleanMs;
    if (burst.relay === relay.id && isClean && this.isCalm(2500))
      this.expectAll(burst, {
        code,
        frames,
        turn: relay.order?.on?.turn ?? null,
        beganMs: cleanMs,
      });
    if (!played.open.delete(nameOf(burst))) this.fail('C2', `relay ${relay.id} ends ${nameOf(burst)} twice`);
    // A burst that was heard in `open` may end when one with a turn has begun already.
    const on = relay.order?.on ?? null;
    if (this.isOpen(relay)) played.over = null;
    else if (on === null || isSame(on.burst, burst)) played.over = relay.order?.top ?? null;
    this.note(`ended ${code}`);
    const session = this.sessionOf(burst);
    if (code !== 'preempted' || burst.relay === relay.id || session?.burst !== burst.burst) return;
    played.cut = { session, atMs: this.schedule.now() };
  }

  private sessionOf({ relay, session }: BurstName): Radio | undefined {
    return this.relays.get(relay)?.sessions.get(session);
  }

  /** A session loses the floor to another one. */
  cut(session: Radio): void {
    const isHeard = session.claim === 'talks' && session.isLive && session.isSpeaking;
    if (!isHeard || session.urgentMs() < URGENT_MS) return;
    this.note('cut in an emergency');
    // To a home that stood still, what it heard before is as new as when it stopped (history 3300054226).
    const home = this.relays.get(session.relay.view.home);
    const isLate = home !== undefined && this.schedule.now() - home.wokeAtMs <= DEAD_MS;
    if (!this.isOtherUrgent(session, isLate ? home.lastStoodMs : 0))
      this.fail('C8', `${session.number} is in an emergency, and loses the floor to lower speech`);
  }

  /** A listener hears lower speech in the place of an emergency that goes on. */
  private checkCut(played: Played, relay: Node, burst: BurstName): void {
    const { cut } = played;
    played.cut = null;
    if (cut === null || this.schedule.now() > cut.atMs || cut.session.urgentMs() < URGENT_MS) return;
    // A relay between two that do not reach each other follows its home, which may not know of the emergency: each side of
    // a cut has a floor of its own (history 1700000193).
    if (this.schedule.now() - this.splitAtMs <= MERGE_MS_MAX) return;
    // Its frames do not come here, and no radio hears it: it ends as if it were over (history 1700006481). Lower speech that
    // waited for 500 ms meanwhile begins also when they come again (history 3100166820).
    const apartMs = this.apart.get(`${relay.id} ${cut.session.relay.id}`) ?? Number.NEGATIVE_INFINITY;
    if (!this.network.reach(relay.id, cut.session.relay.id)) return;
    if (this.schedule.now() - apartMs <= MERGE_MS_MAX) return;
    // Lower speech waited for 500 ms while its relay stood still, and begins although that relay goes on (history
    // 2700036985).
    if (this.schedule.now() - cut.session.relay.wokeAtMs <= MERGE_MS_MAX) return;
    this.note('emergency overtaken');
    const by = this.sessionOf(burst);
    if (
      by !== undefined &&
      this.schedule.now() - by.urgentAtMs > URGENT_MS &&
      !this.isOtherUrgent(cut.session)
    )
      this.fail('C8', `relay ${relay.id} plays ${nameOf(burst)} in the place of an emergency`);
  }

  /**
   * Another user in an emergency has something of the floor, or had it a moment ago. What a relay had that is dead counts
   * until it is found out.
   */
  private isOtherUrgent(session: Radio, lateMs = 0): boolean {
    const nowMs = this.schedule.now();
    // One that left had it until then (history 2300020582).
    if (this.gone.some(({ urgentAtMs }) => nowMs - urgentAtMs <= URGENT_MS)) return true;
    return [...this.relays.values(), ...this.dead].some((relay) =>
      [...relay.sessions.values()].some((one) => {
        if (!relay.isDead) one.noteUrgent();
        // The others cannot tell a relay that stands still from a dead one (history 3200120452).
        const isSilent = relay.isDead || this.network.isStopped(relay.id);
        return one !== session && nowMs - one.urgentAtMs <= lateMs + (isSilent ? DEAD_MS : URGENT_MS);
      }),
    );
  }

  left(session: Radio): void {
    this.gone.push(session);
    this.changedAtMs = this.schedule.now();
  }

  killed(relay: Node): void {
    for (const session of relay.sessions.values()) session.noteUrgent();
    this.relays.delete(relay.id);
    this.dead.push(relay);
  }

  /** Nothing is broken: all relays with members announce the burst, however short it was. */
  private expectAll(
    burst: BurstName,
    { code, frames, turn, beganMs }: { code: EndCode; frames: number; turn: Turn | null; beganMs: number },
  ): void {
    const name = nameOf(burst);
    const holders = this.holders.filter(
      ({ id }) => id === burst.relay || this.network.reach(id, burst.relay),
    );
    this.schedule.in(PROMPT_MS + 260, () => {
      if (!this.isCalm(2500)) return;
      for (const relay of holders) {
        if (!this.relays.has(relay.id) || !relay.isHere || this.isOpen(relay)) continue;
        const { known, begun } = this.of(relay);
        const heard = known.get(name);
        // The burst that takes its place was announced here before this one came, so this one is over here. Its frames are
        // told as missed (history 1700002717).
        const isOvertaken = begun.some(
          (one) => turn !== null && compareTurns(one.turn, turn) > 0 && one.atMs <= beganMs + PROMPT_MS,
        );
        if (heard === undefined && isOvertaken) continue;
        if (heard === undefined) return this.fail('C7', `relay ${relay.id} never heard of ${name}`);
        // Its home may take the floor away while the release is on its way. All is heard then, too (history 4000121212).
        const isCrossed = heard.code === 'preempted';
        if (code === 'released' && ((heard.code !== code && !isCrossed) || heard.frames !== frames))
          this.fail(
            'C7',
            `relay ${relay.id} played ${heard.frames} of ${frames} of ${name}, ended ${heard.code}`,
          );
      }
    });
  }

  renewed(relay: Node, turn: Turn): void {
    const { over } = this.of(relay);
    if (over !== null && compareTurns(turn, over) <= 0) this.fail('C1', `turn ${turn.count} is given again`);
  }

  answered({ number }: Radio, askedAtMs: number): void {
    const waited = this.schedule.now() - askedAtMs;
    if (waited > ANSWER_MS_MAX) this.fail('C5', `${number} is answered after ${Math.round(waited)} ms`);
  }

  /** No home answered: only while relays find out who can be reached, or who has members. */
  unanswered({ number, relay }: Radio): void {
    this.note('retry_later');
    const isKnown = this.holders.some(({ id }) => id === relay.view.home);
    if (isKnown && this.isCalm(QUIET_MS, MEMBERS_MS))
      this.fail('C5', `${number} is not answered, and nothing is broken`);
  }

  /** Nothing was broken for this time, and a relay that reaches one of two others reaches both. */
  private isCalm(ms: number, membersMs = ms): boolean {
    const nowMs = this.schedule.now();
    if (nowMs - this.changedAtMs < membersMs) return false;
    if (nowMs - this.network.changedAtMs() < ms || this.network.isLossy()) return false;
    return this.isTransitive() && nowMs - this.splitAtMs >= ms;
  }

  private get holders(): Node[] {
    return [...this.relays.values()].filter(({ isHere }) => isHere);
  }

  private isTransitive(): boolean {
    const { holders, network } = this;
    for (const a of holders)
      for (const b of holders)
        for (const c of holders)
          if (a !== b && b !== c && a !== c && network.reach(a.id, b.id) && network.reach(b.id, c.id))
            if (!network.reach(a.id, c.id)) return false;
    return true;
  }

  /** Two have the floor at once only while their relays cannot reach each other, or a moment longer. */
  checkGrants(isBetween = false): void {
    const holding = this.holders.flatMap((relay) =>
      this.isOpen(relay) ? [] : [...relay.sessions.values()].filter((session) => relay.isGranted(session)),
    );
    if (holding.length < 2) return;
    for (const one of holding)
      for (const other of holding) {
        if (one.number >= other.number) continue;
        const where = `${one.number} and ${other.number} have the floor at once`;
        // In one decision a grant may be told before the end of another one.
        if (one.relay === other.relay) {
          if (isBetween) this.fail('C4', `${where} on one relay`);
        } else if (this.network.reach(one.relay.id, other.relay.id) && this.overlaps.isTooLong(one, other))
          this.fail('C4', where);
      }
  }

  /** When two relays last did not reach each other (virtual ms). */
  private readonly apart = new Map<string, number>();

  /** Looks at all that can be seen from outside. Every 50 ms. */
  look(): void {
    const isTransitive = this.isTransitive();
    if (!isTransitive) this.splitAtMs = this.schedule.now();
    const relays = [...this.relays.values()];
    this.overlaps.look(relays, this.dead, isTransitive);
    for (const { sessions } of relays) for (const radio of sessions.values()) radio.noteUrgent();
    for (const { id } of relays)
      for (const other of relays)
        if (!this.network.reach(id, other.id)) this.apart.set(`${id} ${other.id}`, this.schedule.now());
    this.checkGrants(true);
    const nowMs = this.schedule.now();
    for (const relay of relays) {
      if (this.network.isStopped(relay.id)) continue;
      for (const session of relay.sessions.values())
        if (session.askedAtMs !== null && nowMs - session.askedAtMs > ANSWER_MS_MAX)
          this.fail('C5', `${session.number} asks for ${Math.round(nowMs - session.askedAtMs)} ms`);
    }
  }

  /** What `checkEnd` fails with, null: nothing. A session may be about to move up in the queue (history 1700006095). */
  endsWith(): unknown {
    this.isTrying = true;
    try {
      this.checkEnd();
      return null;
    } catch (error) {
      return error;
    } finally {
      this.isTrying = false;
    }
  }

  /** 3 s after all is well. */
  checkEnd(): void {
    const { holders } = this;
    const [first] = holders;
    if (first === undefined) return;
    const { home, relays } = first.view;
    const has = holders.flatMap((relay) =>
      [...relay.sessions.values()].filter(({ claim }) => claim === 'has' || claim === 'talks'),
    );
    for (const relay of holders) {
      const { view, order } = relay;
      // One that lost its last member, and whose word was lost, is found out by the next question.
      const shares = (all: readonly number[]) =>
        all.filter((id) => holders.some((one) => one.id === id)).length;
      const isHolder = (home: number) => holders.some(({ id }) => id === home);
      const isSame = view.home === home || !isHolder(home) || !isHolder(view.home);
      if (!isSame || shares(view.relays) !== shares(relays))
        this.fail(
          'C6',
          `relay ${relay.id} takes ${view.home} of ${view.relays} for the home, ${first.id} takes ${home} of ${relays}, ${holders.map(({ id }) => id)} have members`,
        );
      if (relay.revision !== first.revision) this.fail('C6', 'settings differ');
      if (this.isOpen(relay)) continue;
      const talker = has.find(({ claim }) => claim === 'talks');
      const playing = order?.on?.burst.session;
      if (playing !== talker?.number && talker?.isSpeaking)
        this.fail(
          'C6',
          `relay ${relay.id} plays ${playing ?? 'nobody'}, ${talker?.number ?? 'nobody'} talks`,
        );
      if (talker === undefined && playing !== undefined)
        this.fail('C6', `relay ${relay.id} plays ${playing}, who is silent`);
      for (const session of relay.sessions.values())
        if (
          session.claim === 'asks' &&
          session.askedAtMs !== null &&
          this.schedule.now() - session.askedAtMs > 300
        )
          this.fail('C6', `${session.number} asks and is not answered`);
    }
    if (!this.isOpen(first) && has.length > 1)
      this.fail('C6', `${has.map(({ number }) => number)} have the floor`);
    const isFree = has.length === 0;
    for (const relay of holders)
      for (const session of relay.sessions.values())
        if (!this.isOpen(relay) && isFree && session.claim === 'waits' && session.isLive)
          this.fail('C6', `${session.number} waits for a free floor`);
  }

  /** All sessions gave up. */
  checkIdle(): void {
    for (const relay of this.holders) {
      for (const session of relay.sessions.values())
        if (session.claim !== 'none') this.fail('C6', `${session.number} is left with ${session.claim}`);
      if (relay.queued() > 0) this.fail('C6', `relay ${relay.id} has a queue of no session`);
      if ((relay.order?.on ?? null) !== null)
        this.fail('C6', `relay ${relay.id} plays a burst of no session`);
    }
    this.checkOrder();
  }

  /** Of two bursts that two relays both announced promptly, the first one is the same. */
  private checkOrder(): void {
    const lists = [...this.plays.values()].map(({ announced }) => announced.map(({ name }) => name));
    for (const one of lists)
      for (const other of lists) {
        if (one === other) continue;
        const common = one.filter((name) => other.includes(name));
        const there = other.filter((name) => one.includes(name));
        if (common.join() !== there.join()) this.fail('C3', `${common} at one relay, ${there} at another`);
      }
  }
}
