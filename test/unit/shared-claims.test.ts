// A floor that two relays share, message by message: what broke in histories, each as an example.

import t from 'tap';
import type { UserId } from '../../src/ids.js';
import { NO_TURN } from '../../src/protocol/turn.js';
import { newCounts } from '../../src/relay/figures/counts.js';
import type { Verdict } from '../../src/relay/floor/authority.js';
import type { Claim } from '../../src/relay/floor/claim.js';
import { Talkgroup } from '../../src/relay/members/members.js';
import { createSharedAuthority } from '../../src/relay/shared-floor/authority.js';
import type { Part, PartVerdicts } from '../../src/relay/shared-floor/bodies.js';
import type { PlayedTalk } from '../../src/relay/shared-floor/turns/plays.js';
import { linkAlone } from '../helpers/cluster/alone.js';
import { talkgroupRow } from '../helpers/relay/rows.js';

const settings = {
  ...{ revision: 1, mode: 'single' as const, maxTalkMs: 60_000 },
  ...{ encryption: 'allowed' as const, mayBeClear: true },
};
const claim = (session: number, inEmergency = false) => ({
  ...{ session, user: `user ${session}` as UserId, priority: 1, isAdmin: false, inEmergency },
});

/** Relay 1, which shares a talkgroup with relay 2. */
function relay(first: 1 | 2, relays: readonly number[] = [1, 2]) {
  const talkgroup = new Talkgroup(talkgroupRow({ revision: 1, floor_mode: 'single', max_talk_ms: 60_000 }));
  const told: string[] = [];
  const heard: Verdict[] = [];
  const parts: Part[] = [];
  const sent: PartVerdicts[] = [];
  const grants: number[] = [];
  const withdrawn: number[] = [];
  let isReady = true;
  let played: PlayedTalk | null = null;
  let nowMs = 1000;
  let home = first;
  const authority = createSharedAuthority({
    counts: newCounts().floor,
    limits: { talkersMax: 32, talksPerUser: 2 },
    bursts: { remoteIn: () => new Set<never>() },
    onVerdicts(_talkgroup: Talkgroup, verdicts: readonly Verdict[]) {
      for (const verdict of verdicts) {
        heard.push(verdict);
        const session = 'holder' in verdict ? verdict.holder.claim.session : verdict.session;
        told.push([session, verdict.kind, ...('code' in verdict ? [verdict.code] : [])].join(' '));
      }
    },
    link: {
      ...linkAlone,
      view: () => ({ home, relays }),
      sendPart: (_talkgroup, _to, part) => parts.push(part),
      sendVerdicts: (_talkgroup, _to, verdicts) => sent.push(verdicts),
      want() {},
      turns: (of) => ({
        ...linkAlone.turns(of),
        played,
        grant({ turn }) {
          grants.push(turn.count);
          return isReady ? 'ready' : 'held';
        },
        withdraw: ({ count }) => withdrawn.push(count),
      }),
    },
  });
  const partFrom = (from: number, v: number, ...claims: Part['claims']) =>
    authority.receivePart(talkgroup, from, { settings, v, top: NO_TURN, isFenced: false, claims }, nowMs);
  return {
    ...{ authority, talkgroup, parts, sent, grants, withdrawn, settings, heard },
    told: () => told.splice(0),
    tell: (...events: Parameters<typeof authority.tell>[1]) => authority.tell(talkgroup, events, nowMs),
    verdicts(...verdicts: PartVerdicts['verdicts']) {
      const v = parts.at(-1)?.v ?? 0;
      authority.receiveVerdicts(talkgroup, 2, { settings, v, verdicts }, nowMs);
    },
    part: (v: number, ...claims: Part['claims']) => partFrom(2, v, ...claims),
    partFrom,
    /** Relay `other` is the home from now on. */
    see: (other: 1 | 2) => {
      home = other;
    },
    /** Nothing is done in this time. */
    stand: (ms: number) => {
      nowMs += ms;
    },
    hold: () => {
      isReady = false;
    },
    /** A burst of relay 2 plays here. */
    play: (session: number, inEmergency: boolean, over: Partial<Claim> = {}) => {
      const turn = { count: 1, home: 2 };
      const talks = { ...claim(session, inEmergency), ...over };
      played = { relay: 2, claim: talks, turn, startedAtMs: nowMs, frameAtMs: nowMs };
    },
    pass(ms: number) {
      nowMs += ms;
      for (const each of authority.repeating()) authority.repeat(each, nowMs);
      for (const active of authority.active()) authority.expire(active, nowMs);
    },
  };
}

