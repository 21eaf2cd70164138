// The order in which a relay plays bursts of `single` and `broadcast`, each rule by an example.
import t from 'tap';
import { NO_TURN } from '../../src/protocol/turn.js';
import { homeOf, weightOf } from '../../src/relay/shared-floor/home.js';
import { MERGE_MS, ORDER_MS } from '../../src/relay/shared-floor/turns/held-back.js';
import { Order } from '../../src/relay/shared-floor/turns/order.js';
import type { BurstName } from '../../src/relay/shared-floor/turns/plays.js';

const HOME = 9;
const AUDIO = new ArrayBuffer(0);
const turn = (count: number, home = HOME) => ({ count, home });
const placed = (count: number, after: number, home = HOME) => ({
  ...{ turn: turn(count, home), after: turn(after, after === 0 ? 0 : home), afterCode: 'released' as const },
});

/** Bursts are named by the letter of their talker, who is on relay 1, 2, 3 … */
function relay() {
  const heard: string[] = [];
  const urgent = new Set<number>();
  const nameOf = ({ session }: BurstName) => String.fromCharCode(96 + session);
  const order = new Order<BurstName>(
    {
      begin: (burst) => heard.push(`${nameOf(burst)} begins`),
      frame: (burst, _message, index) => heard.push(`${nameOf(burst)} ${index}`),
      missed: (burst, frames) => heard.push(`${nameOf(burst)} missed ${frames}`),
      end: (burst, { code }) => heard.push(`${nameOf(burst)} ends ${code}`),
      ready: ({ count }) => heard.push(`grant ${count} ready`),
    },
    { home: () => HOME, rankOf: ({ session }) => (urgent.has(session) ? 7 : 1) },
  );
  let nowMs = 0;
  const burst = (name: string): BurstName => {
    const session = name.charCodeAt(0) - 96;
    return { relay: session, session, burst: 1 };
  };
  return {
    order,
    heard: () => heard.splice(0),
    /** Its talker is in an emergency. */
    isUrgent: (name: string) => urgent.add(burst(name).session),
    started: (name: string, count: number, after: number, home = HOME) =>
      order.started(burst(name), placed(count, after, home), 0, nowMs),
    frame: (name: string, count: number, index: number, home = HOME) =>
      order.frame({ ...burst(name), count, home, index }, AUDIO, nowMs),
    ended: (name: string, count: number, frames: number) =>
      order.ended(burst(name), turn(count), { code: 'released', durationMs: null, frames }, nowMs),
    ownStarted: (name: string, count: number) => order.ownStarted(burst(name), turn(count), nowMs),
    ownEnded: () => order.ownEnded(nowMs),
    grant: (count: number, after: number) => order.grant(placed(count, after), 1, nowMs),
    gone: (relay: number) => order.gone(relay, nowMs),
    pass(ms: number) {
      nowMs += ms;
      order.tick(nowMs);
    },
  };
}

t.test(
  'a burst that comes before the end of the one before is played after that end, with its frames',
  async (t) => {
    const r = relay();
    r.started('a', 1, 0);
    t.equal(r.frame('a', 1, 1), 'played');
    r.started('b', 2, 1);
    t.equal(r.frame('b', 2, 1), 'held');
    t.strictSame(r.heard(), ['a begins', 'a 1']);
    r.ended('a', 1, 1);
    t.strictSame(r.heard(), ['a ends released', 'b begins', 'b 1']);
    t.same(r.order.top, turn(2));
  },
);

t.test('when that end does not come, the one before ends here after 100 ms', async (t) => {
  const r = relay();
  r.started('a', 1, 0);
  r.started('b', 2, 1);
  r.frame('b', 2, 1);
  r.pass(ORDER_MS - 1);
  t.strictSame(r.heard(), ['a begins']);
  r.pass(1);
  t.strictSame(r.heard(), ['a ends released', 'b begins', 'b 1']);
  t.equal(r.frame('a', 1, 2), 'dropped', 'the overtaken one is not played any more');
});

t.test('a burst of another home does not end what plays here, and is dropped after 500 ms', async (t) => {
  const r = relay();
  r.started('a', 1, 0);
  r.started('b', 300, 2, 8);
  r.frame('b', 300, 1, 8);
  r.pass(MERGE_MS - 1);
  t.strictSame(r.heard(), ['a begins']);
  r.pass(1);
  t.strictSame(r.heard(), ['b missed 1']);
  t.equal(r.frame('b', 300, 2, 8), 'unknown');
});

