// Three nodes behind three nats-servers and one PostgreSQL, with a talker and a listener on each, and what all of them heard.
import t, { type Test } from 'tap';
import { decodeFrames } from '../../../src/protocol/bundle.js';
import { migratedDatabase } from '../database/cluster.js';
import { eventually } from '../eventually.js';
import { metric as metricOf } from '../http/exposition.js';
import { type NatsCluster, PLACES, type Place, startNatsCluster } from '../network/nats-cluster.js';
import { threadOf } from './relay-threads.js';
import { type Json, type Person, type Radio, type ServiceProcess, serviceProcess } from './service.js';

/** Time (ms) between two frames of a talker, frames of a burst, and frames of silence behind it. */
const FRAME_MS = 40;
const BURST_FRAMES = 40;
const PAUSE_FRAMES = 4;

/** What one radio heard of one burst, from TALK_STARTED to TALK_ENDED. */
interface HeardBurst {
  readonly session: number;
  readonly burst: number;
  readonly startedAtMs: number;
  /** Indices of the frames in their burst, from 1, and when they came. */
  readonly indices: number[];
  readonly atMs: number[];
  missed: number;
  end: { readonly code: string; readonly frames: number; readonly atMs: number } | null;
}

interface Lag {
  readonly atMs: number;
}

/** The log of one radio. */
export interface Ear {
  readonly name: string;
  readonly bursts: HeardBurst[];
  /** What breaks a promise whatever is broken: a frame outside of a burst, an index twice. */
  readonly faults: string[];
  /** How old (ms) the oldest speech of each session was. */
  readonly oldestOf: Map<number, number>;
  readonly lags: Lag[];
  readonly reaches: { readonly reach: string; readonly atMs: number }[];
  /** When the last frame of each session was heard. */
  readonly lastOf: Map<number, number>;
  /** When the last frame of each session that was heard was said. */
  readonly saidOf: Map<number, number>;
}

/** Speech that was said so long ago (ms) is old: 500 ms and what a receiver may lag, and room for a loaded machine. */
const OLD_MS = 3000;

function listenTo(radio: Radio, name: string): Ear {
  const oldestOf = new Map<number, number>();
  const ear: Ear = {
    name,
    bursts: [],
    faults: [],
    oldestOf,
    lags: [],
    reaches: [],
    lastOf: new Map(),
    saidOf: new Map(),
  };
  const running = new Map<number, HeardBurst>();
  const begin = (session: number, burst: number) => {
    const one: HeardBurst = {
      ...{ session, burst, startedAtMs: performance.now(), indices: [], atMs: [], missed: 0, end: null },
    };
    running.set(session, one);
    ear.bursts.push(one);
  };
  for (const talkgroup of (radio.welcome?.talkgroups ?? []) as { talkers: Json[] }[])
    for (const { session, burst } of talkgroup.talkers) begin(Number(session), Number(burst));

  function hear(message: Json): void {
    const { type, session, burst } = message as { type: string; session: number; burst: number };
    const one = running.get(session);
    const atMs = performance.now();
    if (type === 'TALK_STARTED') {
      if (one !== undefined) ear.faults.push(`${name}: ${session}.${burst} starts inside ${one.burst}`);
      begin(session, burst);
    } else if (type === 'TALK_ENDED') {
      if (one?.burst !== burst) ear.faults.push(`${name}: ${session}.${burst} ends and never began`);
      else one.end = { code: String(message.code), frames: Number(message.frames), atMs };
      running.delete(session);
    } else if (type === 'MISSED') {
      if (one?.burst !== burst)
        ear.faults.push(`${name}: MISSED of ${session}.${burst}, which is not running`);
      else one.missed += Number(message.missed);
    } else if (type === 'LAG') ear.lags.push({ atMs });
    else if (type === 'REACH') ear.reaches.push({ reach: String(message.reach), atMs });
  }

  function hearFrames(data: Buffer): void {
    const frames = decodeFrames(data, Number.MAX_SAFE_INTEGER);
    const atMs = performance.now();
    if (typeof frames === 'string') return void ear.faults.push(`${name}: a bad frame: ${frames}`);
    for (const { sender, burst, payload } of frames) {
      const [index = 0, saidAtMs = 0] = Buffer.from(payload).toString().split(' ').map(Number);
      const one = running.get(sender);
      ear.lastOf.set(sender, atMs);
      ear.saidOf.set(sender, saidAtMs);
      if (one?.burst !== burst)
        ear.faults.push(`${name}: a frame of ${sender}.${burst}, which is not running`);
      else if (index <= (one.indices.at(-1) ?? 0))
        ear.faults.push(`${name}: frame ${index} of ${sender}.${burst} behind ${one.indices.at(-1)}`);
      else {
        one.indices.push(index);
        one.atMs.push(atMs);
      }
      oldestOf.set(sender, Math.max(oldestOf.get(sender) ?? 0, atMs - saidAtMs));
    }
  }

  radio.socket.on('message', (data: Buffer, isBinary: boolean) =>
    isBinary ? hearFrames(data) : hear(JSON.parse(data.toString())),
  );
  return ear;
}

