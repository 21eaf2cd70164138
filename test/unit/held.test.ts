// Held audio without an engine and on a clock of the test's own: what waits, what leaves, and that nothing is lost or
// given twice, whatever happens meanwhile.
import assert from 'node:assert/strict';
import fc from 'fast-check';
import t, { type Test } from 'tap';
import { decodeFrames } from '../../src/protocol/bundle.js';
import { encodeFrame } from '../../src/protocol/frame.js';
import { flushHeld, heldBy } from '../../src/relay/delivery/feed.js';
import { Held, HOLDS, type Hold } from '../../src/relay/delivery/held.js';
import { LOAD_STEPS } from '../../src/relay/delivery/load.js';
import type { Peer } from '../../src/relay/delivery/peer.js';
import type { Source } from '../../src/relay/delivery/source.js';
import type { Membership } from '../../src/relay/members/members.js';
import { eventually } from '../helpers/eventually.js';
import { NO_TIMER } from '../helpers/relay/clocks.js';
import { claimsOf, quietPeer, relayAlone, seated } from '../helpers/relay/relay-alone.js';
import { accountRow, talkgroupRow } from '../helpers/relay/rows.js';

const EVERY_HOLD: readonly Hold[] = [...Object.values(HOLDS.coalesce_ms), ...Object.values(HOLDS.bundle_ms)];
/** As live audio is held under load. */
const UNDER_LOAD: readonly Hold[] = LOAD_STEPS.map((step) => ({ name: '', bundled: 1, ...step }));
const talker = (sender: number): Source => ({ sender, socket: null, mayTalk: () => true });

/** One step of what happens to held audio: a frame of that talker, or a call. Some time passes before each. */
const steps = fc.array(
  fc.record({
    act: fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom('put' as const) },
      { weight: 2, arbitrary: fc.constantFrom('expire' as const) },
      { weight: 1, arbitrary: fc.constantFrom('flush' as const, 'discard' as const) },
    ),
    talker: fc.nat({ max: 3 }),
    afterMs: fc.nat({ max: 30 }),
  }),
  { maxLength: 60, size: 'max' },
);

t.test(
  'what waits leaves once and in order, in time and in pieces of its size, or is discarded',
  async (t) => {
    fc.assert(
      fc.property(fc.constantFrom(...EVERY_HOLD, ...UNDER_LOAD), steps, (hold, steps) => {
        const talks = [0, 1, 2, 3].map(talker);
        const left = talks.map((): number[] => []);
        const waiting = talks.map((): { frame: number; atMs: number }[] => []);
        let nowMs = 0;
        let frame = 0;
        const held = new Held(hold, 'topic', 0, (talk, frames) => {
          const talker = talks.indexOf(talk);
          if (hold.frames !== undefined) assert.ok(frames.length <= hold.frames);
          for (const one of frames) left[talker]?.push(new DataView(one).getUint32(0));
          waiting[talker]?.splice(0, frames.length);
        });
        const said = talks.map((): number[] => []);
        for (const { act, talker, afterMs } of steps) {
          const talk = talks[talker] as Source;
          nowMs += afterMs;
          if (act === 'put') {
            const bytes = new ArrayBuffer(4);
            new DataView(bytes).setUint32(0, ++frame);
            said[talker]?.push(frame);
            waiting[talker]?.push({ frame, atMs: nowMs });
            held.put(talk, bytes, nowMs);
          } else if (act === 'flush') {
            held.flush();
            assert.deepEqual(waiting.flat(), []);
          } else if (act === 'discard') {
            const gone = waiting[talker]?.splice(0) ?? [];
            assert.equal(held.discard(talk), gone.length);
            said[talker] = said[talker]?.filter((one) => !gone.some((other) => other.frame === one)) ?? [];
          } else {
            const dueMs = held.expire(nowMs);
            const rest = waiting.flat().map(({ atMs }) => atMs + hold.ms);
            assert.ok(rest.every((dueMs) => dueMs > nowMs));
            assert.equal(dueMs, rest.length === 0 ? null : Math.min(...rest));
          }
          const all = waiting.flat().length;
          for (const [index, { sender: number }] of talks.entries())
            assert.equal(
              held.waitingFor({ number, arrive() {}, give() {}, askBehindFrame() {} }),
              all - (waiting[index]?.length ?? 0),
            );
        }
        held.flush();
        assert.deepEqual(left, said);
      }),
    );
    t.pass('for any steps');
  },
);