const grantOf = (session: number, ask: number, count: number) => ({
  ...{ session, ask, is: 'granted' as const, turn: { count, home: 2 }, after: NO_TURN },
  ...{ afterCode: 'released' as const, priority: 1, inEmergency: false, talkMsMax: 60_000 },
});
const asking = (session: number, ask: number): Part['claims'][number] => ({
  ...claim(session),
  ...{ ask, state: 'asks', isFirstFrame: true, queue: false, hasPlace: false, turn: null, isAlone: false },
  ...{ talkMsMax: 0, askedMs: 0, grantedMs: null, toldAgainMs: null, startedMs: null, lostMs: null },
});

t.test(
  'a first frame asks the home, again at 60, 150 and 300 ms, and is denied after 1,000 ms',
  async (t) => {
    const r = relay(2);
    r.tell({ kind: 'frame', claim: claim(7) });
    t.match(r.parts, [{ claims: [{ session: 7, state: 'asks', isFirstFrame: true }] }]);
    for (let ms = 0; ms < 400; ms += 10) r.pass(10);
    t.equal(r.parts.length, 4);
    t.strictSame(r.told(), []);
    for (let ms = 400; ms <= 1000; ms += 10) r.pass(10);
    t.strictSame(r.told(), ['7 denied retry_later']);
    t.match(r.parts.at(-1), { claims: [] });
    r.verdicts(grantOf(7, 1, 1));
    t.strictSame(r.told(), [], 'a verdict that comes later finds no claim');
  },
);

t.test(
  'presses of one user that the home denies all the time are answered without it for a moment',
  async (t) => {
    const r = relay(2);
    let ask = 0;
    const ofUser = { user: 'ann' as UserId };
    /** The user presses on another of its sockets. */
    const presses = (session: number, over: Partial<Claim> = {}) =>
      r.tell({ kind: 'frame', claim: { ...claim(session), ...ofUser, ...over } });
    const denies = (session: number) => r.verdicts({ session, ask: ++ask, is: 'denied', code: 'busy' });
    for (let session = 1; session <= 4; session++) {
      presses(session);
      denies(session);
    }
    t.strictSame(r.told(), ['1 denied busy', '2 denied busy', '3 denied busy', '4 denied busy']);
    const { length } = r.parts;
    for (let press = 0; press < 20; press++) presses(5);
    t.strictSame(r.told(), Array(20).fill('5 denied busy'));
    t.equal(r.parts.length, length, 'the home is not asked');

    r.stand(25); // parts are sent at once again
    r.tell({ kind: 'request', claim: { ...claim(5), ...ofUser }, queue: false });
    t.equal(r.parts.length, length + 1, 'a request is');
    r.verdicts({ session: 5, ask: ++ask, is: 'denied', code: 'busy' });
    presses(6, { inEmergency: true });
    r.verdicts(grantOf(6, ++ask, 1));
    r.tell({ kind: 'release', session: 6, code: 'released' });
    t.strictSame(r.told().slice(0, 3), ['5 denied busy', '6 granted', '6 started'], 'and an emergency');
    presses(7, { user: 'bob' as UserId });
    t.match(r.parts.at(-1)?.claims, [{ session: 7, state: 'asks' }], 'and for another user');
    r.tell({ kind: 'release', session: 7, code: 'released' });
    ask++;

    r.stand(75);
    r.told();
    presses(5);
    r.verdicts(grantOf(5, ++ask, 2));
    t.strictSame(r.told(), ['5 granted', '5 started'], 'and for the same user 100 ms later');
  },
);

t.test('a verdict counts from the home alone, and not for a part from before its claim', async (t) => {
  const r = relay(2);
  r.tell({ kind: 'frame', claim: claim(7) });
  const { v = 0 } = r.parts.at(-1) ?? {};
  const { authority, talkgroup } = r;
  authority.receiveVerdicts(talkgroup, 3, { settings, v, verdicts: [grantOf(7, 1, 1)] }, 1000);
  authority.receiveVerdicts(talkgroup, 2, { settings, v: v - 1, verdicts: [grantOf(7, 1, 1)] }, 1000);
  t.strictSame(r.told(), []);
  r.verdicts(grantOf(7, 1, 1));
  t.strictSame(r.told(), ['7 granted', '7 started']);
});

