// Deals the radios of a test out over the two relay threads of its service, when RADIOS_OVER=threads asks for it.
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import root, { type Test } from 'tap';
import { eventually } from '../eventually.js';
import { metric } from '../http/exposition.js';
import { threadOf } from './relay-threads.js';
import { connect, type Radio } from './service.js';
import { receiversOf } from './two-nodes.js';

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

/** Local ports that the system gives to nobody by itself. */
const PORTS: readonly [number, number] = [12_000, 32_000];

interface Scouting {
  readonly ws: string;
  /** The token of somebody without talkgroups. */
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
    if (radio.welcome === null) return; // the port is used by somebody else
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
    threads: () => [...ports.keys()],
    /** A port that leads to the first or second thread that was found. */
    toTurn: (turn: number) => next(() => [...ports.keys()][turn]),
    /** A port that leads to this thread. */
    to: (thread: number) => next(() => thread),
  };
}

interface Dealing extends Scouting {
  readonly metrics: string;
}

/** The radios come to the two threads by turns. A session that is resumed is resumed where it lives. */
export function threadDealer(t: Test, { ws, metrics, scout }: Dealing) {
  const ports = scoutPorts(t, { ws, scout });
  const dealt = new Set<Radio>();
  let count = 0;

  /** Resolves when each thread knows the radios of the other one that are in talkgroups of both, and no others. */
  const known = () =>
    eventually(async () => {
      const [here, there] = ports
        .threads()
        .map((thread) => receiversOf(dealt, (radio) => threadOf(radio) === thread));
      const shared = [...(here ?? [])].filter(([number]) => there?.has(number));
      const sessions = shared.reduce((sum, [number, count]) => sum + count + (there?.get(number) ?? 0), 0);
      // Of both threads together.
      assert.equal(await metric(metrics, 'talkgroup_cluster_talkgroups'), 2 * shared.length);
      assert.equal(await metric(metrics, 'talkgroup_cluster_sessions'), sessions);
    });

  return {
    async radioAt(resumed: Radio['welcome'] | null, token: string): Promise<Radio> {
      const choosing = resumed === null ? ports.toTurn(count++ % 2) : ports.to(threadOf(resumed));
      const { thread, localPort } = await choosing;
      // Who has left is forgotten before another one comes: in a sum the one would hide the other.
      if ([...dealt].some(({ socket }) => socket.readyState !== socket.OPEN)) await known();
      const resume = resumed === null ? '' : `&resume=${resumed.resume_token}`;
      const radio = await connect(t, `${ws}/ws?token=${token}${resume}`, { localPort });
      if (radio.welcome === null) return radio;
      assert.equal(threadOf(radio), thread, 'a local port leads to one thread');
      dealt.add(radio);
      await known();
      wereDealt ||= new Set([...dealt].map(threadOf)).size === 2;
      return radio;
    },
  };
}
