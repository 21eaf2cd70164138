// Plays the listeners of one generator process on all servers of a contest, and reports each turn.
import { createRecorder, type Latency } from '../figures/histogram.js';
import { around, nowMs } from '../machine/clock.js';
import { type Arrival, createEars } from './ears.js';
import type { Member } from './member.js';
import type { ConnectionLost, Target } from './raw-radio.js';
import { connectSwarm, probing, sipping, type Tally, talkgroupNumberOf } from './swarm.js';

export interface ListenersSetup {
  readonly servers: readonly { readonly target: Target; readonly listeners: readonly Member[] }[];
  readonly probeEvery: number;
  /** Every so many-th probe notes when each measured frame came. Without it none does. */
  readonly earEvery?: number;
  readonly periodMs: number;
  /** A server that is behind gets so long (ms) for what it has been sent. Without it ARRIVAL_MS_MAX. */
  readonly arrivalMsMax?: number;
}

/** Frames that were sent into each talkgroup since the beginning. */
export type Sent = readonly (readonly [talkgroup: number, frames: number])[];

/** In one turn, or several of them. */
export interface Heard {
  readonly received: number;
  readonly lost: number;
  /** Heard twice, or never sent. */
  readonly duplicated: number;
  readonly outOfOrder: number;
  /** Taken by the probes. */
  readonly latency: Latency;
  /** What each probe that notes it has heard. Absent when none does. */
  readonly ears?: readonly (readonly Arrival[])[];
}

/** Servers are named by their place in the setup. One turn at a time. */
export interface Listeners {
  /** A turn begins: from now on sinks read a few times a second. */
  begin(server: number): Promise<void>;
  /** Resolves when the probes have heard all that was sent. false: they never did. */
  settle(server: number, sent: Sent): Promise<boolean>;
  /** The turn is over: sinks read all there is, and go on to, so that radios that are pinged answer. */
  end(server: number, sent: Sent): Promise<Heard>;
  /** CPU microseconds that this process has used. */
  usedUs(): Promise<number>;
}

const ARRIVAL_MS_MAX = 4_000;
/** Sinks are looked after so often then. */
const LOOK_MS = 2;

/** Resolves when all have joined. Rejects when one cannot. */
export async function joinListeners(
  { servers, ...setup }: ListenersSetup,
  lost: (loss: ConnectionLost) => void,
): Promise<Listeners> {
  const sides: Side[] = [];
  for (const { target, listeners } of servers) {
    sides.push(await seat({ target, users: listeners, ...setup, lost }));
  }
  const at = (server: number): Side => {
    const side = sides[server];
    if (side === undefined) throw new RangeError(`no server ${server}`);
    return side;
  };
  return {
    async begin(server) {
      at(server).begin();
    },
    settle: (server, sent) => at(server).settle(sent),
    end: (server, sent) => at(server).end(sent),
    async usedUs() {
      const { user, system } = process.cpuUsage();
      return user + system;
    },
  };
}

/** All listeners of one server. As in Listeners. */
interface Side {
  begin(): void;
  settle(sent: Sent): Promise<boolean>;
  end(sent: Sent): Promise<Heard>;
}

interface SideOptions extends Omit<ListenersSetup, 'servers'> {
  readonly target: Target;
  readonly users: readonly Member[];
  /** A listener lost its connection. */
  readonly lost: (loss: ConnectionLost) => void;
}

async function seat({
  target,
  users,
  probeEvery,
  earEvery,
  periodMs,
  lost,
  ...most
}: SideOptions): Promise<Side> {
  const { arrivalMsMax = ARRIVAL_MS_MAX } = most;
  const probed = createCounter(arrivalMsMax);
  const isProbe = probing({ users, probeEvery });
  const ears = createEars(
    users.flatMap((_, i) => (isProbe(i) ? [i] : [])),
    earEvery,
  );
  let recorder = createRecorder();
  const heard = (sequence: number, latencyMs: number, listener: number) => {
    if (!Number.isNaN(latencyMs)) {
      recorder.record(latencyMs);
      ears?.note(listener, sequence, latencyMs);
    }
    probed.count();
  };
  const swarm = await connectSwarm({ target, users, probeEvery, heard, lost });
  swarm.flow();
  const { tally } = swarm;
  const sinks = sipping(swarm, periodMs);
  const listeners = countByTalkgroup(users);
  const probes = countByTalkgroup(users.filter((_, i) => isProbe(i)));
  let before: Tally = { ...tally };
  // Given up for lost, by all and by probes: the next turn does not wait for it.
  let givenUp = 0;
  let missed = 0;

  return {
    begin: sinks.hold,
    settle: (sent) => probed.reaches(deliveries(sent, probes) - missed),
    async end(sent) {
      sinks.flow();
      const expected = deliveries(sent, listeners);
      const givenUpMs = nowMs() + arrivalMsMax;
      while (tally.received < expected - givenUp && nowMs() < givenUpMs) await around(nowMs() + LOOK_MS);
      const { received, duplicated, outOfOrder } = tally;
      const heard = {
        received: received - before.received,
        lost: expected - received - givenUp,
        duplicated: duplicated - before.duplicated,
        outOfOrder: outOfOrder - before.outOfOrder,
        latency: recorder.latency(),
        ...(ears && { ears: ears.take() }),
      };
      givenUp = expected - received;
      missed = deliveries(sent, probes) - probed.counted();
      before = { ...tally };
      recorder = createRecorder();
      return heard;
    },
  };
}

function countByTalkgroup(users: readonly Member[]): ReadonlyMap<number, number> {
  const counts = new Map<number, number>();
  for (const user of users) {
    const talkgroup = talkgroupNumberOf(user);
    counts.set(talkgroup, (counts.get(talkgroup) ?? 0) + 1);
  }
  return counts;
}

/** Deliveries that what was sent makes to these listeners of each talkgroup. */
const deliveries = (sent: Sent, hearers: ReadonlyMap<number, number>): number =>
  sent.reduce((sum, [talkgroup, frames]) => sum + frames * (hearers.get(talkgroup) ?? 0), 0);

interface Counter {
  count(): void;
  counted(): number;
  /** Resolves when it has counted so far, or with false when its time is over. */
  reaches(number: number): Promise<boolean>;
}

function createCounter(msMax: number): Counter {
  let counted = 0;
  let awaited = Number.POSITIVE_INFINITY;
  let arrive = () => {};
  return {
    count() {
      if (++counted >= awaited) arrive();
    },
    counted: () => counted,
    reaches(number) {
      if (counted >= number) return Promise.resolve(true);
      return new Promise((resolve) => {
        const settle = (isThere: boolean) => {
          clearTimeout(timer);
          awaited = Number.POSITIVE_INFINITY;
          resolve(isThere);
        };
        const timer = setTimeout(settle, msMax, false);
        awaited = number;
        arrive = () => settle(true);
      });
    },
  };
}