t.test('a verdict counts when the claim is as it was in the part that it answers', async (t) => {
  const r = relay(2);
  const { authority, talkgroup } = r;
  const sendFor = (v: number, ...verdicts: PartVerdicts['verdicts']) =>
    authority.receiveVerdicts(talkgroup, 2, { settings, v, verdicts }, 1000);
  const ask = (session: number) => {
    r.tell({ kind: 'request', claim: claim(session), queue: false });
    return r.parts.at(-1)?.v ?? 0;
  };
  const first = ask(7);
  const second = ask(8);
  ask(9);
  sendFor(first, grantOf(7, 1, 1));
  t.strictSame(r.told(), ['7 granted'], 'others ask meanwhile');
  sendFor(second, { ...grantOf(8, 2, 2) });
  t.strictSame(r.told(), [], 'a grant beside another one waits for the answer to the last part');
  const has = r.parts.at(-1)?.v ?? 0;
  r.tell({ kind: 'frame', claim: claim(7) });
  t.strictSame(r.told(), ['7 started']);
  sendFor(has, { session: 7, ask: 1, is: 'revoked', code: 'unused' });
  t.strictSame(r.told(), [], 'its first frame came');
  const talks = r.parts.at(-1)?.v ?? 0;
  ask(10);
  sendFor(talks, { session: 7, ask: 1, is: 'revoked', code: 'preempted' }, grantOf(8, 2, 2));
  t.strictSame(r.told(), ['7 revoked preempted', '7 ended preempted', '7 gone', '8 granted']);
});

t.test('a verdict for a dead socket does not count when the session is back', async (t) => {
  const r = relay(2);
  const { authority, talkgroup } = r;
  r.tell({ kind: 'frame', claim: claim(7) });
  r.verdicts(grantOf(7, 1, 1));
  t.strictSame(r.told(), ['7 granted', '7 started']);
  r.tell({ kind: 'lost', session: 7, forGood: false });
  const { v = 0 } = r.parts.at(-1) ?? {};
  r.tell({ kind: 'returned', session: 7 });
  const verdicts = [{ session: 7, ask: 1, is: 'revoked' as const, code: 'collision' as const }];
  authority.receiveVerdicts(talkgroup, 2, { settings, v, verdicts }, 1000);
  t.strictSame(r.told(), []);
  r.verdicts(...verdicts);
  t.strictSame(r.told(), ['7 revoked collision', '7 ended collision', '7 gone']);
});

t.test('a question is answered also when its socket is dead', async (t) => {
  const dead = { kind: 'lost', session: 7, forGood: false } as const;
  const held = () => {
    const r = relay(2);
    r.hold();
    r.tell({ kind: 'frame', claim: claim(7) });
    r.verdicts(grantOf(7, 1, 1));
    r.tell(dead);
    t.strictSame(r.told(), []);
    return r;
  };
  const revoked = held();
  revoked.verdicts({ session: 7, ask: 1, is: 'revoked', code: 'collision' });
  t.strictSame(revoked.told(), ['7 denied busy', '7 gone'], 'its grant was not told yet');
  t.match(revoked.heard, [{ isFirstFrame: true }, { kind: 'gone' }]);
  const stood = held();
  stood.pass(1600);
  t.strictSame(stood.told(), ['7 denied retry_later', '7 gone'], 'its relay stood still');
  const queued = relay(2);
  queued.tell({ kind: 'request', claim: claim(7), queue: true });
  queued.verdicts({ session: 7, ask: 1, is: 'queued', position: 1, size: 1 });
  queued.tell({ kind: 'request', claim: claim(7), queue: true });
  queued.tell(dead);
  t.strictSame(queued.told(), ['7 queued']);
  queued.pass(1600);
  t.strictSame(queued.told(), ['7 denied retry_later', '7 gone'], 'it asked again from its place');
});

t.test('a first frame that gets and loses the floor in one step is answered as one', async (t) => {
  const r = relay(1);
  r.authority.viewed(r.talkgroup, 1000);
  r.hold();
  r.tell({ kind: 'frame', claim: claim(7) });
  t.strictSame(r.told(), []);
  const place = { isFirstFrame: false, queue: true, inEmergency: true };
  r.part(1, { ...asking(8, 1), ...place, state: 'waits' });
  t.match(r.heard, [{ kind: 'denied', session: 7, code: 'busy', isFirstFrame: true }]);
  t.match(r.sent.at(-1)?.verdicts, [{ session: 8, is: 'granted' }]);
});

