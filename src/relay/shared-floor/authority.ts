// Decides who has the floor together with the relays of other nodes: each floor where its home is.

import type { EndCode } from '../../protocol/codes.js';
import { NO_TURN, type Turn } from '../../protocol/turn.js';
import { newSharedCounts, type SharedCounts } from '../figures/floor-counts.js';
import type { Authority } from '../floor/authority.js';
import type { Claim } from '../floor/claim.js';
import { holderOf } from '../floor/state.js';
import type { Talkgroup } from '../members/members.js';
import type { MovedClaim, Part, PartVerdicts, Placed, Settings } from './bodies.js';
import { SharedFloor } from './floor.js';
import type { Entered } from './moves.js';
import { settingsOf } from './parts.js';
import type { SharedOptions } from './state.js';

/**
 * The answers to `frame` and `request` may come after `tell` has returned, 1,000 ms later at the latest. All other claims
 * are answered before it returns. While all members are on this relay, and in `open`, every answer comes at once.
 */
export interface SharedAuthority extends Authority {
  readonly counts: SharedCounts;
  /** The home, or the relays that share the floor, may have changed: `link.view` has another answer. */
  viewed(talkgroup: Talkgroup, nowMs: number): void;
  /** The talkgroups for which `repeat` must be called every 20 ms or more often. */
  repeating(): Iterable<Talkgroup>;
  /** Repeats what may have been lost. */
  repeat(talkgroup: Talkgroup, nowMs: number): void;
  receivePart(talkgroup: Talkgroup, from: number, part: Part, nowMs: number): void;
  receiveVerdicts(talkgroup: Talkgroup, from: number, verdicts: PartVerdicts, nowMs: number): void;
  /** Another relay asks for the part. */
  wanted(talkgroup: Talkgroup, by: number, want: { readonly settings: Settings }, nowMs: number): void;
  /** The order of turns lets the grant with this turn begin. */
  ready(talkgroup: Talkgroup, turn: Turn, nowMs: number): void;
  /** Frames of a burst that ended here go on. */
  fenced(talkgroup: Talkgroup, nowMs: number): void;
  /** A relay said, with its frames, that this burst ended. */
  ended(
    talkgroup: Talkgroup,
    burst: { readonly session: number; readonly turn: Turn; readonly code: EndCode },
    nowMs: number,
  ): void;
  /** How the home placed the grant or the burst of a session of this relay. null: it has no turn, as in `open`. */
  placedOf(talkgroup: Talkgroup, session: number): Placed | null;
  /** The session moves to another relay: its claim goes on there. null: what it has of the floor ends here. */
  leave(talkgroup: Talkgroup, session: number, nowMs: number): MovedClaim | null;
  /** The session came with this claim. `entered` must follow when the session knows of it. */
  enter(talkgroup: Talkgroup, moved: MovedClaim, nowMs: number): Entered;
  entered(talkgroup: Talkgroup, nowMs: number): void;
  /** The claim with which a session of this relay has the floor. null: it has it not. */
  claimOf(talkgroup: Talkgroup, session: number): Claim | null;
  /** Sessions of this relay have something of the floor, or ask for it. */
  isUsed(talkgroup: Talkgroup): boolean;
  /** The talkgroup has no members here any more. */
  forget(talkgroup: Talkgroup): void;
}

/**
 * When a relay comes, each home asks it for a part of every floor. Of those that no session uses so many are asked for in this
 * time (ms): the answers to 2,500 in a second cost a home 0.3 s of CPU (measured with 10,000 talkgroups).
 */
const IDLE_PARTS_MAX = 50;
const IDLE_MS = 20;

/** The last turns of so many talkgroups without members here are kept. Then the oldest is forgotten: 4 MB. */
const GIVEN_MAX = 100_000;

