// Describes what the cluster uses of its relay, and what the relay uses of the cluster.
import type { Reach } from '../../protocol/codes.js';
import type { LatestFix } from '../../protocol/fix.js';
import type { Clock } from '../clock.js';
import type { MembersAnswers } from './asks.js';
import type { Bus } from './bus.js';
import type { ClusterFigures } from './counts.js';
import type { FloorBodies } from './floor-bodies.js';
import type { Moves } from './moves/moves.js';
import type { Log } from './peers/relay-log.js';
import type { Shared, Stage } from './stage.js';
import type { Stream } from './stream.js';

export interface ClusterOptions<Talkgroup extends Shared> {
  /** Id of this relay: no other relay ever has it. */
  readonly relay: number;
  /** Tag (u32) of the database that gave the id. The same at its other relays, and another one at those of another. */
  readonly database: number;
  readonly bus: Bus;
  /** Of all relay threads of the process, u32. null: this is its only relay. */
  readonly node: number | null;
  /** Tags (u32) of the keys whose tokens this relay accepts. None: it does not tell them. */
  readonly keys: readonly number[];
  /** The numbers of its messages about talkgroups follow this one. */
  readonly lastSeq: number;
  readonly stage: Stage<Talkgroup>;
  readonly clock: Clock;
  /** Monotonic ms without the time that this relay stood still. */
  readonly fairMs: () => number;
  readonly log: Log;
}

export interface Cluster<Talkgroup extends Shared> {
  /** A session is about to get their events. Resolves when the other relays have said what they have. null: at once. */
  expect(talkgroups: readonly Talkgroup[]): Promise<void> | null;
  /** A session gets the talkgroup's events from now on. */
  came(talkgroup: Talkgroup): void;
  /** A session does not get them any more. */
  went(talkgroup: Talkgroup): void;
  /** Its floor mode may have changed. */
  changed(talkgroup: Talkgroup): void;
  /** It is deleted. */
  deleted(talkgroup: Talkgroup): void;
  /** What is said about the talkgroup. undefined: no session here gets its events. */
  streamOf(talkgroup: Talkgroup): Stream<Talkgroup> | undefined;
  /** Which other relays hear this one. */
  reach(): Reach;
  /** Hands a change notification to the other relays. */
  notice(text: string): void;
  /** Members at the other relays, a page of each that answers in time. null: there are no such relays. */
  membersElsewhere(talkgroup: Talkgroup, after: number, limit: number): Promise<MembersAnswers> | null;
  /** Fetches sessions from other relays. */
  readonly moves: Pick<Moves, 'find' | 'take'>;
  /** Whether a relay of another node can be reached that goes on. */
  hasPeers(): boolean;
  /** This relay ends soon: from now on others decide floors. */
  drain(): void;
  /** Asks one relay what it has of the talkgroup: it may have no receivers any more, and its word for that may be lost. */
  ask(talkgroup: Talkgroup, relay: number): void;
  /** Says something about a floor to one relay. */
  tellFloor<Name extends 'part' | 'verdicts' | 'want'>(
    relay: number,
    name: Name,
    body: FloorBodies[Name],
  ): void;
  /** Whether sessions here want the positions that other relays store. */
  watchFixes(isWanted: boolean): void;
  /** Whether such sessions are at another relay. */
  areFixesWanted(): boolean;
  /** Hands stored positions to the relays with such sessions. Those for which `isUrgent` also before a relay has said so. */
  tellFixes(fixes: readonly LatestFix[], isUrgent: (fix: LatestFix) => boolean): void;
  /** Gives up waiting for bursts that do not come. Must be called every 20 ms or more often while the answer is true. */
  play(): boolean;
  figures(): ClusterFigures;
  close(): Promise<void>;
}
