// A handshake that brings the first member of a talkgroup to a relay waits for what the other relays say of it.
import t, { type Test } from 'tap';
import { noticeOf } from '../../src/db/notice.js';
import { kinds } from '../../src/relay/nodes/header.js';
import { eventually } from '../helpers/eventually.js';
import { createMemoryNetwork } from '../helpers/relay/memory-bus.js';
import { directory, reached, relayOn, settled, sharing, userIdOf } from '../helpers/relay/relays.js';
import { runningTime } from '../helpers/within.js';

const kindOf = (bytes: Uint8Array) => bytes[0];

interface Shown {
  readonly number: number;
  readonly online: number;
  readonly talkers: readonly { session: number; burst: number; frames: number }[];
}

/** What WELCOME, the first message, says of talkgroup 1. */
function welcomed({ arrivals }: { arrivals: readonly object[] }): Shown {
  const [first] = arrivals as readonly { type: string; talkgroups: readonly Shown[] }[];
  const shown = first?.talkgroups.find(({ number }) => number === 1);
  if (first?.type !== 'WELCOME' || shown === undefined)
    throw new Error(`not WELCOME: ${JSON.stringify(first)}`);
  return shown;
}

/** Two relays, with a radio on the first that has said two frames. */
async function talking(t: Test) {
  const network = createMemoryNetwork();
  const [a, b] = [relayOn(t, network, { number: 1 }), relayOn(t, network, { number: 2 })];
  await reached(a, b);
  const ann = await a.radio();
  ann.speaks('one', { start: true });
  ann.speaks('two');
  return { network, a, b, ann };
}

const TALKER = { session: 1000, burst: 1, frames: 2 };

t.test(
  'WELCOME names the talker elsewhere and counts all sessions, and the next frame is heard',
  async (t) => {
    const { b, ann } = await talking(t);
    const bob = await b.radio();
    t.match(welcomed(bob), { online: 2, talkers: [TALKER] });
    ann.speaks('three', { end: true });
    t.match(await bob.hears('TALK_ENDED'), { session: 1000, frames: 3 });
    t.strictSame(bob.frames(), ['three']);
    t.strictSame(bob.heard('TALK_STARTED', 'MISSED'), [], 'WELCOME has said it all');
  },
);

t.test('an answer that takes its time is waited for', async (t) => {
  const { network, b } = await talking(t);
  network.delay(35);
  const bob = await b.radio();
  t.match(welcomed(bob), { online: 2, talkers: [TALKER] });
});

t.test('a lost question, or a lost answer, is asked for again before WELCOME', async (t) => {
  for (const lost of [kinds.hold, kinds.here]) {
    const { network, b } = await talking(t);
    let isLost = false;
    network.lose((_from, _to, _subject, bytes) => {
      const isThis = !isLost && kindOf(bytes) === lost;
      if (isThis) isLost = true;
      return isThis;
    });
    const bob = await b.radio();
    t.match(welcomed(bob), { online: 2, talkers: [TALKER] });
    t.ok(isLost);
  }
});

t.test(
  'a relay that does not answer is waited for 100 ms, and not again for the next handshake',
  async (t) => {
    const { network, b } = await talking(t);
    let asked = 0;
    network.lose((_from, _to, _subject, bytes) => {
      if (kindOf(bytes) === kinds.hold) asked++;
      return kindOf(bytes) === kinds.hold;
    });
    const beganAtMs = performance.now();
    const ranMs = runningTime(t);
    const bob = await b.radio();
    const [waitedMs, awakeMs] = [performance.now() - beganAtMs, ranMs()];
    t.match(welcomed(bob), { online: 1, talkers: [] });
    t.ok(waitedMs >= 70 && awakeMs < 400, `${Math.round(awakeMs)} of ${Math.round(waitedMs)} ms`);
    t.ok(asked >= 4, 'asked again meanwhile');
    const before = asked;
    await b.radio();
    t.equal(asked, before, 'not asked for the second one');
  },
);

t.test('nothing waits when no other relay is up, nor when the bus is down', async (t) => {
  const { network, a, b } = await talking(t);
  network.delay(1000); // an answer that is waited for would be missed
  b.bus.cut();
  const ranMs = runningTime(t);
  await b.radio();
  const alone = relayOn(t, createMemoryNetwork(), { number: 3 });
  await alone.radio();
  t.ok(ranMs() < 70);
  b.bus.mend();
  network.delay(0);
  await reached(a, b);
});

t.test('a handshake whose talkgroups have receivers here does not wait', async (t) => {
  const { network, a, b } = await talking(t);
  await b.radio();
  await sharing(2, a, b);
  await settled();
  network.delay(1000);
  const ranMs = runningTime(t);
  const second = await b.radio();
  t.ok(ranMs() < 70);
  t.match(welcomed(second), { online: 3, talkers: [TALKER] });
  network.delay(0);
});

t.test('rights that change while a handshake waits are those of its session', async (t) => {
  const network = createMemoryNetwork();
  const reads = directory();
  let isActive = true;
  const changing = {
    ...reads,
    accountsOf: async (ids: Parameters<typeof reads.accountsOf>[0]) =>
      (await reads.accountsOf(ids)).map((account) => ({ ...account, device_active: isActive })),
  };
  const [a, b] = [relayOn(t, network, { number: 1 }), relayOn(t, network, { number: 2, reads: changing })];
  await reached(a, b);
  await a.radio();
  network.lose((_from, _to, _subject, bytes) => kindOf(bytes) === kinds.hold);
  const coming = b.radio();
  const refused = t.rejects(coming, { message: 'device disabled' });
  await eventually(() => {
    if (b.users() !== 1) throw new Error('its account was not read yet');
  });
  isActive = false;
  await b.relay.noticed(noticeOf({ kind: 'user_revoked', user: userIdOf(2, 0) }));
  await refused;
  t.equal(b.users(), 0, 'nothing of it is left in memory');
});

t.test('a radio that gives up while its handshake waits leaves no talkgroup behind', async (t) => {
  const { b } = await talking(t);
  t.equal(b.figures()?.talkgroups, 0);
  await b.abandoned();
  t.equal(b.figures()?.talkgroups, 2);
  t.equal(b.users(), 0);
  await eventually(() => {
    if (b.figures()?.talkgroups !== 0) throw new Error('still held');
  });
});
