// What an onlooker knows of one floor from the events and announcements alone, and what it takes for a broken promise.
//
// It is no second machine: it never says what must happen, only what must not, and after every step it compares what
// each radio was told with what is.
import assert from 'node:assert/strict';
import type { UserId } from '../../../src/ids.js';
import type { EndCode, FloorMode } from '../../../src/protocol/codes.js';
import type { TalkLimits } from '../../../src/relay/floor/capacity.js';
import { step } from '../../../src/relay/floor/machine.js';
import {
  emptyFloor,
  type Floor,
  type FloorEvent,
  type Holder,
  holderOf,
  type Outcome,
} from '../../../src/relay/floor/state.js';

export type { FloorMode } from '../../../src/protocol/codes.js';
/** The words of the floor, for those who speak the wire alone. */
export type { TalkLimits } from '../../../src/relay/floor/capacity.js';
export { FRAME_PRIORITY } from '../../../src/relay/floor/claim.js';
export type { FloorEvent, Outcome } from '../../../src/relay/floor/state.js';

/** A radio as it sees itself. */
export interface Radio {
  readonly session: number;
  readonly user: number;
  readonly isAdmin: boolean;
  state: 'idle' | 'waiting' | 'granted' | 'talking';
  /** As last announced, 0 when none. */
  position: number;
  /** Priority it last asked with and got something for. */
  asked: number;
  askedAtMs: number;
  /** Grants are numbered: several may fall on one moment. */
  grant: number;
  /** From here an unused grant is counted. */
  grantedAtMs: number;
  /** The grant was repeated at a return. */
  isToldAgain: boolean;
  startedAtMs: number;
  talkMsMax: number;
  awayAtMs: number | null;
}

/** One step as it was seen from outside. */
interface Seen {
  readonly event: FloorEvent;
  readonly nowMs: number;
  readonly outcomes: readonly Outcome[];
}

/** Those of the configuration. */
export const TALK_LIMITS: TalkLimits = { talkersMax: 32, talksPerUser: 2 };

/** A claim names its user by an id. */
export const userIdOf = ({ user }: Pick<Radio, 'user'>) => `user ${user}` as UserId;

export interface Watching {
  readonly limits?: TalkLimits;
  readonly radiosPerUser?: number;
}

