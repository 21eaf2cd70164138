// Plays random histories of several relays that share a floor, in virtual time. A seed replays.

import type { FloorMode } from '../../../src/protocol/codes.js';
import type { Settings } from '../../../src/relay/shared-floor/bodies.js';
import { type Fault, plant } from './faults.js';
import { Judge } from './judge.js';
import { SimRelay } from './sim-relay.js';
import type { SimSession } from './sim-session.js';
import { createNetwork, createRandom, createSchedule, type Random } from './world.js';

export interface Played {
  /** What happened, and how often. */
  readonly seen: ReadonlyMap<string, number>;
}

const ACTING_MS = 6000;
const CALM_MS = 3000;

/** Throws the first violation. */
export function playHistory(seed: number, fault: Fault | null = null, trace?: Trace): Played {
  const takeOut = plant(fault);
  try {
    return play(seed, fault, trace);
  } finally {
    takeOut();
  }
}

type Trace = (line: string) => void;

function play(seed: number, fault: Fault | null, trace?: Trace): Played {
  const random = createRandom(seed);
  const schedule = createSchedule();
  const network = createNetwork(schedule, random);
  const judge = new Judge(schedule, network);
  const relays: SimRelay[] = [];
  const urgent = new Set<number>();
  const mode: FloorMode = random.chance(0.85) ? 'single' : random.pick(['broadcast', 'open'] as const);
  const changesMode = random.chance(0.15);
  let settings: Settings = { revision: 1, mode, maxTalkMs: 4000, encryption: 'allowed', mayBeClear: true };
  let lastId = 1000 + random.below(1000);
  let lastSession = 0;
  const users = 6;
  const say = (what: string) => trace?.(`${Math.round(schedule.now())} ${what}`);

  function newRelay(): SimRelay {
    lastId += 1 + random.below(1000);
    const origin = random.below(1e6);
    const rate = 1 + random.between(-200, 200) / 1e6;
    const relay = new SimRelay(lastId, { schedule, network, judge, settings, fault, origin, rate });
    relays.push(relay);
    judge.relays.add(relay);
    return relay;
  }

  function seat(relay: SimRelay): void {
    const number = ++lastSession;
    const user = random.below(users);
    const session = relay.seat(number, user, user === 0);
    session.inEmergency = urgent.has(user);
    judge.changedAtMs = schedule.now();
    if (relay.sessions.size === 1) judge.overlaps.changedAtMs = schedule.now();
  }

  // One relay hears the others, and none hears it, all the time.
  const isDeaf = createRandom(seed ^ 0x5bd1e995).chance(0.06);
  const lossy = random.chance(0.35) ? random.pick([0.02, 0.05]) : 0;
  const count = random.pick([2, 3, 3, 3, 4, 5]);
  for (let at = 0; at < count; at++) newRelay();
  for (const relay of relays) for (let at = 1 + random.below(3); at > 0; at--) seat(relay);
  network.slow(random.pick([2, 4, 4, 30]));
  schedule.run(600);
  network.lose(isDeaf ? 0 : lossy);

  const sessions = () =>
    relays.flatMap((relay) => (network.isStopped(relay.id) ? [] : [...relay.sessions.values()]));

  function act(random: Random): void {
    const all = sessions();
    if (all.length === 0) return;
    const session = random.pick(all);
    const roll = random.below(100);
    say(`${session.number} (${session.relay.id}, ${session.claim}): ${roll}`);
    if (roll < 34) {
      session.press();
      talkFor(session, random.chance(0.2) ? random.between(1, 30) : random.between(50, 2500));
    } else if (roll < 54) {
      session.request(random.pick([1, 1, 1, 2, 5]), random.chance(0.8));
      if (random.chance(0.8)) schedule.in(random.between(5, 600), () => useGrant(session));
    } else if (roll < 72) session.release();
    else if (roll < 76) session.isSpeaking = false;
    else if (roll < 82) lose(session);
    else if (roll < 85) session.remove();
    else if (roll < 90) emergency(session);
    else if (roll < 92 && changesMode) changeMode();
    else if (roll < 94) come();
    else if (roll < 96) leave(session);
    else if (roll < 100) {
      // Two press at the same moment.
      const other = random.pick(all);
      session.press();
      other.press();
    }
  }

  const isThere = ({ relay, number }: SimSession) =>
    !relay.isDead && !network.isStopped(relay.id) && relay.sessions.has(number);

  /** A relay that is stopped does it when it goes on. */
  function whenRunning(relay: SimRelay, ms: number, perform: () => void): void {
    schedule.in(ms, () => {
      if (network.isStopped(relay.id)) whenRunning(relay, 20, perform);
      else if (!relay.isDead) perform();
    });
  }

  function useGrant(session: SimSession): void {
    if (isThere(session) && session.claim === 'has') session.press();
    if (isThere(session)) talkFor(session, random.between(50, 2000));
  }

  function talkFor(session: SimSession, ms: number): void {
    schedule.in(ms, () => {
      if (isThere(session) && session.claim === 'talks') session.release();
    });
  }

  function lose(session: SimSession): void {
    session.lose(false);
    schedule.in(random.between(10, 2500), () => {
      if (isThere(session)) session.back();
    });
  }

  function emergency({ user }: SimSession): void {
    const inEmergency = !urgent.has(user);
    if (inEmergency) urgent.add(user);
    else urgent.delete(user);
    for (const relay of relays)
      whenRunning(relay, random.between(0, 60), () => {
        const own = [...relay.sessions.values()].filter((one) => one.user === user);
        if (own.length === 0) return;
        for (const one of own) one.inEmergency = urgent.has(user);
        const numbers = new Set(own.map(({ number }) => number));
        const claim = { kind: 'emergency', sessions: numbers, inEmergency: urgent.has(user) } as const;
        relay.authority.tell(relay.talkgroup, [claim], relay.now());
      });
  }

  function changeMode(): void {
    const next = random.pick(['single', 'single', 'broadcast', 'open'] as const);
    settings = {
      ...settings,
      ...{ revision: settings.revision + 1, mode: next, maxTalkMs: random.pick([2000, 4000]) },
    };
    say(`mode ${next}`);
    const read = settings;
    judge.changedAtMs = schedule.now() + 260;
    judge.overlaps.changedAtMs = judge.changedAtMs;
    for (const relay of relays) whenRunning(relay, random.between(0, 250), () => relay.read(read));
  }

  function come(): void {
    const relay = random.pick(relays);
    if (!network.isStopped(relay.id) && relay.sessions.size < 4) seat(relay);
  }

  function leave(session: SimSession): void {
    if (!isThere(session)) return;
    session.relay.unseat(session);
    judge.left(session);
    judge.changedAtMs = schedule.now();
    if (session.relay.sessions.size === 0) judge.overlaps.changedAtMs = schedule.now();
  }

  function disturb(random: Random): void {
    const roll = random.below(100);
    const relay = random.pick(relays);
    const other = random.pick(relays);
    if (roll < 18) {
      say(`cut ${relay.id} | ${other.id}`);
      network.cut(relay.id, other.id);
      network.cut(other.id, relay.id);
    } else if (roll < 26) {
      const hearing = random.chance(0.5) ? relays.filter((each) => each !== relay) : [other];
      say(`cut ${relay.id} > ${hearing.map(({ id }) => id)}`);
      for (const { id } of hearing) network.cut(relay.id, id);
    } else if (roll < 40) isolate(relay);
    else if (roll < 46) for (const each of relays) isolate(each);
    else if (roll < 72) {
      say('mend');
      network.mend();
    } else if (roll < 86) {
      say(`stop ${relay.id}`);
      relay.stop();
      schedule.in(random.pick([150, 600, 1400, 1700, 3000]), () => {
        say(`go ${relay.id}`);
        network.go(relay.id);
      });
    } else if (roll < 93 && relays.length > 1) {
      say(`kill ${relay.id}`);
      relay.kill();
      relays.splice(relays.indexOf(relay), 1);
      judge.killed(relay);
      schedule.in(random.between(50, 2500), () => {
        const back = newRelay();
        say(`start ${back.id}`);
        seat(back);
        seat(back);
      });
    }
  }

  function mute(relay: SimRelay): void {
    say(`none hears ${relay.id}`);
    for (const other of relays) if (other !== relay) network.cut(relay.id, other.id);
  }

  function isolate(relay: SimRelay): void {
    say(`cut ${relay.id} off`);
    for (const other of relays) {
      if (other === relay) continue;
      network.cut(relay.id, other.id);
      network.cut(other.id, relay.id);
    }
  }

  const untilMs = schedule.now() + ACTING_MS;
  const acting = (betweenMs: number, perform: (random: Random) => void) => {
    const next = () => {
      if (schedule.now() >= untilMs) return;
      perform(random);
      schedule.in(random.between(1, 2 * betweenMs), next);
    };
    schedule.in(random.between(1, betweenMs), next);
  };
  acting(90, act);
  if (isDeaf) whenRunning(relays[0] as SimRelay, 300, () => mute(relays[0] as SimRelay));
  if (random.chance(0.85) && !isDeaf) acting(random.pick([700, 900, 900, 3000]), disturb);
  const looking = () => {
    judge.look();
    schedule.in(50, looking);
  };
  looking();
  schedule.run(untilMs);
  say('calm');
  network.mend();
  network.lose(0);
  for (const relay of relays) network.go(relay.id);
  schedule.run(untilMs + 3100); // those that were killed are back
  for (const relay of relays) relay.read(settings);
  for (const session of sessions()) session.back();
  judge.changedAtMs = schedule.now();
  judge.overlaps.changedAtMs = schedule.now();
  schedule.run(schedule.now() + CALM_MS);
  // The floor may change hands at the very moment.
  if (judge.endsWith() !== null) schedule.run(schedule.now() + 300);
  judge.checkEnd();
  for (let round = 0; round < 16; round++) {
    for (const session of sessions()) session.release();
    schedule.run(schedule.now() + 120);
  }
  schedule.run(schedule.now() + 600);
  judge.checkIdle();
  return { seen: judge.seen };
}
