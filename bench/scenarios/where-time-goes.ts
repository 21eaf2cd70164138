// Where does the time of a delivery go: kernel or user, which functions, which system calls, how much for the garbage
// collector? The load is that of one-talker-1000, on the relay alone, under V8's profiler. System calls are counted in a
// second run with fewer listeners, for counting makes each of them slow.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AudiencePlayer, withAudience } from '../experiments/beside.js';
import { columns, percent, us } from '../figures/figures.js';
import { watched } from '../figures/goals.js';
import { faultsOfDelivery, faultsOfGenerator } from '../figures/judge.js';
import type { Bar, Goal, Plot } from '../figures/result.js';
import type { AudienceHeard } from '../generator/loads/audience.js';
import { soon } from '../generator/player.js';
import { around } from '../machine/clock.js';
import { type Collection, createCollectionLog } from '../machine/collections.js';
import { type ModeTimes, modeTimes } from '../machine/processes.js';
import { readProfiles, selfTimes } from '../machine/profile.js';
import { countSystemCalls } from '../machine/system-calls.js';
import type { Delivered } from '../radios/channel.js';
import type { Bench, Report } from '../scenario.js';
import type { Relay } from '../servers/relay.js';
import type { ServerOptions } from '../servers/start.js';

const AUDIENCE = { probeEvery: 20, framesPerSecond: 50, payloadBytes: 60 };
const SETTINGS = { LOG_LEVEL: 'warn' };
const LISTENERS = 1_000;
/** 10,000 calls of `send` a second is what a core carries under strace. */
const LISTENERS_TRACED = 200;
interface Plan {
  /** Code is compiled, and what a thousand handshakes left is collected. */
  readonly leadMs: number;
  readonly profiledMs: number;
  readonly tracedMs: number;
}

const FULL: Plan = { leadMs: 10_000, profiledMs: 20_000, tracedMs: 3_000 };
const QUICK: Plan = { leadMs: 500, profiledMs: 2_000, tracedMs: 1_000 };
const FUNCTIONS_MAX = 11;
const CALLS_MAX = 8;

interface Profiled {
  readonly heard: AudienceHeard;
  readonly delivered: Delivered;
  readonly deliveries: number;
  readonly seconds: number;
  /** CPU microseconds of all threads of the service. */
  readonly times: ModeTimes;
  /** Of all threads. */
  readonly collections: readonly Collection[];
  /** Seconds of all threads, by function. */
  readonly functions: ReadonlyMap<string, number>;
}

interface Traced {
  readonly delivered: Delivered;
  readonly deliveries: number;
  /** By name. A sentence: why they were not counted. */
  readonly calls: ReadonlyMap<string, number> | string;
}

export async function whereTimeGoes(bench: Bench): Promise<Report> {
  const plan = bench.isQuick ? QUICK : FULL;
  bench.progress(`${plan.profiledMs / 1000} s of talk to ${LISTENERS}, under the profiler`);
  const profiled = await profile(bench, plan);
  bench.progress(`${plan.tracedMs / 1000} s of talk to ${LISTENERS_TRACED}, under strace`);
  return reportOf(plan, profiled, await trace(bench, plan));
}