t.test('what a session gives up is gone at once, whatever the home says later', async (t) => {
  for (const event of [
    { kind: 'release', session: 7, code: 'released' },
    { kind: 'removed', session: 7, code: 'left' },
    { kind: 'lost', session: 7, forGood: true },
  ] as const) {
    const r = relay(2);
    r.tell({ kind: 'request', claim: claim(7), queue: true });
    r.tell(event);
    t.strictSame(r.told(), ['7 gone'], event.kind);
    r.verdicts({ session: 7, ask: 1, is: 'queued', position: 1, size: 1 });
    t.strictSame(r.told(), []);
  }
});

t.test('a question outlives its socket', async (t) => {
  const r = relay(2);
  r.tell({ kind: 'request', claim: claim(7), queue: true });
  r.tell({ kind: 'lost', session: 7, forGood: false });
  t.strictSame(r.told(), []);
  r.verdicts(grantOf(7, 1, 1));
  t.strictSame(r.told(), ['7 granted']);
});

t.test('a grant that is held back and told again goes on waiting, and is never withdrawn', async (t) => {
  const r = relay(2);
  r.hold();
  r.tell({ kind: 'frame', claim: claim(7) });
  r.verdicts(grantOf(7, 1, 5));
  for (let again = 0; again < 3; again++) r.verdicts({ ...grantOf(7, 1, 5) });
  t.strictSame(r.withdrawn, []);
  t.ok(r.grants.every((count) => count === 5));
  r.authority.ready(r.talkgroup, { count: 5, home: 2 }, 1000);
  t.strictSame(r.told(), ['7 granted', '7 started']);
});

t.test('a relay that told no part before numbers the one that asks for another turn', async (t) => {
  const r = relay(2);
  r.authority.fenced(r.talkgroup, 1000);
  t.match(r.parts, [{ isFenced: true, claims: [] }]);
  t.ok((r.parts[0]?.v ?? 0) > 0, 'the home would take it for an old one');
});

t.test('a grant that is held back begins when the mode becomes open', async (t) => {
  const r = relay(2);
  r.hold();
  r.tell({ kind: 'frame', claim: claim(7) });
  r.verdicts(grantOf(7, 1, 5));
  r.talkgroup.floorMode = 'open';
  r.authority.change(r.talkgroup, 1000);
  t.strictSame(r.told(), ['7 granted', '7 started']);
});

t.test('a grant that is taken away before its session was told is a denial', async (t) => {
  const r = relay(2);
  r.hold();
  r.tell({ kind: 'frame', claim: claim(7) });
  r.verdicts(grantOf(7, 1, 5));
  r.verdicts({ session: 7, ask: 1, is: 'revoked', code: 'preempted' });
  t.strictSame(r.told(), ['7 denied busy', '7 gone']);
  t.strictSame(r.withdrawn, [5]);
});

t.test('a burst that began while the home took its grant for unused ends with `collision`', async (t) => {
  const r = relay(2);
  r.tell({ kind: 'request', claim: claim(7), queue: false });
  r.verdicts(grantOf(7, 1, 5));
  r.tell({ kind: 'frame', claim: claim(7) });
  t.strictSame(r.told(), ['7 granted', '7 started']);
  r.verdicts({ session: 7, ask: 1, is: 'revoked', code: 'unused' });
  t.strictSame(r.told(), ['7 revoked collision', '7 ended collision', '7 gone']);
});

t.test('a user in an emergency talks after 200 ms when the home does not answer', async (t) => {
  const r = relay(2);
  r.tell({ kind: 'frame', claim: claim(7, true) });
  r.pass(199);
  t.strictSame(r.told(), []);
  r.pass(1);
  t.strictSame(r.told(), ['7 granted', '7 started']);
  t.match(r.parts.at(-1), { claims: [{ session: 7, state: 'talks', isAlone: true, turn: null }] });
  t.equal(r.authority.placedOf(r.talkgroup, 7), null, 'only this relay plays it');
});

