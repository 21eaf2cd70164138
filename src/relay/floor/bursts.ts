// Holds the running bursts by talkgroup: those of this relay, and those of other relays that are played here.
import type { RunningTalker } from '../../protocol/bodies.js';
import type { Talkgroup } from '../members/members.js';
import type { Talk } from './talk.js';

/** A burst of another relay. */
export interface RemoteTalk {
  readonly talkgroup: Talkgroup;
  readonly talker: Readonly<RunningTalker>;
  /** When it was announced here (monotonic ms). */
  readonly startedAtMs: number;
}

const NONE: ReadonlySet<never> = new Set();

/** Only what runs: a talkgroup leaves with its last burst. */
export class Bursts {
  private readonly running = new Map<Talkgroup, Set<Talk>>();
  private readonly remote = new Map<Talkgroup, Set<RemoteTalk>>();
  /** Talkgroups in which a burst of another relay began since the last call of `remoteLately`, or runs. */
  private readonly lately = new Set<Talkgroup>();
  private readonly began: () => void;

  /** `began` is called when a burst begins here, of this relay or of another. */
  constructor(began: () => void = () => {}) {
    this.began = began;
  }

  /** The talks of this relay with a running burst there, the oldest burst first. */
  in(talkgroup: Talkgroup): ReadonlySet<Talk> {
    return this.running.get(talkgroup) ?? NONE;
  }

  /** The running bursts of other relays there, in the order in which they were announced here. */
  remoteIn(talkgroup: Talkgroup): ReadonlySet<RemoteTalk> {
    return this.remote.get(talkgroup) ?? NONE;
  }

  /** Number of running bursts there. */
  countIn(talkgroup: Talkgroup): number {
    return this.in(talkgroup).size + this.remoteIn(talkgroup).size;
  }

  /** Number of running bursts of this relay. */
  get count(): number {
    let count = 0;
    for (const talks of this.running.values()) count += talks.size;
    return count;
  }

  add(talk: Talk): void {
    this.began();
    const talks = this.running.get(talk.talkgroup);
    if (talks === undefined) this.running.set(talk.talkgroup, new Set([talk]));
    else talks.add(talk);
  }

  delete(talk: Talk): void {
    const talks = this.running.get(talk.talkgroup);
    talks?.delete(talk);
    if (talks?.size === 0) this.running.delete(talk.talkgroup);
  }

  addRemote(burst: RemoteTalk): void {
    this.began();
    const { talkgroup } = burst;
    const bursts = this.remote.get(talkgroup);
    if (bursts === undefined) this.remote.set(talkgroup, new Set([burst]));
    else bursts.add(burst);
    this.lately.add(talkgroup);
  }

  deleteRemote(burst: RemoteTalk): void {
    const bursts = this.remote.get(burst.talkgroup);
    bursts?.delete(burst);
    if (bursts?.size === 0) this.remote.delete(burst.talkgroup);
  }

  /** Talkgroups with a burst of another relay now, or since the last call. */
  remoteLately(): readonly Talkgroup[] {
    if (this.lately.size === 0) return [];
    const lately = [...this.lately];
    for (const talkgroup of lately) if (!this.remote.has(talkgroup)) this.lately.delete(talkgroup);
    return lately;
  }
}
