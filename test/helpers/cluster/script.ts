// Writes what happens in a history, from a seed: radios that press, networks that fail, relays that stop.
import type { FloorMode } from '../../../src/protocol/codes.js';
import { ADMIN, USERS } from './directory.js';
import { createRandom, createSchedule } from './world.js';

/** A relay as it starts. */
export interface RelayScript {
  readonly id: number;
  /** Added to its clock (ms), and how fast it runs. */
  readonly origin: number;
  readonly rate: number;
  /** Of the radios that connect to it. */
  readonly users: readonly number[];
}

/** Radios and relays by their numbers in the script, each in the order in which they come, from 0. */
export type Event =
  | { readonly is: 'press' | 'end' | 'use' | 'release' | 'silent' | 'lose' | 'back'; readonly radio: number }
  | { readonly is: 'leave' | 'emergency'; readonly radio: number }
  | { readonly is: 'request'; readonly radio: number; readonly priority: number; readonly queue: boolean }
  | { readonly is: 'come'; readonly relay: number; readonly user: number }
  | { readonly is: 'remove' | 'join'; readonly user: number }
  | { readonly is: 'mode'; readonly mode: FloorMode; readonly maxTalkMs: number }
  /** Nothing that `from` sends comes to these any more. */
  | { readonly is: 'cut'; readonly from: number; readonly to: readonly number[] }
  | { readonly is: 'mend' }
  | { readonly is: 'stop' | 'go' | 'kill'; readonly relay: number }
  | { readonly is: 'start'; readonly relay: RelayScript };
/** At this time (virtual ms). */
export type Step = Event & { readonly atMs: number };

export interface Script {
  /** Of delays, losses and reads. */
  readonly seed: number;
  readonly mode: FloorMode;
  /** Of messages that are lost. */
  readonly loss: number;
  readonly delayMsMax: number;
  readonly relays: readonly RelayScript[];
  /** In the order of their times. */
  readonly steps: readonly Step[];
}

/** The first radios are connected, and the relays reach each other, before the first step (virtual ms). */
export const FIRST_MS = 900;
export const ACTING_MS = 6000;

