// The parts that relays reach each other by: headers, clocks, beacons, and bodies made of any bytes.

import fc from 'fast-check';
import t from 'tap';
import { TURN_COUNT_MAX } from '../../src/protocol/turn.js';
import { AGAIN_MS, Asking, OPEN_MIN, PART_MAX, SOON_AGAIN_MS } from '../../src/relay/cluster/asking.js';
import { bodyOfPiece, readBody } from '../../src/relay/cluster/bodies.js';
import { Losses } from '../../src/relay/cluster/losses.js';
import { NumberedQuestions } from '../../src/relay/cluster/question.js';
import { readBeacon } from '../../src/relay/nodes/beacon.js';
import { bodyOf, piecesOf } from '../../src/relay/nodes/body.js';
import { EVERY_RELAY } from '../../src/relay/nodes/bus.js';
import { createOutbox } from '../../src/relay/nodes/carriers/outbox.js';
import {
  HEADER_BYTES,
  HeaderWriter,
  kinds,
  msBetween,
  newHeader,
  readHeader,
  waysBetween,
  wholeMs,
} from '../../src/relay/nodes/header.js';
import { PeerClock } from '../../src/relay/nodes/peers/clock.js';
import { BEACON_MS, DOWN_MS, PEERS_MAX, Peers } from '../../src/relay/nodes/peers/peers.js';
import { ReachJudge } from '../../src/relay/nodes/peers/reach.js';
import { virtualClock } from '../helpers/relay/clocks.js';

/** What the header of a beacon says. */
const sent = (at: number, way = 1) => ({ way, at });

const u32 = fc.integer({ min: 0, max: 2 ** 32 - 1 });

const read = (name: 'beacon' | Parameters<typeof readBody>[0], bytes: Uint8Array) =>
  name === 'beacon' ? readBeacon(bytes) : readBody(name, bytes);

t.test('a header is read as it was written', async (t) => {
  fc.assert(
    fc.property(
      u32,
      u32,
      u32,
      u32,
      fc.constantFrom(...Object.values(kinds)),
      (relay, seq, at, index, kind) => {
        const bytes = new HeaderWriter(relay, relay ^ 5).write(kind, seq, at, index);
        const header = newHeader();
        t.equal(bytes.byteLength, HEADER_BYTES);
        return (
          readHeader(bytes, header) &&
          [header.kind, header.relay, header.seq, header.at, header.index, header.database].join() ===
            [kind, relay, seq, at, index, (relay ^ 5) >>> 0].join()
        );
      },
    ),
    { numRuns: 200 },
  );
  const bytes = new HeaderWriter(1, 1).write(kinds.frame, 1, 0, 1).slice();
  t.notOk(readHeader(bytes.subarray(1), newHeader()), 'too short');
  bytes[1] = 0x20;
  t.notOk(readHeader(bytes, newHeader()), 'another version');
});

t.test('a turn beyond the bound is unreadable, in headers and in parts', async (t) => {
  const settings = { revision: 1, mode: 'single', maxTalkMs: 0, encryption: 'allowed', mayBeClear: true };
  for (const count of [TURN_COUNT_MAX, TURN_COUNT_MAX + 1, 2 ** 32 - 1]) {
    const isReadable = count === TURN_COUNT_MAX;
    const turn = { count, home: 2 };
    const header = new HeaderWriter(1, 1).write(kinds.frame, 1, 0, 1, turn);
    t.equal(readHeader(header, newHeader()), isReadable, `header with ${count}`);
    const part = bodyOf({ number: 1, settings, v: 1, top: turn, isFenced: false, claims: [] });
    t.equal(readBody('part', part) !== null, isReadable, `part with ${count}`);
  }
});

t.test('clocks of headers begin again at 0, and their differences do not notice', async (t) => {
  t.equal(wholeMs(2 ** 32 + 5.9), 5);
  t.equal(msBetween(2 ** 32 - 10, 5), 15);
  t.equal(msBetween(5, 2 ** 32 - 10), -15);
});

t.test('any bytes are a body or none, without a throw', async (t) => {
  const names = ['beacon', 'started', 'ended', 'count', 'emergencies', 'hold', 'here'] as const;
  fc.assert(
    fc.property(
      fc.constantFrom(...names),
      fc.oneof(
        fc.uint8Array(),
        fc.json().map((text) => Buffer.from(text)),
      ),
      (name, bytes) => {
        read(name, bytes);
      },
    ),
    { numRuns: 2000 },
  );
  t.strictSame(readBody('count', bodyOf({ online: 3, changes: 1 })), { online: 3, changes: 1 });
  t.equal(readBody('count', bodyOf({ online: -1, changes: 1 })), null);
});

