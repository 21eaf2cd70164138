// A receiver for whom the engine has no room, with an engine and a clock of the test's own.
import { setImmediate as nextTurn } from 'node:timers/promises';
import t from 'tap';
import type { TalkgroupId } from '../../src/ids.js';
import type { MissedAudio } from '../../src/protocol/bodies.js';
import type { Close } from '../../src/protocol/closes.js';
import { createFanout } from '../../src/relay/delivery/fanout.js';
import { createHolding } from '../../src/relay/delivery/holding.js';
import { DROPPED } from '../../src/relay/delivery/peer.js';
import { newCounts } from '../../src/relay/figures/counts.js';
import { Membership, Talkgroup, User } from '../../src/relay/members/members.js';
import { createPresence } from '../../src/relay/presence/presence.js';
import { Behind } from '../../src/relay/reception/behind.js';
import { FairClock } from '../../src/relay/reception/fair-clock.js';
import type { Receiver, Unanswered } from '../../src/relay/reception/receiver.js';
import { Reception } from '../../src/relay/reception/reception.js';
import { clockAt } from '../helpers/relay/clocks.js';
import { quietPeer } from '../helpers/relay/relay-alone.js';
import { accountRow, talkgroupRow } from '../helpers/relay/rows.js';

const TICK_MS = 20;

const user = new User(accountRow('ann'));
const talkgroup = new Talkgroup(talkgroupRow());
const membership = new Membership(user, talkgroup, 'depot');
user.memberships.set(talkgroup.number, membership);

/** What its session is told to say and do stands in `said`. Time passes only by `pass`. */
function receiver() {
  let nowMs = 100_000;
  const clock = clockAt(() => nowMs);
  const fair = new FairClock(TICK_MS);
  fair.tick(nowMs);
  const said: string[] = [];
  const lost: MissedAudio[] = [];
  const unanswered = new Set<Unanswered>();
  const session: Receiver = {
    ...{ number: 7, user, isLive: true, issuedAt: 0, heardAtMs: 0, hears: () => true },
    ...{ ownFrames: () => 0, talksAlone: () => false, telling: { answered() {} } },
    ...{ withdrawn() {}, granted() {}, joined() {}, left() {}, hearing() {} },
    send: (text) => {
      const { type, talkgroups = [] } = JSON.parse(text);
      said.push(type);
      if (type === 'LAG') lost.push(...talkgroups);
    },
    missed: () => said.push('SUBSCRIBED'),
    later: (act) => void setImmediate(act),
    close: ({ reason }: Close) => said.push(reason),
  };
  const counts = newCounts();
  const publisher = { publish: () => true, numSubscribers: () => 1 };
  const fanout = createFanout(publisher, { isHigh: () => false }, clock);
  const reception = new Reception(session, {
    nowMs: () => nowMs,
    fanout,
    holding: createHolding({ fanout, counts, clock, behindFrame() {}, left() {}, log: { error() {} } }),
    presence: createPresence(fanout),
    fair,
    unanswered,
    counts,
    limits: { backlogMs: 1000, lagPingMs: 1000 },
    log: { info() {} },
  });

  return {
    reception,
    fanout,
    counts,
    said,
    /** The content of LAG. */
    lost,
    now: () => String(fair.at(nowMs)),
    /** As the relay's timer does: a ping a second, and judged while it owes an answer. */
    pass(ms: number) {
      for (let passed = TICK_MS; passed <= ms; passed += TICK_MS) {
        nowMs += TICK_MS;
        fair.tick(nowMs);
        if (passed % 1000 === 0) reception.ask(nowMs, String(fair.at(nowMs)), fair.at(nowMs) - 300, 0);
        if (unanswered.has(reception)) reception.judge(fair.at(nowMs));
      }
    },
  };
}

/** A socket with room for pings, or without. */
function socket(isEmpty: boolean) {
  const topics = new Set<string>();
  const peer = quietPeer({
    ping: () => (isEmpty ? 1 : DROPPED),
    subscribe: (topic) => !topics.has(topic) && topics.add(topic).size > 0,
    unsubscribe: (topic) => topics.delete(topic),
  });
  return { peer, topics };
}

