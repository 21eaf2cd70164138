// What all sockets of one user together may send, on a clock of the test's own.
import t, { type Test } from 'tap';
import type { TalkgroupId } from '../../src/ids.js';
import { END, encodeFrame, START } from '../../src/protocol/frame.js';
import type { Rates } from '../../src/relay/limits/budget.js';
import { claimsOf, quietPeer, relayAlone, seated } from '../helpers/relay/relay-alone.js';
import { accountRow, talkgroupRow } from '../helpers/relay/rows.js';

/** All that a radio is told: its own messages, and what is published to the talkgroups. */
type Message = { readonly type: string; readonly code?: string; readonly session?: number };

const TALKGROUPS = 10;
const memberships = Array.from({ length: TALKGROUPS }, (_, index) =>
  talkgroupRow({ id: `talkgroup ${index + 1}` as TalkgroupId, number: index + 1, name: '' }),
);

/** A relay without an engine in which all users are in all talkgroups. Time passes only by `pass`. */
function relayOf(t: Test, limits: Partial<Rates> = {}) {
  let nowMs = 100_000;
  let number = 0;
  const published: Message[] = [];
  const relay = relayAlone(t, {
    reads: {
      accountsOf: async (ids) => ids.map((id) => accountRow(id, { memberships })),
      talkgroupsOf: async () => [],
    },
    takeNumber: () => ++number,
    publisher: {
      publish: (_topic, message) => typeof message === 'string' && published.push(JSON.parse(message)) > 0,
      numSubscribers: () => 1,
    },
    clock: { nowMs: () => nowMs },
    limits,
  });
  t.teardown(() => relay.close());

  async function socket(username: string) {
    const told: Message[] = [];
    const peer = quietPeer({
      send: (text) => told.push(JSON.parse(String(text))) && 1,
      end(_code, reason) {
        if (reason !== 'restart') t.fail(reason);
      },
    });
    const session = await seated(relay, claimsOf(username), peer);
    /** How many of so many frames at once are relayed. */
    function sends(frames: number, { talkgroup = 1, bytes = 1, flags = 0 } = {}): number {
      let relayed = 0;
      for (let frame = 0; frame < frames; frame++) {
        const payload = new Uint8Array(bytes);
        const message = encodeFrame({ sequence: frame, talkgroup, payload, flags });
        if (session.receiveAudio(new Uint8Array(message).buffer)) relayed++;
      }
      return relayed;
    }
    return {
      number: session.number,
      sends,
      /** Types and codes of what it alone was told since the last call. */
      told: () => told.splice(0).map(({ type, code = '' }) => `${type} ${code}`.trim()),
    };
  }

  return {
    socket,
    counts: relay.counts,
    pass(ms: number) {
      nowMs += ms;
    },
    /** Bursts that ended since the last call, by session. */
    ended: () =>
      published
        .splice(0)
        .flatMap(({ type, session, code }) => (type === 'TALK_ENDED' ? [`${session} ${code}`] : [])),
    /** Bursts that began since the last call of this or of `ended`. */
    started: () => published.splice(0).filter(({ type }) => type === 'TALK_STARTED').length,
  };
}

t.test('the sockets of a user share twice the rate of one, in each talkgroup', async (t) => {
  const { socket, pass, counts } = relayOf(t);
  const [one, two, other] = [await socket('ann'), await socket('ann'), await socket('bob')];
  t.equal(one.sends(110), 110);
  t.equal(two.sends(220), 110);
  t.equal(one.sends(1), 0);
  t.equal(other.sends(220), 220, 'another user has a budget of its own');
  t.equal(one.sends(110, { talkgroup: 2 }), 110, 'so has another talkgroup');
  t.equal(counts.dropped.over_budget, 111);
  t.equal(counts.dropped.rate_limited, 0);
  pass(500);
  t.equal(two.sends(50) + one.sends(100), 110, 'half a second later half of it is there again');
});

t.test('payloads are counted in bytes, headers are not', async (t) => {
  const { socket, pass, counts } = relayOf(t);
  const [one, two] = [await socket('ann'), await socket('ann')];
  t.equal(one.sends(64, { bytes: 1000 }), 64);
  t.equal(two.sends(2, { bytes: 1000 }), 1, '65 of 1,000 are 536 less than 65,536');
  t.equal(two.sends(2, { bytes: 536 }), 1, 'a smaller one still fits');
  t.equal(two.sends(1), 0);
  t.equal(counts.dropped.over_budget, 3);
  pass(100);
  t.equal(one.sends(8, { bytes: 1000 }), 6, 'a tenth of a second brings 6,553');
});