const burst = {
  talkgroup_id: '00000001-0000-4000-8000-000000000001',
  ...{ session: 2000, burst: 1, user_id: '00000002-0000-4000-8000-000000002000', username: 'bob' },
  ...{ priority: 1, emergency: false, started_at: '2026-11-23T08:00:00.000Z', frames: 0, sequence: 0 },
};

t.test('a body is read without fields that are not known, at any depth', async (t) => {
  const more = { type: 'GOAWAY', event: 77, filler: 'x' };
  const settings = { revision: 1, floor_mode: 'open', max_talk_ms: 0 };
  t.strictSame(readBody('started', bodyOf({ ...burst, ...more, settings: { ...settings, ...more } })), {
    ...burst,
    settings,
  });
  const held = { number: 1, seq: 0, online: 0, changes: 0, isWhole: true };
  const unsaved = { emergencies: [], isWhole: true };
  t.strictSame(
    readBody(
      'here',
      bodyOf({
        talkgroups: [{ ...held, ...more, bursts: [{ ...burst, ...more }], unsaved, ended: [] }],
        none: [],
      }),
    ),
    { talkgroups: [{ ...held, bursts: [burst], unsaved, ended: [] }], none: [] },
  );
  const codec = { name: 'codec2', sample_rate: 8000, frame_ms: 20, channels: 1 };
  t.strictSame(readBody('started', bodyOf({ ...burst, codec })), { ...burst, codec }, 'as on one relay');
});

t.test('no text and no list of a body is longer than it may be', async (t) => {
  const long = 'x'.repeat(257);
  t.ok(readBody('started', bodyOf({ ...burst, username: long.slice(1) })));
  t.equal(readBody('started', bodyOf({ ...burst, username: long })), null);
  const codec = { name: 'codec2', sample_rate: 8000, frame_ms: 20, channels: 1 };
  t.equal(readBody('started', bodyOf({ ...burst, codec: { ...codec, name: long } })), null);
  t.equal(readBody('started', bodyOf({ ...burst, codec: { ...codec, filler: long } })), null);
  const nested = '['.repeat(100_000) + ']'.repeat(100_000);
  const text = JSON.stringify({ ...burst, codec: { ...codec, filler: 0 } }).replace(
    '"filler":0',
    `"filler":${nested}`,
  );
  t.equal(readBody('started', Buffer.from(text)), null);
  const member = { session: 1, user_id: burst.user_id, username: 'bob', site: 'depot' };
  const roster = { online: 1, changes: 1, joined: [member], left: [] };
  t.ok(readBody('roster', bodyOf(roster)));
  for (const over of [{ username: long }, { site: long }])
    t.equal(readBody('roster', bodyOf({ ...roster, joined: [{ ...member, ...over }] })), null);
  const unsaved = {
    ...{ emergency_id: burst.talkgroup_id, talkgroup_id: burst.talkgroup_id, user_id: burst.user_id },
    ...{ username: 'bob', state: 'raised', raised_at: burst.started_at },
  };
  t.ok(readBody('emergencies', bodyOf({ emergencies: [unsaved], isWhole: true })));
  t.equal(
    readBody('emergencies', bodyOf({ emergencies: [{ ...unsaved, username: long }], isWhole: true })),
    null,
  );
  const many = <One>(count: number, one: One) => Array.from({ length: count }, () => one);
  const held = { number: 1, seq: 0, online: 0, changes: 0 };
  const tooMany = {
    beacon: { encrypts: true, heard: many(257, [1, 0, 0]) },
    hold: { talkgroups: many(10_001, held) },
    here: { talkgroups: [], none: many(10_001, 1) },
    membersTold: { ask: 1, members: many(1001, member), more: false },
  };
  for (const [name, body] of Object.entries(tooMany))
    t.equal(read(name as keyof typeof tooMany, bodyOf(body)), null, name);
  for (const [count, isRead] of [
    [1000, true],
    [1001, false],
  ] as const) {
    const nothing = { unsaved: { emergencies: [], isWhole: true }, ended: [] };
    const here = { ...held, ...nothing, bursts: many(count, burst), isWhole: true };
    t.equal(readBody('here', bodyOf({ talkgroups: [here], none: [] })) !== null, isRead, `${count} bursts`);
  }
});

