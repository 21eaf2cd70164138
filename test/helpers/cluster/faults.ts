// Faults that a test plants into relays in virtual time, to show that the histories find them.
import { NO_TURN } from '../../../src/protocol/turn.js';
import { Peers } from '../../../src/relay/nodes/peers/peers.js';
import { SharedFloor } from '../../../src/relay/shared-floor/floor.js';
import { homeOf } from '../../../src/relay/shared-floor/home.js';
import { HomeSide } from '../../../src/relay/shared-floor/home-side.js';
import type { FloorLink, View } from '../../../src/relay/shared-floor/link.js';
import { PartSender } from '../../../src/relay/shared-floor/part-sender.js';
import { SharedState } from '../../../src/relay/shared-floor/state.js';
import { Order } from '../../../src/relay/shared-floor/turns/order.js';
import { Turns } from '../../../src/relay/shared-floor/turns/turns.js';
import { inside } from './inside.js';

export const faults = [
  'no mutual hearing',
  'no top',
  'a fenced burst is not told',
  'a relay answers that is not the home',
  'two relays find different homes',
  'a grant is not held back',
  'an overtaken burst is played',
  'parts are not repeated',
  'old parts are taken for new ones',
  'a refusal is not kept for its relay',
  'a revoked grant goes on',
  'a revoked first frame is not answered',
  'an emergency counts as other speech',
  'a healed split is seen late',
] as const;
export type Fault = (typeof faults)[number];

/** A relay that was the home answers for this time (ms) more. */
const STALE_HOME_MS = 2000;
/** A healed split is seen so much later (ms), and the two are one again after more than 500. */
const LATE_MS = 450;

type Part = ReturnType<SharedState['partOf']>;

/** Plants a fault in the code of every relay of the next history. The answer takes it out again. */
export function plant(fault: Fault | null): () => void {
  const told = (change: (part: Part) => Part) => {
    const { partOf } = SharedState.prototype;
    return replace(SharedState.prototype, 'partOf', function (this: SharedState, ...given) {
      return change(partOf.apply(this, given));
    });
  };
  switch (fault) {
    case null:
      return () => {};
    case 'no mutual hearing': {
      const { heard } = Peers.prototype;
      return replace(Peers.prototype, 'heard', function (this: Peers, relay, beacon, sent, now) {
        const { own } = this as unknown as { own: number }; // private
        const isHeard = beacon.heard.some(([id]) => id === own);
        const echo = isHeard ? beacon : { ...beacon, heard: [[own, Math.floor(now.nowMs), 0] as const] };
        return heard.call(this, relay, echo as typeof beacon, sent, now);
      });
    }
    case 'no top':
      return told((part) => ({ ...part, top: NO_TURN, isFenced: false }));
    case 'a fenced burst is not told':
      return told((part) => ({ ...part, isFenced: false }));
    case 'an emergency counts as other speech':
      return told((part) => ({
        ...part,
        claims: part.claims.map((claim) => ({ ...claim, inEmergency: false })),
      }));
    case 'a relay answers that is not the home':
      return viewed(({ relay }, known) => {
        const before = { atMs: Number.NEGATIVE_INFINITY };
        return (nowMs) => {
          const view = known();
          if (view.home === relay) before.atMs = nowMs;
          return nowMs - before.atMs < STALE_HOME_MS ? { ...view, home: relay } : view;
        };
      });
    case 'two relays find different homes':
      return viewed(({ relay }, known) => () => {
        const { relays } = known();
        return { relays, home: homeOf(relays, relay % 2) };
      });
    case 'a grant is not held back':
      return replace(Turns.prototype, 'grant', () => 'ready');
    case 'an overtaken burst is played':
      return replace(Order.prototype, 'isPast', () => false);
    case 'parts are not repeated':
      return replace(PartSender.prototype, 'repeat', () => {});
    case 'a refusal is not kept for its relay':
      return replace(HomeSide.prototype, 'refuse', () => {});
    case 'old parts are taken for new ones': {
      const { heard } = HomeSide.prototype;
      return replace(HomeSide.prototype, 'heard', function (this: HomeSide, relay, part, ...rest) {
        return heard.call(this, relay, { ...part, v: 1 }, ...rest);
      });
    }
    case 'a revoked grant goes on': {
      const { receiveVerdicts } = SharedFloor.prototype;
      return replace(
        SharedFloor.prototype,
        'receiveVerdicts',
        function (this: SharedFloor, from, { verdicts, ...rest }, nowMs) {
          const kept = verdicts.filter(({ is }) => is !== 'revoked');
          return receiveVerdicts.call(this, from, { ...rest, verdicts: kept }, nowMs);
        },
      );
    }
    case 'a revoked first frame is not answered': {
      const { tell } = SharedState.prototype;
      return replace(SharedState.prototype, 'tell', function (this: SharedState, verdicts, nowMs) {
        const isTold = ({ kind }: (typeof verdicts)[number]) => kind !== 'revoked';
        // What runs is ended: only what asks is not told.
        const isEnded = verdicts.some(({ kind }) => kind === 'ended');
        return tell.call(this, isEnded ? verdicts : verdicts.filter(isTold), nowMs);
      });
    }
    case 'a healed split is seen late': {
      const { heard } = Peers.prototype;
      const sinceMs = new WeakMap<Peers, Map<number, number>>();
      return replace(Peers.prototype, 'heard', function (this: Peers, relay, beacon, sent, now) {
        const since = sinceMs.get(this) ?? new Map<number, number>();
        sinceMs.set(this, since);
        const { own } = this as unknown as { own: number }; // private
        const isHeard = beacon.heard.some(([id]) => id === own);
        if (this.isUp(relay) || !isHeard) since.delete(relay);
        else if (!since.has(relay)) since.set(relay, now.nowMs);
        const isLate = now.nowMs - (since.get(relay) ?? Number.NEGATIVE_INFINITY) < LATE_MS;
        return heard.call(this, relay, isLate ? { ...beacon, heard: [] } : beacon, sent, now);
      });
    }
  }
}

/** Another view of who decides, for each relay. */
function viewed(change: (link: FloorLink, known: () => View) => (nowMs: number) => View): () => void {
  inside.plant((link) => {
    const { view } = link;
    let talkgroup: Parameters<FloorLink['view']>[0] | null = null;
    const known = () => view(talkgroup as NonNullable<typeof talkgroup>); // set below
    const changed = change(link, known);
    (link as { view: FloorLink['view'] }).view = (of) => {
      talkgroup = of;
      return changed(inside.nowMs());
    };
  });
  return () => inside.plant();
}

function replace<Of extends object, Name extends keyof Of>(of: Of, name: Name, by: Of[Name]): () => void {
  const before = of[name];
  of[name] = by;
  return () => {
    of[name] = before;
  };
}
