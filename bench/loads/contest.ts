// A contest: the same load on several servers, in turns, from one generator.
import { type Audience, type Channel, type Delivered, openChannel } from '../channel.js';
import { around, nowMs } from '../clock.js';
import { type Conditions, readUsage, sharesOf, spent, type Usage } from '../conditions.js';
import { answer } from '../generator.js';
import { createRecorder, type Latency, type Recorder } from '../histogram.js';
import type { Member } from '../users.js';
import type { Target } from '../wire.js';

/** The load of each server: one talker, in turns of `turnFrames`; nothing is said between them. */
export interface Load extends Audience {
  readonly listeners: number;
  readonly turnFrames: number;
  /** Measured turns of each server; one more comes before, to warm up. */
  readonly turns: number;
}

export interface ContestTask {
  /** With the process id of each server. */
  readonly peers: readonly (Target & { readonly pid: number })[];
  /** The talker, then the listeners. */
  readonly users: readonly Member[];
  readonly load: Load;
}

/** One measured turn; the share is of one core. */
export interface Turn {
  readonly peer: number;
  readonly cpuUsPerDelivery: number;
  readonly serverShare: number;
}

/** What the listeners of one server have seen. */
export interface Heard extends Delivered {
  readonly latency: Latency;
}

/** Shares are over all turns. */
export interface Contest extends Conditions {
  /** In the order in which they were played: the n-th turns of all peers are neighbours. */
  readonly turns: readonly Turn[];
  readonly heard: readonly Heard[];
}

await answer(play);

async function play({ peers, users, load }: ContestTask): Promise<Contest> {
  const sides: Side[] = [];
  for (const target of peers) sides.push(await prepare({ target, users, load }));
  const order = orderOf(peers.length, load.turns + 1);
  const late = createRecorder();
  const readings: Usage[] = [];
  const readAll = () => readings.push(readUsage(peers.map(({ pid }) => pid)));

  const periodMs = 1000 / load.framesPerSecond;
  let dueMs = nowMs() + periodMs;
  await around(dueMs - periodMs / 2);
  readAll();
  for (const peer of order) {
    for (let i = 0; i < load.turnFrames; i++) {
      late.record((await sides[peer]?.channel.speak(dueMs)) ?? 0);
      dueMs += periodMs;
    }
    readAll();
  }
  const heard = await Promise.all(
    sides.map(async ({ channel, latency }) => ({ ...(await channel.finish()), latency: latency.latency() })),
  );
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
  readonly channel: Channel;
  readonly latency: Recorder;
}

async function prepare({
  target,
  users,
  load,
}: Omit<ContestTask, 'peers'> & { target: Target }): Promise<Side> {
  const { turnFrames, turns } = load;
  const frames = turnFrames * (turns + 1);
  const latency = createRecorder();
  const heard = (sequence: number, latencyMs: number) => {
    if (sequence >= turnFrames && sequence < frames) latency.record(latencyMs);
  };
  return {
    channel: await openChannel({ target, users, audience: load, frames, heard }),
    latency,
  };
}

function turnOf(peer: number, load: Load, { atMs, serverUs }: Usage): Turn {
  const us = serverUs[peer] ?? 0;
  return {
    peer,
    cpuUsPerDelivery: us / (load.turnFrames * load.listeners),
    serverShare: us / 1000 / atMs,
  };
}
