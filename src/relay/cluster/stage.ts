// Describes what the cluster uses of its relay: the talkgroups with receivers here, and where others' bursts are played.
import type { Member, RunningTalker } from '../../protocol/bodies.js';
import type { EndCode, FloorMode, Reach } from '../../protocol/codes.js';
import type { LatestFix } from '../../protocol/fix.js';
import type { Draft } from '../../protocol/server-messages.js';
import type { Turn } from '../../protocol/turn.js';
import type { Elsewhere, OwnTurns } from '../delivery/elsewhere.js';
import type { Emergencies, Settings, UnsavedEmergency } from './bodies.js';
import type { PartBody, VerdictsBody, WantBody } from './floor-bodies.js';
import type { MovableSessions } from './moves/moves.js';
import type { AskedWith, Placed } from './turns/plays.js';

/** A talkgroup with receivers here. */
export interface Shared {
  readonly id: string;
  readonly number: number;
  readonly floorMode: FloorMode;
  readonly feed: {
    /** null while no other relay has receivers of it. */
    elsewhere: Elsewhere | null;
    /** null: this talkgroup is not shared with other relays. */
    turns: OwnTurns | null;
    /** Sessions of the other relays. */
    onlineElsewhere: number;
    /** Some of them watch. */
    isWatchedElsewhere: boolean;
  };
}

/** A burst of another relay, as it is played here. */
export interface PlayedBurst {
  /** One frame in a buffer of its own, as its relay stamped it. `index` counts the frames of the burst from 1. */
  frame(message: ArrayBuffer, index: number, nowMs: number): void;
  /** This number of its frames was lost between the relays, or came too late. */
  missed(frames: number, nowMs: number): void;
  end(code: EndCode, ended: { readonly durationMs: number | null; readonly frames: number }): void;
  /** The talkgroup has no receiver here any more. */
  drop(): void;
}

/** What relays tell each other of emergencies that are not stored yet. `relay` is the id of the other one. */
export interface EmergencyStage<Talkgroup extends Shared> {
  /** Those of this relay. */
  unsaved(talkgroup: Talkgroup, max: number): Emergencies;
  /** One of the other relay, as it is there now. */
  heard(talkgroup: Talkgroup, told: UnsavedEmergency, relay: number): void;
  /** The other relay has stored it. */
  stored(id: string, relay: number): void;
  /** It had not stored it, and cannot be reached any more. */
  lost(id: string, relay: number): void;
  /** The talkgroup has no receiver here any more. */
  forget(id: string, relay: number): void;
}

/** The floors of `single` and `broadcast`, which relays decide together. `from` is the id of the other relay. */
export interface FloorStage<Talkgroup extends Shared> {
  /** How the home placed the burst of this session. null: no home did. */
  placedOf(talkgroup: Talkgroup, session: number): Placed | null;
  /** What the session of this relay asked for the floor with. null: it does not have it. */
  askedWith(talkgroup: Talkgroup, session: number): AskedWith | null;
  /** The rank of a burst of another relay. `claim` is null when its relay did not tell. */
  rankOf(talkgroup: Talkgroup, talker: RunningTalker, claim: AskedWith | null): number;
  /** Which relays share the talkgroup, or its home, may have changed. */
  viewed(talkgroup: Talkgroup, nowMs: number): void;
  part(talkgroup: Talkgroup, from: number, part: PartBody, nowMs: number): void;
  verdicts(talkgroup: Talkgroup, from: number, verdicts: VerdictsBody, nowMs: number): void;
  wanted(talkgroup: Talkgroup, from: number, want: WantBody, nowMs: number): void;
  /** The grant with this turn may begin. */
  ready(talkgroup: Talkgroup, turn: Turn, nowMs: number): void;
  /** Frames of a burst that ended here go on. */
  fenced(talkgroup: Talkgroup, nowMs: number): void;
  /** Another relay says that this burst of it ended. */
  ended(talkgroup: Talkgroup, burst: { session: number; turn: Turn; code: EndCode }, nowMs: number): void;
  /** So many frames of a burst that did not begin here are not played. */
  missed(talkgroup: Talkgroup, talker: RunningTalker, frames: number): void;
  /** The order of a talkgroup holds something back: `Stream.tick` is to be called. */
  busy(): void;
  /** Sessions here have something of the floor. */
  isUsed(talkgroup: Talkgroup): boolean;
  /** The talkgroup has no receiver here any more. */
  forget(talkgroup: Talkgroup): void;
}

export interface Stage<Talkgroup extends Shared> {
  /** Sessions here that get its events. */
  online(talkgroup: Talkgroup): number;
  /** The running bursts of sessions here. */
  running(talkgroup: Talkgroup): readonly Draft<RunningTalker>[];
  /** A burst of another relay begins, or began before. */
  begin(talkgroup: Talkgroup, burst: RunningTalker, nowMs: number): PlayedBurst;
  /** Whether the session with this number is here, so that no other relay has a burst of it. */
  isHere(session: number): boolean;
  /** Times that the session of this relay with this number has moved. */
  movesOf(session: number): number;
  /** The sessions that may move to another relay. */
  readonly sessions: MovableSessions;
  /** The first of these sessions above `after`. `next` is null at the end. */
  page(
    talkgroup: Talkgroup,
    after: number,
    limit: number,
  ): { readonly members: readonly Member[]; readonly next: number | null };
  /** Sessions elsewhere came or left. `feed.onlineElsewhere` is their number. */
  counted(talkgroup: Talkgroup): void;
  readonly emergencies: EmergencyStage<Talkgroup>;
  readonly floor: FloorStage<Talkgroup>;
  /** Other relays are heard by this one that were not, or the other way round. */
  reached(reach: Reach): void;
  settings(talkgroup: Talkgroup): Settings;
  /** Another relay has these. */
  settled(talkgroup: Talkgroup, settings: Settings): void;
  /** Whether a session here watches the talkgroup. */
  isWatched(talkgroup: Talkgroup): boolean;
  /** Sessions elsewhere watch it from now on, or none does any more: `feed.isWatchedElsewhere`. */
  watchedElsewhere(talkgroup: Talkgroup, isWatched: boolean): void;
  /** These sessions of another relay came and left. */
  toldElsewhere(talkgroup: Talkgroup, joined: readonly Member[], left: readonly number[]): void;
  /** A change notification of another relay, as text. */
  noticed(text: string): void;
  /** Another relay has stored these positions. */
  located(fixes: readonly LatestFix[]): void;
  /** How long (ms) a message was on its way. Now and then. */
  delayed(ms: number): void;
}
