// The load generator, one process per round: it is given a task, sends back what it saw, and ends.
import { once } from 'node:events';
import { END, encodeFrame, START } from '../src/relay/frame.js';
import { around, exactly, nowMs } from './clock.js';
import { createRecorder } from './histogram.js';
import { cpuUs, machineCpuUs } from './processes.js';
import type { Round, RoundTask } from './round.js';
import { connectSwarm, type Swarm, writeDueMs } from './swarm.js';
import { BINARY, RawRadio } from './wire.js';

/** A sink reads every so many frames: at 50 frames/s five times a second. */
const SIP_FRAMES = 10;
/** What is still under way after the last frame may take so long to arrive. */
const ARRIVAL_MS_MAX = 2_000;

const [task] = (await once(process, 'message')) as [RoundTask];
// The bench is gone: nobody waits for us.
process.once('disconnect', () => process.exit(1));
const round = await play(task);
process.send?.(round, () => process.exit(0));

async function play({ target, pid, tokens, talkgroup, load }: RoundTask): Promise<Round> {
  const { framesPerSecond, leadInFrames, windowFrames, probeEvery } = load;
  const periodMs = 1000 / framesPerSecond;
  const window = { from: leadInFrames, to: leadInFrames + windowFrames };
  const frames = window.to + 1; // the last one ends the burst
  const latency = createRecorder();
  const late = createRecorder();
  const [talkerToken = '', ...listenerTokens] = tokens;

  const swarm = await connectSwarm({
    target,
    tokens: listenerTokens,
    probeEvery,
    frames,
    window,
    heard: latency.record,
    lost: fail,
  });
  const talker = new RawRadio({ target, token: talkerToken, receive: () => {}, lost: fail });
  await talker.joined;

  const startMs = nowMs() + periodMs;
  const readings: Reading[] = [];
  for (let i = 0; i < frames; i++) {
    const dueMs = startMs + i * periodMs;
    await exactly(dueMs);
    late.record(nowMs() - dueMs);
    talker.send(BINARY, frameOf({ i, frames, dueMs, talkgroup, load }));
    // Halfway to the next frame this one has long been heard: nothing done here delays a probe.
    await around(dueMs + periodMs / 2);
    swarm.sip(i, SIP_FRAMES);
    if (i + 1 === window.from || i + 1 === window.to) readings.push(read(pid));
  }
  await arrived(swarm, frames * listenerTokens.length);

  const [before, after] = readings;
  if (before === undefined || after === undefined)
    throw new RangeError('a round has at least one frame before its window');
  const { received, duplicated, outOfOrder, inWindow } = swarm.tally;
  const spentMs = after.atMs - before.atMs;
  const share = (us: number) => us / 1000 / spentMs;
  const serverUs = after.serverUs - before.serverUs;
  const generatorUs = after.generatorUs - before.generatorUs;
  const { p99Ms: lateP99Ms, maxMs: lateMaxMs } = late.latency();
  return {
    sent: frames,
    lost: frames * listenerTokens.length - received,
    duplicated,
    outOfOrder,
    delivered: inWindow,
    latency: latency.latency(),
    server: { cpuUs: serverUs, cpuUsPerDelivery: serverUs / inWindow, cpuShare: share(serverUs) },
    generator: { cpuShare: share(generatorUs), lateP99Ms, lateMaxMs },
    others: { cpuShare: Math.max(0, share(after.machineUs - before.machineUs - serverUs - generatorUs)) },
  };
}

interface Reading {
  readonly atMs: number;
  readonly serverUs: number;
  readonly generatorUs: number;
  readonly machineUs: number;
}

function read(pid: number): Reading {
  const { user, system } = process.cpuUsage();
  return { atMs: nowMs(), serverUs: cpuUs(pid), generatorUs: user + system, machineUs: machineCpuUs() };
}

function frameOf({
  i,
  frames,
  dueMs,
  talkgroup,
  load,
}: { i: number; frames: number; dueMs: number } & Pick<RoundTask, 'talkgroup' | 'load'>) {
  const payload = new Uint8Array(load.payloadBytes);
  writeDueMs(payload, dueMs);
  const flags = (i === 0 ? START : 0) | (i === frames - 1 ? END : 0);
  return encodeFrame({ flags, sequence: i, talkgroup, payload });
}

async function arrived(swarm: Swarm, expected: number): Promise<void> {
  swarm.flow();
  const untilMs = nowMs() + ARRIVAL_MS_MAX;
  while (swarm.tally.received < expected && nowMs() < untilMs) await around(nowMs() + 20);
}

function fail(error: Error): never {
  console.error(`a radio of the bench: ${error.message}`);
  process.exit(1);
}
