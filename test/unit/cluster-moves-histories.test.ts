// Generated histories of sessions that move between three relays, with messages that are late, lost and out of order: a
// session is in one place at most, and with all messages in time in exactly one.

import fc from 'fast-check';
import t from 'tap';
import { readBody } from '../../src/relay/cluster/bodies.js';
import { newClusterCounts } from '../../src/relay/cluster/counts.js';
import type { MovedSession } from '../../src/relay/cluster/moves/bodies.js';
import { Moves } from '../../src/relay/cluster/moves/moves.js';
import { type Kind, kinds } from '../../src/relay/nodes/header.js';
import { virtualClock } from '../helpers/relay/clocks.js';

const RELAYS = [1, 2, 3] as const;
const USER = '00000002-0000-4000-8000-000000000001';

type Deed =
  /** The radio of this session opens a socket at this relay, with the token of its last WELCOME. */
  | { readonly deed: 'comes'; readonly session: number; readonly relay: number }
  /** The radios whose handshakes wait give up: what these fetch is not opened. */
  | { readonly deed: 'leaves'; readonly session: number }
  /** One of the messages on their way arrives, or is lost. */
  | { readonly deed: 'arrives' | 'isLost'; readonly which: number }
  | { readonly deed: 'passes'; readonly ms: number };

const comes = fc.record({ deed: fc.constant('comes' as const), session: fc.nat(2), relay: fc.nat(2) });
const leaves = fc.record({ deed: fc.constant('leaves' as const), session: fc.nat(2) });
const arrives = fc.record({ deed: fc.constant('arrives' as const), which: fc.nat() });
const isLost = fc.record({ deed: fc.constant('isLost' as const), which: fc.nat() });
const passes = fc.record({
  deed: fc.constant('passes' as const),
  ms: fc.constantFrom(10, 150, 350, 700, 3500),
});

interface Message {
  readonly from: number;
  readonly to: number;
  readonly kind: Kind;
  readonly body: Uint8Array;
}

interface Radio {
  key: string;
  /** The relay that its token names. */
  named: number;
  isThere: boolean;
}

const movedOf = (session: number): MovedSession => ({
  ...{ session, moves: 1, bursts: 0, left_ms: 60_000, subscriptions: [], claims: [] },
  ...{ talks: [], behind: null, raises: [] },
});