t.test('a talkgroup full of frames empties itself', async (t) => {
  let left = 0;
  const held = new Held(HOLDS.coalesce_ms[20], 'topic', 0, (_talk, frames) => {
    left += frames.length;
  });
  const talks = Array.from({ length: 10 }, (_, number) => talker(number));
  for (let frame = 0; frame < 1000; frame++) held.put(talks[frame % 10] as Source, new ArrayBuffer(4), 0);
  t.equal(left, 768);
});

t.test(
  'a mark counts what had left by the mark before, for that is what had surely been written',
  async (t) => {
    const held = new Held(HOLDS.bundle_ms[60], 'topic', 0, () => {});
    const talk = talker(0);
    const mark = (relayed: number) => [held.mark(relayed), held.passedAtMark];
    t.same(mark(0), [true, 0]);
    for (let frame = 0; frame < 4; frame++) held.put(talk, new ArrayBuffer(4), 0);
    t.same(mark(4), [false, 0], 'three left just now, one waits');
    t.same(mark(4), [false, 3]);
    held.flush();
    t.same(mark(4), [false, 3]);
    t.same(mark(4), [false, 4]);
    t.same(mark(4), [true, 4]);
  },
);

const row = talkgroupRow();

/** What is published to a topic goes to its subscribers at once, to all but who publishes. */
function createEngine() {
  const topics = new Map<string, Set<Peer>>();
  const inboxes = new Map<Peer, (string | ArrayBuffer)[]>();
  let published = 0;
  const publish = (topic: string, message: string | ArrayBuffer, but: Peer | null) => {
    published++;
    for (const peer of topics.get(topic) ?? []) if (peer !== but) inboxes.get(peer)?.push(message);
    return true;
  };
  return {
    publisher: {
      publish: (topic: string, message: string | ArrayBuffer) => publish(topic, message, null),
      numSubscribers: (topic: string) => topics.get(topic)?.size ?? 0,
    },
    published: () => published,
    socket() {
      const inbox: (string | ArrayBuffer)[] = [];
      let newestPing = '';
      const peer: Peer = quietPeer({
        send: (message) => inbox.push(Buffer.isBuffer(message) ? message.toString() : message) && 1,
        ping(text) {
          newestPing = text;
          return 1;
        },
        publish: (topic, message) => publish(topic, message, peer),
        subscribe(topic) {
          const subscribers = topics.get(topic) ?? new Set();
          topics.set(topic, subscribers);
          return !subscribers.has(peer) && subscribers.add(peer).size > 0;
        },
        unsubscribe: (topic) => topics.get(topic)?.delete(peer) ?? false,
      });
      inboxes.set(peer, inbox);
      return { peer, inbox, newestPing: () => newestPing };
    },
  };
}