t.test('a burst of this relay ends by the word of its home alone', async (t) => {
  const r = relay();
  r.ownStarted('a', 1);
  r.started('b', 2, 1);
  r.pass(10 * ORDER_MS);
  t.strictSame(r.heard(), []);
  r.ownEnded();
  t.strictSame(r.heard(), ['b begins']);
});

t.test('short bursts that follow each other behind a burst of this relay are all played', async (t) => {
  const r = relay();
  r.ownStarted('a', 1);
  for (const [at, name] of ['b', 'c', 'd'].entries()) {
    r.started(name, at + 2, at + 1);
    r.frame(name, at + 2, 1);
    r.ended(name, at + 2, 1);
  }
  t.same(r.order.seen, turn(4));
  r.started('e', 5, 4);
  r.frame('e', 5, 1);
  r.pass(10 * ORDER_MS);
  r.ownEnded();
  const whole = ['b', 'c', 'd'].flatMap((name) => [`${name} begins`, `${name} 1`, `${name} ends released`]);
  t.strictSame(r.heard(), [...whole, 'e begins', 'e 1']);
});

t.test('of more than four of them the earlier ones are missed', async (t) => {
  const r = relay();
  r.ownStarted('a', 1);
  for (const [at, name] of ['b', 'c', 'd', 'e', 'f'].entries()) {
    r.started(name, at + 2, at + 1);
    r.frame(name, at + 2, 1);
    r.ended(name, at + 2, 1);
  }
  t.strictSame(r.heard(), ['b missed 1', 'c missed 1', 'd missed 1', 'e missed 1']);
  r.ownEnded();
  t.strictSame(r.heard(), [], 'it may follow what was not heard of');
  r.pass(ORDER_MS);
  t.strictSame(r.heard(), ['f begins', 'f 1', 'f ends released']);
});

t.test('lower speech of another home does not take the place of an emergency', async (t) => {
  const r = relay();
  r.isUrgent('a');
  r.started('a', 1, 0);
  r.started('b', 300, 2, 8);
  r.frame('b', 300, 1, 8);
  t.equal(r.grant(400, 300), 'held');
  t.strictSame(r.heard(), ['a begins', 'b missed 1']);
  r.started('c', 500, 300);
  t.strictSame(r.heard(), []);
});

t.test('nor does that of the own home, which does not know of it, before 500 ms', async (t) => {
  const r = relay();
  r.isUrgent('a');
  r.started('a', 5, 0, 8);
  r.started('b', 300, 0);
  r.pass(MERGE_MS - 1);
  t.strictSame(r.heard(), ['a begins']);
  r.pass(1);
  t.strictSame(r.heard(), ['a ends preempted', 'b begins']);
});

t.test('nor does a grant to a session of this relay', async (t) => {
  const r = relay();
  r.isUrgent('a');
  r.started('a', 5, 0, 8);
  t.equal(r.grant(300, 0), 'held');
  r.pass(MERGE_MS - 1);
  t.strictSame(r.heard(), ['a begins']);
  r.pass(1);
  t.strictSame(r.heard(), ['a ends preempted', 'grant 300 ready']);
});

t.test('a home that knew of the emergency lets lower speech follow it at once', async (t) => {
  const r = relay();
  r.isUrgent('a');
  r.started('a', 1, 0);
  r.started('b', 2, 1);
  r.pass(ORDER_MS);
  t.strictSame(r.heard(), ['a begins', 'a ends released', 'b begins']);
});

t.test('speech of another home with the same rank takes its place', async (t) => {
  const r = relay();
  r.started('a', 1, 0);
  r.started('b', 300, 2, 8);
  r.grant(400, 300);
  t.strictSame(r.heard(), ['a begins', 'a ends preempted', 'b begins']);
});

t.test('a third burst that follows the held one ends the wait for the first', async (t) => {
  const r = relay();
  r.started('a', 1, 0);
  r.started('b', 2, 1);
  r.frame('b', 2, 1);
  r.ended('b', 2, 1);
  r.started('c', 3, 2);
  t.strictSame(r.heard(), ['a begins', 'a ends released', 'b begins', 'b 1', 'b ends released', 'c begins']);
});

t.test(
  'an overtaken burst is not played, and one that goes on with a later turn is the same burst',
  async (t) => {
    const r = relay();
    r.started('b', 5, 0);
    r.started('a', 4, 0);
    t.equal(r.frame('a', 4, 1), 'dropped');
    r.started('b', 300, 0);
    t.same(r.order.top, turn(300));
    r.frame('b', 300, 1);
    r.frame('b', 300, 4);
    t.strictSame(r.heard(), ['b begins', 'b 1', 'b missed 2', 'b 4']);
  },
);

