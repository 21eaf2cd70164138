// PRESENCE over relays on one bus: who came and left elsewhere, with the number online that belongs to it.
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import t, { type Test } from 'tap';
import { talkgroupSubject } from '../../src/relay/nodes/bus.js';
import { kinds } from '../../src/relay/nodes/header.js';
import { comesTrue, eventually, HANGS_MS } from '../helpers/eventually.js';
import { randomOf } from '../helpers/random.js';
import {
  directory,
  type Radio,
  type RelayOn,
  relaysWithRadios,
  talkgroupIdOf,
} from '../helpers/relay/relays.js';

t.setTimeout(3 * HANGS_MS);
t.jobs = 5; // they mostly wait

const GROUP = talkgroupIdOf(1);

interface Presence {
  readonly joined?: { session: number }[];
  readonly left?: number[];
  readonly online: number;
}

const nextPresence = (radio: Radio) =>
  eventually(() => {
    const [one] = radio.heard('PRESENCE');
    if (one === undefined) throw new Error('no PRESENCE');
    return one as unknown as Presence;
  });

const online = async (radio: Radio, number: number): Promise<Presence> => {
  let told = await nextPresence(radio);
  while (told.online !== number) told = await nextPresence(radio);
  return told;
};

/** The radio subscribes to PRESENCE, and these relays with a radio each know of it: who comes there is named. */
async function watches(radio: Radio, ...elsewhere: readonly RelayOn[]): Promise<void> {
  radio.says({ type: 'SUBSCRIBE', talkgroup_ids: [GROUP], presence: true });
  await radio.hears('SUBSCRIBED');
  const there = 1 + elsewhere.length;
  for (const relay of elsewhere)
    for (let isNamed = false; !isNamed; ) {
      const one = await relay.radio();
      const came = await online(radio, there + 1);
      one.breaks();
      const left = await online(radio, there);
      isNamed = came.joined !== undefined && left.left !== undefined;
    }
}

/** Ann watches on one relay. The other one is `b`. */
async function annWatches(t: Test) {
  const { network, all, radios } = await relaysWithRadios(t, 2);
  const [, b] = all;
  const [ann] = radios;
  await watches(ann, b);
  return { network, ann, b };
}

t.test('a session that comes or leaves at another relay is named', async (t) => {
  const { ann, b } = await annWatches(t);
  const bob = await b.radio();
  const { number } = bob.session;
  t.strictSame(await nextPresence(ann), {
    type: 'PRESENCE',
    talkgroup_id: GROUP,
    joined: [{ session: number, user_id: bob.session.user.id, username: bob.user.slice(-3), site: 'depot' }],
    left: [],
    online: 3,
  });
  bob.breaks();
  t.match(await nextPresence(ann), { joined: [], left: [number], online: 2 });
});

t.test('only the number is told of more than 32, and of a relay that cannot be reached', async (t) => {
  const { ann, b } = await annWatches(t);
  const come = Promise.all(Array.from({ length: 100 }, () => b.radio())); // at once: one or two PRESENCE tell of them
  const told: [more: number, isNamed: boolean][] = [];
  for (let known = 2; known < 102; ) {
    for (const one of ann.heard('PRESENCE') as unknown as Presence[]) {
      told.push([one.online - known, one.joined !== undefined && one.left !== undefined]);
      known = one.online;
    }
    await delay(10);
  }
  await come;
  t.ok(told.some(([more]) => more > 32));
  for (const [more, isNamed] of told) t.equal(isNamed, more <= 32, `of ${more}`);
  b.bus.cut();
  t.strictSame(await nextPresence(ann), { type: 'PRESENCE', talkgroup_id: GROUP, online: 1 });
});

t.test('names are told only while a session elsewhere watches', async (t) => {
  const { network, all, radios } = await relaysWithRadios(t, 2);
  const [, b] = all;
  const [ann] = radios;
  const seen: number[] = [];
  network.lose((from, _to, subject, bytes) => {
    if (from === 1 && subject === talkgroupSubject(1)) seen.push(bytes[0] ?? 0);
    return false;
  });
  /** How the relay tells that one comes or leaves. */
  const told = async <What>(what: () => What | Promise<What>): Promise<readonly [What, Set<number>]> => {
    seen.length = 0;
    const done = await what();
    await comesTrue('it tells', () => seen.length > 0);
    return [done, new Set(seen)];
  };
  const [bob, whenUnwatched] = await told(() => b.radio());
  t.ok(whenUnwatched.has(kinds.count) && !whenUnwatched.has(kinds.roster));
  bob.breaks();
  await watches(ann, b);
  const [carl] = await told(() => b.radio());
  await online(ann, 3);
  const [, whenWatched] = await told(() => carl.breaks());
  t.match(await nextPresence(ann), { left: [carl.session.number] });
  t.strictSame(whenWatched, new Set([kinds.roster]), 'instead of the count');

  ann.says({ type: 'SUBSCRIBE', talkgroup_ids: [GROUP], presence: false });
  await ann.hears('SUBSCRIBED');
  ann.heard('PRESENCE');
  for (let isCounted = false; !isCounted; ) {
    const [one, came] = await told(() => b.radio());
    const [, left] = await told(() => one.breaks());
    isCounted = [came, left].every((how) => how.has(kinds.count) && how.size === 1);
  }
  t.strictSame(ann.heard('PRESENCE'), []);
});