t.test('a question is asked again until all have answered, and given up when its time is over', async (t) => {
  const clock = virtualClock();
  const questions = new NumberedQuestions<string>(clock, 25);
  const said: number[] = [];
  const first = questions.ask(7, [1, 2], 100, (relay) => said.push(relay));
  questions.answered(1, 7, 'a');
  questions.answered(1, 7, 'again');
  questions.answered(3, 7, 'not asked');
  clock.pass(30);
  t.strictSame(said, [1, 2, 2]);
  clock.pass(100);
  t.strictSame(await first, { told: ['a'], isWhole: false });
  t.equal(questions.size, 0);
  questions.answered(2, 7, 'late');
  const second = questions.ask(7, [1, 2], 100, () => {});
  questions.answered(1, 7, 'b');
  questions.forget(2);
  t.strictSame(await second, { told: ['b'], isWhole: false }, 'a relay that is down is not waited for');
  t.strictSame(await questions.ask(7, [], 100, () => {}), { told: [], isWhole: true });
});

t.test('a question that is answered as its time ends leaves the next one of its number alone', async (t) => {
  const late: (() => void)[] = [];
  const clock = { ...virtualClock(), soon: (run: () => void) => void late.push(run) } as ReturnType<
    typeof virtualClock
  >;
  const questions = new NumberedQuestions<string>(clock, 1000);
  const first = questions.ask(1, [1], 100, () => {});
  clock.pass(100);
  questions.answered(1, 1, 'in time');
  t.strictSame(await first, { told: ['in time'], isWhole: true });
  const second = questions.ask(1, [1], 100, () => {});
  for (const run of late.splice(0)) run();
  questions.answered(1, 1, 'heard');
  t.strictSame(await second, { told: ['heard'], isWhole: true });
});

t.test('a long list is told in pieces, all of it and in order', async (t) => {
  const texts = Array.from({ length: 3000 }, (_, number) =>
    JSON.stringify({ number, seq: 0, online: 0, bursts: [], isWhole: true, filler: 'x'.repeat(number) }),
  );
  const pieces = piecesOf(texts);
  t.strictSame(pieces.flat(), texts);
  t.ok(pieces.length > 10);
  for (const piece of pieces) t.ok(bodyOfPiece(piece, []).byteLength <= 257 * 1024);
  t.strictSame(piecesOf([]), []);
});

/** Messages between two relays, whose clocks differ and run at another rate. The ways take these times (ms). */
function exchange(
  clock: PeerClock,
  offsetMs: number,
  ways: readonly [there: number, back: number][],
  fromMs = 1000,
) {
  let nowMs = fromMs;
  for (const [there, back] of ways) {
    const ownAt = wholeMs(nowMs);
    const heldMs = 120;
    const theirAt = wholeMs(nowMs + there + heldMs + offsetMs);
    clock.answered(theirAt, ownAt, heldMs, nowMs + there + heldMs + back);
    nowMs += BEACON_MS;
  }
  return nowMs;
}

t.test('the delay of a message is known within half of the shortest round trip', async (t) => {
  const way = fc.integer({ min: 0, max: 40 });
  // At 24.8 days between the starts of the two the difference of their clocks in 32 bits has another sign.
  const edge = fc.integer({ min: 2 ** 31 - 100, max: 2 ** 31 + 100 });
  fc.assert(
    fc.property(
      fc.oneof(u32, edge),
      fc.array(fc.tuple(way, way), { minLength: 1, maxLength: 8 }),
      way,
      (origin, ways, taken) => {
        const clock = new PeerClock();
        const nowMs = exchange(clock, origin, ways);
        const shortest = Math.min(...ways.map(([there, back]) => there + back));
        const delayMs = clock.delayMs(wholeMs(nowMs - taken + origin), nowMs);
        return Math.abs(delayMs - taken) <= shortest / 2 + 2;
      },
    ),
    { numRuns: 500 },
  );
  t.equal(new PeerClock().delayMs(5, 1000), 0, 'not known yet');
});

t.test('a clock that stood still is measured anew at once', async (t) => {
  for (const origin of [0, 2 ** 31 - 4000, 2 ** 31]) {
    const clock = new PeerClock();
    let nowMs = exchange(clock, origin + 5000, [
      [1, 1],
      [2, 1],
    ]);
    nowMs = exchange(clock, origin + 3000, [[30, 10]], nowMs);
    const delayMs = clock.delayMs(wholeMs(nowMs + origin + 3000), nowMs);
    t.ok(delayMs <= 22, `${origin}: ${delayMs} ms`);
  }
});