export function createSharedAuthority(options: SharedOptions): SharedAuthority {
  const { link } = options;
  const shared = newSharedCounts();
  const floors = new Map<Talkgroup, SharedFloor>();
  /**
   * Of floors that are not kept, by the number of the talkgroup: a turn that was given again would be taken for the first one.
   * The talkgroup itself leaves memory with its last member here. 40 bytes each.
   */
  const given = new Map<number, Turn>();
  let asks = 0;
  let parts = 0;
  /** Parts of floors that no session uses, asked for since `idleSinceMs`. */
  let idleAsked = 0;
  let idleSinceMs = Number.NEGATIVE_INFINITY;

  function mayAskIdle(nowMs: number): boolean {
    if (nowMs - idleSinceMs >= IDLE_MS) [idleAsked, idleSinceMs] = [0, nowMs];
    return ++idleAsked <= IDLE_PARTS_MAX;
  }

  const own = { ...options, shared, nextAsk: () => ++asks, nextV: () => ++parts, mayAskIdle };

  function floorOf(talkgroup: Talkgroup): SharedFloor {
    const known = floors.get(talkgroup);
    if (known !== undefined) return known;
    const floor = new SharedFloor(own, talkgroup, given.get(talkgroup.number) ?? NO_TURN);
    floors.set(talkgroup, floor);
    return floor;
  }

  function drop(talkgroup: Talkgroup): void {
    const floor = floors.get(talkgroup);
    floors.delete(talkgroup);
    if (floor === undefined || floor.lastGiven.count === 0) return;
    given.delete(talkgroup.number); // it is the newest from now on
    given.set(talkgroup.number, floor.lastGiven);
    const [oldest] = given.keys();
    if (given.size > GIVEN_MAX && oldest !== undefined) given.delete(oldest);
  }

  /** The talkgroup is deleted. What begins before this relay has read so ends with the read. */
  function remove(talkgroup: Talkgroup, nowMs: number): void {
    floors.get(talkgroup)?.delete(nowMs);
    floors.delete(talkgroup);
    given.delete(talkgroup.number);
  }

  /** Settings that this relay has not read yet count at once. */
  function adopt(talkgroup: Talkgroup, settings: Settings): void {
    if (settings.revision > talkgroup.revision) link.adopt(talkgroup, settings);
  }

  function* repeating(): Generator<Talkgroup> {
    for (const [talkgroup, floor] of floors) if (floor.isRepeating) yield talkgroup;
  }

  return {
    counts: shared,
    tell(talkgroup, claims, nowMs) {
      const floor = floorOf(talkgroup);
      for (const claim of claims) floor.tell(claim, nowMs);
      link.busy();
    },
    change(talkgroup, nowMs) {
      floors.get(talkgroup)?.change(nowMs);
      link.busy();
    },
    close: remove,
    expire(talkgroup, nowMs) {
      if (talkgroup.floorMode === 'open' && !floors.has(talkgroup)) return;
      const floor = floorOf(talkgroup);
      floor.expire(nowMs);
      if (floor.isIdle) drop(talkgroup);
    },
    *active() {
      for (const [talkgroup, floor] of floors) if (floor.isActive || floor.isIdle) yield talkgroup;
    },
    queued() {
      let count = 0;
      for (const { state } of floors.values())
        for (const { session } of state.floor.waiting) if (state.isOwn(session)) count++;
      return count;
    },
    viewed(talkgroup, nowMs) {
      floorOf(talkgroup).look(nowMs);
      link.busy();
    },
    repeating,
    repeat: (talkgroup, nowMs) => floors.get(talkgroup)?.repeat(nowMs),
    receivePart(talkgroup, from, part, nowMs) {
      adopt(talkgroup, part.settings);
      const settings = settingsOf(talkgroup);
      if (part.settings.revision < settings.revision)
        link.sendVerdicts(talkgroup, from, { settings, v: 0, verdicts: [] });
      floorOf(talkgroup).receivePart(from, part, nowMs);
      link.busy();
    },
    receiveVerdicts(talkgroup, from, verdicts, nowMs) {
      adopt(talkgroup, verdicts.settings);
      floors.get(talkgroup)?.receiveVerdicts(from, verdicts, nowMs);
      link.busy();
    },
    wanted(talkgroup, by, { settings }, nowMs) {
      adopt(talkgroup, settings);
      floorOf(talkgroup).wanted(by, nowMs);
      link.busy();
    },
    ready: (talkgroup, turn, nowMs) => floors.get(talkgroup)?.ready(turn, nowMs),
    fenced: (talkgroup, nowMs) => floorOf(talkgroup).fenced(nowMs),
    ended(talkgroup, { session, turn, code }, nowMs) {
      // The other relay has read that the talkgroup is deleted: a queued session must not get its floor.
      if (code === 'deleted') remove(talkgroup, nowMs);
      else floors.get(talkgroup)?.ended(session, turn, code, nowMs);
    },
    placedOf: (talkgroup, session) => floors.get(talkgroup)?.state.of(session).placed ?? null,
    leave(talkgroup, session, nowMs) {
      const moved = floors.get(talkgroup)?.leave(session, nowMs) ?? null;
      link.busy();
      return moved;
    },
    enter: (talkgroup, moved, nowMs) => floorOf(talkgroup).enter(moved, nowMs),
    entered(talkgroup, nowMs) {
      floors.get(talkgroup)?.entered(nowMs);
      link.busy();
    },
    claimOf(talkgroup, session) {
      const floor = floors.get(talkgroup)?.state.floor;
      return (floor && holderOf(floor, session)?.claim) ?? null;
    },
    isUsed: (talkgroup) => floors.get(talkgroup)?.state.isUsed === true,
    forget: drop,
  };
}
