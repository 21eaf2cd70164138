// Emergencies over relays in generated histories: lost messages, cuts, crashes, and a database that relays lose.
import fc from 'fast-check';
import t from 'tap';
import { randomFrom } from '../helpers/random.js';
import { createWorld, type World } from '../helpers/relay/emergency-world.js';

const RELAYS = 3;
const relay = fc.nat(RELAYS - 1);
const which = fc.constantFrom(0, 0, 0, 1, 2);

const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('raise' as const), relay }) },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constantFrom('acknowledge' as const, 'clear' as const), relay, which }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('clearStored' as const), which }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('away' as const, 'back' as const), relay }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('cut' as const), relay, other: relay }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('heal' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('crash' as const), relay }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('lose' as const), share: fc.constantFrom(0, 0.3, 1) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('delay' as const), share: fc.constantFrom(0.3, 0.6) }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('pass' as const),
      ms: fc.constantFrom(0, 3, 15, 60, 600, 2500),
    }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

/** What a history did: the ids raised, and those of them that were cleared where it counts. */
interface Played {
  readonly raised: string[];
  readonly cleared: { id: string; relay: number | null }[];
}

async function play(world: World, steps: readonly Step[]): Promise<Played> {
  const played: Played = { raised: [], cleared: [] };
  let crashes = 0;
  for (const one of steps) {
    const actor = 'relay' in one ? world.relays[one.relay] : undefined;
    const id = 'which' in one ? played.raised.at(-1 - one.which) : undefined;
    if (actor?.isAlive() === false && one.kind !== 'cut') continue;
    if (one.kind === 'raise' && actor) played.raised.push(actor.raise());
    else if (one.kind === 'acknowledge' && id && actor?.open().has(id)) await actor.acknowledge(id);
    else if (one.kind === 'clear' && id && actor?.open().has(id)) {
      await actor.clear(id);
      played.cleared.push({ id, relay: one.relay });
    } else if (one.kind === 'clearStored' && id) {
      if (world.clearStored(id)) played.cleared.push({ id, relay: null });
    } else if (one.kind === 'away') actor?.database(false);
    else if (one.kind === 'back') actor?.database(true);
    else if (one.kind === 'cut' && one.relay !== one.other) world.cut(one.relay, one.other);
    else if (one.kind === 'heal') world.heal();
    else if (one.kind === 'lose') world.lose(one.share);
    else if (one.kind === 'delay') world.delay(one.share);
    else if (one.kind === 'crash' && crashes++ === 0) world.crash(one.relay);
    else if (one.kind === 'pass') await world.pass(one.ms);
  }
  return played;
}

/** null when everything is as it must be. */
function judge(world: World, { raised, cleared }: Played): string | null {
  const alive = world.relays.filter((one) => one.isAlive());
  const views = alive.map((one) => JSON.stringify([...one.open()].sort()));
  if (new Set(views).size > 1) return `they differ: ${views.join(' and ')}`;
  for (const id of raised) {
    const wasAnnounced = alive.some(({ announced }) => announced.some((one) => one.id === id));
    const isOpen = alive[0]?.open().has(id);
    const ways = cleared.filter((one) => one.id === id);
    const isCleared = ways.some(({ relay }) => relay === null || world.relays[relay]?.isAlive());
    if (isCleared && isOpen) return `${id} was cleared, and is open`;
    if (ways.length === 0 && wasAnnounced && !isOpen) return `${id} was announced, and is not open`;
  }
  for (const { announced, number } of alive) {
    const over = new Set<string>();
    for (const { id, state } of announced) {
      if (over.has(id)) return `${id} was ${state} on ${number} after it was cleared`;
      if (state === 'cleared') over.add(id);
    }
  }
  return null;
}

t.test(
  'an emergency announced anywhere is open everywhere until it is cleared, and never opens again',
  async (t) => {
    await fc.assert(
      fc.asyncProperty(fc.nat(), fc.array(step, { maxLength: 25 }), async (seed, steps) => {
        const world = createWorld(RELAYS, randomFrom(seed).next);
        await world.pass(100);
        const played = await play(world, steps);
        world.heal();
        await world.pass(1500); // a relay that crashed last is noticed
        await world.pass(1000);
        const soon = judge(world, played);
        if (soon !== null) throw new Error(`after 1 s: ${soon}`);
        await world.pass(8000);
        const late = judge(world, played);
        if (late !== null) throw new Error(`after 9 s: ${late}`);
        for (const [id, state] of world.relays.find((one) => one.isAlive())?.open() ?? [])
          if (world.stored.get(id)?.state !== state) throw new Error(`${id} is stored otherwise`);
        for (const [id, { state }] of world.stored)
          for (const one of world.relays)
            if (one.isAlive() && (state !== 'cleared') !== one.open().has(id))
              throw new Error(`${id} is stored as ${state}`);
      }),
      {
        numRuns: Number(process.env.HISTORIES ?? 400),
        ...(process.env.SEED && { seed: Number(process.env.SEED) }),
      },
    );
    t.pass();
  },
);