t.test('the shortest round trip counts at the edge of 32 bits, too', async (t) => {
  const clock = new PeerClock();
  // The long way back leads across the edge.
  const nowMs = exchange(clock, 2 ** 31 + 20, [
    [1, 1],
    [0, 40],
  ]);
  t.equal(clock.delayMs(wholeMs(nowMs - 15 + 2 ** 31 + 20), nowMs), 15);
});

t.test('the shortest round trip of the last 2 s counts, and a frame searches for none', async (t) => {
  const answer = fc.record({ waitedMs: fc.integer({ min: 1, max: 3000 }), roundTripMs: fc.nat(40) });
  fc.assert(
    fc.property(fc.array(answer, { minLength: 1, maxLength: 12 }), (answers) => {
      const clock = new PeerClock();
      let nowMs = 10_000;
      let samples: { atMs: number; roundTripMs: number }[] = [];
      for (const { waitedMs, roundTripMs } of answers) {
        nowMs += waitedMs;
        clock.answered(nowMs, nowMs - roundTripMs, 0, nowMs);
        samples = samples.filter(({ atMs }) => nowMs - atMs <= 2000);
        samples.push({ atMs: nowMs, roundTripMs });
      }
      // Their clock is ours, so half of the round trip is what they seem to be ahead.
      const shortest = Math.min(...samples.map((one) => one.roundTripMs));
      return clock.delayMs(nowMs, nowMs) === shortest / 2;
    }),
    { numRuns: 500 },
  );
  const clock = new PeerClock();
  for (let at = 1000; at < 3000; at += BEACON_MS) clock.answered(at, at - 2, 0, at);
  const { filter, reduce } = Array.prototype;
  let searches = 0;
  const counted = <Method extends (...given: never[]) => unknown>(method: Method) =>
    function (this: unknown, ...given: never[]) {
      searches++;
      return Reflect.apply(method, this, given);
    };
  t.teardown(() => Object.assign(Array.prototype, { filter, reduce }));
  Object.assign(Array.prototype, { filter: counted(filter), reduce: counted(reduce) });
  for (let frame = 0; frame < 10; frame++) clock.delayMs(3000, 3000);
  Object.assign(Array.prototype, { filter, reduce });
  t.equal(searches, 0);
});

t.test('a message that the network refuses is dropped alone', async (t) => {
  const sent: number[] = [];
  let [turns, failures] = [0, 0];
  const outbox = createOutbox(
    (_subject, bytes) => {
      if (bytes.byteLength === 2) throw new Error('too long');
      sent.push(bytes.byteLength);
    },
    {
      flushed() {
        turns++;
      },
      failed() {
        failures++;
      },
    },
  );
  for (const bytes of [1, 2, 3]) outbox.put(EVERY_RELAY, new Uint8Array(bytes), new Uint8Array(0));
  outbox.flush();
  outbox.flush();
  t.strictSame([sent, turns, failures], [[1, 3], 1, 1]);
});

t.test('messages that are forgotten before they left are counted', async (t) => {
  const nothing = () => {};
  const outbox = createOutbox(nothing, { flushed: nothing, failed: nothing });
  for (const bytes of [1, 2]) outbox.put(EVERY_RELAY, new Uint8Array(bytes), new Uint8Array(0));
  t.equal(outbox.clear(), 2);
  t.equal(outbox.clear(), 0);
});

t.test('a session on its way keeps what its codec has beside the known fields', async (t) => {
  const codec = { name: 'opus', sample_rate: 16_000, frame_ms: 20, fec: true, layers: [{ kbps: 12 }] };
  const id = '00000002-0000-4000-8000-000000000001';
  const claim = {
    ...{ session: 1, user: id, priority: 1, isAdmin: false, inEmergency: false, state: 'asks', ask: 1 },
    ...{ isFirstFrame: true, queue: false, hasPlace: false, turn: null, isAlone: false, talkMsMax: 0 },
    ...{ askedMs: 5, grantedMs: null, toldAgainMs: null, startedMs: null, lostMs: null },
  };
  const moved = {
    ...{ session: 1, moves: 1, bursts: 3, left_ms: 50, subscriptions: [], behind: null, raises: [] },
    claims: [{ number: 1, claim, placed: null, burst: 0, has_asked: false, codec }],
    talks: [
      {
        ...{ number: 2, burst: 3, frames: 1, sequence: 1, priority: 1, codec, age_ms: 20, silent_ms: 20 },
        ...{ started_at: '2026-11-23T08:00:00.000Z', has_returned: false },
      },
    ],
  };
  const taken = readBody('taken', bodyOf({ ask: 1, moved: { ...moved, unknown: 1 } }));
  t.strictSame(taken, { ask: 1, moved });
  const long = { ...codec, name: 'x'.repeat(300) };
  t.equal(
    readBody('taken', bodyOf({ ask: 1, moved: { ...moved, talks: [{ ...moved.talks[0], codec: long }] } })),
    null,
  );
});