/** A floor with so many radios, two to each user unless told otherwise, every third user an admin. */
export function watchFloor(
  radioCount: number,
  mode: FloorMode,
  maxTalkMs: number,
  { limits = TALK_LIMITS, radiosPerUser = 2 }: Watching = {},
) {
  const radios = Array.from({ length: radioCount }, (_, index) =>
    newRadio(index, Math.floor(index / radiosPerUser)),
  );
  const inEmergency = new Set<number>();
  let grants = 0;
  let floor = emptyFloor(mode, maxTalkMs);

  const radioOf = (session: number): Radio => {
    const radio = radios[session - 1];
    assert(radio, `a radio of this talkgroup: ${session}`);
    return radio;
  };
  const isUrgent = ({ user }: Radio) => inEmergency.has(user);
  const standing = (radio: Radio) => {
    if (isUrgent(radio)) return 7;
    return radio.isAdmin ? radio.asked : Math.min(radio.asked, 3);
  };
  const isChief = ({ isAdmin, asked }: Radio) => isAdmin && asked === 7;
  const isAbove = (a: Radio, b: Radio) =>
    standing(a) > standing(b) || (standing(b) === 7 && isChief(a) && !isChief(b));
  const preempts = (a: Radio, b: Radio) => standing(a) >= 4 && isAbove(a, b);
  const isForbidden = (radio: Radio) => floor.mode === 'broadcast' && !radio.isAdmin && !isUrgent(radio);
  const holders = () => radios.filter(holds);
  const sameUser = (radio: Radio) => (other: Radio) => other.user === radio.user && other !== radio;
  const ownBursts = (radio: Radio) => holders().filter(sameUser(radio)).length;
  /** One burst of a user in an emergency stands above the limits. */
  const partsMax = (radio: Radio) => limits.talksPerUser + (isUrgent(radio) ? 1 : 0);
  const countedOf = (radio: Radio) =>
    Math.max(0, ownBursts(radio) + (holds(radio) ? 1 : 0) - (isUrgent(radio) ? 1 : 0));
  function isFull(): boolean {
    const holding = holders();
    const urgent = new Set(holding.filter(isUrgent).map(({ user }) => user));
    return holding.length - urgent.size >= limits.talkersMax;
  }
  /** In `open`, whether its request has to be granted. */
  function isFree(radio: Radio): boolean {
    if (ownBursts(radio) >= partsMax(radio)) return false;
    if (!isFull() || radio.isAdmin) return true;
    return ownBursts(radio) === 0 && (isUrgent(radio) || holders().some((other) => countedOf(other) > 1));
  }

  /** Steps the floor and checks everything that can be seen of it. */
  function see(event: FloorEvent, nowMs: number): readonly Outcome[] {
    const before = floor;
    const isIdle = appliesToNobody(event);
    const oldest = oldestTalker();
    const stateBefore = event.kind === 'returned' ? radioOf(event.session).state : 'idle';
    if (event.kind === 'emergency') follow(event);
    const { floor: after, outcomes } = step(before, event, nowMs, limits);
    floor = after;
    if (isIdle) {
      assert.equal(after, before, 'an event that does not apply changes nothing');
      assert.equal(outcomes.length, 0, 'and announces nothing');
    }
    leaveQuietly(event, nowMs, before);
    const seen: Seen = { event, nowMs, outcomes };
    for (const index of outcomes.keys()) hear(seen, index);
    if (event.kind === 'request') assertAnswered(event.claim.session, outcomes);
    if (event.kind === 'returned') assertToldAgain(event.session, stateBefore, outcomes);
    const isPreempted = outcomes.some((outcome) => 'code' in outcome && outcome.code === 'preempted');
    if (event.kind === 'settings' && before.mode === 'open' && event.mode !== 'open' && !isPreempted)
      assertKept(oldest(), event);
    if (event.kind === 'tick') assertNothingOverdue(nowMs);
    assertAsTold();
    assertRules();
    return outcomes;
  }

  function appliesToNobody(event: FloorEvent): boolean {
    switch (event.kind) {
      case 'request':
        return false;
      case 'frame':
        return radioOf(event.claim.session).state === 'talking';
      case 'release': {
        const { state } = radioOf(event.session);
        return event.code === 'silence' ? state !== 'talking' : state === 'idle';
      }
      case 'removed':
        return radioOf(event.session).state === 'idle';
      case 'lost': {
        const { state, awayAtMs } = radioOf(event.session);
        return state === 'idle' || (awayAtMs !== null && !event.forGood && floor.mode !== 'open');
      }
      case 'returned': {
        const { state, awayAtMs } = radioOf(event.session);
        return state === 'idle' || (state === 'talking' && awayAtMs === null);
      }
      case 'settings':
        return event.mode === floor.mode && event.maxTalkMs === floor.maxTalkMs;
      case 'emergency':
        return radios
          .filter(({ session }) => event.sessions.has(session))
          .every((radio) => radio.state === 'idle' || isUrgent(radio) === event.inEmergency);
      case 'tick':
        return radios.every(
          ({ state, awayAtMs }) => state === 'idle' || (state === 'waiting' && awayAtMs === null),
        );
    }
  }

  /** An emergency ends a burst's priority and only ever lengthens its limit. */
  function follow({ sessions, inEmergency: raised }: FloorEvent & { kind: 'emergency' }): void {
    for (const radio of radios) {
      if (!sessions.has(radio.session) || isUrgent(radio) === raised) continue;
      if (!raised && holds(radio)) radio.asked = 1;
      if (raised && holds(radio) && radio.talkMsMax > 0) radio.talkMsMax = Math.max(radio.talkMsMax, 120_000);
    }
    for (const { session, user } of radios) {
      if (!sessions.has(session)) continue;
      if (raised) inEmergency.add(user);
      else inEmergency.delete(user);
    }
  }

  /** What ends without an announcement: the radio's own doing, or it is not there to hear it. */
  function leaveQuietly(event: FloorEvent, nowMs: number, before: Floor): void {
    if (event.kind === 'tick') {
      for (const radio of radios)
        if (radio.awayAtMs !== null && nowMs - radio.awayAtMs >= 1500 && radio.state !== 'talking')
          idle(radio);
      return;
    }
    if (!('session' in event)) return;
    const radio = radioOf(event.session);
    const isOver =
      (event.kind === 'release' && event.code === 'released') ||
      (event.kind === 'lost' && (event.forGood || before.mode === 'open'));
    if (isOver && radio.state !== 'talking') idle(radio);
    if (event.kind === 'removed' && radio.state === 'waiting') idle(radio);
    if (event.kind === 'lost') radio.awayAtMs = event.forGood ? null : (radio.awayAtMs ?? nowMs);
    if (event.kind === 'returned') radio.awayAtMs = null;
  }

  function hear(seen: Seen, index: number): void {
    const { event, outcomes } = seen;
    const outcome = outcomes[index];
    if (outcome === undefined) return;
    const radio = radioOf(sessionOf(outcome));
    switch (outcome.kind) {
      case 'granted':
        return hearGrant(radio, outcome.holder, seen, outcomes[index - 1]);
      case 'started':
        assert.equal(radio.state, 'granted', 'a burst begins once, and in a grant');
        assert(event.kind === 'frame' && event.claim.session === radio.session, 'with its first frame');
        Object.assign(radio, { state: 'talking', startedAtMs: seen.nowMs });
        return;
      case 'queued':
        return hearPlace(radio, outcome, seen);
      case 'denied':
        return hearDenial(radio, outcome.code, seen);
      case 'revoked':
        return hearRevocation(radio, outcome.code, seen, outcomes.slice(index + 1));
      case 'ended':
        return hearEnd(radio, outcome.code, seen, outcomes[index - 1]);
      case 'changed':
        assert(event.kind === 'emergency' && event.sessions.has(radio.session) && holds(radio));
        assert.equal(outcome.holder.priority, standing(radio));
        assert.equal(outcome.holder.claim.inEmergency, event.inEmergency);
    }
  }

  function hearGrant(radio: Radio, holder: Holder, { event, nowMs }: Seen, previous?: Outcome): void {
    if (holds(radio)) return hearGrantAgain(radio, event, nowMs);
    radio.asked = askedIn(event, radio);
    assert.equal(radio.awayAtMs, null, 'nobody is granted the floor while away');
    assert.equal(holder.priority, standing(radio), 'the grant names the priority that counts');
    const talkMsMax = floor.mode === 'open' ? 0 : isUrgent(radio) ? 120_000 : floor.maxTalkMs;
    assert.equal(holder.talkMsMax, talkMsMax, 'the grant names its limit');
    const tookPlace = previous !== undefined && 'code' in previous && previous.code === 'preempted';
    if (floor.mode === 'open' && !tookPlace) assert(isFree(radio), `there is room for ${radio.session}`);
    Object.assign(radio, {
      ...{ state: 'granted', position: 0, grant: ++grants, talkMsMax },
      ...{ grantedAtMs: nowMs, isToldAgain: false },
    });
  }

  /** To one that asks again, or returns before its first frame. The first return gives it the time for that anew. */
  function hearGrantAgain(radio: Radio, event: FloorEvent, nowMs: number): void {
    if (event.kind === 'returned') {
      assert(
        event.session === radio.session && radio.state === 'granted',
        'a running burst is not granted again',
      );
      if (!radio.isToldAgain) Object.assign(radio, { grantedAtMs: nowMs, isToldAgain: true });
      return;
    }
    assert(
      event.kind === 'request' && event.claim.session === radio.session,
      'a grant is repeated only then',
    );
  }

  function hearDenial(radio: Radio, code: string, { event }: Seen): void {
    assert(!holds(radio), 'who has the floor is denied nothing');
    const asker = { ...radio, asked: askedIn(event, radio) };
    const holder = holders()[0];
    if (code === 'forbidden') assert(isForbidden(radio), 'forbidden by the mode');
    if (code === 'queue_full') assert.equal(floor.waiting.length, 20, 'the queue is full');
    if (code === 'busy') {
      if (floor.mode === 'open') assert(!isFree(radio), 'busy: as many talk as may');
      else assert(holder && !preempts(asker, holder), 'busy: somebody keeps the floor');
      if (event.kind === 'request' && event.queue) {
        const parts = radios.filter(({ state }) => state !== 'idle').filter(sameUser(radio)).length;
        assert(parts >= partsMax(radio), 'who would wait may wait, unless its user has parts enough');
      }
    }
    if (event.kind !== 'frame') idle(radio);
  }

  function hearPlace(
    radio: Radio,
    { position, size }: Outcome & { kind: 'queued' },
    { event, nowMs }: Seen,
  ): void {
    assert(!holds(radio) && radio.awayAtMs === null, 'a place is told to one who waits and hears');
    assert.equal(size, floor.waiting.length, 'size counts all waiting');
    radio.asked = askedIn(event, radio);
    if (radio.state === 'idle') radio.askedAtMs = nowMs;
    Object.assign(radio, { state: 'waiting', position });
  }

  function hearRevocation(
    radio: Radio,
    code: EndCode | 'unused',
    seen: Seen,
    rest: readonly Outcome[],
  ): void {
    assert(holds(radio), 'only a grant is revoked');
    assertMayEnd(radio, code, seen);
    if (code === 'preempted') assertPreempted(radio, seen.event, rest);
    if (radio.state === 'granted') return idle(radio);
    const [next] = rest;
    assert(next?.kind === 'ended' && next.session === radio.session, 'its burst ends next');
    assert.equal(next.code, code, 'for the same reason');
  }

  /** Who takes the floor must stand above the other as both stand now. */
  function assertPreempted(victim: Radio, event: FloorEvent, rest: readonly Outcome[]): void {
    const grant = rest.find(({ kind }) => kind === 'granted');
    assert(grant, 'who preempts is granted in the same step');
    const taker = radioOf(sessionOf(grant));
    // After any event: the last burst of a user may end whose other radio waits.
    if (floor.mode === 'open') return assertGivesWay(victim, taker);
    assert(
      // By new settings: one that waited in `open` may stand above the burst that stays.
      ['request', 'frame', 'emergency', 'returned', 'settings'].includes(event.kind),
      `no preemption by ${event.kind}`,
    );
    assert(
      preempts({ ...taker, asked: askedIn(event, taker) }, victim),
      'only by who stands strictly higher',
    );
  }

  /** The newest of the second bursts gives way, to a user without any. */
  function assertGivesWay(victim: Radio, taker: Radio): void {
    assert(isFull() && ownBursts(taker) === 0 && !taker.isAdmin && !isUrgent(taker), 'only where it must');
    for (const other of holders())
      if (countedOf(other) > 1) assert(victim.grant >= other.grant, `${victim.session} is the newest`);
    assert(countedOf(victim) > 1, 'a user keeps one burst');
  }

  function hearEnd(radio: Radio, code: EndCode, seen: Seen, previous: Outcome | undefined): void {
    assert.equal(radio.state, 'talking', 'a burst ends once, and after its start');
    assertMayEnd(radio, code, seen);
    const isRevoked = previous?.kind === 'revoked' && previous.session === radio.session;
    assert.equal(
      isRevoked,
      code !== 'released' && code !== 'disconnected',
      'the server says so when it ends a burst',
    );
    idle(radio);
  }

  function assertMayEnd(radio: Radio, code: EndCode | 'unused', { event, nowMs }: Seen): void {
    if (floor.mode === 'open' && code === 'preempted') return;
    if (event.kind === 'release' || event.kind === 'removed') return assert.equal(code, event.code);
    if (event.kind === 'lost') return assert.equal(code, 'disconnected');
    if (event.kind === 'settings') return assert(code === 'mode' || code === 'preempted');
    if (event.kind !== 'tick') {
      if (code === 'mode') return assert(event.kind === 'emergency' && isForbidden(radio));
      return assert.equal(code, 'preempted');
    }
    if (code === 'disconnected') return assert(nowMs - (radio.awayAtMs ?? nowMs) >= 1500);
    if (code === 'unused') return assert(radio.state === 'granted' && nowMs - radio.grantedAtMs >= 2000);
    assert.equal(code, 'too_long');
    assert(
      radio.talkMsMax > 0 && nowMs - radio.startedAtMs >= radio.talkMsMax,
      'cut at its limit, not before',
    );
  }

  const answersTo = (session: number, outcomes: readonly Outcome[]) =>
    outcomes.filter(
      (outcome) =>
        (outcome.kind === 'granted' && outcome.holder.claim.session === session) ||
        ((outcome.kind === 'denied' || outcome.kind === 'queued') && outcome.session === session),
    );

  function assertAnswered(session: number, outcomes: readonly Outcome[]): void {
    assert.equal(answersTo(session, outcomes).length, 1, 'a request is answered once');
  }

  /**
   * Who waited or had an unused grant hears so, for the old socket may have been dead unseen. The state is that before
   * the return: a second burst granted by it may give way to another user in the same step.
   */
  function assertToldAgain(session: number, before: Radio['state'], outcomes: readonly Outcome[]): void {
    const isUntold = before === 'idle' || before === 'talking';
    assert.equal(answersTo(session, outcomes).length, isUntold ? 0 : 1, 'a return is told what it waits for');
  }

  /** Whose burst has run longest among those that the mode-to-be allows. */
  function oldestTalker(): () => Radio[] {
    const talking = radios.filter(({ state }) => state === 'talking').map((radio) => ({ ...radio }));
    return () => {
      const allowed = talking.filter((radio) => !isForbidden(radio));
      const startedAtMs = Math.min(...allowed.map((radio) => radio.startedAtMs));
      return allowed.filter((radio) => radio.startedAtMs === startedAtMs);
    };
  }

  function assertKept(oldest: readonly Radio[], { mode }: { mode: FloorMode }): void {
    if (oldest.length === 0) return;
    const kept = holders().map(({ session }) => session);
    assert(
      oldest.some(({ session }) => kept.includes(session)),
      `${mode} keeps the oldest burst it allows`,
    );
  }

  function assertNothingOverdue(nowMs: number): void {
    for (const { state, awayAtMs, grantedAtMs, startedAtMs, talkMsMax, session } of radios) {
      if (state === 'idle') continue;
      assert(awayAtMs === null || nowMs - awayAtMs < 1500, `${session} is kept too long`);
      if (state === 'granted') assert(nowMs - grantedAtMs < 2000, `${session} has an unused grant too long`);
      if (state === 'talking')
        assert(talkMsMax === 0 || nowMs - startedAtMs < talkMsMax, `${session} talks too long`);
    }
  }

  /** Every radio knows what is. */
  function assertAsTold(): void {
    for (const radio of radios) {
      const { session, state, position, awayAtMs } = radio;
      assert.equal(stateIn(floor, session), state, `what ${session} was told`);
      if (state === 'waiting' && awayAtMs === null)
        assert.equal(position, placeIn(floor, session), `the place of ${session}`);
    }
    const parts = radios.filter(({ state }) => state !== 'idle').length;
    assert.equal(floor.holders.length + floor.waiting.length, parts, 'nobody is in it twice');
  }

  function assertRules(): void {
    const holding = holders();
    if (floor.mode !== 'open') assert(holding.length <= 1, 'one holder at a time');
    const queue = floor.waiting.map(({ session }) => radioOf(session));
    for (const radio of [...holding, ...queue]) assert(!isForbidden(radio), `${radio.session} is forbidden`);
    const [holder] = holding;
    for (const radio of queue) {
      if (radio.awayAtMs !== null) continue;
      if (floor.mode === 'open') {
        assert(!isFree(radio), `${radio.session} waits where there is room`);
        continue;
      }
      assert(holder, `${radio.session} waits for a free floor`);
      assert(!preempts(radio, holder), `${radio.session} waits for what it may take`);
    }
    queue.forEach((radio, index) => {
      const next = queue[index + 1];
      if (next === undefined) return;
      assert(!isAbove(next, radio), 'higher ones wait in front');
      if (!isAbove(radio, next))
        assert(radio.askedAtMs <= next.askedAtMs, 'equals wait in the order of asking');
    });
  }

  return {
    radios: radios as readonly Readonly<Radio>[],
    see,
    mode: () => floor.mode,
    isUrgent,
    /** In the order of the queue. */
    waiting: () => floor.waiting.map(({ session }) => radioOf(session)),
    holders,
  };
}

