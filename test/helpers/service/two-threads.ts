// Deals the radios of a test out over the two relay threads of its service, when RADIOS_OVER=threads asks for it.
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import root, { type Test } from 'tap';
import type { WebSocket } from 'ws';
import { eventually } from '../eventually.js';
import { scrape } from '../http/exposition.js';
import { threadOf } from './relay-threads.js';
import { connect, type Radio } from './service.js';
import { betweenThreads, heardByBoth, heardEverywhere, joinedBy } from './two-nodes.js';

const isAsked = process.env.RADIOS_OVER === 'threads';
/** A radio was on each thread of a service. */
let wereDealt = false;
if (isAsked)
  root.teardown(() => {
    if (!wereDealt)
      throw new Error('no radios were dealt out over two threads: the file shows nothing of them');
  });

/** What makes a service have two threads, over which its radios are dealt out. null: they are not. */
export const sharingOf = ({
  RELAY_THREADS = '1',
}: Readonly<Record<string, string>>): Record<string, string> | null =>
  isAsked && RELAY_THREADS === '1' ? { RELAY_THREADS: '2' } : null;

/** Local ports that the system does not give out by itself. */
const PORTS: readonly [number, number] = [12_000, 32_000];

interface Scouting {
  readonly ws: string;
  /** The token of a user without talkgroups. */
  readonly scout: () => Promise<string>;
}

/**
 * Linux chooses the thread of a connection by its addresses, so that a local port always leads to the same one. A scout
 * finds out which.
 */
export function scoutPorts(t: Test, { ws, scout }: Scouting) {
  /** Local ports that lead to a thread and are not used yet. In the order in which the threads were found. */
  const ports = new Map<number, number[]>();
  let token: Promise<string> | null = null;
  let last = Promise.resolve();

  async function scoutOne(): Promise<void> {
    token ??= scout();
    const localPort = randomInt(...PORTS);
    const radio = await connect(t, `${ws}/ws?token=${await token}`, { localPort });
    if (radio.welcome === null) return; // the port is used by another process
    const thread = threadOf(radio);
    ports.set(thread, [...(ports.get(thread) ?? []), localPort]);
    radio.socket.close(1000);
    await radio.closes();
  }

  async function find(threadOr: () => number | undefined) {
    for (;;) {
      const thread = threadOr();
      const localPort = thread === undefined ? undefined : ports.get(thread)?.shift();
      if (thread !== undefined && localPort !== undefined) return { thread, localPort };
      await scoutOne();
    }
  }

  /** One after the other. */
  function next(threadOr: () => number | undefined) {
    const found = last.then(() => find(threadOr));
    last = found.then(() => {});
    return found;
  }

  return {
    /** Finds so many ports for each of two threads: while the database is away no scout comes in. */
    async spare(each: number): Promise<void> {
      const isShort = () => ports.size < 2 || [...ports.values()].some((found) => found.length < each);
      last = last.then(async () => {
        while (isShort()) await scoutOne();
      });
      await last;
    },
    threads: () => [...ports.keys()],
    /** A port that leads to the first or second thread that was found. */
    toTurn: (turn: number) => next(() => [...ports.keys()][turn]),
  };
}

/** Users of the helper alone. */
export interface Markers {
  /** Of a user of its own for each thread. */
  readonly tokens: readonly string[];
  /** Of `open` talkgroups with these two users. */
  readonly talkgroups: readonly number[];
}

/** A marker that was not heard for this time (ms) is said again. */
const AGAIN_MS = 250;

interface Dealing extends Scouting {
  readonly metrics: string;
  readonly markers: () => Promise<Markers>;
}

/**
 * Two radios, one on each thread. What one thread says to another arrives in order: when a frame from the one radio is
 * heard by the other one, all that its thread said before is handled there.
 */
async function crossing(t: Test, radios: readonly [Radio, Radio], talkgroups: readonly number[]) {
  const [one, other] = radios;
  let last = 0;
  let turn = 0;

  async function hearsFrom(from: Radio, to: Radio, text: string): Promise<void> {
    // In talkgroups by turns, and again: where its limits of frames or bursts are reached, a frame is dropped.
    const says = () => from.speaks(talkgroups[turn++ % talkgroups.length] ?? 0, text);
    const heard = to.hearsText(text);
    says();
    const again = setInterval(says, AGAIN_MS);
    await heard.finally(() => clearInterval(again));
    to.frames.length = 0;
  }

  async function cross(): Promise<void> {
    const text = `marker ${++last}`;
    try {
      await Promise.all([hearsFrom(one, other, text), hearsFrom(other, one, text)]);
    } catch (error) {
      // Expected: the service is closed.
      if (radios.every(({ socket }) => socket.readyState === socket.OPEN)) throw error;
      betweenThreads.delete(cross);
    }
  }

  betweenThreads.add(cross);
  t.teardown(() => betweenThreads.delete(cross));
}

/** A socket that was dealt to a thread, and what it heard. */
export interface Dealt extends Pick<Radio, 'session' | 'socket' | 'welcome'> {
  readonly arrivals: Readonly<Radio['arrivals']>;
  /** Ids of talkgroups that it unsubscribed from. */
  readonly left?: ReadonlySet<unknown>;
}

