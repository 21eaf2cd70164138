// Decides who has the floor: keeps the floor of each talkgroup and steps its machine.
import type { FloorCounts } from '../figures/floor-counts.js';
import type { Talkgroup } from '../members/members.js';
import type { Bursts } from './bursts.js';
import { limitsBeside, type TalkLimits } from './capacity.js';
import { countStep } from './count-step.js';
import { step } from './machine.js';
import { emptyFloor, type Floor, type FloorEvent, isIdle, leaving, type Outcome } from './state.js';

/** What became of the claim of one session, or of the claims of one user in an emergency. */
export type ClaimEvent = Exclude<FloorEvent, { readonly kind: 'settings' | 'tick' }>;

/** What was decided about a session. The verdicts of one decision are carried out in their order. */
export type Verdict =
  | Exclude<Outcome, { readonly kind: 'denied' }>
  /** `isFirstFrame`: it asked by a frame, not by FLOOR_REQUEST. */
  | (Extract<Outcome, { readonly kind: 'denied' }> & { readonly isFirstFrame: boolean })
  /** There was no decision in time: it may ask again after `retryMs`, and its frames are dropped until then. */
  | {
      readonly kind: 'denied';
      readonly session: number;
      readonly code: 'retry_later';
      readonly retryMs: number;
      readonly isFirstFrame: boolean;
    }
  /** It has nothing of the floor any more. Comes last, also when another verdict says it. */
  | { readonly kind: 'gone'; readonly session: number };

/** Carries out the verdicts of one decision on a talkgroup's floor, in order. */
export type OnVerdicts = (talkgroup: Talkgroup, verdicts: readonly Verdict[], nowMs: number) => void;

/**
 * Decides for the sessions of this relay. It knows them by their numbers only, and answers through `onVerdicts`.
 *
 * The answer to `frame` is `started` or `denied`, or `revoked` when a burst of another node overtook the grant. The answer
 * to `request` is `granted`, `queued` or `denied`. When another node decides, it may come after `tell` returned. It must
 * come: as `retry_later` when there is no decision in time. Until then the session tells no other `frame` or `request`
 * about this talkgroup. A session that has the floor is answered before `tell` returns. So is everything else.
 *
 * `release`, `removed`, `lost` with `forGood`, and `close` withdraw what a session asks: no answer comes any more.
 * `emergency` also changes the claims that ask. When a socket dies, the session goes on asking.
 *
 * `onVerdicts` may call `tell` before it returns.
 */
export interface Authority {
  /** Tells what became of claims on this floor, in order. */
  tell(talkgroup: Talkgroup, claims: readonly ClaimEvent[], nowMs: number): void;
  /** The floor mode or the talk limit of the talkgroup changed. */
  change(talkgroup: Talkgroup, nowMs: number): void;
  /** The talkgroup is deleted: ends everything, and grants nothing. */
  close(talkgroup: Talkgroup, nowMs: number): void;
  /** Ends what took too long. Forgets a floor that is idle. */
  expire(talkgroup: Talkgroup, nowMs: number): void;
  /** Talkgroups with a floor that is not free, or was not free since the last `expire`: a burst may be one frame. */
  active(): Iterable<Talkgroup>;
  /** Places in the queues of all floors. */
  queued(): number;
}

export interface LocalAuthorityOptions {
  readonly counts: FloorCounts;
  readonly limits: TalkLimits;
  /** Those of other relays count toward the limits. */
  readonly bursts: Pick<Bursts, 'remoteIn'>;
  readonly onVerdicts: OnVerdicts;
}

/** The authority on this relay: its verdicts come before `tell` returns. */
export function createLocalAuthority(options: LocalAuthorityOptions): Authority {
  const { counts, limits, bursts, onVerdicts } = options;
  const floors = new Map<Talkgroup, Floor>();

  const floorOf = (talkgroup: Talkgroup) =>
    floors.get(talkgroup) ?? emptyFloor(talkgroup.floorMode, talkgroup.maxTalkMs);

  function decide(talkgroup: Talkgroup, event: FloorEvent, nowMs: number): void {
    const before = floorOf(talkgroup);
    const user = 'claim' in event ? event.claim.user : undefined;
    const left = limitsBeside(limits, bursts.remoteIn(talkgroup), user);
    const after = step(before, event, nowMs, left);
    countStep(counts, { before, event, after, nowMs });
    floors.set(talkgroup, after.floor);
    const isFirstFrame = event.kind === 'frame';
    const verdicts: Verdict[] = after.outcomes.map((outcome) =>
      outcome.kind === 'denied' ? { ...outcome, isFirstFrame } : outcome,
    );
    if (after.floor !== before)
      for (const session of leaving(before, after.floor)) verdicts.push({ kind: 'gone', session });
    onVerdicts(talkgroup, verdicts, nowMs);
  }

  return {
    tell(talkgroup, claims, nowMs) {
      for (const claim of claims) decide(talkgroup, claim, nowMs);
    },
    change(talkgroup, nowMs) {
      const { floorMode, maxTalkMs } = talkgroup;
      const event = { kind: 'settings', mode: floorMode, maxTalkMs } as const;
      // A floor that no session uses takes the settings of the talkgroup when it is made.
      if (floors.has(talkgroup)) decide(talkgroup, event, nowMs);
    },
    close(talkgroup, nowMs) {
      const { holders, waiting } = floorOf(talkgroup);
      const ending = [
        // The last in the queue first: none moves up.
        ...waiting.map(({ session }) => session).reverse(),
        ...holders.map(({ claim }) => claim.session),
      ];
      for (const session of ending) decide(talkgroup, { kind: 'removed', session, code: 'deleted' }, nowMs);
    },
    expire(talkgroup, nowMs) {
      decide(talkgroup, { kind: 'tick' }, nowMs);
      if (isIdle(floorOf(talkgroup))) floors.delete(talkgroup);
    },
    active: () => floors.keys(),
    queued() {
      let count = 0;
      for (const { waiting } of floors.values()) count += waiting.length;
      return count;
    },
  };
}