const newRadio = (index: number, user: number): Radio => ({
  session: index + 1,
  user,
  isAdmin: user % 3 === 0,
  state: 'idle',
  position: 0,
  asked: 0,
  askedAtMs: 0,
  grant: 0,
  grantedAtMs: 0,
  isToldAgain: false,
  startedAtMs: 0,
  talkMsMax: 0,
  awayAtMs: null,
});

const holds = ({ state }: Radio) => state === 'granted' || state === 'talking';

function idle(radio: Radio): void {
  radio.state = 'idle';
  radio.position = 0;
}

/** What the radio asks with by this event, or asked with before. */
function askedIn(event: FloorEvent, { session, asked }: Radio): number {
  if (event.kind !== 'request' && event.kind !== 'frame') return asked;
  return event.claim.session === session ? event.claim.priority : asked;
}

function stateIn(floor: Floor, session: number): Radio['state'] {
  const held = holderOf(floor, session);
  if (held !== undefined) return held.startedAtMs === null ? 'granted' : 'talking';
  return placeIn(floor, session) > 0 ? 'waiting' : 'idle';
}

const placeIn = ({ waiting }: Floor, session: number) =>
  waiting.findIndex((one) => one.session === session) + 1;

const sessionOf = (outcome: Outcome) =>
  'holder' in outcome ? outcome.holder.claim.session : outcome.session;