t.test('a receiver without room for any ping is closed 10 s after the first of them', async (t) => {
  const { reception, said, pass } = receiver();
  const { peer, topics } = socket(false);
  reception.attach(peer);
  reception.overrun(true);
  await nextTurn();
  t.notOk(topics.has(talkgroup.feed.audioTopic));
  pass(10_900);
  t.same(said, []);
  pass(200);
  t.equal(said[0], 'slow consumer');
});

t.test(
  'a receiver that moves to another socket in the turn of an overrun hears once that one answers',
  async (t) => {
    const { reception, said, now } = receiver();
    reception.attach(socket(true).peer);
    reception.overrun(true);
    reception.detach();
    const { peer, topics } = socket(true);
    reception.attach(peer);
    await nextTurn();
    t.notOk(topics.has(talkgroup.feed.audioTopic));
    reception.ping(now());
    const answer = new Uint8Array(Buffer.from(now())).buffer;
    t.ok(reception.pong(answer, Number(now())));
    t.same(said, ['LAG'], 'its WELCOME there showed what is so');
    t.ok(topics.has(talkgroup.feed.audioTopic));
  },
);

t.test('fresh snapshots follow LAG when a text may be lost, and only then', async (t) => {
  const { reception, said, now, pass } = receiver();
  reception.attach(socket(true).peer);
  const catchesUp = () => {
    pass(TICK_MS);
    reception.ping(now());
    reception.pong(new Uint8Array(Buffer.from(now())).buffer, Number(now()));
    return said.splice(0);
  };
  t.same(catchesUp(), []);
  reception.ping(now());
  pass(1500);
  t.same(catchesUp(), ['LAG'], 'slow by time');
  reception.overrun(false);
  t.same(catchesUp(), ['LAG'], 'a ping was dropped');
  reception.overrun(true);
  t.same(catchesUp(), ['LAG', 'SUBSCRIBED']);
  reception.overrun(false);
  reception.overrun(true);
  t.same(catchesUp(), ['LAG', 'SUBSCRIBED'], 'later, while it was slow already');
});

t.test('a text published in the turn of a drop may be lost, in one of the turns before not', async (t) => {
  const { reception, fanout, said, now, pass } = receiver();
  reception.attach(socket(true).peer);
  const rail = new Talkgroup(talkgroupRow({ id: 'rail' as TalkgroupId, number: 2, name: 'rail' }));
  const catchesUp = async () => {
    pass(TICK_MS);
    reception.ping(now());
    reception.pong(new Uint8Array(Buffer.from(now())).buffer, Number(now()));
    await nextTurn();
    return said.splice(0);
  };
  const ways: Record<string, () => void> = {
    event: () => fanout.event(talkgroup.feed, () => ''),
    tell: () => fanout.tell(talkgroup.feed, ''),
    presence: () => fanout.presence(talkgroup.feed, ''),
    all: () => fanout.all(''),
  };
  for (const [way, tellIt] of Object.entries(ways)) {
    tellIt();
    reception.overrun(false);
    t.same(await catchesUp(), ['LAG', 'SUBSCRIBED'], way);
    tellIt();
    await nextTurn();
    reception.overrun(false);
    t.same(await catchesUp(), ['LAG'], `${way}, a turn before`);
    reception.overrun(false);
    tellIt();
    reception.overrun(false);
    t.same(await catchesUp(), ['LAG', 'SUBSCRIBED'], `${way}, and it was slow already`);
  }
  fanout.tell(rail.feed, '');
  reception.overrun(false);
  t.same(await catchesUp(), ['LAG'], 'of a talkgroup that it is not in');
});

t.test('a text published by an immediate may be lost until the next turn is over', async (t) => {
  const { fanout } = receiver();
  const may: boolean[] = [];
  setImmediate(() => fanout.tell(talkgroup.feed, ''));
  fanout.tell(talkgroup.feed, ''); // counted out behind that immediate
  setImmediate(() => may.push(fanout.mayDropText([talkgroup.feed])));
  await nextTurn();
  await nextTurn();
  t.same([...may, fanout.mayDropText([talkgroup.feed])], [true, false]);
});