t.test('a relay is up when both hear each other, and down without beacons', async (t) => {
  const [a, b] = [new Peers(1), new Peers(2)];
  const at = (nowMs: number) => ({ nowMs, fairMs: nowMs });
  t.equal(b.heard(1, a.heardNow(0), sent(0), at(0)), 'one_way');
  t.strictSame(b.up, []);
  t.equal(a.heard(2, b.heardNow(1), sent(1), at(1)), 'up');
  t.equal(b.heard(1, a.heardNow(2), sent(2), at(2)), 'up');
  t.strictSame([a.up, b.up], [[2], [1]]);
  t.equal(b.heard(1, a.heardNow(250), sent(250), at(250)), 'known');
  t.strictSame(b.expire(at(249 + DOWN_MS)), []);
  t.strictSame(
    b.expire({ nowMs: 9000, fairMs: 249 + DOWN_MS }),
    [],
    'the time that it stood still does not count',
  );
  t.strictSame(b.expire(at(250 + DOWN_MS)), [1]);
  t.notOk(b.isUp(1));
  t.equal(a.left(2), true);
  t.equal(a.left(2), false);
});

t.test('a relay that went down without a word is missed for a minute, one that said so is not', async (t) => {
  const peers = new Peers(0);
  const at = (nowMs: number) => ({ nowMs, fairMs: nowMs });
  const hear = (relay: number, nowMs: number) =>
    peers.heard(relay, { encrypts: true, heard: [[0, nowMs, 0]] }, sent(0), at(nowMs));
  for (const relay of [1, 2, 3]) hear(relay, 0);
  peers.left(3);
  hear(1, 1000);
  t.strictSame([peers.expire(at(DOWN_MS)), peers.reach], [[2], 'partial']);
  t.strictSame([peers.expire(at(1000 + DOWN_MS)), peers.reach], [[1], 'alone']);
  hear(1, 3000);
  t.equal(peers.reach, 'partial');
  hear(2, 3100);
  t.equal(peers.reach, 'whole');
  peers.expire(at(3000 + DOWN_MS));
  hear(2, 4600);
  t.equal(peers.reach, 'partial');
  for (let ms = 4600; ms < 65_000; ms += 1000) hear(2, ms);
  peers.expire(at(65_000));
  t.equal(peers.reach, 'whole', 'forgotten');
});

t.test('a relay is not up by a beacon that waited: its own must have been heard lately', async (t) => {
  const peers = new Peers(0);
  const hear = (ownAt: number, heldMs: number, nowMs: number) =>
    peers.heard(1, { encrypts: true, heard: [[0, ownAt, heldMs]] }, sent(0), { nowMs, fairMs: nowMs });
  t.equal(hear(1000, 200, 1200 + DOWN_MS), 'one_way');
  t.notOk(peers.isUp(1));
  t.equal(hear(1000, 300, 1200 + DOWN_MS), 'up');
  t.equal(hear(1000, 200, 3000 + DOWN_MS), 'known', 'one that is up may be slow');
  peers.expire({ nowMs: 9000, fairMs: 9000 });
  t.strictSame([hear(1000, 200, 9000), peers.reach], ['one_way', 'alone']);
  t.strictSame([hear(8000, 0, 9000), peers.reach], ['up', 'whole']);
});

t.test('a cluster has a greatest size', async (t) => {
  const peers = new Peers(0);
  const hear = (relay: number, nowMs = 0) =>
    peers.heard(relay, { encrypts: true, heard: [[0, nowMs, 0]] }, sent(nowMs), { nowMs, fairMs: nowMs });
  for (let relay = 1; relay <= PEERS_MAX; relay++) t.equal(hear(relay), 'up');
  t.equal(peers.reach, 'whole');
  for (let relay = PEERS_MAX + 1; relay <= PEERS_MAX + 10; relay++)
    t.strictSame([hear(relay), hear(relay)], ['ignored', 'known']);
  t.equal(peers.up.length, PEERS_MAX);
  t.equal(peers.reach, 'partial', 'members at those that are ignored do not hear this relay');
  for (let relay = PEERS_MAX + 2; relay <= PEERS_MAX + 10; relay++) peers.left(relay);
  t.equal(peers.reach, 'partial');
  peers.left(1);
  t.equal(hear(PEERS_MAX + 1), 'up', 'there is room for it');
  t.equal(peers.reach, 'whole');
  t.equal(hear(1, 100), 'ignored');
  for (let relay = 2; relay <= PEERS_MAX + 1; relay++) hear(relay, 1000);
  peers.expire({ nowMs: 100 + DOWN_MS, fairMs: 100 + DOWN_MS });
  t.equal(peers.reach, 'whole', 'it is not there any more');
});

