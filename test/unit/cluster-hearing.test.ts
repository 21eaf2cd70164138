// Receivers of buffered audio, and receivers that lag, get the bursts of another relay as they get those of their own.
import t, { type Test } from 'tap';
import { noticeOf } from '../../src/db/notice.js';
import type { UserId } from '../../src/ids.js';
import { kinds } from '../../src/relay/nodes/header.js';
import { eventually } from '../helpers/eventually.js';
import { createMemoryNetwork } from '../helpers/relay/memory-bus.js';
import {
  directory,
  type Radio,
  reached,
  relayOn,
  settled,
  sharing,
  talkgroupIdOf,
} from '../helpers/relay/relays.js';

type Hold = { readonly coalesce_ms?: number; readonly bundle_ms?: number };

const GROUP = talkgroupIdOf(1);
const HOLDS: readonly Hold[] = [
  { coalesce_ms: 10 },
  { coalesce_ms: 20 },
  { bundle_ms: 40 },
  { bundle_ms: 60 },
];

async function subscribe(radio: Radio, hold: Hold): Promise<void> {
  radio.says({ type: 'SUBSCRIBE', talkgroup_ids: [GROUP], ...hold });
  await radio.hears('SUBSCRIBED');
}

async function twoRelays(t: Test, limits: Parameters<typeof relayOn>[2]['limits'] = {}) {
  const network = createMemoryNetwork();
  const read = directory();
  const disabled = new Set<UserId>();
  const reads = {
    ...read,
    accountsOf: async (ids: readonly UserId[]) =>
      (await read.accountsOf(ids)).map((account) => ({
        ...account,
        device_active: !disabled.has(account.id),
      })),
  };
  const options = { reads, limits: { framesPerSecond: 1000, ...limits } };
  const [a, b] = [
    relayOn(t, network, { number: 1, ...options }),
    relayOn(t, network, { number: 2, ...options }),
  ];
  await reached(a, b);
  return { network, disabled, a, b };
}

/** What was heard of each talker between two events, and the events. */
function heardBetweenEvents({ arrivals }: Radio): string[] {
  const parts: string[] = [];
  const frames = new Map<number, string[]>();
  const close = () => {
    for (const [sender, texts] of [...frames].sort(([one], [other]) => one - other))
      parts.push(`${sender}: ${texts}`);
    frames.clear();
  };
  for (const one of arrivals) {
    if ('frame' in one) {
      const sender = Number(one.sender);
      frames.set(sender, [...(frames.get(sender) ?? []), String(one.frame)]);
    } else if (['TALK_STARTED', 'TALK_ENDED', 'MISSED'].includes(String(one.type))) {
      close();
      parts.push(`${one.type} ${one.session}.${one.burst} ${one.frames ?? one.missed ?? ''}`);
    }
  }
  close();
  return parts;
}

t.test('with buffered audio a radio hears bursts elsewhere as a live one does', async (t) => {
  const { network, a, b } = await twoRelays(t);
  const talkers = [await a.radio(), await a.radio(), await b.radio()];
  const live = await b.radio();
  const held: Radio[] = [];
  for (const hold of HOLDS) {
    const radio = await b.radio();
    await subscribe(radio, hold);
    held.push(radio);
  }
  await sharing(2, a, b);
  let frames = 0;
  network.lose((_from, _to, _subject, bytes) => bytes[0] === kinds.frame && ++frames % 17 === 0);
  for (let round = 0; round < 60; round++) {
    for (const [index, talker] of talkers.entries()) {
      const place = (round + 7 * index) % 20; // a burst of 18 frames, and a pause
      if (place < 18 && round >= 20 - 7 * index)
        talker.speaks(`${round}`, { start: place === 0, end: place === 17 });
    }
    if (round % 4 === 0) await settled();
  }
  for (const talker of talkers) talker.speaks('last', { start: true, end: true });
  await eventually(() => {
    for (const radio of [live, ...held])
      for (const talker of talkers)
        if (
          !radio.arrivals.some(
            (one) => 'frame' in one && one.frame === 'last' && one.sender === talker.session.number,
          )
        )
          throw new Error('the last burst was not heard');
  });
  await settled();
  const expected = heardBetweenEvents(live);
  t.ok(expected.some((part) => part.startsWith('MISSED')));
  t.ok(live.frames().length > 100);
  for (const [index, radio] of held.entries())
    t.strictSame(heardBetweenEvents(radio), expected, JSON.stringify(HOLDS[index]));
});