export function scriptOf(seed: number): Script {
  const random = createRandom(seed);
  const schedule = createSchedule();
  const steps: Step[] = [];
  const step = (event: Event) => void steps.push({ ...event, atMs: schedule.now() });
  const later = (ms: number, event: Event) => schedule.in(ms, () => step(event));
  const kind = kindOf(seed);
  const mode: FloorMode = random.chance(0.85) ? 'single' : random.pick(['broadcast', 'open'] as const);
  const changesMode = random.chance(0.15);
  let lastId = 1000 + random.below(1000);
  let started = 0;
  let radios = 0;
  /** Those that run, by their numbers in the script, with their radios. */
  const running = new Map<number, number[]>();
  const stopped = new Set<number>();
  const userOf = new Map<number, number>();

  function newRelay(count: number): RelayScript {
    lastId += 1 + random.below(1000);
    const relay = started++;
    running.set(relay, []);
    const users = Array.from({ length: count }, () => seat(relay));
    return { id: lastId, origin: random.below(1e6), rate: 1 + random.between(-200, 200) / 1e6, users };
  }

  function seat(relay: number): number {
    const user = random.below(USERS);
    userOf.set(radios, user);
    running.get(relay)?.push(radios++);
    return user;
  }

  function act(): void {
    const all = [...running].flatMap(([relay, radios]) => (stopped.has(relay) ? [] : radios));
    if (all.length === 0) return;
    const radio = random.pick(all);
    const roll = random.below(kind === 'quiet' ? 72 : 100); // then nothing breaks
    if (roll < 34) {
      step({ is: 'press', radio });
      later(random.chance(0.2) ? random.between(1, 30) : random.between(50, 2500), { is: 'end', radio });
    } else if (roll < 54) request(radio);
    else if (roll < 72) step({ is: 'release', radio });
    else if (roll < 76) step({ is: 'silent', radio });
    else if (roll < 82) {
      step({ is: 'lose', radio });
      later(random.between(10, 2500), { is: 'back', radio });
    } else if (roll < 85) remove(userOf.get(radio) ?? ADMIN);
    else if (roll < 90) step({ is: 'emergency', radio });
    else if (roll < 92 && changesMode) {
      const next = random.pick(['single', 'single', 'broadcast', 'open'] as const);
      step({ is: 'mode', mode: next, maxTalkMs: random.pick([2000, 4000]) });
    } else if (roll < 94) come();
    else if (roll < 96) leave(radio);
    else {
      // Two press at the same moment.
      step({ is: 'press', radio });
      step({ is: 'press', radio: random.pick(all) });
    }
  }

  function request(radio: number): void {
    step({ is: 'request', radio, priority: random.pick([1, 1, 1, 2, 5]), queue: random.chance(0.8) });
    if (random.chance(0.2)) return;
    const useMs = random.between(5, 600);
    later(useMs, { is: 'use', radio });
    later(useMs + random.between(50, 2000), { is: 'end', radio });
  }

  /** The user is no member for a while. */
  function remove(user: number): void {
    if (user === ADMIN) return;
    step({ is: 'remove', user });
    later(random.between(20, 800), { is: 'join', user });
  }

  function come(): void {
    const [relay, radios] = random.pick([...running]);
    if (!stopped.has(relay) && radios.length < 4) step({ is: 'come', relay, user: seat(relay) });
  }

  function leave(radio: number): void {
    for (const radios of running.values()) {
      const at = radios.indexOf(radio);
      if (at >= 0) radios.splice(at, 1);
    }
    step({ is: 'leave', radio });
  }

  function disturb(): void {
    const roll = random.below(100);
    const all = [...running.keys()];
    const relay = random.pick(all);
    const other = random.pick(all);
    if (roll < 18) {
      step({ is: 'cut', from: relay, to: [other] });
      step({ is: 'cut', from: other, to: [relay] });
    } else if (roll < 26) step({ is: 'cut', from: relay, to: random.chance(0.5) ? others(relay) : [other] });
    else if (roll < 40) isolate(relay);
    else if (roll < 46) for (const each of all) isolate(each);
    else if (roll < 72) step({ is: 'mend' });
    else if (roll < 86) stop(relay);
    else if (roll < 93 && running.size > 1) kill(relay);
  }

  const others = (relay: number) => [...running.keys()].filter((each) => each !== relay);

  function isolate(relay: number): void {
    step({ is: 'cut', from: relay, to: others(relay) });
    for (const other of others(relay)) step({ is: 'cut', from: other, to: [relay] });
  }

  function stop(relay: number): void {
    if (stopped.has(relay)) return;
    stopped.add(relay);
    step({ is: 'stop', relay });
    schedule.in(random.pick([150, 600, 1400, 1700, 3000]), () => {
      stopped.delete(relay);
      step({ is: 'go', relay });
    });
  }

  function kill(relay: number): void {
    running.delete(relay);
    step({ is: 'kill', relay });
    schedule.in(random.between(50, 2500), () => step({ is: 'start', relay: newRelay(2) }));
  }

  function acting(betweenMs: number, perform: () => void): void {
    const next = () => {
      if (schedule.now() >= FIRST_MS + ACTING_MS) return;
      perform();
      schedule.in(random.between(1, 2 * betweenMs), next);
    };
    schedule.in(FIRST_MS + random.between(1, betweenMs), next);
  }

  const loss = random.chance(0.35) && (kind === 'any' || kind === 'dense') ? random.pick([0.02, 0.05]) : 0;
  const count = random.pick([2, 3, 3, 3, 4, 5]);
  const relays = Array.from({ length: count }, () => newRelay(1 + random.below(3)));
  const delayMsMax = kind === 'quiet' ? 30 : random.pick([2, 4, 4, 30]);
  acting(kind === 'dense' ? 40 : 90, act);
  if (kind === 'deaf') later(FIRST_MS + 300, { is: 'cut', from: 0, to: others(0) });
  if (kind === 'dense') acting(400, disturb);
  if (kind === 'any' && random.chance(0.85)) acting(random.pick([700, 900, 900, 3000]), disturb);
  schedule.run(FIRST_MS + ACTING_MS + 3000); // those that were killed are back
  return { seed, mode, loss, delayMsMax, relays, steps };
}

/**
 * `deaf`: one relay hears the others, and none hears it, all the time. `quiet`: nothing breaks, and ways are slow, so that
 * all relays must hear all of each burst. `dense`: twice as much happens.
 */
function kindOf(seed: number): 'deaf' | 'quiet' | 'dense' | 'any' {
  const at = createRandom(seed ^ 0x5bd1e995).next();
  if (at < 0.06) return 'deaf';
  if (at < 0.16) return 'quiet';
  return at < 0.36 ? 'dense' : 'any';
}