t.test('an emergency that no home answers takes nothing from an equal or a higher burst', async (t) => {
  for (const [inEmergency, over, afterMs] of [
    [false, {}, 200],
    [false, { isAdmin: true, priority: 6 }, 200],
    [true, {}, 500],
    [false, { isAdmin: true, priority: 7 }, 500],
  ] as const) {
    const r = relay(2);
    r.play(21, inEmergency, over);
    r.tell({ kind: 'frame', claim: claim(7, true) });
    r.pass(afterMs - 1);
    t.strictSame(r.told(), []);
    r.pass(1);
    t.strictSame(r.told(), ['7 granted', '7 started'], 'no frame of it came for 500 ms');
  }
  const r = relay(2);
  r.tell({ kind: 'frame', claim: claim(7, true) });
  for (let ms = 0; ms < 1000; ms += 100) {
    r.play(21, true);
    r.pass(100);
  }
  t.strictSame(r.told(), ['7 denied retry_later']);
});

t.test('an emergency that talks keeps a grant that its home took for unused', async (t) => {
  for (const inEmergency of [true, false]) {
    const r = relay(1);
    r.authority.viewed(r.talkgroup, 1000);
    const asks = { ...asking(21, 1), inEmergency, isFirstFrame: false };
    r.part(1, asks);
    const turn = { count: 1, home: 1 };
    r.pass(600);
    const has = { ...asks, state: 'has' as const, turn, grantedMs: 600 };
    r.part(2, has);
    r.pass(1600);
    r.part(2, { ...has, grantedMs: 2200 });
    r.pass(1600);
    t.match(r.sent.at(-1), { v: 2, verdicts: [{ session: 21, is: 'revoked', code: 'unused' }] });
    r.tell({ kind: 'frame', claim: claim(7) });
    t.strictSame(r.told(), ['7 granted', '7 started']);
    r.part(3, { ...has, state: 'talks', startedMs: 200 });
    const granted = { session: 21, is: 'granted', turn: { home: 1 } };
    const revoked = { session: 21, is: 'revoked', code: 'unused' };
    t.match(r.sent.at(-1), { v: 3, verdicts: [inEmergency ? granted : revoked] });
    t.strictSame(r.told(), inEmergency ? ['7 revoked collision', '7 ended collision', '7 gone'] : []);
  }
});

t.test('a home ends what another relay has 1.8 s later than that relay does', async (t) => {
  const r = relay(1);
  r.authority.viewed(r.talkgroup, 1000);
  const first = { ...asking(21, 1), isFirstFrame: false };
  const next = { ...asking(22, 2), isFirstFrame: false, queue: true };
  r.part(1, first, next);
  const [turn, waits] = [
    { count: 1, home: 1 },
    { ...next, state: 'waits' as const, askedMs: 0 },
  ];
  const has = { ...first, state: 'has' as const, turn, grantedMs: 0, lostMs: 0 };
  r.part(2, has, waits);
  r.pass(1900);
  t.match(r.sent.at(-1), {
    verdicts: [
      { session: 21, is: 'granted' },
      { session: 22, is: 'queued' },
    ],
  });
  // Its socket returned, and the part that says so was lost. This one says the same.
  r.part(4, { ...has, grantedMs: 1900, lostMs: null }, { ...waits, askedMs: 1900 });
  t.match(r.sent.at(-1), {
    v: 4,
    verdicts: [
      { session: 21, is: 'granted' },
      { session: 22, is: 'queued' },
    ],
  });
  r.part(5, { ...has, grantedMs: 1900, lostMs: 0 }, { ...waits, askedMs: 1900 });
  r.pass(1999);
  r.part(5, { ...has, grantedMs: 3899, lostMs: 1999 }, { ...waits, askedMs: 3899 });
  r.pass(1300);
  t.match(r.sent.at(-1), {
    verdicts: [
      { session: 21, is: 'granted' },
      { session: 22, is: 'queued' },
    ],
  });
  r.pass(1);
  t.match(r.sent.at(-1), {
    verdicts: [
      { session: 21, is: 'revoked' },
      { session: 22, is: 'granted' },
    ],
  });
});

t.test('an emergency keeps the floor that another home gave it after this one had denied it', async (t) => {
  const r = relay(1);
  r.authority.viewed(r.talkgroup, 1000);
  const [first, denied] = [asking(21, 1), { ...asking(22, 2), inEmergency: true }];
  r.part(1, { ...first, inEmergency: true }, denied);
  t.match(r.sent.at(-1), {
    verdicts: [
      { session: 21, is: 'granted' },
      { session: 22, is: 'denied' },
    ],
  });
  // Behind a cut: 21 ended, and 22 was granted its question.
  r.part(2, { ...denied, state: 'talks', turn: { count: 300, home: 2 }, grantedMs: 500, startedMs: 500 });
  t.match(r.sent.at(-1), { v: 2, verdicts: [{ session: 22, is: 'granted', turn: { home: 1 } }] });
});

