// Bursts in many talkgroups with a single floor: how soon a talker may speak, and how soon a listener hears the first frame.
import { END, START, TALKGROUP_AT } from '../../../src/protocol/frame.js';
import { createRecorder, type Latency } from '../../figures/histogram.js';
import { exactly, nowMs, until } from '../../machine/clock.js';
import { type Conditions, readUsage, sharesOf, spent } from '../../machine/conditions.js';
import { homeAmong, relayOf } from '../../radios/homes.js';
import type { Member } from '../../radios/member.js';
import { RawRadio, type Said, type Target } from '../../radios/raw-radio.js';
import { joinAll } from '../../radios/swarm.js';
import { readDueMs, timedFrame, UNTIMED } from '../../radios/timed-frame.js';
import { answer, fail } from '../player.js';

/** Bursts of two frame periods, each in the next talkgroup, by the next of its members. */
export interface Load {
  readonly talkgroups: number;
  /** In each talkgroup: one talks, all others hear it. */
  readonly members: number;
  readonly burstsPerSecond: number;
  readonly warmUpBursts: number;
  readonly bursts: number;
  readonly payloadBytes: number;
}

export interface FloorAccessTask {
  /** The members of a talkgroup are dealt out over them. Of several, each is a node with one relay. */
  readonly servers: readonly (Target & { readonly pid: number })[];
  /** The members of the first talkgroup, of the second, and so on. */
  readonly users: readonly Member[];
  readonly load: Load;
}

export interface FloorAccess extends Conditions {
  /** From when FLOOR_REQUEST should have left to FLOOR_GRANTED in hand, in every second burst. */
  readonly access: Latency;
  /** From when a burst's first frame, its only request, should have left to each listener, in the others. */
  readonly firstFrame: Latency;
  /** The same of bursts that another node decides. Those above are then of the others. null: there is one node. */
  readonly remote: Pick<FloorAccess, 'access' | 'firstFrame'> | null;
  readonly denied: number;
  /** The same by code. */
  readonly deniedBy: Readonly<Record<string, number>>;
  /** Requests without any answer. */
  readonly unanswered: number;
  /** Deliveries that never came. */
  readonly lost: number;
}

/** The second frame, which ends the burst, leaves a frame period behind the first. */
const FRAME_MS = 20;
const ARRIVAL_MS_MAX = 2_000;

interface Burst {
  readonly index: number;
  readonly startsAtMs: number;
  /** Whose, as an index. */
  readonly radio: number;
  /** Begins with FLOOR_REQUEST, else with its first frame. */
  readonly asks: boolean;
  readonly isTimed: boolean;
}

answer(play);

async function play({ servers, users, load }: FloorAccessTask): Promise<FloorAccess> {
  const score = createScore(servers.length > 1);
  const { told, receive } = score;
  /** Of a radio, by index: talkgroups have the same number of members one behind the other. */
  const nodeOf = (radio: number) => (radio % load.members) % servers.length;
  const targetAt = (node: number): Target => {
    const server = servers[node];
    if (server === undefined) throw new RangeError('there is a server');
    return server;
  };
  const relays: number[] = [];
  const radios = await joinAll(users, (token, radio) => {
    const node = nodeOf(radio);
    return new RawRadio({
      ...{ token, receive, lost: fail },
      target: targetAt(node),
      told(said) {
        if (said.type === 'WELCOME') relays[node] ??= relayOf(Number(said.session));
        told(said);
      },
    });
  });
  const isRemote = (radio: number) =>
    homeAmong(relays, users[radio]?.talkgroups[0]?.number ?? 0) !== nodeOf(radio);
  const pids = servers.map(({ pid }) => pid);
  const bursts = burstsOf(load, nowMs() + 100);
  const late = createRecorder();
  const usage = readUsage(pids);
  for (const { burst, dueMs, isLast } of stepsOf(bursts)) {
    await exactly(dueMs);
    if (burst.isTimed && !isLast) late.record(nowMs() - dueMs);
    if (burst.asks && !isLast) ask(burst, dueMs);
    else speak(burst, isLast, dueMs);
  }
  const shares = sharesOf(spent(usage, readUsage(pids)));
  const deliveries = bursts.reduce((sum, { asks }) => sum + (asks ? 1 : 2) * (load.members - 1), 0);
  await until(() => score.isComplete(deliveries), ARRIVAL_MS_MAX);
  return { ...score.result(deliveries), late: late.latency(), ...shares };

  function ask({ index, radio, isTimed }: Burst, dueMs: number): void {
    score.asked(index, isTimed ? dueMs : UNTIMED, isRemote(radio));
    radios[radio]?.say({
      type: 'FLOOR_REQUEST',
      talkgroup_id: users[radio]?.talkgroups[0]?.id,
      ref: index,
    });
  }

  /** Timed is the first frame of a burst that began with it. */
  function speak({ radio, asks, isTimed }: Burst, isLast: boolean, dueMs: number): void {
    const isFirst = asks || !isLast;
    if (isFirst) score.began(users[radio]?.talkgroups[0]?.number ?? 0, isRemote(radio));
    radios[radio]?.send(
      timedFrame({
        flags: (isFirst ? START : 0) | (isLast ? END : 0),
        sequence: isFirst ? 0 : 1,
        talkgroup: users[radio]?.talkgroups[0]?.number ?? 0,
        payloadBytes: load.payloadBytes,
        dueMs: isTimed && !isLast ? dueMs : UNTIMED,
      }),
    );
  }
}