async function profile(bench: Bench, { leadMs, profiledMs: ms }: Plan): Promise<Profiled> {
  const folder = await mkdtemp(join(tmpdir(), 'radio-bench-profile-'));
  const log = createCollectionLog();
  const nodeFlags = ['--trace-gc', '--cpu-prof', `--cpu-prof-dir=${folder}`];
  try {
    const options = { listeners: LISTENERS, nodeFlags, onOutput: log.take };
    const measured = await withListeners(bench, options, async (audience, relay) => {
      await audience.play({ fromMs: soon(), ms: leadMs });
      const fromMs = soon();
      const playing = audience.play({ fromMs, ms });
      await around(fromMs);
      const before = modeTimes(relay.pid);
      await around(fromMs + ms);
      const after = modeTimes(relay.pid);
      const times = { userUs: after.userUs - before.userUs, kernelUs: after.kernelUs - before.kernelUs };
      return { heard: await playing, fromMs, times, delivered: await audience.end() };
    });
    const { fromMs } = measured;
    const span = { fromMs, toMs: fromMs + ms };
    // Written when the service has ended, as it has by now.
    const functions = selfTimes(await readProfiles(folder), span);
    return {
      ...measured,
      deliveries: measured.heard.late.count * LISTENERS,
      seconds: ms / 1000,
      collections: log.collections.filter(({ atMs }) => atMs >= span.fromMs && atMs < span.toMs),
      functions,
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function trace(bench: Bench, { leadMs, tracedMs: ms }: Plan): Promise<Traced> {
  return withListeners(bench, { listeners: LISTENERS_TRACED }, async (audience, relay) => {
    await audience.play({ fromMs: soon(), ms: leadMs });
    const [heard, calls] = await Promise.all([
      audience.play({ fromMs: soon(), ms }),
      countSystemCalls(relay.pid, ms),
    ]);
    return {
      calls: isBehind(heard) ? 'under strace the relay fell behind' : calls,
      deliveries: (ms / 1000) * AUDIENCE.framesPerSecond * LISTENERS_TRACED,
      delivered: await audience.end(),
    };
  });
}

/** By more than a frame, so that several leave in one write: that is another load. */
const isBehind = ({ latency }: AudienceHeard) => latency.p50Ms > 1000 / AUDIENCE.framesPerSecond;

interface ListenersOptions extends Pick<ServerOptions, 'nodeFlags' | 'onOutput'> {
  readonly listeners: number;
}

/** A relay of its own, and one who talks on it from here on. */
function withListeners<T>(
  bench: Bench,
  { listeners, ...options }: ListenersOptions,
  use: (audience: AudiencePlayer, relay: Relay) => Promise<T>,
): Promise<T> {
  const talk = (relay: Relay) =>
    withAudience(bench, { relay, listeners, audience: AUDIENCE }, (audience) => use(audience, relay));
  return bench.withRelay(SETTINGS, talk, options);
}

function reportOf(plan: Plan, profiled: Profiled, traced: Traced): Report {
  const faults = [
    ...faultsOfDelivery(profiled.delivered, 'under the profiler'),
    ...faultsOfDelivery(traced.delivered, 'under strace'),
    ...faultsOfGenerator(profiled.heard),
    ...(isBehind(profiled.heard) ? ['under the profiler the relay fell behind'] : []),
  ];
  const goals = goalsOf(profiled, traced);
  const functions = functionsOf(profiled);
  const calls = callsOf(traced);
  const line = columns(52, 14, 14);
  return {
    lines: [
      line('by function, self time', 'a delivery', 'of all'),
      ...functions.map(({ name, value }) => line(name, us(value), percent(value / totalUsOf(profiled)))),
      '',
      ...(typeof traced.calls === 'string'
        ? [`system calls were not counted: ${traced.calls}`]
        : [
            line('system calls', 'a delivery'),
            ...calls.map(({ name, value }) => line(name, value.toFixed(3))),
          ]),
      '',
      `load: one talker at ${AUDIENCE.framesPerSecond} frames/s and ${LISTENERS} listeners, under V8's profiler; ${LISTENERS_TRACED} under strace`,
      'a profiler costs time itself: what a delivery costs without one, one-talker-1000 says',
    ],
    faults,
    goals,
    plots: plotsOf(profiled, functions, calls),
    details: {
      load: {
        listeners: LISTENERS,
        listenersTraced: LISTENERS_TRACED,
        ...AUDIENCE,
        ...plan,
      },
      settings: SETTINGS,
      profiled: { ...profiled, functions: Object.fromEntries(profiled.functions) },
      traced: {
        ...traced,
        calls: typeof traced.calls === 'string' ? traced.calls : Object.fromEntries(traced.calls),
      },
    },
  };
}

function goalsOf(profiled: Profiled, traced: Traced): Goal[] {
  const { times, deliveries, collections, seconds } = profiled;
  const pausesMs = collections.reduce((sum, { pauseMs }) => sum + pauseMs, 0);
  return [
    watched('CPU per delivery in the kernel', times.kernelUs / deliveries, 'µs'),
    watched('CPU per delivery outside of the kernel', times.userUs / deliveries, 'µs'),
    watched('CPU per delivery in JavaScript and what it calls', inFunctionsUsOf(profiled), 'µs'),
    ...(typeof traced.calls === 'string'
      ? []
      : [watched('system calls per delivery', sumOf(traced.calls) / traced.deliveries, '')]),
    watched('garbage collection, pauses of all threads', pausesMs / seconds, 'ms/s'),
  ];
}

const sumOf = (values: ReadonlyMap<string, number>): number =>
  [...values.values()].reduce((sum, value) => sum + value, 0);

/** CPU microseconds of a delivery. */
const totalUsOf = ({ times, deliveries }: Profiled) => (times.userUs + times.kernelUs) / deliveries;

/** Of these, those that the profiler saw in a function. */
const inFunctionsUsOf = ({ functions, deliveries }: Profiled) => (1e6 * sumOf(functions)) / deliveries;

/** The engine reads and sends outside of any function, while V8 takes the thread for idle. */
const BY_THE_LOOP = 'engine, from the event loop';

/** Microseconds of a delivery. */
function functionsOf(profiled: Profiled): Bar[] {
  const { functions, deliveries } = profiled;
  const byTheLoop = Math.max(0, totalUsOf(profiled) - inFunctionsUsOf(profiled));
  return [
    { name: BY_THE_LOOP, value: byTheLoop },
    ...[...functions].slice(0, FUNCTIONS_MAX).map(([name, s]) => ({ name, value: (1e6 * s) / deliveries })),
  ];
}

const callsOf = ({ calls, deliveries }: Traced): Bar[] =>
  typeof calls === 'string'
    ? []
    : [...calls].slice(0, CALLS_MAX).map(([name, count]) => ({ name, value: count / deliveries }));

function plotsOf({ times, deliveries }: Profiled, functions: readonly Bar[], calls: readonly Bar[]): Plot[] {
  return [
    {
      kind: 'bars',
      title: 'A delivery, in the kernel and outside',
      note: "CPU time of all threads of the service. In the kernel is nearly all `send`, on loopback with the receiver's half of TCP.",
      unit: 'µs',
      bars: [
        { name: 'kernel', value: times.kernelUs / deliveries },
        { name: 'outside', value: times.userUs / deliveries },
      ],
    },
    {
      kind: 'bars',
      title: 'A delivery, by function',
      note: 'Self time. A function that calls the engine, and so the kernel, has that time as its own; what no function called is the first bar.',
      unit: 'µs',
      bars: functions,
    },
    ...(calls.length === 0
      ? []
      : [
          {
            kind: 'bars',
            title: 'System calls of a delivery',
            note: 'One `send` for each is the floor; the rest is shared among the listeners of a frame.',
            unit: '',
            bars: calls,
          } as const,
        ]),
  ];
}