interface Speech {
  stop(): void;
  /** Until `mayEnd` is called, the burst does not end, or the next one when none is running. Its frames go on. */
  goesOn(): void;
  mayEnd(): void;
}

/** Speaks bursts until it is stopped, or its socket is gone. A burst may be broken off anywhere. */
function talk(radio: Radio, talkgroup: number): Speech {
  let index = 0;
  let silence = 0;
  let isEndless = false;
  let dueMs = performance.now();
  const step = () => {
    if (radio.socket.readyState !== radio.socket.OPEN) return;
    if (silence > 0) silence--;
    else {
      const end = ++index >= BURST_FRAMES && !isEndless;
      radio.speaks(talkgroup, `${index} ${Math.round(performance.now())}`, { start: index === 1, end });
      if (end) [index, silence] = [0, PAUSE_FRAMES];
    }
    dueMs += FRAME_MS;
    timer = setTimeout(step, Math.max(0, dueMs - performance.now()));
  };
  let timer = setTimeout(step, 0);
  return {
    stop: () => clearTimeout(timer),
    goesOn: () => {
      isEndless = true;
    },
    mayEnd: () => {
      isEndless = false;
    },
  };
}

export interface Station {
  readonly talker: Radio;
  readonly listener: Radio;
  readonly ear: Ear;
  readonly speech: Speech;
}

export interface ThreeNodes {
  readonly nats: NatsCluster;
  readonly group: { readonly id: string; readonly number: number };
  node(at: Place): ServiceProcess;
  station(at: Place): Station;
  /** A figure of this node. */
  metric(at: Place, name: string): Promise<number>;
  /** Starts the node again, and the radios on it. */
  restart(at: Place): Promise<void>;
  /** Resolves when every listener hears every talker, and each relay reaches all others: the time (ms) since the call. */
  isWell(): Promise<number>;
  /** Resolves when the bursts that are running now have ended at every listener: what is missing of them is told by then. */
  haveEnded(): Promise<void>;
  /** Resolves when each listener has heard so many bursts from begin to end that began after this call, of each talker. */
  areWhole(bursts: number): Promise<void>;
  /** Resolves when the talker of this node has said so many further bursts. */
  isSaid(at: Place, bursts: number): Promise<void>;
  /** Longest time (ms) between two frames of one burst that one of these listeners heard after `sinceMs` of a talker. */
  longestGap(sinceMs: number, listeners?: readonly Place[]): number;
  /**
   * Judges how old the speech was that was heard since the last call, but for that of the talker at this node, which stood
   * still: frames have no time before a node relays them.
   */
  judgeAge(t: Test, what: string, stood?: Place): void;
  /** Judges what was heard since the last call, its age as well. */
  judge(t: Test, what: string): void;
}

export interface ThreeNodesOptions {
  /** DATABASE_URL of each node. */
  readonly databaseOf?: (node: Place, url: string) => string | Promise<string>;
  /** Settings of each node. */
  readonly environmentOf?: (node: Place) => Record<string, string>;
  /** Relay threads of each node. With two, its talker is on one and its listener on the other. */
  readonly threads?: 1 | 2;
}

