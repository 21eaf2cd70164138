// Radios that come into the middle of a burst: how soon they hear it, connecting anew or joining by SUBSCRIBE.
import { START } from '../../../src/protocol/frame.js';
import { createRecorder, type Latency } from '../../figures/histogram.js';
import { around, exactly, nowMs, until } from '../../machine/clock.js';
import { type Conditions, readUsage, sharesOf, spent } from '../../machine/conditions.js';
import type { Member } from '../../radios/member.js';
import { RawRadio, type Said, type Target } from '../../radios/raw-radio.js';
import { joinAll } from '../../radios/swarm.js';
import { timedFrame } from '../../radios/timed-frame.js';
import { answer, fail } from '../player.js';

export interface Load {
  readonly entriesPerSecond: number;
  readonly payloadBytes: number;
}

export interface LateEntryTask {
  readonly server: Target & { readonly pid: number };
  /** Who talk, each in all of its talkgroups. */
  readonly talkers: readonly Member[];
  /** Who connect, each once. */
  readonly connecting: readonly Member[];
  /** Who are connected and subscribe, in turn, as often. */
  readonly subscribing: readonly Member[];
  readonly load: Load;
}

/** From when it should have begun. */
export interface Entry {
  /** To the first frame in hand. */
  readonly heard: Latency;
  /** To WELCOME or SUBSCRIBED in hand: what the server needs. */
  readonly ready: Latency;
  /** From there to the first frame: what the frame clock adds. */
  readonly waited: Latency;
  readonly unheard: number;
}

export interface LateEntry extends Conditions {
  readonly connecting: Entry;
  readonly subscribing: Entry;
  /** How late the talkers' frames left: also part of what was waited. */
  readonly framesLate: Latency;
}

const FRAME_MS = 20;
/** Talkers speak in so many groups, one after the other within a frame period: no need to wake for each. */
const GROUPS = 4;
/** The bursts run so long before the first entry. */
const SETTLE_MS = 1_000;
const ARRIVAL_MS_MAX = 2_000;

answer(play);

async function play(task: LateEntryTask): Promise<LateEntry> {
  const { server, load } = task;
  const count = task.connecting.length;
  const talk = await startTalking(task);
  const connecting = createEntries();
  const subscribing = createEntries();
  const subscribers = await Promise.all(task.subscribing.map((member) => openSubscriber(server, member)));
  const late = createRecorder();
  const dues = entryTimes(nowMs() + SETTLE_MS, 2 * count, load.entriesPerSecond);
  await around((dues[0] ?? 0) - FRAME_MS);
  const usage = readUsage([server.pid]);
  for (const [i, dueMs] of dues.entries()) {
    await exactly(dueMs);
    late.record(nowMs() - dueMs);
    const turn = Math.floor(i / 2);
    const member = task.connecting[turn];
    if (i % 2 === 1) subscribers[turn % subscribers.length]?.enter(subscribing.begin(dueMs));
    else if (member !== undefined) connect(server, member, connecting.begin(dueMs));
  }
  const shares = sharesOf(spent(usage, readUsage([server.pid])));
  await until(() => connecting.heard() + subscribing.heard() === 2 * count, ARRIVAL_MS_MAX);
  return {
    connecting: connecting.entry(count),
    subscribing: subscribing.entry(count),
    late: late.latency(),
    framesLate: talk.stop(),
    ...shares,
  };
}

/**
 * At the stated rate on average. Within a frame period the phases are spread by the golden ratio, for entries in step
 * with the frame clock would all wait equally long.
 */
function entryTimes(startMs: number, count: number, perSecond: number): number[] {
  const golden = (Math.sqrt(5) - 1) / 2;
  const times = Array.from(
    { length: count },
    (_, i) => startMs + (1000 * i) / perSecond + FRAME_MS * ((i * golden) % 1),
  );
  return times.sort((a, b) => a - b);
}

/** All bursts, until stopped. That says how late their frames left. */
async function startTalking({ server, talkers, load }: LateEntryTask): Promise<{ stop(): Latency }> {
  const { payloadBytes } = load;
  const radios = await joinAll(
    talkers,
    (token) => new RawRadio({ target: server, token, receive: () => {}, lost: fail }),
  );
  const late = createRecorder();
  let isOver = false;
  void talk(nowMs() + FRAME_MS);
  return {
    stop() {
      isOver = true;
      return late.latency();
    },
  };

  async function talk(startMs: number): Promise<void> {
    for (let beat = 0; !isOver; beat++) {
      const dueMs = startMs + (beat * FRAME_MS) / GROUPS;
      await around(dueMs);
      late.record(nowMs() - dueMs);
      const sequence = Math.floor(beat / GROUPS);
      for (let i = beat % GROUPS; i < radios.length; i += GROUPS) speak(i, sequence, dueMs);
    }
  }

  /** A frame of each of its bursts, in one write. */
  function speak(talker: number, sequence: number, dueMs: number): void {
    const flags = sequence === 0 ? START : 0;
    const talkgroups = talkers[talker]?.talkgroups ?? [];
    radios[talker]?.sendAll(
      talkgroups.map(({ number: talkgroup }) =>
        timedFrame({ talkgroup, flags, sequence, payloadBytes, dueMs }),
      ),
    );
  }
}

/** One radio on its way in. `ready` comes before `heard`. */
interface Entering {
  ready(): void;
  heard(): void;
}

/** Of one kind. */
function createEntries() {
  const heard = createRecorder();
  const ready = createRecorder();
  const waited = createRecorder();
  let count = 0;
  return {
    heard: () => count,
    begin(dueMs: number): Entering {
      let readyMs: number | null = null;
      return {
        ready() {
          readyMs = nowMs();
          ready.record(readyMs - dueMs);
        },
        heard() {
          const heardMs = nowMs();
          count++;
          heard.record(heardMs - dueMs);
          waited.record(heardMs - (readyMs ?? heardMs));
        },
      };
    },
    entry: (expected: number): Entry => ({
      heard: heard.latency(),
      ready: ready.latency(),
      waited: waited.latency(),
      unheard: expected - count,
    }),
  };
}

/** Leaves with its first frame. */
function connect(server: Target, { token }: Member, entering: Entering): void {
  let hasHeard = false;
  const radio: RawRadio = new RawRadio({
    target: server,
    token,
    lost: fail,
    told({ type }) {
      if (type === 'WELCOME') entering.ready();
    },
    receive() {
      if (hasHeard) return;
      hasHeard = true;
      entering.heard();
      radio.leave();
    },
  });
}

/** Connected and without audio until it enters, and again after its first frame. */
async function openSubscriber(server: Target, { token, talkgroups }: Member) {
  const talkgroup_ids = talkgroups.map(({ id }) => id);
  let entering: Entering | null = null;
  const radio = new RawRadio({
    target: server,
    token,
    lost: fail,
    told({ type, ref }: Said) {
      if (type === 'SUBSCRIBED' && ref === 'talk') entering?.ready();
    },
    receive() {
      entering?.heard(); // else it was on its way when the radio left
      if (entering !== null) subscribe('events');
      entering = null;
    },
  });
  const subscribe = (mode: 'talk' | 'events') =>
    radio.say({ type: 'SUBSCRIBE', talkgroup_ids, mode, ref: mode });

  await radio.joined;
  subscribe('events');
  return {
    enter(as: Entering): void {
      entering = as;
      subscribe('talk');
    },
  };
}
