// Floors that real relays share, over random histories with lost and late messages, cuts and restarts of the bus.
import { setTimeout as delay } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { kinds } from '../../src/relay/nodes/header.js';
import { createRandom, type Random } from '../helpers/cluster/world.js';
import { eventually } from '../helpers/eventually.js';
import { burstsHeard, floorRelays, type Radio } from '../helpers/relay/floor-pair.js';
import { type RelayOn, reached, settled, talkgroupIdOf } from '../helpers/relay/relays.js';

t.setTimeout(300_000);

const about = { talkgroup_id: talkgroupIdOf(1) };
const HISTORIES = Number(process.env.PROVE_RUNS ?? 3000) >= 30_000 ? 24 : 8;
const STEPS = 100;

/** What one radio does next. */
function act(random: Random, radio: Radio): void {
  const what = random.below(10);
  if (what < 3) radio.speaks('first', { start: true });
  else if (what < 6) radio.speaks('more');
  else if (what < 8) radio.speaks('last', { end: true });
  else if (what < 9)
    radio.says({ type: 'FLOOR_REQUEST', ...about, queue: random.chance(0.7), priority: random.below(8) });
  else radio.says({ type: 'FLOOR_RELEASE', ...about });
}

type World = Awaited<ReturnType<typeof floorRelays>>;

/** Messages are lost, late, or a relay is cut off for a while. What it did can be undone. */
function disturb(random: Random, { network, relays }: World): () => void {
  const what = random.below(4);
  if (what === 0) {
    const cut = random.pick(relays);
    cut.bus.cut();
    return () => cut.bus.mend();
  }
  if (what === 1) {
    // Other ways between each two: an end may come behind the start that follows it.
    const seed = random.below(1000);
    network.delayOf((from, to) => ((seed + 7 * from + 13 * to) % 5) * 12);
  } else if (what === 2) {
    const kind = random.pick([
      kinds.part,
      kinds.verdicts,
      kinds.want,
      kinds.started,
      kinds.ended,
      kinds.frame,
    ]);
    network.lose((_from, _to, _subject, bytes) => bytes[0] === kind && random.chance(0.5));
  } else network.lose(() => random.chance(0.2));
  return () => {
    network.delay(0);
    network.lose(() => false);
  };
}

/** A burst has a start and an end, one plays at a time, and no radio hears a frame of another one. */
function judge(t: Test, world: World): void {
  for (const radio of world.radios) burstsHeard(t, radio);
}

async function play(t: Test, seed: number): Promise<void> {
  const random = createRandom(seed);
  const role = random.chance(0.5) ? 'admin' : 'user';
  const limits = { talkSilenceMs: 300, resumeMs: 0 };
  const world = await floorRelays(t, 2 + random.below(2), { role, maxTalkMs: 2000, limits });
  const { radios, relays } = world;
  for (const relay of relays) radios.push(await relay.radio());
  let mend: (() => void) | null = null;
  for (let step = 0; step < STEPS; step++) {
    if (mend === null && random.chance(0.1)) mend = disturb(random, world);
    else if (mend !== null && random.chance(0.1)) {
      mend();
      mend = null;
    }
    act(random, random.pick(radios));
    await delay(random.below(60));
  }
  mend?.();
  await reached(...(relays as RelayOn[]));
  // All let go: the floor is free on all, and the next one is heard by all.
  for (const radio of radios) radio.says({ type: 'FLOOR_RELEASE', ...about });
  await eventually(async () => {
    const { bursts, queued } = relays.reduce(
      (sum, { relay }) => {
        const { present } = relay.figures();
        return { bursts: sum.bursts + present.bursts, queued: sum.queued + present.queued };
      },
      { bursts: 0, queued: 0 },
    );
    if (bursts + queued > 0) throw new Error(`${bursts} bursts, ${queued} queued`);
    await delay(100);
  });
  // Where the end of a burst was lost, it seems to run until its relay is asked.
  const last = (radio: Radio) => burstsHeard({ fail: () => false }, radio).at(-1);
  await eventually(() => {
    if (radios.some((radio) => last(radio)?.code === null)) throw new Error('a burst still runs');
  });
  await delay(2500); // the mute after a denial, and a grant that was given meanwhile and is not used
  await settled();
  judge(t, world);
  for (const radio of radios) {
    radio.arrivals.length = 0;
    radio.messages.length = 0;
  }
  // One presses on each relay at once.
  const fresh: Radio[] = [];
  for (const relay of relays) fresh.push(await relay.radio());
  for (const radio of fresh) radio.speaks('all', { start: true });
  await eventually(() => {
    for (const { messages } of fresh)
      if (!messages.some(({ type }) => /FLOOR_(GRANTED|DENIED)/.test(`${type}`)))
        throw new Error('no answer');
  });
  const granted = fresh.filter(({ messages }) => messages.some(({ type }) => type === 'FLOOR_GRANTED'));
  t.equal(
    granted.length,
    1,
    `one is granted: ${fresh.map(({ messages }) => JSON.stringify(messages.filter(({ type }) => /FLOOR/.test(`${type}`))))}`,
  );
  granted[0]?.speaks('end', { end: true });
  for (const radio of radios) {
    await radio.hears('TALK_ENDED');
    t.match(burstsHeard(t, radio), [{ session: granted[0]?.session.number, frames: ['all', 'end'] }]);
  }
}

t.test('floors of relays that lose each other stay one at each listener, and become one', async (t) => {
  t.jobs = 8;
  const seeds = Array.from({ length: HISTORIES }, () =>
    process.env.SEED === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(process.env.SEED),
  );
  // Side by side, because they mostly wait.
  await Promise.all(seeds.map((seed) => t.test(`history ${seed}`, { buffered: true }, (t) => play(t, seed))));
});