/** How many of these radios are in each talkgroup, by what they were told. Drops radios that have no socket any more. */
function receiversOf(radios: Map<Dealt, number>, thread: number | undefined): Map<number, number> {
  const receivers = new Map<number, number>();
  for (const [radio, its] of radios) {
    if (radio.socket.readyState !== radio.socket.OPEN) radios.delete(radio);
    else if (its === thread)
      for (const [id, number] of joinedBy(radio))
        if (!radio.left?.has(id)) receivers.set(number, (receivers.get(number) ?? 0) + 1);
  }
  return receivers;
}

/** How a socket comes to the thread that it is dealt to. */
export interface Way {
  /** Of the WebSocket. */
  readonly options: { readonly localPort?: number };
  /** It is connected. Resolves when both threads know it. */
  readonly arrived: (socket: Dealt) => Promise<void>;
}

/** Ids of the talkgroups that the socket unsubscribes from. */
function leavings(socket: WebSocket): ReadonlySet<unknown> {
  const left = new Set<unknown>();
  const send = socket.send.bind(socket) as (...args: unknown[]) => void;
  socket.send = (...args: unknown[]) => {
    const [said] = args;
    if (typeof said === 'string' && /"(UN)?SUBSCRIBE"/.test(said)) {
      const { type, talkgroup_ids: ids = [] } = JSON.parse(said) as { type: string; talkgroup_ids?: unknown };
      for (const id of Array.isArray(ids) ? ids : []) {
        if (type === 'UNSUBSCRIBE') left.add(id);
        else left.delete(id);
      }
    }
    send(...args);
  };
  return left;
}

/** The radios come to the two threads by turns, and so do those that resume their session, wherever that is. */
export function threadDealer(t: Test, { ws, metrics, scout, markers }: Dealing) {
  const ports = scoutPorts(t, { ws, scout });
  /** Each with its thread. */
  const dealt = new Map<Dealt, number>();
  /** Threads that a radio of the test came to. */
  const used = new Set<number>();
  let count = 0;
  let crosses: Promise<void> | null = null;
  let knowing: Promise<void> | null = null;

  /** Throws as long as a thread does not know the radios of the other one that are in talkgroups of both, or others. */
  async function checkKnown(): Promise<void> {
    const { series } = await scrape(metrics);
    const [here, there] = ports.threads().map((thread) => receiversOf(dealt, thread));
    const shared = [...(here ?? [])].filter(([number]) => there?.has(number));
    const sessions = shared.reduce((sum, [number, count]) => sum + count + (there?.get(number) ?? 0), 0);
    // Of both threads together.
    assert.equal(series.get('talkgroup_cluster_talkgroups'), 2 * shared.length);
    assert.equal(series.get('talkgroup_cluster_sessions'), sessions);
  }

  /** Resolves when both threads know all radios. Those that come meanwhile are waited for together. */
  function known(): Promise<void> {
    knowing ??= eventually(checkKnown).finally(() => {
      knowing = null;
    });
    return knowing;
  }

  async function makeCrossing(): Promise<void> {
    const { tokens, talkgroups } = await markers();
    const [one, other] = await Promise.all(
      tokens.map(async (token, turn) => {
        const { localPort } = await ports.toTurn(turn);
        return connect(t, `${ws}/ws?token=${token}`, { localPort });
      }),
    );
    assert.ok(one && other);
    for (const marker of [one, other]) dealt.set(marker, threadOf(marker));
    await ports.spare(2);
    await known();
    await crossing(t, [one, other], talkgroups);
  }

  /** The way to the thread whose turn it is, or to the first one when it `isHere`. `resumed` is a session's number. */
  async function wayTo(resumed: number | null, isHere = false): Promise<Way> {
    crosses ??= makeCrossing();
    await crosses;
    const { thread, localPort } = await ports.toTurn(isHere ? 0 : count++ % 2);
    // Who has left is forgotten before another one comes: in a sum the one would hide the other. One that comes back is
    // not waited for: its burst goes on for 2 s only.
    if (resumed === null && [...dealt.keys()].some(({ socket }) => socket.readyState !== socket.OPEN))
      await known();
    return {
      options: { localPort },
      async arrived(socket) {
        // A session that moved keeps the number that it has from its first thread.
        if (socket.welcome?.resumed !== true)
          assert.equal(threadOf(socket), thread, 'a local port leads to one thread');
        dealt.set({ ...socket, left: leavings(socket.socket) }, thread);
        // The thread that it left stays in its talkgroups for 2 s.
        await (socket.welcome?.resumed === true ? heardEverywhere() : known());
        wereDealt ||= used.add(thread).size === 2;
      },
    };
  }

  return {
    wayTo,
    /** A change was answered, and all threads follow it. Resolves when each has heard what the other one said of it. */
    async followed({ method }: { readonly method: string }): Promise<void> {
      if (method !== 'GET') await heardEverywhere();
    },
    async radioAt(resumed: Radio['welcome'] | null, token: string, isHere = false): Promise<Radio> {
      const { options, arrived } = await wayTo(resumed?.session ?? null, isHere);
      const resume = resumed === null ? '' : `&resume=${resumed.resume_token}`;
      const radio = await connect(t, `${ws}/ws?token=${token}${resume}`, options);
      if (radio.welcome === null) return radio;
      await arrived(radio);
      return heardByBoth(radio);
    },
  };
}