t.test('an earlier connection of a relay counts again when nothing comes over the later one', async (t) => {
  t.strictSame([waysBetween(1, 2), waysBetween(2, 1), waysBetween(65_535, 0)], [1, -1, 1]);
  const peers = new Peers(0);
  peers.heard(1, { encrypts: true, heard: [[0, 0, 0]] }, sent(0, 65_535), { nowMs: 0, fairMs: 0 });
  t.notOk(peers.isOvertaken(1, 65_535, 10));
  t.notOk(peers.isOvertaken(1, 0, 20), 'it connected again');
  t.notOk(peers.isOvertaken(1, 65_535, 20), 'no beacon has said so');
  peers.heard(1, { encrypts: true, heard: [[0, 0, 0]] }, sent(20, 0), { nowMs: 20, fairMs: 20 });
  t.ok(peers.isOvertaken(1, 65_535, 30));
  t.ok(peers.isOvertaken(1, 65_535, 1000));
  t.notOk(peers.isOvertaken(1, 65_535, 1020));
  t.notOk(peers.isOvertaken(7, 5, 0), 'of a relay that is not known');
});

t.test('the server of the bus is in doubt when no relay at all is heard over it', async (t) => {
  const at = (nowMs: number, stoodMs = 0) => ({ nowMs, fairMs: nowMs - stoodMs });
  const begun = () => {
    const [peers, judge] = [new Peers(0), new ReachJudge(0)];
    for (const relay of [1, 2]) peers.heard(relay, { encrypts: true, heard: [[0, 0, 0]] }, sent(0), at(0));
    return { peers, judge };
  };
  /** When it is in doubt, in steps of a beacon. */
  const doubts = (
    { peers, judge }: ReturnType<typeof begun>,
    untilMs: number,
    {
      isUp = () => true,
      now = at,
    }: { isUp?: (ms: number) => boolean; now?: (ms: number) => ReturnType<typeof at> } = {},
  ) => {
    const found: number[] = [];
    for (let ms = 0; ms <= untilMs; ms += BEACON_MS) {
      peers.expire(now(ms));
      if (judge.judge(peers, isUp(ms), now(ms)).isInDoubt) found.push(ms);
    }
    return found;
  };
  t.strictSame(doubts(begun(), 12_000), [1500, 6500, 11_500], 'every 5 s');
  t.strictSame(doubts(begun(), 90_000).at(-1), 56_500, 'as long as the others are missed');
  t.strictSame(doubts(begun(), 5000, { isUp: (ms) => ms >= 1250 }), [2750], 'once it was up for so long');
  t.strictSame(doubts(begun(), 5000, { now: (ms) => at(ms, Math.min(ms, 3000)) }), [4500], 'it stood still');
  const one = begun();
  one.peers.heard(2, { encrypts: true, heard: [] }, sent(0), at(5000));
  t.strictSame(doubts(one, 6000), [], 'one that does not hear us is heard');
  const left = begun();
  for (const relay of [1, 2]) left.peers.left(relay);
  t.strictSame(doubts(left, 6000), [], 'they said that they end');
});

t.test('a relay that hears us no longer is down, and up again when it does', async (t) => {
  const peers = new Peers(1);
  const now = { nowMs: 1000, fairMs: 1000 };
  t.equal(peers.heard(2, { encrypts: true, heard: [[1, 990, 5]] }, sent(1), now), 'up');
  t.equal(peers.heard(2, { encrypts: true, heard: [] }, sent(2), now), 'down');
  t.equal(peers.isUp(2), false);
  t.equal(peers.reach, 'alone');
  t.equal(peers.heard(2, { encrypts: true, heard: [] }, sent(3), now), 'one_way');
  t.equal(peers.heard(2, { encrypts: true, heard: [[1, 999, 0]] }, sent(4), now), 'up');
  t.equal(peers.reach, 'whole');
  for (let ms = 2000; ms < 70_000; ms += 1000) {
    peers.heard(2, { encrypts: true, heard: [] }, sent(5), { nowMs: ms, fairMs: ms });
    peers.expire({ nowMs: ms, fairMs: ms });
  }
  t.equal(peers.reach, 'alone', 'missed as long as it is heard and does not hear us');
});