t.test('a verdict that waited while this relay stood still does not count', async (t) => {
  for (const stoodMs of [900, 1100]) {
    const r = relay(2);
    r.tell({ kind: 'frame', claim: claim(7) });
    r.verdicts(grantOf(7, 1, 5));
    t.strictSame(r.told(), ['7 granted', '7 started']);
    const { v = 0 } = r.parts.at(-1) ?? {};
    r.stand(stoodMs);
    r.verdicts({ session: 7, ask: 1, is: 'revoked', code: 'collision' });
    const isOld = stoodMs > 1000;
    t.strictSame(r.told(), isOld ? [] : ['7 revoked collision', '7 ended collision', '7 gone']);
    r.pass(10);
    if (isOld) t.not(r.parts.at(-1)?.v, v, 'and the home is asked anew');
  }
});

t.test(
  'what a home holds back is denied when it is the home no more, and the next one is silent',
  async (t) => {
    const r = relay(1);
    r.authority.viewed(r.talkgroup, 1000);
    r.hold();
    r.tell({ kind: 'request', claim: claim(7), queue: false });
    r.see(2);
    for (let ms = 0; ms < 1100; ms += 50) r.pass(50);
    t.strictSame(r.told(), ['7 denied retry_later']);
  },
);

t.test('a home takes back what it holds back from its own session for too long', async (t) => {
  const r = relay(1);
  r.authority.viewed(r.talkgroup, 1000);
  r.hold();
  r.tell({ kind: 'frame', claim: claim(7) });
  r.pass(1050);
  t.strictSame(r.told(), []);
  r.pass(100);
  t.strictSame(r.told(), ['7 denied retry_later', '7 gone']);
  t.strictSame(r.withdrawn, [1]);
});

t.test('a queued session whose grant is held back for too long has no place when it spoke', async (t) => {
  const r = relay(2);
  r.tell({ kind: 'request', claim: claim(7), queue: true });
  r.verdicts({ session: 7, ask: 1, is: 'queued', position: 1, size: 1 });
  r.hold();
  r.verdicts(grantOf(7, 1, 1));
  r.tell({ kind: 'frame', claim: claim(7) });
  t.strictSame(r.told(), ['7 queued']);
  r.pass(1200);
  t.strictSame(r.told(), ['7 denied retry_later', '7 gone']);
});

t.test('a home repeats what it took away after 60 and 150 ms, also when the floor is idle', async (t) => {
  const r = relay(1);
  r.authority.viewed(r.talkgroup, 1000);
  const asks = { ...asking(21, 1), isFirstFrame: false };
  r.part(1, asks);
  r.pass(600);
  const has = { ...asks, state: 'has' as const, turn: { count: 1, home: 1 } };
  r.part(2, { ...has, grantedMs: 600 });
  r.pass(1600);
  r.part(2, { ...has, grantedMs: 2200 });
  r.pass(1600);
  t.match(r.sent.splice(0).at(-1), { v: 2, verdicts: [{ session: 21, is: 'revoked', code: 'unused' }] });
  const repeated: number[] = [];
  for (let ms = 10; ms <= 400; ms += 10) {
    r.pass(10);
    for (const { verdicts } of r.sent.splice(0)) {
      t.match(verdicts, [{ session: 21, is: 'revoked', code: 'unused' }]);
      repeated.push(ms);
    }
  }
  t.strictSame(repeated, [60, 150]);
  t.strictSame([...r.authority.repeating()], [], 'and then no more');
});

t.test('of two emergencies the one goes on whose relay was heard within the last second', async (t) => {
  for (const silentMs of [900, 1100]) {
    const r = relay(1, [1, 2, 3]);
    r.authority.viewed(r.talkgroup, 1000);
    r.partFrom(3, 1);
    r.part(1, { ...asking(21, 1), inEmergency: true });
    const talks = { ...asking(21, 1), inEmergency: true, state: 'talks' as const };
    r.part(2, { ...talks, turn: { count: 1, home: 1 }, startedMs: 0, grantedMs: 0 });
    t.match(r.sent.at(-1), { v: 2, verdicts: [{ session: 21, is: 'granted' }] });
    r.pass(silentMs);
    const alone = { ...asking(31, 1), inEmergency: true, state: 'talks' as const, isAlone: true };
    r.partFrom(3, 2, { ...alone, startedMs: 100, grantedMs: 100 });
    const is = silentMs > 1000 ? 'granted' : 'revoked';
    const verdicts = r.sent.flatMap((one) => one.verdicts);
    t.match(
      verdicts.find(({ session }) => session === 31),
      { is },
    );
  }
});

