// Looks into relays that share a floor: what the judge must know and no radio hears.
import type { Turn } from '../../../src/protocol/turn.js';
import { Stream } from '../../../src/relay/cluster/stream.js';
import { SharedFloor } from '../../../src/relay/shared-floor/floor.js';
import type { FloorLink, View } from '../../../src/relay/shared-floor/link.js';
import type { BurstName } from '../../../src/relay/shared-floor/turns/plays.js';

/** What plays, and the highest turn that plays or ended. */
export interface Playing {
  readonly on: { readonly burst: BurstName; readonly turn: Turn | null } | null;
  readonly top: Turn;
}

/** By the id of the relay. */
const streams = new Map<number, Stream>();
const floors = new Map<number, SharedFloor>();
/** Called with each link when it is first seen: a fault is planted there. */
let onLink: (link: FloorLink) => void = () => {};
let virtualMs = () => 0;

let isWatching = false;

/** Sees the parts of each relay from now on. */
function watch(): void {
  if (isWatching) return;
  isWatching = true;
  const { connect, moved } = Stream.prototype;
  const see = (stream: Stream) => {
    const { services } = stream as unknown as { services: { relay: number } }; // private
    streams.set(services.relay, stream);
  };
  // Called when another relay with members comes or goes.
  Stream.prototype.connect = function () {
    see(this);
    connect.call(this);
  };
  // Called when a session comes or goes, also while no other relay has members.
  Stream.prototype.moved = function () {
    see(this);
    return moved.call(this);
  };
  const { look } = SharedFloor.prototype;
  // Every call of a shared floor begins with it.
  SharedFloor.prototype.look = function (nowMs) {
    const { link } = this.state.services;
    const known = floors.get(link.relay);
    if (known?.state.services.link !== link) onLink(link);
    if (known !== this) floors.set(link.relay, this);
    look.call(this, nowMs);
  };
}

export const inside = {
  /** From now on `planted` gets each link. */
  plant(planted: (link: FloorLink) => void = () => {}): void {
    onLink = planted;
  },
  /** A history begins, at this time. */
  begin(nowMs: () => number): void {
    watch();
    streams.clear();
    floors.clear();
    virtualMs = nowMs;
  },
  nowMs: () => virtualMs(),
  /** The relay has no members any more. */
  forget(relay: number): void {
    streams.delete(relay);
    floors.delete(relay);
  },
  /** The home and the relays that share the floor, by the view of this relay. */
  view(relay: number): View {
    const stream = streams.get(relay);
    if (stream === undefined) return { home: relay, relays: [relay] };
    const link = floors.get(relay)?.state.services.link;
    return link?.view(stream.talkgroup) ?? { home: stream.home, relays: [relay, ...stream.relays] };
  },
  order: (relay: number): Playing | null => streams.get(relay)?.turns.order ?? null,
  /** How the home placed the grant or the burst of the session. */
  placedOf: (relay: number, session: number) => floors.get(relay)?.state.of(session).placed ?? null,
};