t.test('a relay that ends looks for one of another node that does not end', async (t) => {
  const now = { nowMs: 1000, fairMs: 1000 };
  const heard: [number, number, number][] = [[1, 990, 5]];
  for (const [told, areElsewhere] of [
    [{}, true],
    [{ node: 8 }, true],
    [{ node: 7 }, false],
    [{ node: 8, draining: true }, false],
  ] as const) {
    const peers = new Peers(1, 7);
    peers.heard(2, { encrypts: true, heard: [], ...told }, sent(0), now);
    t.notOk(peers.areElsewhere, 'it does not hear us');
    peers.heard(2, { encrypts: true, heard, ...told }, sent(1), now);
    t.equal(peers.areElsewhere, areElsewhere, JSON.stringify(told));
    const alone = new Peers(1);
    t.equal('node' in alone.heardNow(0), false);
    alone.heard(2, { encrypts: true, heard, ...told }, sent(1), now);
    t.equal(alone.areElsewhere, !('draining' in told), 'the only relay of its node');
  }
  t.equal(new Peers(1, 7).heardNow(0).node, 7);
});

t.test('relays of its own node say nothing about the way to other nodes', async (t) => {
  const NODE = 7;
  const peers = new Peers(1, NODE);
  const hear = (relay: number, node: number | null, ms: number, heard = [[1, ms, 0] as const]) =>
    peers.heard(
      relay,
      { heard: heard.map(([...one]) => one), encrypts: true, ...(node !== null && { node }) },
      sent(ms),
      {
        nowMs: ms,
        fairMs: ms,
      },
    );
  hear(2, NODE, 0);
  hear(3, NODE, 0);
  hear(4, 8, 0);
  hear(5, null, 0);
  t.strictSame([peers.siblings, peers.up.length], [2, 4]);
  const silentAt = (ms: number, ...near: readonly number[]) => {
    for (const relay of near) hear(relay, NODE, ms);
    peers.expire({ nowMs: ms, fairMs: ms });
    return peers.isSilent;
  };
  hear(4, 8, 250);
  t.notOk(silentAt(1500, 2, 3), 'one of another node is heard');
  t.equal(peers.reach, 'partial');
  t.ok(silentAt(1750, 2, 3), 'those of the own node do not count');
  t.strictSame([peers.reach, peers.siblings], ['alone', 2]);
  hear(4, 8, 2000);
  hear(5, 9, 2000);
  t.equal(peers.reach, 'whole');
  t.notOk(silentAt(3250, 2), 'nor is one of the own node missed over there');
  t.strictSame([peers.reach, peers.siblings], ['partial', 1]);
  peers.left(4);
  peers.left(5);
  t.notOk(silentAt(3500, 2));
  t.equal(peers.reach, 'partial', 'no other node is missed');
  t.notOk(silentAt(5250));
  t.strictSame([peers.reach, peers.siblings], ['alone', 0]);
});

t.test('a relay reaches those of its own node also where it reaches too many others', async (t) => {
  const NODE = 7;
  const peers = new Peers(1, NODE);
  const hear = (relay: number, node: number) =>
    peers.heard(relay, { heard: [[1, 0, 0]], encrypts: true, node }, sent(0), { nowMs: 0, fairMs: 0 });
  for (let relay = 100; relay < 100 + PEERS_MAX; relay++) t.equal(hear(relay, 8), 'up');
  t.equal(hear(2, 8), 'ignored');
  t.equal(hear(3, NODE), 'up');
  t.strictSame([peers.siblings, peers.reach], [1, 'partial']);
});