t.test('a grant begins no burst while an emergency of another side plays here', async (t) => {
  for (const inEmergency of [true, false]) {
    const starts = inEmergency ? ['7 revoked collision', '7 gone'] : ['7 started'];
    const asks = { kind: 'request', claim: claim(7), queue: false } as const;
    const here = relay(2);
    here.tell(asks);
    here.verdicts(grantOf(7, 1, 5));
    here.play(21, inEmergency);
    here.tell({ kind: 'frame', claim: claim(7) });
    t.strictSame(here.told(), ['7 granted', ...starts], 'where another relay decides');

    const relays = [1];
    const home = relay(1, relays);
    home.tell(asks);
    relays.push(2);
    home.play(21, inEmergency);
    home.tell({ kind: 'frame', claim: claim(7) });
    t.strictSame(home.told(), ['7 granted', ...starts], 'at the home');
  }
});

t.test('a home that forgets a floor gives no turn twice', async (t) => {
  const relays = [1, 2];
  const r = relay(1, relays);
  r.authority.viewed(r.talkgroup, 1000);
  r.part(1, asking(21, 1));
  const [given] = r.sent.flatMap(({ verdicts }) => verdicts);
  t.match(given, { is: 'granted', turn: { home: 1 } });
  relays.pop();
  for (let times = 0; times < 3; times++) r.pass(100);
  t.strictSame([...r.authority.active()], []);
  r.tell({ kind: 'frame', claim: claim(7) });
  const before = given?.is === 'granted' ? given.turn.count : 0;
  t.ok((r.grants.at(-1) ?? 0) > before, `${r.grants} after ${before}`);
});

t.test(
  'a session that gave up its place is not queued by a first frame, though no part told of that',
  async (t) => {
    const r = relay(1);
    r.authority.viewed(r.talkgroup, 1000);
    r.part(1);
    r.tell({ kind: 'frame', claim: claim(7) });
    r.part(2, { ...asking(21, 1), isFirstFrame: false, queue: true });
    t.match(r.sent.at(-1), { verdicts: [{ session: 21, ask: 1, is: 'queued' }] });
    r.part(3, asking(21, 2));
    t.match(r.sent.at(-1), { v: 3, verdicts: [{ session: 21, ask: 2, is: 'denied', code: 'busy' }] });
  },
);

t.test('no verdict leaves before the whole part is taken', async (t) => {
  const r = relay(1);
  r.authority.viewed(r.talkgroup, 1000);
  r.part(1, asking(21, 1));
  t.match(r.sent.at(-1), { v: 1, verdicts: [{ session: 21, is: 'granted', turn: { home: 1 } }] });
  // Session 21 gives up, and another one begins without the word of a home, while a third one asks.
  const alone = { ...asking(22, 2), state: 'talks' as const, isAlone: true, inEmergency: true, startedMs: 0 };
  r.sent.splice(0);
  r.part(2, alone, asking(23, 3));
  t.equal(r.sent.length, 1);
  t.match(r.sent[0], {
    v: 2,
    verdicts: [
      { session: 22, is: 'granted' },
      { session: 23, is: 'denied', code: 'busy' },
    ],
  });
});

t.test('a new home waits for the parts of the others, and keeps the burst that runs there', async (t) => {
  const r = relay(1);
  r.tell({ kind: 'frame', claim: claim(7) });
  t.strictSame(r.told(), [], 'it waits');
  const talks = { ...asking(21, 1), state: 'talks' as const, turn: { count: 4, home: 3 }, startedMs: 900 };
  r.part(1, talks);
  t.strictSame(r.told(), ['7 denied busy']);
  t.match(r.sent.at(-1), { verdicts: [{ session: 21, is: 'granted', turn: { count: 261, home: 1 } }] });
});

t.test('a new home decides after 100 ms without the parts', async (t) => {
  const r = relay(1);
  r.tell({ kind: 'frame', claim: claim(7) });
  r.pass(99);
  t.strictSame(r.told(), []);
  r.pass(1);
  t.strictSame(r.told(), ['7 granted', '7 started']);
});
