// PRESENCE over relays on one bus: who came and left elsewhere, with the number online that belongs to it.
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import t, { type Test } from 'tap';
import { talkgroupSubject } from '../../src/relay/cluster/bus.js';
import { kinds } from '../../src/relay/cluster/header.js';
import { eventually } from '../helpers/eventually.js';
import { randomOf } from '../helpers/random.js';
import { directory, type Radio, relaysWithRadios, talkgroupIdOf } from '../helpers/relay/relays.js';

t.setTimeout(60_000);
t.jobs = 5; // they mostly wait

const GROUP = talkgroupIdOf(1);

interface Presence {
  readonly joined?: { session: number }[];
  readonly left?: number[];
  readonly online: number;
}

/** The radio subscribes to PRESENCE, and the others have been told. */
async function watches(radio: Radio, presence = true): Promise<void> {
  radio.says({ type: 'SUBSCRIBE', talkgroup_ids: [GROUP], presence });
  await radio.hears('SUBSCRIBED');
  await delay(1500);
  radio.heard('PRESENCE');
}

/** Ann watches on one relay. The other one is `b`. */
async function annWatches(t: Test) {
  const { network, all, radios } = await relaysWithRadios(t, 2);
  const [, b] = all;
  const [ann] = radios;
  await watches(ann);
  return { network, ann, b };
}

const nextPresence = (radio: Radio) =>
  eventually(() => {
    const [one] = radio.heard('PRESENCE');
    if (one === undefined) throw new Error('no PRESENCE');
    return one as unknown as Presence;
  });

t.test('a session that comes or leaves at another relay is named', async (t) => {
  const { ann, b } = await annWatches(t);
  const bob = await b.radio();
  const { number } = bob.session;
  t.strictSame(await nextPresence(ann), {
    type: 'PRESENCE',
    talkgroup_id: GROUP,
    joined: [{ session: number, user_id: bob.session.user.id, username: '001', site: 'depot' }],
    left: [],
    online: 3,
  });
  bob.breaks();
  t.match(await nextPresence(ann), { joined: [], left: [number], online: 2 });
});

t.test('only the number is told of more than 32, and of a relay that cannot be reached', async (t) => {
  const { ann, b } = await annWatches(t);
  await Promise.all(Array.from({ length: 33 }, () => b.radio())); // at once: one PRESENCE tells of all of them
  let told = await nextPresence(ann);
  while (told.online < 35) told = await nextPresence(ann);
  t.notOk(told.joined ?? told.left);
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
  const bob = await b.radio();
  await delay(1500);
  t.ok(seen.includes(kinds.count) && !seen.includes(kinds.roster));
  await watches(ann);
  seen.length = 0;
  bob.breaks();
  t.match(await nextPresence(ann), { left: [bob.session.number] });
  t.strictSame(new Set(seen), new Set([kinds.roster]), 'instead of the count');
  await watches(ann, false);
  seen.length = 0;
  await b.radio();
  await delay(1500);
  t.strictSame(new Set(seen), new Set([kinds.count]));
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
  'whoever comes, leaves and moves anywhere, each client that watches ends with all that are there',
  async (t) => {
    const { network, all, radios } = await relaysWithRadios(t, 3, directory(), { resumeMs: 1000 });
    const random = randomOf(t, 'CLUSTER_SEED').next;
    for (const radio of radios) await watches(radio);
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
    await run(4500, async () => {}); // each has asked once
    for (const { isSettled } of clients) t.ok(isSettled());
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
      if (returns) others.push(await relay.radio(one.user, { resume: one.token }));
    };
    await run(6000, change);
    for (const { wrong } of clients) t.strictSame(wrong, [], 'the number online is that of the names');
    network.lose(() => random() < 0.1);
    await run(4000, change);
    network.lose(() => false);
    const there = [...radios, ...others].map(({ session }) => session.number).sort();
    const hasAll = ({ known }: ReturnType<typeof client>) => isDeepStrictEqual([...known].sort(), there);
    // 8 s until the relays are right, then MEMBERS, which may be asked for every 2 s.
    await run(
      15_000,
      async () => {},
      () => clients.every(hasAll),
    );
    for (const { known } of clients) t.strictSame([...known].sort(), there);
  },
);