for (const [bundle_ms, most] of [
  [40, 2],
  [60, 3],
] as const)
  t.test(
    `bundles of ${bundle_ms} ms hold ${most} frames of a burst elsewhere, never of two bursts`,
    async (t) => {
      const { a, b } = await twoRelays(t);
      const [ann, bob] = [await a.radio(), await b.radio()];
      await subscribe(bob, { bundle_ms });
      await sharing(2, a, b);
      for (let frame = 0; frame <= 3 * most; frame++) ann.speaks(`${frame}`, { start: frame === 0 });
      await eventually(() => {
        if (bob.frames().length !== 3 * most + 1) throw new Error('not all of them');
      });
      t.strictSame(bob.sizes.splice(0), [most, most, most, 1], 'the last one waited for its window');
      ann.speaks('end', { end: true });
      await bob.hears('TALK_ENDED');
      t.strictSame(bob.sizes.splice(0), [1], 'TALK_ENDED comes behind it');
      for (let burst = 0; burst < 3; burst++) ann.speaks('z', { start: true, end: true });
      for (let burst = 0; burst < 3; burst++) await bob.hears('TALK_ENDED');
      t.strictSame(bob.sizes, [1, 1, 1]);
    },
  );

t.test('buffered audio of a burst elsewhere is discarded when the burst is revoked', async (t) => {
  const { disabled, a, b } = await twoRelays(t);
  const bob = await b.radio();
  await subscribe(bob, { bundle_ms: 60 });
  // On a busy machine a round may take longer than the window, which then sends the frames.
  for (let isQuick = false; !isQuick; ) {
    const ann = await a.radio();
    await sharing(2, a, b);
    bob.heard('frame');
    const begunAtMs = performance.now();
    ann.speaks('1', { start: true });
    ann.speaks('2');
    await bob.hears('TALK_STARTED');
    disabled.add(ann.session.user.id);
    await a.relay.noticed(noticeOf({ kind: 'user_revoked', user: ann.session.user.id }));
    t.match(await bob.hears('TALK_ENDED'), { code: 'disabled', frames: 2 });
    isQuick = performance.now() - begunAtMs < 50;
  }
  t.strictSame(bob.frames(), []);
  const abe = await a.radio();
  abe.speaks('3', { start: true, end: true });
  await bob.hears('TALK_ENDED');
  t.strictSame(bob.frames(), ['3']);
});

for (const hold of [{}, { coalesce_ms: 20 }, { bundle_ms: 60 }])
  t.test(`LAG counts the frames of a burst elsewhere: ${JSON.stringify(hold)}`, async (t) => {
    const { a, b } = await twoRelays(t, { backlogMs: 300, lagPingMs: 50 });
    const [ann, bob] = [await a.radio(), await b.radio()];
    await subscribe(bob, hold);
    await sharing(2, a, b);
    let said = 0;
    const say = () => ann.speaks(`${said}`, { start: said++ === 0 });
    const sayUntil = (isEnough: () => boolean) =>
      eventually(async () => {
        say();
        await settled();
        if (!isEnough()) throw new Error('not yet');
      });
    const answered = bob.answered();
    await sayUntil(() => bob.answered() > answered + 1);
    bob.stalls();
    await sayUntil(() => bob.unanswered() > 0);
    await eventually(() => {
      if (b.relay.figures().counts.behind !== 1) throw new Error('its audio is not paused');
    });
    const heard = bob.frames().length;
    t.equal(heard, said);
    for (let frame = 0; frame < 10; frame++) say();
    await eventually(() => {
      if (b.figures()?.counts.framesIn !== said) throw new Error('not all of them have arrived');
    });
    t.equal(bob.frames().length, heard);
    bob.reads();
    t.match(await bob.hears('LAG'), { talkgroups: [{ talkgroup_id: GROUP, missed: 10 }] });
    ann.speaks('end', { end: true });
    t.match(await bob.hears('TALK_ENDED'), { frames: said + 1 });
    t.equal(bob.frames().length, heard + 1, 'it hears again');
  });