export async function threeNodes(
  t: Test,
  { databaseOf = (_node, url) => url, environmentOf = () => ({}), threads = 1 }: ThreeNodesOptions = {},
): Promise<ThreeNodes> {
  const url = await migratedDatabase(t);
  const nats = await startNatsCluster(t);
  const start = async (at: Place) =>
    serviceProcess(t, {
      DATABASE_URL: await databaseOf(at, url),
      NATS_URL: nats.url(at),
      LOG_LEVEL: 'warn',
      RELAY_THREADS: `${threads}`,
      ...environmentOf(at),
    });
  const nodes = await Promise.all(PLACES.map(start));
  const node = (at: Place) => nodes[at] as ServiceProcess;
  const home = node(0); // where accounts and the talkgroup are made
  const names = PLACES.map((at) => [`talker-${at}`, `listener-${at}`] as const);
  const people: [Person, Person][] = [];
  for (const [talker, listener] of names)
    people.push([await home.person(talker), await home.person(listener)]);
  const group = await home.talkgroup('field', ...people.flat());
  const stations: Station[] = [];
  let isJudging = 0;

  async function staff(at: Place): Promise<void> {
    const [ann, bob] = people[at] as [Person, Person];
    const listener = await node(at).radioOf(bob);
    const ear = listenTo(listener, `listener ${at}`);
    const talker = await talkerOf(at, ann, listener);
    stations[at] = { talker, listener, ear, speech: talk(talker, group.number) };
  }
  /** Linux chooses the thread of a connection. */
  async function talkerOf(at: Place, person: Person, listener: Radio): Promise<Radio> {
    for (;;) {
      const talker = await node(at).radioOf(person);
      if (threads === 1 || threadOf(talker) !== threadOf(listener)) return talker;
      talker.socket.close(1000);
      await talker.closes();
    }
  }

  const station = (at: Place) => stations[at] as Station;
  t.teardown(() => {
    for (const { speech } of stations) speech.stop();
  });

  const metric = (at: Place, series: string) => metricOf(node(at).metrics, series);

  async function isWell(): Promise<number> {
    const sinceMs = performance.now();
    await eventually(() => {
      for (const { ear } of stations)
        for (const { talker } of stations) {
          const lastMs = ear.lastOf.get(talker.session) ?? 0;
          if (lastMs < sinceMs) throw new Error(`${ear.name} does not hear session ${talker.session}`);
        }
    }, 30_000);
    const heardMs = performance.now() - sinceMs;
    await eventually(async () => {
      for (const at of PLACES) {
        const peers = await metric(at, 'talkgroup_cluster_peers');
        if (peers !== PLACES.length * threads - 1) throw new Error(`node ${at} reaches ${peers}`);
      }
    }, 30_000);
    return heardMs;
  }

  function judgeAge(t: Test, what: string, stood?: Place): void {
    const left = stood === undefined ? null : station(stood).talker.session;
    for (const { ear } of stations) {
      const ages = [...ear.oldestOf].filter(([session]) => session !== left).map(([, ms]) => ms);
      const oldestMs = Math.round(Math.max(0, ...ages));
      figure(`${what}: ${ear.name} heard speech of up to ${oldestMs} ms ago`);
      t.ok(oldestMs < OLD_MS, `${what}: ${ear.name} heard speech of ${oldestMs} ms ago`);
      ear.oldestOf.clear();
    }
  }

  for (const at of PLACES) await staff(at);
  await isWell();

  return {
    ...{ nats, group, node, station, metric, isWell },
    async haveEnded() {
      const running = stations.flatMap(({ ear }) => ear.bursts.filter(({ end }) => end === null));
      await eventually(() => {
        const left = running.filter(({ end }) => end === null);
        if (left.length > 0) throw new Error(`${left.length} of ${running.length} bursts have not ended`);
      });
    },
    async areWhole(bursts) {
      const sinceMs = performance.now();
      await eventually(() => {
        for (const { ear } of stations)
          for (const { talker } of stations) {
            const whole = ear.bursts.filter(
              ({ session, startedAtMs, indices, end }) =>
                session === talker.session && startedAtMs >= sinceMs && indices.length === end?.frames,
            );
            if (whole.length < bursts)
              throw new Error(`${ear.name} heard ${whole.length} whole bursts of session ${talker.session}`);
          }
      });
    },
    async isSaid(at, bursts) {
      // At its own node: no bus is between them.
      const { ear, talker } = station(at);
      const said = () =>
        ear.bursts.filter(({ session, end }) => session === talker.session && end !== null).length;
      const enough = said() + bursts;
      await eventually(() => {
        if (said() < enough) throw new Error(`${said()} of ${enough} bursts are said`);
      });
    },
    async restart(at) {
      station(at).speech.stop();
      for (const { socket } of [station(at).talker, station(at).listener]) socket.terminate();
      nodes[at] = await start(at);
      await staff(at);
    },
    longestGap(sinceMs, listeners = PLACES) {
      return Math.max(0, ...listeners.map((at) => gapOf(station(at).ear.bursts, sinceMs)));
    },
    judgeAge,
    judge(t, what) {
      judgeAge(t, what);
      const from = isJudging;
      isJudging = performance.now();
      const faults = stations.flatMap(({ ear }) => ear.faults.splice(0));
      t.strictSame(faults, [], `${what}: nothing is heard twice, out of order, or outside of its burst`);
      const wrong = stations.flatMap(({ ear }) => wrongCounts(ear, from));
      t.strictSame(wrong, [], `${what}: what was not heard of a burst is told`);
    },
  };
}

/** Longest time (ms) between two frames of one of these bursts that came after `sinceMs`. */
export function gapOf(bursts: readonly Pick<HeardBurst, 'atMs'>[], sinceMs: number): number {
  let longest = 0;
  for (const { atMs } of bursts)
    for (const [index, ms] of atMs.entries()) {
      const before = atMs[index - 1];
      if (before !== undefined && ms >= sinceMs) longest = Math.max(longest, ms - before);
    }
  return Math.round(longest);
}

/** Of each burst that ended since then: the frames heard and those told as missed are all that were relayed. */
function wrongCounts({ name, bursts, lags }: Ear, sinceMs: number): string[] {
  return bursts.flatMap(({ session, burst, startedAtMs, indices, missed, end }) => {
    const [first = 0] = indices;
    if (end === null || end.atMs < sinceMs || end.code !== 'released' || first === 0) return [];
    if (lags.some(({ atMs }) => atMs >= startedAtMs && atMs <= end.atMs + 1000)) return []; // LAG tells of them as well
    // Who joined in the middle is not told of what was before.
    const before = first === 1 ? 0 : Math.max(0, end.frames - indices.length - missed);
    const all = indices.length + missed + Math.min(before, first - 1);
    return all === end.frames
      ? []
      : [
          `${name}, ${session}.${burst}: ${indices.length} heard from ${first}, ${missed} missed of ${end.frames}`,
        ];
  });
}

/** Reports a figure with the results. */
export const figure = (text: string) => t.comment(text);