t.test('frames of a burst that ended here are told of after 150 ms, at most each 250 ms', async (t) => {
  const r = relay();
  r.started('a', 1, 0);
  r.gone(1);
  t.strictSame(r.heard(), ['a begins', 'a ends disconnected']);
  const fates: string[] = [];
  for (let index = 1; index <= 40; index++) {
    fates.push(r.frame('a', 1, index));
    r.pass(20);
  }
  t.equal(fates.indexOf('fenced'), 8);
  t.equal(fates.filter((fate) => fate === 'fenced').length, 3);
  r.started('a', 2, 0);
  t.strictSame(r.heard(), ['a begins'], 'with a later turn it begins again');
});

t.test('a grant to a session here waits for the end of the burst before it', async (t) => {
  const r = relay();
  t.equal(r.grant(1, 0), 'ready');
  r.started('b', 2, 0);
  t.equal(r.grant(1, 0), 'past');
  t.equal(r.grant(3, 2), 'held');
  t.equal(r.grant(3, 2), 'held', 'asked for again, it waits from the first time');
  r.ended('b', 2, 0);
  t.strictSame(r.heard(), ['b begins', 'b ends released', 'grant 3 ready']);
  r.order.withdraw(turn(3));
  r.pass(1000);
  t.strictSame(r.heard(), []);
});

t.test(
  'every relay finds the same home, and each of four is the home of a quarter of the talkgroups',
  async (t) => {
    const relays = [4096, 5120, 9216, 9217];
    const counts = new Map<number, number>();
    for (let talkgroup = 1; talkgroup <= 10_000; talkgroup++) {
      const home = homeOf(relays, talkgroup);
      if (home !== homeOf(relays.toReversed(), talkgroup)) t.fail(`talkgroup ${talkgroup} has two homes`);
      const best = Math.max(...relays.map((each) => weightOf(each, talkgroup)));
      if (weightOf(home, talkgroup) !== best) t.fail('the home has the greatest weight');
      counts.set(home, (counts.get(home) ?? 0) + 1);
    }
    for (const each of relays)
      t.ok(Math.abs((counts.get(each) ?? 0) - 2500) < 200, `${each} has about a quarter`);
    t.equal(homeOf([7], 1), 7);
    t.ok(NO_TURN.count < 1);
  },
);

t.test(
  'frames of a burst that ended here too early are missed, told twice a second and at its end',
  async (t) => {
    const r = relay();
    r.started('a', 1, 0);
    r.frame('a', 1, 1);
    r.started('b', 2, 1);
    r.pass(ORDER_MS);
    t.strictSame(r.heard(), ['a begins', 'a 1', 'a ends released', 'b begins']);
    r.frame('a', 1, 2);
    r.frame('a', 1, 4);
    t.strictSame(r.heard(), []);
    r.pass(500);
    r.frame('a', 1, 5);
    t.strictSame(r.heard(), ['a missed 4']);
    r.frame('a', 1, 6);
    r.ended('a', 1, 7);
    t.strictSame(r.heard(), ['a missed 2']);
    r.frame('a', 1, 8);
    r.ended('a', 1, 8);
    t.strictSame(r.heard(), [], 'once');
  },
);

t.test('a burst that ended here and goes on with a later turn has missed what came between', async (t) => {
  const r = relay();
  r.started('a', 1, 0);
  r.frame('a', 1, 1);
  r.started('b', 2, 1);
  r.pass(ORDER_MS);
  r.ended('b', 2, 0);
  r.frame('a', 1, 2);
  r.heard();
  r.order.started({ relay: 1, session: 1, burst: 1 }, placed(3, 2), 3, 0);
  t.strictSame(r.heard(), ['a missed 2', 'a begins']);
});

t.test(
  'a burst that ended here by the word of its home has missed what its relay says when it is back',
  async (t) => {
    const r = relay();
    r.started('a', 1, 0);
    r.frame('a', 1, 1);
    r.started('b', 2, 1);
    r.pass(ORDER_MS);
    r.gone(1);
    r.gone(3);
    r.heard();
    r.ended('a', 1, 6);
    t.strictSame(r.heard(), ['a missed 5']);
  },
);

t.test('of a relay that is gone nothing is missed', async (t) => {
  const r = relay();
  r.started('a', 1, 0);
  r.frame('a', 1, 1);
  r.gone(1);
  r.heard();
  r.ended('a', 1, 9);
  t.strictSame(r.heard(), []);
});