t.test('a pong that is not the digits of a ping answers nothing', async (t) => {
  const { reception, now, pass } = receiver();
  reception.attach(socket(true).peer);
  pass(TICK_MS);
  reception.ping(now());
  const pong = (text: string) => reception.pong(new Uint8Array(Buffer.from(text)).buffer, Number(now()));
  const others = [
    '',
    'x',
    ` ${now()}`,
    `${now()}.0`,
    `+${now()}`,
    `-${now()}`,
    `1${now()}`,
    '9'.repeat(100),
    'NaN',
  ];
  for (const text of others) t.notOk(pong(text), JSON.stringify(text));
  t.ok(pong(now()));
});

t.test('what went by a slow receiver is counted once, whether or not it comes back', async (t) => {
  const { reception, counts, now } = receiver();
  reception.attach(socket(true).peer);
  reception.overrun(true);
  await nextTurn();
  talkgroup.feed.relayed += 30;
  reception.detach();
  t.equal(counts.missed, 30, 'should it never return');
  reception.attach(socket(true).peer);
  talkgroup.feed.relayed += 12;
  reception.ping(now());
  reception.pong(new Uint8Array(Buffer.from(now())).buffer, Number(now()));
  t.equal(counts.missed, 42);

  talkgroup.feed.relayedAtMark = talkgroup.feed.relayed;
  reception.overrun(true);
  talkgroup.feed.relayed += 5;
  reception.forget(membership);
  t.equal(counts.missed, 47, 'what it missed where it is no member any more');
});

t.test('LAG names what was missed in a talkgroup that it left meanwhile, once', async (t) => {
  const { reception, said, counts, lost, now, pass } = receiver();
  const catchesUp = () => {
    pass(TICK_MS);
    reception.ping(now());
    reception.pong(new Uint8Array(Buffer.from(now())).buffer, Number(now()));
    t.equal(said.splice(0)[0], 'LAG');
    return lost.splice(0);
  };
  const { feed, id: talkgroup_id } = talkgroup;
  reception.attach(socket(true).peer);
  const fallsBehind = async () => {
    feed.relayedAtMark = feed.relayed;
    reception.overrun(false);
    await nextTurn();
    feed.relayed += 5;
  };
  await fallsBehind();
  reception.forget(membership);
  feed.relayed += 100;
  t.same(catchesUp(), [{ talkgroup_id, missed: 5 }], 'not what was said after it had left');

  reception.hear(membership);
  await fallsBehind();
  for (const more of [7, 9]) {
    reception.forget(membership);
    feed.relayed += 100;
    reception.hear(membership);
    feed.relayed += more;
  }
  t.same(catchesUp(), [{ talkgroup_id, missed: 5 + 7 + 9 }], 'it came and went twice');
  t.equal(counts.missed, 5 + 5 + 7 + 9);

  await fallsBehind();
  reception.subscribe(membership, { mode: 'none', presence: false, hold: null });
  feed.relayed += 100;
  t.same(catchesUp(), [{ talkgroup_id, missed: 5 }], 'it unsubscribed');
});

t.test('all talkgroups of a receiver without audio stop at the cost of each alone', async (t) => {
  let asked = 0;
  const counts = { missed: 0 };
  const behind = new Behind(({ number }) => ++asked && number, counts, 0, false);
  const all = Array.from(
    { length: 2000 },
    (_, at) => new Talkgroup(talkgroupRow({ id: `${at}` as TalkgroupId, number: at + 1 })),
  );
  for (const one of all) behind.miss(one, 0);
  for (const one of all) behind.stop(one);
  t.equal(asked, all.length);
  t.equal(counts.missed, (2000 * 2001) / 2);
  const told = behind.countMissed();
  t.equal(told.length, 400, 'and LAG fits in the buffer');
  t.match(told.at(-1), { talkgroup_id: '1999', missed: 2000 });
});