t.test('when names were lost between relays PRESENCE has the number alone', async (t) => {
  const { network, ann, b } = await annWatches(t);
  let lost = 0;
  network.lose((_from, _to, _subject, bytes) => bytes[0] === kinds.roster && lost++ === 0);
  const bob = await b.radio();
  await eventually(() => {
    if (lost === 0) throw new Error('none was lost');
  });
  bob.breaks();
  const told = await nextPresence(ann);
  t.notOk(told.joined ?? told.left);
});

t.test('sessions that come and go beside one that moves are named, and not counted for ever', async (t) => {
  const { all, radios } = await relaysWithRadios(t, 2, directory(), { resumeMs: 1000 });
  const [a, b] = all;
  const [ann] = radios;
  await watches(ann, b);
  for (let round = 0; round < 3; round++) {
    const mover = await b.radio();
    await online(ann, 3);
    // All within a period of the other relay, which begins behind its announcement.
    const brief = await b.radio();
    mover.breaks();
    const moved = await a.radio(mover.user, { resume: mover.token });
    t.equal(moved.session.number, mover.session.number);
    brief.breaks();
    const last = await b.radio();
    const seen = await eventually(() => {
      const one = (ann.heard('PRESENCE') as unknown as Presence[]).find(({ joined = [] }) =>
        joined.some(({ session }) => session === last.session.number),
      );
      if (one === undefined) throw new Error('not named');
      return one;
    });
    t.equal(seen.online, 4, `round ${round}`);
    for (const one of [moved, last]) one.breaks();
    await online(ann, 2);
  }
});

t.test('a page of the members has the number online that belongs to it', async (t) => {
  const { ann, b } = await annWatches(t);
  const bob = await b.radio();
  ann.says({ type: 'MEMBERS', talkgroup_id: GROUP, limit: 200 });
  const page = (await ann.hears('MEMBERS')) as unknown as { members: { session: number }[]; online: number };
  t.match(page, { members: { length: 3 }, online: 3 }, 'before the other relay announces who came');
  t.match(await nextPresence(ann), { joined: [{ session: bob.session.number }], online: 3 });
});

/** What a client knows: from MEMBERS, and from PRESENCE behind it. */
function client(radio: Radio) {
  const known = new Set<number>();
  const wrong: string[] = [];
  /** MEMBERS is asked for at most every 2 s. */
  let askedAtMs = performance.now();
  let isAsking = false;
  let isComplete = false;
  const step = () => {
    for (const one of radio.heard('PRESENCE', 'MEMBERS')) {
      if (!('type' in one)) continue;
      if (one.type === 'MEMBERS') {
        const { members } = one as unknown as { members: { session: number }[] };
        known.clear();
        for (const { session } of members) known.add(session);
        isAsking = false;
        isComplete = true;
        continue;
      }
      const { joined, left, online } = one as unknown as Presence;
      if (joined === undefined || left === undefined) {
        isComplete = false;
        continue;
      }
      for (const session of left) known.delete(session);
      for (const { session } of joined) known.add(session);
      if (isComplete && !isAsking && known.size !== online)
        wrong.push(`${known.size} known, ${online} online`);
    }
    if (isComplete || isAsking || performance.now() - askedAtMs < 2100) return;
    askedAtMs = performance.now();
    isAsking = true;
    radio.says({ type: 'MEMBERS', talkgroup_id: GROUP, limit: 200 });
  };
  return { known, wrong, step, isSettled: () => isComplete };
}

t.test(
  'sessions come, leave and move anywhere, and each client that watches ends with all that are there',
  async (t) => {
    const { network, all, radios } = await relaysWithRadios(t, 3, directory(), { resumeMs: 1000 });
    const random = randomOf(t, 'CLUSTER_SEED').next;
    for (const [at, radio] of radios.entries())
      await watches(radio, ...all.filter((_, index) => index !== at));
    const clients = radios.map(client);
    const others: Radio[] = [];
    const run = async (ms: number, act: () => Promise<void>, isOver = () => false) => {
      const endMs = performance.now() + ms;
      while (performance.now() < endMs && !isOver()) {
        await act();
        for (const { step } of clients) step();
        await delay(20);
      }
    };
    const quiet = async () => {};
    await run(HANGS_MS, quiet, () => clients.every(({ isSettled }) => isSettled()));
    const change = async () => {
      if (random() > 0.3) return;
      const [one] = random() < 0.6 ? others.splice(Math.floor(others.length * random()), 1) : [];
      const relay = all[Math.floor(3 * random())] ?? all[0];
      if (one === undefined) {
        if (others.length < 20) others.push(await relay.radio());
        return;
      }
      const [breaks, returns] = [random() < 0.7, random() < 0.5];
      if (breaks || !returns) one.breaks();
      if (!returns) return;
      const back = await relay.radio(one.user, { resume: one.token });
      others.push(back);
      // The question for its session may have been lost. Then it is still there, with the socket that did not break.
      if (!breaks && back.session.number !== one.session.number) one.breaks();
    };
    await run(6000, change);
    for (const { wrong } of clients) t.strictSame(wrong, [], 'the number online is that of the names');
    network.lose(() => random() < 0.1);
    await run(4000, change);
    network.lose(() => false);
    const there = [...radios, ...others].map(({ session }) => session.number).sort();
    const hasAll = ({ known }: ReturnType<typeof client>) => isDeepStrictEqual([...known].sort(), there);
    await run(HANGS_MS, quiet, () => clients.every(hasAll));
    for (const { known } of clients) t.strictSame([...known].sort(), there);
  },
);