/** What the radios were told and heard. */
function createScore(tellsRemote: boolean) {
  const newTimes = () => ({ access: createRecorder(), firstFrame: createRecorder() });
  const times = { local: newTimes(), remote: newTimes() };
  const of = (isRemote: boolean) => (isRemote ? times.remote : times.local);
  /** Requests without an answer, by `ref`. */
  const asked = new Map<unknown, { readonly dueMs: number; readonly isRemote: boolean }>();
  /** Whether another node decided the last burst of a talkgroup. They are far apart. */
  const isRemoteIn = new Map<number, boolean>();
  let denied = 0;
  const deniedBy: Record<string, number> = {};
  let heard = 0;
  const latencies = ({ access, firstFrame }: ReturnType<typeof newTimes>) => ({
    access: access.latency(),
    firstFrame: firstFrame.latency(),
  });
  return {
    asked(ref: number, dueMs: number, isRemote: boolean): void {
      asked.set(ref, { dueMs, isRemote });
    },
    began(talkgroup: number, isRemote: boolean): void {
      isRemoteIn.set(talkgroup, isRemote);
    },
    told({ type, ref, code }: Said): void {
      if (type !== 'FLOOR_GRANTED' && type !== 'FLOOR_DENIED') return;
      if (type === 'FLOOR_DENIED') {
        denied++;
        deniedBy[String(code)] = (deniedBy[String(code)] ?? 0) + 1;
      }
      const request = asked.get(ref);
      if (request === undefined) return; // of a burst that began with its first frame
      asked.delete(ref);
      const { dueMs, isRemote } = request;
      if (type === 'FLOOR_GRANTED' && !Number.isNaN(dueMs)) of(isRemote).access.record(nowMs() - dueMs);
    },
    receive(bytes: Buffer, start: number, end: number): void {
      heard++;
      const dueMs = readDueMs(new DataView(bytes.buffer, bytes.byteOffset + start, end - start));
      if (Number.isNaN(dueMs)) return;
      of(isRemoteIn.get(bytes.readUInt32BE(start + TALKGROUP_AT)) ?? false).firstFrame.record(
        nowMs() - dueMs,
      );
    },
    isComplete: (deliveries: number) => heard >= deliveries && asked.size === 0,
    result: (deliveries: number) => ({
      ...latencies(times.local),
      remote: tellsRemote ? latencies(times.remote) : null,
      ...{ denied, deniedBy },
      unanswered: asked.size,
      lost: deliveries - heard,
    }),
  };
}

/** Each burst has two, in the order of time. Of one that asks the second is its only frame. */
function stepsOf(bursts: readonly Burst[]) {
  const steps = bursts.flatMap((burst) => [
    { burst, dueMs: burst.startsAtMs, isLast: false },
    { burst, dueMs: burst.startsAtMs + FRAME_MS, isLast: true },
  ]);
  return steps.sort((a, b) => a.dueMs - b.dueMs);
}

/** Evenly spaced. Each member asks and does not ask in turn, and never has more than the 8 bursts in 10 s it may. */
function burstsOf(load: Load, startMs: number): Burst[] {
  const { talkgroups, members, burstsPerSecond, warmUpBursts, bursts } = load;
  return Array.from({ length: warmUpBursts + bursts }, (_, index) => {
    const talkgroup = index % talkgroups;
    const turn = Math.floor(index / talkgroups);
    return {
      index,
      startsAtMs: startMs + (1000 * index) / burstsPerSecond,
      radio: talkgroup * members + (turn % members),
      asks: (talkgroup + turn + Math.floor(turn / members)) % 2 === 0,
      isTimed: index >= warmUpBursts,
    };
  });
}