t.test('in all talkgroups together a user may send eight times as much', async (t) => {
  const { socket, pass, started, counts } = relayOf(t);
  const [one, two, other] = [await socket('ann'), await socket('ann'), await socket('bob')];
  for (let talkgroup = 1; talkgroup <= 8; talkgroup++) t.equal(one.sends(220, { talkgroup }), 220);
  started();
  t.equal(two.sends(2, { talkgroup: 9, flags: START }), 0);
  t.equal(started(), 0, 'a burst whose first frame is refused does not begin');
  t.same(two.told().slice(1), ['ERROR rate_limited', 'ERROR rate_limited']);
  t.equal(other.sends(1, { talkgroup: 9 }), 1);
  pass(1000);
  t.equal(two.sends(110, { talkgroup: 9 }), 110);
  t.equal(counts.dropped.over_budget, 2);
});

t.test('beyond one stream of its own a user is charged for each receiver of each frame', async (t) => {
  const { socket, pass, counts } = relayOf(t, { userDeliveriesPerSecond: 1000 });
  const [one, two, other] = [await socket('ann'), await socket('ann'), await socket('bob')];
  for (let listener = 0; listener < 17; listener++) await socket(`listener ${listener}`);
  t.equal(one.sends(110), 110, 'its own stream, however many hear it');
  const inAll = 50;
  t.equal(two.sends(110, { talkgroup: 2 }), inAll, '20 sockets hear each: 1,000 deliveries');
  t.equal(counts.dropped.over_budget, 110 - inAll);
  t.equal(other.sends(110, { talkgroup: 2 }), 110, 'another user has its own');
  pass(1000);
  t.equal(one.sends(110) + two.sends(110, { talkgroup: 2 }), 110 + inAll, 'a second later as much again');
});

t.test('a frame that is not relayed takes nothing from the other sockets', async (t) => {
  const { socket, pass } = relayOf(t);
  const [loud, quiet, third] = [await socket('ann'), await socket('ann'), await socket('ann')];
  t.equal(loud.sends(100, { bytes: 1000 }), 65, 'the bytes are used up');
  pass(10);
  t.equal(quiet.sends(1, { bytes: 500 }), 1, 'those of the refused frames are not');
  t.equal(
    quiet.sends(144),
    144,
    'nor their tokens: 65 and 1 of 220 frames are spent, 2 came back, and 10 bytes stay',
  );
  pass(5000);
  t.equal(third.sends(200), 0, 'a third burst is denied, and its frames are dropped');
  t.equal(quiet.sends(220), 220, 'none of these was counted');
});

t.test('when frames are refused for 2 s the newest burst ends, and then the next', async (t) => {
  const { socket, pass, ended, counts } = relayOf(t);
  const [one, two, other] = [await socket('ann'), await socket('ann'), await socket('bob')];
  other.sends(1);
  one.sends(1);
  pass(1);
  two.sends(1);
  /** So many frames of 1,000 bytes from both, and speech from the other user. */
  const floods = (ms: number) => {
    for (let passed = 0; passed < ms; passed += 20) {
      one.sends(2, { bytes: 1000 });
      two.sends(2, { bytes: 1000 });
      t.equal(other.sends(1), 1);
      pass(20);
    }
  };
  floods(2000);
  t.same(ended(), [], 'the budget of a second lasts for more than none of it');
  two.told();
  floods(1000);
  t.same(ended(), [`${two.number} rate_limited`]);
  t.same(two.told(), ['FLOOR_REVOKED rate_limited'], 'it was told of the refused frames before');
  floods(2000);
  t.same(ended(), [`${one.number} rate_limited`], 'one alone sends too much as well');
  floods(3000);
  t.same(ended(), [], 'what is still in flight begins no burst');
  t.equal(counts.floor.ended.rate_limited, 2);
  t.equal(two.sends(1, { flags: START | END }), 1, 'and the user may talk again');
});

t.test('frames refused now and then end no burst', async (t) => {
  const { socket, pass, ended } = relayOf(t);
  const one = await socket('ann');
  for (let second = 0; second < 10; second++) {
    t.ok(one.sends(70, { bytes: 1000 }) < 70);
    pass(1001);
  }
  t.same(ended(), []);
});

t.test('beyond the budget of all talkgroups the newest burst of all ends', async (t) => {
  const { socket, pass, ended } = relayOf(t);
  const sockets = [await socket('ann'), await socket('ann')];
  // 600,000 bytes a second: the second's worth lasts for 7 s, and then frames are refused for 2 s.
  for (let ms = 0; ms < 10_000; ms += 20) {
    for (const [index, { sends }] of sockets.entries())
      for (let talkgroup = 1; talkgroup <= 5; talkgroup++)
        sends(2, { talkgroup: 5 * index + talkgroup, bytes: 600 });
    pass(20);
  }
  const [first] = ended();
  t.equal(first, `${sockets[1]?.number} rate_limited`);
});