/** A relay without an engine, and so many radios in one talkgroup. Time passes only by `pass`. */
async function radios(t: Pick<Test, 'fail'>, count: number, limits: { loadPercent?: number } = {}) {
  let nowMs = 100_000;
  let number = 0;
  const engine = createEngine();
  const relay = relayAlone(t, {
    reads: {
      accountsOf: async (ids) => ids.map((id) => accountRow(id, { memberships: [row] })),
      talkgroupsOf: async () => [],
    },
    takeNumber: () => ++number,
    publisher: engine.publisher,
    limits: { framesPerSecond: 10_000, talkSilenceMs: 1e9, loadWindowMs: 100, ...limits },
    // Without pulses, which come by the real clock: on a busy machine one came before the first act, and took the second
    // and a half of `lags` for a stall of the server.
    clock: { nowMs: () => nowMs, every: () => NO_TIMER },
  });

  async function radio(name: string) {
    const { peer, inbox, newestPing } = engine.socket();
    const session = await seated(relay, claimsOf(name), peer);
    const membership = session.user.memberships.get(row.number) as Membership; // by `reads`
    const { reception } = session;
    let said = 0;
    let isSlow = false;
    const answers = () => session.ponged(new Uint8Array(Buffer.from(newestPing())).buffer);
    answers();
    return {
      session,
      membership,
      said: () => said,
      says() {
        const frame = encodeFrame({ sequence: said++, talkgroup: row.number, payload: Uint8Array.of(1) });
        session.receiveAudio(frame.buffer);
      },
      asks: (hold: Hold | null) =>
        session.subscribe(membership, { mode: 'talk', presence: false, hold }, nowMs),
      /** Does not answer for a second and a half. */
      lags() {
        if (isSlow) return;
        isSlow = true;
        reception.ping(String(nowMs));
        nowMs += 1500;
        reception.judge(nowMs);
      },
      answers() {
        if (!isSlow) return;
        isSlow = false;
        answers();
        reception.ping(String(nowMs));
        answers();
      },
      /** Sequences heard, by talker. */
      heard() {
        const heard = new Map<number, number[]>();
        for (const message of inbox) {
          const frames = typeof message === 'string' ? [] : decodeFrames(new Uint8Array(message));
          if (typeof frames === 'string') throw new Error(frames);
          for (const { sender, sequence } of frames)
            heard.set(sender, [...(heard.get(sender) ?? []), sequence]);
        }
        return heard;
      },
      /** As told by LAG. */
      missed: () =>
        inbox
          .flatMap((message) => (typeof message === 'string' ? [JSON.parse(message)] : []))
          .flatMap(({ type, talkgroups }) => (type === 'LAG' ? talkgroups : []))
          .reduce((sum: number, { missed }: { missed: number }) => sum + missed, 0),
    };
  }

  const all = [];
  for (let index = 0; index < count; index++) all.push(await radio(`radio ${index}`));
  const [{ membership }] = all as [(typeof all)[number]];
  return {
    all,
    talkgroup: membership.talkgroup,
    published: engine.published,
    pass(ms: number) {
      nowMs += ms;
      const { held, waiting } = membership.talkgroup.feed;
      for (const one of held ?? []) one.expire(nowMs);
      waiting?.expire(nowMs);
    },
    close: () => relay.close(),
  };
}

type Radio = Awaited<ReturnType<typeof radios>>['all'][number];

/** Any radio does any of it. */
const acts = fc.array(
  fc.record({
    radio: fc.nat({ max: 2 }),
    act: fc.oneof(
      { weight: 6, arbitrary: fc.constant((radio: Radio) => radio.says()) },
      {
        weight: 2,
        arbitrary: fc
          .constantFrom(null, ...EVERY_HOLD)
          .map((hold) => Object.assign((radio: Radio) => radio.asks(hold), { hold: hold?.name })),
      },
      { weight: 1, arbitrary: fc.constant((radio: Radio) => radio.lags()) },
      { weight: 2, arbitrary: fc.constant((radio: Radio) => radio.answers()) },
    ),
    afterMs: fc.nat({ max: 25 }),
  }),
  { maxLength: 60, size: 'max' },
);

