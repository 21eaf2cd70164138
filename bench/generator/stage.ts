// Puts several servers under the same load, one at a time, and measures CPU time and latency of each turn.
import { createRecorder, mergeLatencies } from '../figures/histogram.js';
import { around, nowMs } from '../machine/clock.js';
import { type Conditions, readUsage, sharesOf, spent } from '../machine/conditions.js';
import { cpuUs, threadTimes, timesBetween } from '../machine/processes.js';
import type { Audience } from '../radios/channel.js';
import { type Heard, joinListeners, type Listeners, type ListenersSetup } from '../radios/listeners.js';
import type { Member } from '../radios/member.js';
import type { Target } from '../radios/raw-radio.js';
import { talkgroupNumberOf } from '../radios/swarm.js';
import { seatTalkers, type Talkers } from '../radios/talkers.js';
import { fail, withPlayer } from './player.js';
import { type Answer, type Cue, remoteListeners } from './remote-listeners.js';

/** Plain data. */
export interface StageSetup {
  readonly servers: readonly Contender[];
  readonly audience: Audience;
  /** As in ListenersSetup. */
  readonly earEvery?: number;
  readonly arrivalMsMax?: number;
  /** Of each further process of the generator. Each has a share of the listeners. */
  readonly helperCores: readonly (string | null)[];
}

/** A server under load. The first member of each talkgroup is its talker, the others listen. */
export interface Contender {
  readonly target: Target;
  readonly pid: number;
  readonly users: readonly Member[];
  /** Its talkers say that what they send is encrypted. */
  readonly isSealed?: boolean;
  /** Its turns tell the CPU time of each of its threads. */
  readonly tellsThreads?: boolean;
}

/** What is said in a turn: so many talkgroups are talked in at once. */
export interface Piece {
  readonly talkers: number;
  /** Of each talker, before what is measured: pings to who listens, and their answers, are under way by then. */
  readonly leadFrames: number;
  readonly frames: number;
  /** It begins and ends a burst. Else the burst goes on in the next turn, or ends by silence. */
  readonly isBurst: boolean;
}

/** One turn of one server. What was heard is of all its frames, the latency of those that are measured. */
export interface Turn extends Heard {
  readonly server: number;
  readonly talkers: number;
  /** Of the server while the measured frames were relayed, from silence to silence. */
  readonly cpuUs: number;
  /** The same of each of its threads, by number. Absent unless the server `tellsThreads`. */
  readonly threadsUs?: Readonly<Record<string, number>>;
  /** When that began, by nowMs(). */
  readonly atMs: number;
  readonly durationMs: number;
  /** Measured frames that were sent, and all that listeners received of them. */
  readonly frames: number;
  readonly delivered: number;
  /** How late the latest measured frame left: so long the generator itself stood still, or the machine did. */
  readonly lateMs: number;
  /** Of a core, while the measured frames left. Of several processes of the generator, of the busiest. */
  readonly generatorShare: number;
  /** All that was sent was relayed within the turn: nothing of it is charged to the next. */
  readonly isWhole: boolean;
}

export interface Stage {
  /** Of the server at this place of the setup. */
  turn(server: number, piece: Piece): Promise<Turn>;
  /** From here on the conditions count. */
  start(): Promise<void>;
  conditions(): Promise<Conditions>;
}

/** Calls `use` when all have joined. */
export async function withStage<T>(setup: StageSetup, use: (stage: Stage) => Promise<T>): Promise<T> {
  const casts = setup.servers.map(castOf);
  const [own, ...others] = setupsOf(casts, setup);
  if (own === undefined) throw new RangeError('the first process has listeners, too');
  return withHelpers(others, setup.helperCores, async (helpers) => {
    const groups = [await joinListeners(own, fail), ...helpers];
    const sides = await Promise.all(
      casts.map(({ target, talkers, isSealed }) =>
        seatTalkers({ target, users: talkers, audience: setup.audience, isSealed, lost: fail }),
      ),
    );
    return use(createStage(setup, sides, groups));
  });
}

interface Cast {
  readonly target: Target;
  readonly isSealed: boolean;
  readonly talkers: readonly Member[];
  readonly listeners: readonly Member[];
}

function castOf({ target, users, isSealed = false }: Contender): Cast {
  const talkgroups = new Set<number>();
  const talkers: Member[] = [];
  const listeners: Member[] = [];
  for (const user of users) {
    const talkgroup = talkgroupNumberOf(user);
    (talkgroups.has(talkgroup) ? listeners : talkers).push(user);
    talkgroups.add(talkgroup);
  }
  return { target, isSealed, talkers, listeners };
}

/** Listeners are dealt out one by one. */
function setupsOf(casts: readonly Cast[], setup: StageSetup): ListenersSetup[] {
  const { audience, helperCores, earEvery, arrivalMsMax } = setup;
  const processes = helperCores.length + 1;
  return Array.from({ length: processes }, (_, process) => ({
    probeEvery: audience.probeEvery,
    periodMs: 1000 / audience.framesPerSecond,
    ...(earEvery !== undefined && { earEvery }),
    ...(arrivalMsMax !== undefined && { arrivalMsMax }),
    servers: casts.map(({ target, listeners }) => ({
      target,
      listeners: listeners.filter((_, i) => i % processes === process),
    })),
  }));
}