/** Three relays and the radios of three sessions. */
function world() {
  const way: Message[] = [];
  const clock = virtualClock();
  let keys = 0;
  const newKey = () => `key ${++keys}`;
  const radios: Radio[] = [];
  /** Of each relay, its sessions by key. */
  const books = new Map(RELAYS.map((relay) => [relay as number, new Map<string, number>()]));
  const bookOf = (relay: number) => books.get(relay) as Map<string, number>; // of one of the relays
  /** The keys that WELCOME was said for. */
  const used = new Set<string>();
  const faults: string[] = [];
  let handshakes = 0;
  const all = new Map(
    RELAYS.map((relay) => [
      relay as number,
      new Moves({
        relay,
        isUp: () => true,
        say: (to, kind, body) => void way.push({ from: relay, to, kind, body }),
        sessions: {
          keepMs: 60_000,
          max: 100,
          has: (key) => bookOf(relay).has(key),
          give(key) {
            const session = bookOf(relay).get(key);
            if (session === undefined) return null;
            bookOf(relay).delete(key);
            return movedOf(session);
          },
        },
        counts: newClusterCounts(),
        clock,
      }),
    ]),
  );
  for (let session = 0; session < 3; session++) {
    const key = newKey();
    radios.push({ key, named: 1, isThere: true });
    bookOf(1).set(key, session);
  }

  /** As hub/moving does it. */
  async function comes(at: number, session: number): Promise<void> {
    const radio = radios[session] as Radio; // there are three
    const { key, named } = radio;
    const book = bookOf(at);
    const moves = all.get(at) as Moves;
    handshakes++;
    radio.isThere = true;
    if (!book.has(key)) {
      const relay = await moves.find(named, { key, user: USER });
      const moved = relay === null ? null : await moves.take(relay, { key, user: USER });
      if (moved !== null) book.set(key, moved.session);
    }
    handshakes--;
    const found = book.get(key);
    if (found === undefined || !radio.isThere) return;
    if (found !== session) faults.push(`the token of ${session} opened ${found}`);
    if (used.has(key)) faults.push(`the token ${key} was used twice`);
    used.add(key);
    radio.key = newKey();
    radio.named = at;
    book.delete(key);
    book.set(radio.key, session);
  }

  function arrive({ from, to, kind, body }: Message): void {
    const moves = all.get(to) as Moves;
    const wanted = readBody('wanted', body);
    const found = readBody('found', body);
    const taken = readBody('taken', body);
    if (kind === kinds.find && wanted) moves.tellWhere(from, wanted);
    else if (kind === kinds.take && wanted) moves.give(from, wanted);
    else if (kind === kinds.found && found) moves.found(from, found);
    else if (kind === kinds.taken && taken) moves.taken(from, taken);
    else faults.push(`a message that cannot be read: ${kind}`);
  }

  const settled = async () => {
    for (let turn = 0; turn < 12; turn++) await Promise.resolve();
  };

  return {
    faults,
    handshakes: () => handshakes,
    /** The relay that said WELCOME to its radio last. */
    isWelcomeAt: (session: number) => radios[session]?.named,
    onTheirWay: () => way.length,
    copies: (session: number) =>
      [...books.values()].flatMap((book) => [...book.values()]).filter((one) => one === session).length,
    async does(deed: Deed): Promise<void> {
      if (deed.deed === 'comes') void comes((deed.relay % 3) + 1, deed.session);
      else if (deed.deed === 'leaves') (radios[deed.session] as Radio).isThere = false;
      else if (deed.deed === 'passes') {
        clock.pass(deed.ms);
        for (const moves of all.values()) moves.tick(clock.nowMs());
      } else {
        const [message] = way.splice(deed.which % Math.max(1, way.length), 1);
        if (message !== undefined && deed.deed === 'arrives') arrive(message);
      }
      await settled();
    },
    close(): void {
      for (const moves of all.values()) moves.close();
    },
  };
}

async function history(deeds: readonly Deed[], isWhole: boolean): Promise<void> {
  const w = world();
  const check = () => {
    for (const session of [0, 1, 2])
      if (w.copies(session) > 1) w.faults.push(`the session ${session} is at several relays`);
    if (w.faults.length > 0) throw new Error(w.faults.join(', '));
  };
  try {
    for (const deed of deeds) {
      await w.does(deed);
      check();
    }
    const allArrive = async () => {
      for (let step = 0; step < 400 && w.onTheirWay() > 0; step++) {
        await w.does({ deed: 'arrives', which: 0 });
        check();
      }
    };
    await allArrive();
    if (!isWhole) return;
    if (w.handshakes() > 0) throw new Error(`${w.handshakes()} handshakes were not answered`);
    for (const session of [0, 1, 2]) {
      if (w.copies(session) !== 1) throw new Error(`the session ${session} is lost`);
      const relay = (deeds.length + session) % 3;
      await w.does({ deed: 'comes', session, relay });
      await allArrive();
      if (w.isWelcomeAt(session) !== relay + 1) throw new Error(`the session ${session} is not found`);
    }
  } finally {
    w.close();
  }
}

/** `make test` plays 500 of each kind (2 s of CPU time): a planted fault was found within 110. `make prove` plays 30,000. */
const numRuns = Number(process.env.PROVE_RUNS ?? 500);

t.test('whatever is late or lost, a session is at one relay at most, and a token is good once', async (t) => {
  const deed = fc.oneof({ weight: 4, arbitrary: comes }, leaves, { weight: 8, arbitrary: arrives }, isLost, {
    weight: 2,
    arbitrary: passes,
  });
  await fc.assert(
    fc.asyncProperty(fc.array(deed, { maxLength: 60, size: 'max' }), (deeds) => history(deeds, false)),
    { numRuns },
  );
  t.pass();
});

t.test('with all messages in time no session is lost, in whatever order they arrive', async (t) => {
  const deed = fc.oneof({ weight: 3, arbitrary: comes }, leaves, { weight: 8, arbitrary: arrives });
  await fc.assert(
    fc.asyncProperty(fc.array(deed, { maxLength: 60, size: 'max' }), (deeds) => history(deeds, true)),
    { numRuns },
  );
  t.pass();
});