t.test(
  'whatever radios ask for and however they lag, each frame is heard once or counted in LAG',
  async (t) => {
    const closing: Promise<void>[] = [];
    await fc.assert(
      fc.asyncProperty(acts, fc.constantFrom(85, 0), async (acts, loadPercent) => {
        const { all, talkgroup, pass, close } = await radios(t, 3, { loadPercent });
        for (const { radio, act, afterMs } of acts) {
          pass(afterMs);
          act(all[radio] as Radio);
        }
        for (const radio of all) radio.answers();
        flushHeld(talkgroup.feed);
        for (const radio of all) {
          const heard = radio.heard();
          assert.ok(!heard.has(radio.session.number), 'nobody hears himself');
          let sum = 0;
          for (const sequences of heard.values()) {
            assert.deepEqual(
              sequences,
              [...new Set(sequences)].sort((one, other) => one - other),
              'in order, once',
            );
            sum += sequences.length;
          }
          const others = all
            .filter((other) => other !== radio)
            .reduce((said, other) => said + other.said(), 0);
          assert.equal(sum + radio.missed(), others);
        }
        closing.push(close()); // which takes half a second
      }),
      { numRuns: 200 },
    );
    await Promise.all(closing);
    t.pass('for any acts');
  },
);

t.test(
  'receivers that enter and leave windows do not change when another one is given its audio',
  async (t) => {
    const { all, pass, close } = await radios(t, 5);
    const [a, b, c, d, e] = all as [Radio, Radio, Radio, Radio, Radio];
    const sequencesOf = (radio: Radio) => radio.heard().get(a.session.number) ?? [];
    const { coalesce_ms, bundle_ms } = HOLDS;
    b.asks(bundle_ms[60]);
    e.asks(coalesce_ms[20]);
    a.says();
    for (const hold of [bundle_ms[60], null, coalesce_ms[20], bundle_ms[60]]) c.asks(hold);
    e.session.subscribe(e.membership, { mode: 'events', presence: false, hold: bundle_ms[60] }, 0);
    pass(10);
    a.says();
    d.asks(bundle_ms[60]);
    e.session.subscribe(e.membership, { mode: 'none', presence: false, hold: null }, 0);
    t.same(sequencesOf(b), [], 'its window is not over');
    t.same([sequencesOf(c), sequencesOf(d)], [[0], [0, 1]], 'heard live before they entered');
    t.same(sequencesOf(e), [0], 'given as it left; in mode `events` and afterwards nothing');
    pass(10);
    a.says();
    t.same(sequencesOf(b), [0, 1, 2], 'a full bundle');
    t.same(
      [sequencesOf(c), sequencesOf(d)],
      [
        [0, 1, 2],
        [0, 1, 2],
      ],
      'each the rest of it',
    );
    t.same(sequencesOf(e), [0]);
    a.says();
    b.asks(null);
    t.same(
      [b, c, d].map(sequencesOf),
      [
        [0, 1, 2, 3],
        [0, 1, 2],
        [0, 1, 2],
      ],
      'who leaves is given what waits',
    );
    pass(60);
    t.same([b, c, d].map(sequencesOf), Array(3).fill([0, 1, 2, 3]));
    await close();
  },
);

t.test('audio that waits when the whole talkgroup is withdrawn is given to no session', async (t) => {
  const { all, talkgroup, close } = await radios(t, 2);
  const [a, b] = all as [Radio, Radio];
  b.asks(HOLDS.bundle_ms[60]);
  a.says();
  talkgroup.withdrawn = true;
  flushHeld(talkgroup.feed);
  t.same([...b.heard()], []);
  await close();
});

t.test('when the last receiver of a window is gone, the talkgroup holds nothing any more', async (t) => {
  const { all, talkgroup, published, close } = await radios(t, 2);
  const [a, b] = all as [Radio, Radio];
  a.says();
  t.equal(talkgroup.feed.held, null, 'nor before the first');
  b.asks(HOLDS.coalesce_ms[10]);
  t.equal(heldBy(talkgroup.feed, HOLDS.coalesce_ms[10])?.topic, 'c10.1');
  b.asks(null);
  a.says();
  await eventually(() => {
    if (talkgroup.feed.held !== null) throw new Error('still held');
  });
  const before = published();
  a.says();
  t.equal(published() - before, 1, 'once, live');
  t.same([...b.heard().values()], [[0, 1, 2]]);
  await close();
});
