// Decides who has the floor: alone while the relay has no bus, and together with the other relays when it has joined them.

import type { UserId } from '../../ids.js';
import type { RunningTalker } from '../../protocol/bodies.js';
import { NO_TURN } from '../../protocol/turn.js';
import type { Clock, Timer } from '../clock.js';
import { CLAIMS_MAX } from '../cluster/floor-bodies.js';
import type { Cluster } from '../cluster/options.js';
import type { FloorStage } from '../cluster/stage.js';
import type { Fanout } from '../delivery/fanout.js';
import type { Authority, LocalAuthorityOptions, Verdict } from '../floor/authority.js';
import type { RemoteTalk } from '../floor/bursts.js';
import { type Claim, rankOf } from '../floor/claim.js';
import { missedFrames } from '../floor/messages.js';
import type { Talkgroup } from '../members/members.js';
import { createSharedAuthority, type SharedAuthority } from '../shared-floor/authority.js';
import type { FloorLink, PlayedTalk, Turns } from '../shared-floor/link.js';
import type { Entered } from '../shared-floor/moves.js';
import type { Part } from '../shared-floor/parts.js';

export interface FloorsOptions extends LocalAuthorityOptions {
  /** Makes the one that decides alone. */
  readonly authorityOf: (options: LocalAuthorityOptions) => Authority;
  readonly fanout: Pick<Fanout, 'tell'>;
  readonly clock: Clock;
  readonly log: { error(fields: object, message: string): void };
}

/** Plain numbers, counted since the start. */
export interface FloorsCounts {
  /** Questions that no home answered in time. */
  unanswered: number;
  /** Grants and bursts revoked because two had the floor. */
  collisions: number;
  /** Floors made anew out of the parts of all relays. */
  rebuilt: number;
  /** Messages about floors of relays that took another relay for the home than this one did. */
  viewsDiffer: number;
}

/** Time (ms) between two looks at what must be repeated or is held back. */
const REPEAT_MS = 20;

/** What it needs of the relay that joins. */
export interface FloorsJoining {
  readonly relay: number;
  readonly cluster: () => Cluster<Talkgroup>;
  readonly settled: FloorLink['adopt'];
  /** Times that the session with this number has moved. undefined: it is not here. */
  readonly movesOf: (session: number) => number | undefined;
}

/** Without other relays. */
const NO_FLOOR = { over: 'disconnected' } as const;

export type Floors = ReturnType<typeof createFloors>;

