// The load generator, a process of its own: it is given a task, sends back what it saw, and ends.
import { once } from 'node:events';
import { END, encodeFrame, START } from '../src/relay/frame.js';
import { around, exactly, nowMs } from './clock.js';
import type { Contest, ContestTask, Heard, Load, Turn } from './contest.js';
import { createRecorder } from './histogram.js';
import { cpuUs, machineCpuUs } from './processes.js';
import { connectSwarm, writeDueMs } from './swarm.js';
import { BINARY, RawRadio } from './wire.js';

/** A sink reads once in so many frames: at 50 frames/s five times a second. */
const SIP_FRAMES = 10;
/** What is still under way after the last frame may take so long to arrive. */
const ARRIVAL_MS_MAX = 2_000;

const [task] = (await once(process, 'message')) as [ContestTask];
// The bench is gone: nobody waits for us.
process.once('disconnect', () => process.exit(1));
const contest = await play(task);
process.send?.(contest, () => process.exit(0));

async function play({ peers, tokens, talkgroup, load }: ContestTask): Promise<Contest> {
  const sides: Side[] = [];
  for (const target of peers) sides.push(await prepare({ target, tokens, talkgroup, load }));
  const order = orderOf(peers.length, load.turns + 1);
  const late = createRecorder();
  const readings: Reading[] = [];
  const readAll = () => readings.push(read(peers.map(({ pid }) => pid)));

  const periodMs = 1000 / load.framesPerSecond;
  let dueMs = nowMs() + periodMs;
  await around(dueMs - periodMs / 2);
  readAll();
  for (const peer of order) {
    for (let i = 0; i < load.turnFrames; i++) {
      await exactly(dueMs);
      late.record(nowMs() - dueMs);
      sides[peer]?.speak(dueMs);
      // Halfway to the next frame this one has long been heard: what is done here delays no probe.
      await around(dueMs + periodMs / 2);
      sides[peer]?.sip();
      dueMs += periodMs;
    }
    readAll();
  }
  const heard = await Promise.all(sides.map((side) => side.finish()));
  // The first turn of each warmed up.
  const measured = readings.slice(peers.length);
  const turns = order
    .slice(peers.length)
    .map((peer, i) => turnOf(peer, load, spent(measured[i], measured[i + 1])));
  return { turns, heard, late: late.latency(), ...sharesOf(spent(measured[0], measured.at(-1))) };
}

/** A B B A A B ...: whatever drifts, drifts over all alike. */
function orderOf(peers: number, turns: number): number[] {
  const forth = Array.from({ length: peers }, (_, peer) => peer);
  return Array.from({ length: turns }, (_, turn) => (turn % 2 === 0 ? forth : forth.toReversed())).flat();
}

/** One server's talker and listeners. */
interface Side {
  speak(dueMs: number): void;
  /** Reads from a part of the sinks. */
  sip(): void;
  finish(): Promise<Heard>;
}

async function prepare({
  target,
  tokens: [talkerToken = '', ...tokens],
  talkgroup,
  load,
}: Omit<ContestTask, 'peers'> & { target: ContestTask['peers'][number] }): Promise<Side> {
  const { probeEvery, payloadBytes, turnFrames } = load;
  const frames = turnFrames * (load.turns + 1) + 1; // the last one ends the burst
  const latency = createRecorder();
  const swarm = await connectSwarm({
    target,
    tokens,
    probeEvery,
    frames,
    timed: { from: turnFrames, to: frames - 1 },
    heard: latency.record,
    lost: fail,
  });
  const talker = new RawRadio({ target, token: talkerToken, receive: () => {}, lost: fail });
  await talker.joined;
  let sequence = 0;

  function speak(dueMs: number): void {
    const payload = new Uint8Array(payloadBytes);
    writeDueMs(payload, dueMs);
    const flags = (sequence === 0 ? START : 0) | (sequence === frames - 1 ? END : 0);
    talker.send(BINARY, encodeFrame({ flags, sequence, talkgroup, payload }));
    sequence++;
  }

  const sip = () => swarm.sip(sequence, SIP_FRAMES);

  async function finish(): Promise<Heard> {
    speak(nowMs());
    swarm.flow();
    const { tally } = swarm;
    const expected = frames * tokens.length;
    const untilMs = nowMs() + ARRIVAL_MS_MAX;
    while (tally.received < expected && nowMs() < untilMs) await around(nowMs() + 20);
    const { received, ...rest } = tally;
    return { latency: latency.latency(), sent: frames, lost: expected - received, ...rest };
  }

  return { speak, sip, finish };
}

interface Reading {
  readonly atMs: number;
  readonly serverUs: readonly number[];
  readonly generatorUs: number;
  readonly machineUs: number;
}

function read(pids: readonly number[]): Reading {
  const { user, system } = process.cpuUsage();
  return { atMs: nowMs(), serverUs: pids.map(cpuUs), generatorUs: user + system, machineUs: machineCpuUs() };
}

/** From one reading to a later one. */
function spent(before: Reading | undefined, after: Reading | undefined): Reading {
  if (before === undefined || after === undefined) throw new RangeError('a turn lies between two readings');
  return {
    atMs: after.atMs - before.atMs,
    serverUs: after.serverUs.map((us, peer) => us - (before.serverUs[peer] ?? 0)),
    generatorUs: after.generatorUs - before.generatorUs,
    machineUs: after.machineUs - before.machineUs,
  };
}

function turnOf(peer: number, load: Load, { atMs, serverUs }: Reading): Turn {
  const us = serverUs[peer] ?? 0;
  return {
    peer,
    cpuUsPerDelivery: us / (load.turnFrames * load.listeners),
    serverShare: us / 1000 / atMs,
  };
}

function sharesOf({ atMs, serverUs, generatorUs, machineUs }: Reading) {
  const othersUs = serverUs.reduce((rest, us) => rest - us, machineUs - generatorUs);
  return { generatorShare: generatorUs / 1000 / atMs, othersShare: Math.max(0, othersUs / 1000 / atMs) };
}

function fail(error: Error): never {
  console.error(`a radio of the bench: ${error.message}`);
  process.exit(1);
}