/** The listeners of each setup in a process of their own. */
async function withHelpers<T>(
  [setup, ...others]: readonly ListenersSetup[],
  [cores = null, ...otherCores]: readonly (string | null)[],
  use: (groups: readonly Listeners[]) => Promise<T>,
): Promise<T> {
  if (setup === undefined) return use([]);
  const { signal } = new AbortController(); // they end with this process
  return withPlayer<ListenersSetup, Cue, Answer, null, T>(
    new URL('./loads/listeners.js', import.meta.url),
    setup,
    { cores, signal },
    (player) => withHelpers(others, otherCores, (groups) => use([remoteListeners(player), ...groups])),
  );
}

/** Behind the last frame that a probe has heard: by then the server has written the same to the others. */
const CALM_MS = 2;

function createStage(
  { servers }: StageSetup,
  sides: readonly Talkers[],
  groups: readonly Listeners[],
): Stage {
  const pids = servers.map(({ pid }) => pid);
  const helpersUsedUs = () => Promise.all(groups.slice(1).map((group) => group.usedUs()));
  let late = createRecorder();
  let usage = readUsage(pids);
  let helpersUs: readonly number[] = [];

  return {
    async turn(server, piece) {
      const side = sides[server];
      const contender = servers[server];
      if (side === undefined || contender === undefined) throw new RangeError(`no server ${server}`);
      return playTurn({ server, contender, talkers: side, groups, late: late.record }, piece);
    },
    async start() {
      late = createRecorder();
      helpersUs = await helpersUsedUs();
      usage = readUsage(pids);
    },
    async conditions() {
      const passed = spent(usage, readUsage(pids));
      const helpers = (await helpersUsedUs()).map((us, i) => us - (helpersUs[i] ?? 0));
      return { late: late.latency(), ...sharesOf(passed, helpers) };
    },
  };
}

interface Players {
  readonly server: number;
  readonly contender: Contender;
  readonly talkers: Talkers;
  readonly groups: readonly Listeners[];
  readonly late: (ms: number) => void;
}

async function playTurn(players: Players, piece: Piece): Promise<Turn> {
  const { server, talkers: side, groups, late } = players;
  const { pid, tellsThreads = false } = players.contender;
  const readCpu = () => (tellsThreads ? threadTimes(pid) : new Map([['all', cpuUs(pid)]]));
  const { leadFrames, frames, isBurst } = piece;
  const endFrames = isBurst ? 1 : 0;
  const talkers = Math.min(piece.talkers, side.count);
  await Promise.all(groups.map((group) => group.begin(server)));
  await side.speak({ talkers, frames: leadFrames, begins: isBurst });
  const isClear = await settle();
  const before = { times: readCpu(), atMs: nowMs() };
  let lateMs = 0;
  const noteLate = (ms: number) => {
    lateMs = Math.max(lateMs, ms);
    late(ms);
  };
  const usedBefore = await usedUs();
  await side.speak({ talkers, frames, late: noteLate });
  const used = await usedUs();
  const isDone = await settle();
  const { atMs } = before;
  const threadsUs = timesBetween(before.times, readCpu());
  const measured = {
    cpuUs: Object.values(threadsUs).reduce((sum, us) => sum + us, 0),
    ...(tellsThreads && { threadsUs }),
    ...{ atMs, durationMs: nowMs() - atMs },
  };
  await side.speak({ talkers, frames: endFrames, ends: true });
  const isOver = await settle();
  const heard = sumOf(await Promise.all(groups.map((group) => group.end(server, side.sent()))));
  // What was lost counts as lost of the measured frames: no figure is better for it.
  const unmeasured = leadFrames + endFrames;
  const expected = heard.received + heard.lost;
  return {
    server,
    talkers,
    ...measured,
    lateMs,
    generatorShare:
      Math.max(...used.us.map((us, i) => us - (usedBefore.us[i] ?? 0))) /
      1000 /
      (used.atMs - usedBefore.atMs),
    frames: frames * talkers,
    delivered: heard.received - (expected * unmeasured) / (unmeasured + frames),
    isWhole: isClear && isDone && isOver,
    ...heard,
  };

  async function usedUs() {
    return { us: await Promise.all(groups.map((group) => group.usedUs())), atMs: nowMs() };
  }

  /** false: something did not arrive in time. */
  async function settle(): Promise<boolean> {
    const arrived = await Promise.all(groups.map((group) => group.settle(server, side.sent())));
    await around(nowMs() + CALM_MS);
    return arrived.every(Boolean);
  }
}

/** What several groups of listeners heard, or one in several turns. */
export function sumOf(parts: readonly Heard[]): Heard {
  const sum = (of: (part: Heard) => number) => parts.reduce((total, part) => total + of(part), 0);
  const hasEars = parts.some(({ ears }) => ears !== undefined);
  return {
    received: sum(({ received }) => received),
    lost: sum(({ lost }) => lost),
    duplicated: sum(({ duplicated }) => duplicated),
    outOfOrder: sum(({ outOfOrder }) => outOfOrder),
    latency: mergeLatencies(parts.map(({ latency }) => latency)),
    ...(hasEars && { ears: parts.flatMap(({ ears = [] }) => ears) }),
  };
}
