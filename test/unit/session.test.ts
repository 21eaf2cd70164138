// The rules of a session that take time, on a clock of the test's own: rates, mutes, refusals and abuse.
import t, { type Test } from 'tap';
import type { TalkgroupId } from '../../src/ids.js';
import { END, encodeFrame, START } from '../../src/protocol/frame.js';
import type { Peer } from '../../src/relay/delivery/peer.js';
import { claimsOf, quietPeer, relayAlone, seated } from '../helpers/relay/relay-alone.js';
import { accountRow, talkgroupRow } from '../helpers/relay/rows.js';

type Message = { readonly type: string; readonly code?: string; readonly [key: string]: unknown };

const idOf = (number: number) => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}` as TalkgroupId;
const memberOf = (number: number) => talkgroupRow({ id: idOf(number), number, name: `${number}` });
/** Of one user, a member of so many talkgroups with the numbers from 1 on. */
const readsOf = (talkgroups: number) => {
  const memberships = Array.from({ length: talkgroups }, (_, at) => memberOf(at + 1));
  return { accountsOf: async () => [accountRow('ann', { memberships })], talkgroupsOf: async () => [] };
};

/** A relay without an engine, and one radio in the talkgroups from 1 on. Time passes only by `pass`. */
async function radioOn(t: Test, talkgroups = 2) {
  let nowMs = 100_000;
  const messages: Message[] = [];
  let relayed = 0;
  let closed: string | null = null;
  const peer = quietPeer({
    send: (text) => messages.push(JSON.parse(String(text))) && 1,
    publish: () => ++relayed > 0,
    // Answered, for the relay's timer goes by the clock that `pass` winds: ten seconds without an answer end a session.
    ping(text) {
      setImmediate(() => session.ponged(bufferOf(Buffer.from(text))));
      return 1;
    },
    end(_code, reason) {
      closed = reason;
    },
  });
  const relay = relayAlone(t, {
    reads: readsOf(talkgroups),
    takeNumber: () => 7,
    publisher: { publish: () => true, numSubscribers: () => 1 },
    clock: { nowMs: () => nowMs },
  });
  t.teardown(() => relay.close());
  const session = await seated(relay, claimsOf('ann'), peer);
  const bufferOf = (bytes: Uint8Array) => new Uint8Array(bytes).buffer;

  return {
    /** All rights of its user are in doubt from now on. */
    withdraw() {
      session.user.withdrawn = true;
    },
    pass(ms: number) {
      nowMs += ms;
    },
    /** One frame. true: relayed. */
    speaks: (talkgroup: number, flags = 0) =>
      session.receiveAudio(
        bufferOf(encodeFrame({ sequence: 0, talkgroup, payload: new Uint8Array(1), flags })),
      ),
    says: (text: string) => session.receiveText(bufferOf(Buffer.from(text))),
    /** The codes of the errors told since the last call. */
    errors(): (string | undefined)[] {
      return messages.splice(0).flatMap(({ type, code }) => (type === 'ERROR' ? [code] : []));
    },
    closed: () => closed,
    /** The talkgroups with something to remember of what it talks. */
    talks: () => [...session.talks()].map(({ number }) => number),
  };
}

t.test('speech has its rate in each talkgroup: twice a second at once, then as time passes', async (t) => {
  const radio = await radioOn(t);
  const spoken = (talkgroup: number, frames: number) => {
    let relayed = 0;
    for (let frame = 0; frame < frames; frame++) if (radio.speaks(talkgroup)) relayed++;
    return relayed;
  };
  t.equal(spoken(1, 500), 220);
  t.equal(spoken(2, 500), 220, 'one talkgroup does not use up the rate of another');
  radio.pass(500);
  t.equal(spoken(1, 500), 55);
  radio.pass(60_000);
  t.equal(spoken(1, 500), 220, 'silence saves up no more than the burst');
});

t.test('a radio that floods while its right is in doubt is closed like any other', async (t) => {
  const radio = await radioOn(t);
  radio.withdraw();
  for (let frame = 0; frame < 220; frame++) t.equal(radio.speaks(1), false);
  t.same(radio.errors(), [], 'within the rate it is dropped without a word');
  for (let frame = 0; frame <= 20 * 110 && radio.closed() === null; frame++) radio.speaks(1);
  t.equal(radio.closed(), 'rate_limited');
});

t.test('a handshake that meets a bug on its way to a session is closed, not left waiting', async (t) => {
  const logged: string[] = [];
  const log = { fail: (...[message]: unknown[]) => logged.push(String(message)) > 0 };
  const relay = relayAlone(log, {
    reads: readsOf(2),
    takeNumber() {
      throw new Error('on purpose');
    },
    publisher: { publish: () => true, numSubscribers: () => 1 },
    clock: { nowMs: () => 0 },
  });
  t.teardown(() => relay.close());
  await t.rejects(seated(relay, claimsOf('ann'), {} as Peer), { message: 'internal error' });
  t.strictSame(logged, ['admission failed']);
});

t.test('a refused stream is told once, for as long as it lasts', async (t) => {
  const radio = await radioOn(t);
  const stranger = 3;
  let relayed = 0;
  for (let frame = 0; frame < 500; frame++) {
    if (radio.speaks(stranger)) relayed++;
    radio.pass(20);
  }
  t.equal(relayed, 0);
  t.same(radio.errors(), ['not_member'], '10 s of speech, one error');
  radio.pass(1979); // and the 20 above
  radio.speaks(stranger);
  t.same(radio.errors(), [], 'just under 2 s of silence: the same stream');
  radio.pass(2000);
  radio.speaks(stranger);
  t.same(radio.errors(), ['not_member'], '2 s of silence end it');
  radio.speaks(stranger, START);
  t.same(radio.errors(), ['not_member'], 'so does START');
});

t.test('a stream that was accepted in between is refused anew', async (t) => {
  const radio = await radioOn(t);
  const flood = () => {
    while (radio.speaks(1));
  };
  flood();
  t.same(radio.errors(), ['rate_limited']);
  radio.pass(500);
  t.ok(radio.speaks(1, START), 'a new stream, accepted');
  flood();
  t.same(radio.errors(), ['rate_limited'], 'and cut again: its talker must hear of it');
});

t.test('a session keeps 64 talks: idle ones are forgotten, those with a burst are not', async (t) => {
  const radio = await radioOn(t, 100);
  for (let talkgroup = 1; talkgroup <= 100; talkgroup++)
    t.equal(radio.speaks(talkgroup, START), talkgroup <= 8, `a START in talkgroup ${talkgroup}`);
  const talks = radio.talks();
  t.equal(talks.length, 64);
  t.strictSame(talks.slice(0, 9), [1, 2, 3, 4, 5, 6, 7, 8, 45], 'the oldest idle ones are gone');
  t.ok(radio.speaks(1), 'the first burst goes on');
  t.equal(radio.closed(), null);
});

t.test('T1 of silence lifts a mute, and frames that keep coming do not', async (t) => {
  const radio = await radioOn(t);
  t.ok(radio.speaks(1, START));
  radio.says(JSON.stringify({ type: 'FLOOR_RELEASE', talkgroup_id: idOf(1) }));
  for (let frame = 0; frame < 10; frame++) {
    radio.pass(1999);
    t.notOk(radio.speaks(1), 'of one who does not listen');
  }
  radio.pass(2000);
  t.ok(radio.speaks(1));
});

t.test('after eight bursts in 10 s one is muted for 2 s, START or not', async (t) => {
  const radio = await radioOn(t);
  for (let burst = 0; burst < 8; burst++) {
    t.ok(radio.speaks(1, START | END));
    radio.pass(1000);
  }
  t.notOk(radio.speaks(1, START), 'the ninth, 8 s after the first');
  t.same(radio.errors(), ['rate_limited']);
  t.ok(radio.speaks(2, START), 'it may talk elsewhere');
  radio.pass(1999);
  t.notOk(radio.speaks(1, START), 'the first is 10 s ago by now, the mute is not over');
  t.notOk(radio.speaks(1));
  t.same(radio.errors(), [], 'of the mute it was told already');
  radio.pass(1);
  t.ok(radio.speaks(1, START));
});

t.test('eight bursts a window: the window slides', async (t) => {
  const radio = await radioOn(t);
  for (let burst = 0; burst < 40; burst++) {
    t.ok(radio.speaks(1, START | END), `burst ${burst}`);
    radio.pass(1250);
  }
});

t.test('20 bad texts in any 10 s close the session', async (t) => {
  const radio = await radioOn(t);
  radio.says('no JSON');
  radio.pass(9500);
  for (let bad = 0; bad < 10; bad++) radio.says('no JSON');
  radio.pass(1000); // the first is 10.5 s ago now
  for (let bad = 0; bad < 9; bad++) radio.says('no JSON');
  t.equal(radio.closed(), null, '19 in the last 10 s');
  radio.says('no JSON');
  t.equal(radio.closed(), 'rate_limited');
});

t.test('19 bad texts every 10 s are answered for ever', async (t) => {
  const radio = await radioOn(t);
  for (let round = 0; round < 5; round++) {
    for (let bad = 0; bad < 19; bad++) radio.says('no JSON');
    t.equal(radio.errors().length, 19);
    radio.pass(10_000);
  }
  t.equal(radio.closed(), null);
});
