// What an episode leaves behind for the invariants to judge: facts as they were seen from outside, nothing concluded.
// All times are milliseconds of the runner's one monotonic clock.

/** Of one frame (ms). */
export const FRAME_MS = 40;

/** One frame as it came out of a radio's socket. `number` and `sentAtMs` are what its talker wrote into the payload. */
export interface HeardFrame {
  readonly kind: 'frame';
  /** The talkgroup's number. */
  readonly talkgroup: number;
  /** The session the relay stamped. */
  readonly sender: number;
  readonly burst: number;
  /** As its talker numbered it, from 0 in each burst. */
  readonly sequence: number;
  /** Who wrote the payload: the index of a radio. null: the payload is not what any talker wrote. */
  readonly talker: number | null;
  /** Each talker numbers all its frames, over all sockets and talkgroups, from 1. */
  readonly number: number;
  readonly sentAtMs: number;
  readonly heardAtMs: number;
}

/** A burst by its name in the whole cluster. */
export interface BurstName {
  readonly talkgroup: number;
  readonly sender: number;
  readonly burst: number;
}

/** What came over one socket, in the order of its coming, and when it came. */
export type Arrival = { readonly heardAtMs: number } & Content;

/** The same without the time. */
export type Content =
  | HeardFrame
  | (BurstName & { readonly kind: 'started' })
  | (BurstName & { readonly kind: 'ended'; readonly frames: number; readonly code: string })
  /** Frames of the burst that were lost between nodes. */
  | (BurstName & { readonly kind: 'missed'; readonly missed: number })
  /** All of a talkgroup, with its running bursts and how many frames of each went before. */
  | {
      readonly kind: 'snapshot';
      readonly talkgroup: number;
      readonly bursts: readonly (BurstName & { readonly frames: number })[];
      /** It was sent unasked: the relay says that this receiver may have missed something. */
      readonly isUnasked: boolean;
    }
  | { readonly kind: 'lag'; readonly talkgroup: number; readonly missed: number }
  | { readonly kind: 'left'; readonly talkgroup: number }
  /** ERROR, FLOOR_DENIED or FLOOR_REVOKED: some frame of ours was not taken. null: of no talkgroup in particular. */
  | { readonly kind: 'refused'; readonly talkgroup: number | null; readonly code: string };

/** One socket of one radio, from its WELCOME or the episode's start to its close or the episode's end. */
export interface Line {
  readonly radio: number;
  readonly session: number;
  readonly arrivals: readonly Arrival[];
  /** Frames handed to the socket, by number of talkgroup. */
  readonly sent: ReadonlyMap<number, number>;
  /** null while open. */
  readonly closed: { readonly code: number; readonly reason: string } | null;
}

/** While it lasts no radio may hear this one there, and this one hears none: from the 200 to the next request that may restore it. */
export interface Withdrawal {
  readonly radio: number;
  /** The talkgroup's number. null: all, for the device is disabled. */
  readonly talkgroup: number | null;
  readonly fromMs: number;
  readonly untilMs: number;
}

export interface RequestRecord {
  readonly what: string;
  readonly startedAtMs: number;
  /** When TCP had the connection. null: it was refused. */
  readonly connectedAtMs: number | null;
  readonly endedAtMs: number;
  /** null: no answer. */
  readonly status: number | null;
  /** The error of the answer, or of the connection. */
  readonly error: string | null;
}

/** A time in which something was so. */
export interface Span {
  readonly fromMs: number;
  readonly untilMs: number;
}

/** A time in which the server could not act: from SIGSTOP to SIGCONT, or from SIGKILL or SIGTERM to the next `Ready`. */
export interface Absence extends Span {
  readonly kind: 'stopped' | 'killed' | 'restarted';
}

export interface Exit {
  readonly atMs: number;
  /** Exit code, or the signal that ended it. */
  readonly how: number | string | null;
  /** What the runner had asked for. */
  readonly asked: 'nothing' | 'kill' | 'term';
  /** Since SIGTERM. 0 otherwise. */
  readonly afterMs: number;
}

/** What the server's process holds. */
export interface Footprint {
  readonly residentMiB: number;
  readonly descriptors: number;
}

/** One line of the ledger. A key has one value at a time, and one write or read at a time. */
export interface Entry {
  readonly key: string;
  readonly value: string;
  /**
   * Of a write: `stored`, acknowledged. `unknown`, said so, or the connection broke. `refused`, said that nothing was
   * done. `found`: it was read.
   */
  readonly outcome: 'stored' | 'unknown' | 'refused' | 'found';
}

export interface History {
  readonly lines: readonly Line[];
  /** Which radio a session number belongs to. Over all episodes. */
  readonly radioOfSession: ReadonlyMap<number, number>;
  readonly withdrawals: readonly Withdrawal[];
  /** Radios to which something was done, by themselves or by their link. Not what befell the whole server. */
  readonly touched: ReadonlySet<number>;
  readonly requests: readonly RequestRecord[];
  /** Of these, those to /healthz. They are not among `requests`. */
  readonly health: readonly RequestRecord[];
  readonly absences: readonly Absence[];
  /** When the runner itself stood still. */
  readonly stalls: readonly Span[];
  readonly exits: readonly Exit[];
  /** Log lines of level error and fatal. */
  readonly faults: readonly string[];
  readonly footprint: { readonly baseline: Footprint; readonly after: Footprint };
  /** A burst may be announced when it is running already, as behind a cut between nodes. */
  readonly startsLate: boolean;
  /** Numbers of the talkgroups whose floor may be decided elsewhere. First frames are dropped while that takes long. */
  readonly sharedFloors: ReadonlySet<number>;
  /** Answers that a right question should never get. */
  readonly surprises: readonly string[];
  /** In the order of their answers. The last of each key was read when all was quiet again. */
  readonly entries: readonly Entry[];
  /** What each key held before the first of them. */
  readonly before: ReadonlyMap<string, string>;
}

/** The name of a burst in one text. */
export const nameOf = ({ talkgroup, sender, burst }: BurstName) => `${talkgroup}/${sender}/${burst}`;

/** Brings `running`, the names of running bursts, up to date with what came next. */
export function follow(running: Set<string>, content: Content): void {
  if (content.kind === 'started') running.add(nameOf(content));
  if (content.kind === 'ended') running.delete(nameOf(content));
  if (content.kind !== 'left' && content.kind !== 'snapshot') return;
  for (const name of running) if (name.startsWith(`${content.talkgroup}/`)) running.delete(name);
  if (content.kind === 'snapshot') for (const burst of content.bursts) running.add(nameOf(burst));
}