export function createFloors(options: FloorsOptions) {
  const { authorityOf, fanout, clock, log, onVerdicts, ...services } = options;
  const counts: FloorsCounts = { unanswered: 0, collisions: 0, rebuilt: 0, viewsDiffer: 0 };
  let authority: Authority = authorityOf(options);
  let shares: Pick<SharedAuthority, 'leave' | 'enter' | 'entered'> | null = null;
  let timer: Timer | null = null;
  let isClosed = false;

  /** While every floor is decided by the relay itself: one more call for each claim. */
  const deciding: Authority = {
    tell: (...told) => authority.tell(...told),
    change: (...changed) => authority.change(...changed),
    close: (...closed) => authority.close(...closed),
    expire: (...expired) => authority.expire(...expired),
    active: () => authority.active(),
    queued: () => authority.queued(),
  };

  function count(verdicts: readonly Verdict[]): void {
    for (const verdict of verdicts) {
      if (verdict.kind === 'denied' && verdict.code === 'retry_later') counts.unanswered++;
      if (verdict.kind === 'revoked' && verdict.code === 'collision') counts.collisions++;
    }
  }

  /** Before the first session. */
  function join({ relay, cluster, settled, movesOf }: FloorsJoining): FloorStage<Talkgroup> {
    const turnsOf = (talkgroup: Talkgroup) => cluster().streamOf(talkgroup);
    const known = new WeakMap<object, Turns>();
    const link: FloorLink = {
      relay,
      view(talkgroup) {
        const stream = cluster().streamOf(talkgroup);
        return stream === undefined
          ? { home: relay, relays: [relay] }
          : { home: stream.home, relays: [relay, ...stream.relays] };
      },
      turns(talkgroup) {
        const turns = turnsOf(talkgroup)?.turns;
        if (turns === undefined) return NO_TURNS;
        const made = known.get(turns) ?? turnsIn(turns, talkgroup, services.bursts);
        known.set(turns, made);
        return made;
      },
      settings: ({ revision, floorMode: mode, maxTalkMs, encryption, emergencyMayBeClear: mayBeClear }) => ({
        ...{ revision, mode, maxTalkMs, encryption, mayBeClear },
      }),
      adopt: settled,
      sendPart: ({ number }, to, part) =>
        cluster().tellFloor(to, 'part', { number, ...part, claims: part.claims.slice(0, CLAIMS_MAX) }),
      sendVerdicts: ({ number }, to, { settings, v, verdicts }) =>
        cluster().tellFloor(to, 'verdicts', { number, settings, v, verdicts: [...verdicts] }),
      want: ({ number }, to, settings) => cluster().tellFloor(to, 'want', { number, settings }),
      doubt: (talkgroup, home) => cluster().ask(talkgroup, home),
      renewed: (talkgroup, session, placed, at) =>
        cluster().streamOf(talkgroup)?.out.renewed(session, placed, at),
      moves: movesOf,
      rebuilt() {
        counts.rebuilt++;
      },
      differed() {
        counts.viewsDiffer++;
      },
    };
    const shared = createSharedAuthority({
      ...services,
      link,
      onVerdicts(talkgroup, verdicts, at) {
        count(verdicts);
        onVerdicts(talkgroup, verdicts, at);
      },
    });
    authority = watched(shared);
    shares = {
      leave(...left) {
        const moved = shared.leave(...left);
        busy();
        return moved;
      },
      enter: shared.enter,
      entered(...came) {
        shared.entered(...came);
        busy();
      },
    };

    function repeat(): void {
      let isNeeded = false;
      try {
        isNeeded = cluster().play();
      } catch (error) {
        log.error({ err: error }, 'playing bursts in order failed');
      }
      for (const talkgroup of shared.repeating()) {
        isNeeded = true;
        try {
          shared.repeat(talkgroup, clock.nowMs());
        } catch (error) {
          log.error({ talkgroup: talkgroup.id, err: error }, 'a shared floor failed');
        }
      }
      if (isNeeded || timer === null) return;
      clock.stop(timer);
      timer = null;
    }

    /**
     * Something may have to be repeated, or is held back. The first repetition ends the timer when there is nothing: a question
     * here would walk all floors, and a relay that comes or goes asks it for each floor.
     */
    function busy(): void {
      if (timer === null && !isClosed) timer = clock.every(REPEAT_MS, repeat);
    }

    /** After each call there may be something to repeat. */
    function watched(all: SharedAuthority): Authority {
      return {
        ...all,
        tell(...told) {
          all.tell(...told);
          busy();
        },
        change(...changed) {
          all.change(...changed);
          busy();
        },
      };
    }

    return {
      placedOf: shared.placedOf,
      askedWith(talkgroup, session) {
        const claim = shared.claimOf(talkgroup, session);
        return claim && { priority: claim.priority, isAdmin: claim.isAdmin };
      },
      rankOf: (talkgroup, talker, claim) => rankOf(claimOf({ talker, claim }, talkgroup, services.bursts)),
      viewed(...viewed) {
        shared.viewed(...viewed);
        busy();
      },
      part(talkgroup, from, { number: _, claims, ...part }, at) {
        const told: Part = {
          ...part,
          claims: claims.map((claim) => ({ ...claim, user: claim.user as UserId })),
        };
        shared.receivePart(talkgroup, from, told, at);
        busy();
      },
      verdicts(talkgroup, from, { number: _, ...verdicts }, at) {
        shared.receiveVerdicts(talkgroup, from, verdicts, at);
        busy();
      },
      wanted(talkgroup, from, { settings }, at) {
        shared.wanted(talkgroup, from, settings, at);
        busy();
      },
      ready: shared.ready,
      fenced: shared.fenced,
      ended: shared.ended,
      missed: ({ feed }, talker, frames) => fanout.tell(feed, missedFrames(talker, frames)),
      busy,
      isUsed: shared.isUsed,
      forget: shared.forget,
    };
  }

  return {
    authority: deciding,
    join,
    /** What the session has of this floor goes with it to another relay. null: it ends here. */
    leave: (...left: Parameters<SharedAuthority['leave']>) => shares?.leave(...left) ?? null,
    /** It came from another relay, where it had this. `entered` must follow when the session knows of it. */
    enter: (...came: Parameters<SharedAuthority['enter']>): Entered => shares?.enter(...came) ?? NO_FLOOR,
    entered: (...came: Parameters<SharedAuthority['entered']>) => shares?.entered(...came),
    counts,
    close(): void {
      isClosed = true;
      if (timer !== null) clock.stop(timer);
      timer = null;
    },
  };
}

type StreamTurns = NonNullable<ReturnType<Cluster<Talkgroup>['streamOf']>>['turns'];

type RemoteBursts = LocalAuthorityOptions['bursts'];

const turnsIn = (turns: StreamTurns, talkgroup: Talkgroup, bursts: RemoteBursts): Turns => ({
  get top() {
    return turns.order.top;
  },
  get seen() {
    return turns.order.seen;
  },
  get played(): PlayedTalk | null {
    const { remote } = turns;
    if (remote === null) return null;
    const { relay, turn, startedAtMs, frameAtMs } = remote;
    return { relay, claim: claimOf(remote, talkgroup, bursts), turn, startedAtMs, frameAtMs };
  },
  isPast: (turn) => turns.order.isPast(turn),
  grant: (placed, rank, nowMs) => turns.grant(placed, rank, nowMs),
  withdraw: (turn) => turns.order.withdraw(turn),
  interrupt: (nowMs) => turns.order.interrupt(nowMs),
});

/** What the talker has the floor with. A relay of an earlier version tells what shows alone: above 3 only dispatchers and administrators come. */
function claimOf(
  { talker, claim }: Pick<NonNullable<StreamTurns['remote']>, 'talker' | 'claim'>,
  talkgroup: Talkgroup,
  bursts: RemoteBursts,
): Claim {
  const { session, user_id, priority, emergency } = heardNow(talker, bursts.remoteIn(talkgroup));
  const isAdmin = !emergency && (priority > 3 || talkgroup.floorMode === 'broadcast');
  const asked = claim ?? { priority, isAdmin };
  return { session, user: user_id as UserId, ...asked, inEmergency: emergency };
}

/** As its frames show it, while it plays here: an emergency may be raised or cleared in the midst of a burst. */
function heardNow(talker: RunningTalker, playing: ReadonlySet<RemoteTalk>): RunningTalker {
  for (const { talker: heard } of playing)
    if (heard.session === talker.session && heard.burst === talker.burst) return heard;
  return talker;
}

/** Of a talkgroup that no other relay can hear. */
const NO_TURNS: Turns = {
  top: NO_TURN,
  seen: NO_TURN,
  played: null,
  isPast: () => false,
  grant: () => 'ready',
  withdraw() {},
  interrupt() {},
};