t.test(
  'questions leave in parts, those that sessions wait for before others, until they are answered',
  async (t) => {
    const asking = new Asking();
    const numbers = (count: number) => Array.from({ length: count }, (_, number) => number);
    asking.addLater(1, numbers(2 * PART_MAX));
    asking.addLater(2, numbers(10));
    asking.add(2, 77);
    const take = (nowMs: number) => new Map(asking.take(nowMs));
    const first = take(0);
    t.strictSame(first.get(2), [77, ...numbers(10)]);
    t.equal(first.get(1)?.length, OPEN_MIN);
    t.equal(take(10).size, 0, 'those must be answered first');
    for (let asked = OPEN_MIN; asked < 2 * PART_MAX; ) {
      for (const number of numbers(asked)) if (number !== 5) asking.answered(1, number);
      const { length = 0 } = take(20).get(1) ?? [];
      t.ok(length > 0 && length <= Math.min(PART_MAX, 2 * asked), `${length} behind ${asked}`);
      asked += length;
    }
    t.notOk(asking.isWaiting);
    for (const number of numbers(2 * PART_MAX)) if (number !== 5) asking.answered(1, number);
    asking.forget(2);
    asking.repeat(AGAIN_MS - 1);
    t.notOk(asking.isWaiting);
    asking.repeat(AGAIN_MS);
    t.strictSame(asking.take(AGAIN_MS), [[1, [5]]]);
    asking.repeat(2 * AGAIN_MS);
    asking.answered(1, 5);
    t.notOk(asking.isWaiting, 'answered while it waits to be repeated');
    asking.addLater(1, numbers(PART_MAX));
    take(3 * AGAIN_MS);
    asking.addLater(1, numbers(PART_MAX));
    t.equal(
      take(3 * AGAIN_MS).get(1)?.length,
      OPEN_MIN,
      'the bus was away: what was asked before does not count',
    );
  },
);

t.test(
  'a question that a session waits for is asked again with each beacon, while few are open',
  async (t) => {
    const asking = new Asking();
    const again = (nowMs: number) => {
      asking.repeat(nowMs);
      return asking.take(nowMs).flatMap(([, numbers]) => numbers);
    };
    asking.add(1, 7);
    asking.addLater(1, [8]);
    t.strictSame(again(0), [7, 8]);
    t.strictSame(again(SOON_AGAIN_MS - 1), []);
    t.strictSame(again(SOON_AGAIN_MS), [7]);
    t.strictSame(again(2 * SOON_AGAIN_MS), [7]);
    asking.answered(1, 7);
    t.strictSame(again(3 * SOON_AGAIN_MS), []);
    for (let number = 0; number <= OPEN_MIN; number++) asking.add(2, 100 + number);
    t.equal(again(4 * SOON_AGAIN_MS).length, OPEN_MIN + 1);
    t.strictSame(again(5 * SOON_AGAIN_MS), [], 'many are asked again after 2 s');
  },
);

t.test('a relay that comes back is asked by all others in parts that it has time for', async (t) => {
  const others = Array.from({ length: 49 }, () => new Asking());
  for (const other of others)
    other.addLater(
      1,
      Array.from({ length: 5000 }, (_, number) => number),
    );
  const waiting: { other: Asking; numbers: readonly number[] }[] = [];
  let longest = 0;
  let turns = 0;
  while (waiting.length > 0 || others.some(({ isWaiting }) => isWaiting)) {
    let taken = 0;
    for (const other of others)
      for (const [, numbers] of other.take(0)) {
        waiting.push({ other, numbers });
        taken += numbers.length;
      }
    longest = Math.max(longest, taken);
    turns++;
    // It answers one of them in each turn.
    const answered = waiting.shift();
    for (const number of answered?.numbers ?? []) answered?.other.answered(1, number);
  }
  t.ok(longest <= 2000, `${longest} questions at once`); // 25 ms
  t.ok(turns < 49 * 20, `${turns} turns`);
});

t.test('relays that are down at the same time are dropped some talkgroups in a turn', async (t) => {
  const turns: (() => void)[] = [];
  const dropped: number[][] = Array.from({ length: 1000 }, () => []);
  let inTurn = 0;
  const all = dropped.map((of, number) => ({
    drop(...relays: readonly number[]): void {
      inTurn++;
      of.push(...relays);
      if (number === 3 && relays.includes(1)) throw new Error('a fault of one');
    },
  }));
  const losses = new Losses(
    () => all.values(),
    (act) => turns.push(act),
  );
  losses.add(1);
  losses.add(2);
  t.equal(inTurn, 0);
  let longest = 0;
  for (let turn = 0; turns.length > 0; turn++) {
    inTurn = 0;
    try {
      turns.shift()?.();
    } catch {} // it is logged, and the others are dropped all the same
    longest = Math.max(longest, inTurn);
    if (turn === 2) losses.add(3);
    if (turn === 3) losses.finish(2);
  }
  t.ok(longest <= 125, `${longest} in a turn`);
  t.ok(dropped.every((of) => [1, 2, 3].every((relay) => of.includes(relay))));
  losses.finish(2);
  t.equal(turns.length, 0, 'one that is dropped everywhere is not dropped again');
});
