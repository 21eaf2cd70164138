// Floor control, each rule by an example, on a clock of the test's own.
import t from 'tap';
import type { FloorMode } from '../../src/protocol/codes.js';
import { step } from '../../src/relay/floor/machine.js';
import { emptyFloor, type FloorEvent, isIdle, type Outcome } from '../../src/relay/floor/state.js';
import { TALK_LIMITS, type TalkLimits, userIdOf } from '../helpers/relay/floor-onlooker.js';

const NAMES = ['ann', 'bob', 'cid', 'admin', 'chief', 'ann2', 'ann3', 'dan'] as const;
type Name = (typeof NAMES)[number];

interface Asking {
  readonly priority?: number;
  /** Would wait. */
  readonly waits?: boolean;
}

/** A talkgroup in which everything answers with what was announced, as `ann granted 1`. Time passes only by `pass`. */
function talkgroup(mode: FloorMode, maxTalkMs = 60_000, limits: TalkLimits = TALK_LIMITS) {
  let floor = emptyFloor(mode, maxTalkMs);
  let nowMs = 1000;
  const urgent = new Set<string>();
  const numberOf = (name: Name) => NAMES.indexOf(name) + 1;
  // ann has three radios.
  const userOf = (name: Name) => userIdOf({ user: name.startsWith('ann') ? 0 : numberOf(name) });

  function on(event: FloorEvent): string[] {
    const { floor: after, outcomes } = step(floor, event, nowMs, limits);
    floor = after;
    return outcomes.map(spoken);
  }
  const claimOf = (name: Name, priority: number) => ({
    session: numberOf(name),
    user: userOf(name),
    priority,
    isAdmin: name === 'admin' || name === 'chief',
    inEmergency: urgent.has(userOf(name)),
  });
  const emergency = (name: Name, inEmergency: boolean) => {
    const own = NAMES.filter((other) => userOf(other) === userOf(name));
    return on({ kind: 'emergency', sessions: new Set(own.map(numberOf)), inEmergency });
  };

  return {
    floor: () => floor,
    on,
    asks: (name: Name, { priority = 1, waits = false }: Asking = {}) =>
      on({ kind: 'request', claim: claimOf(name, priority), queue: waits }),
    waits: (name: Name, priority = 1) => on({ kind: 'request', claim: claimOf(name, priority), queue: true }),
    talks: (name: Name) => on({ kind: 'frame', claim: claimOf(name, 1) }),
    releases: (name: Name) => on({ kind: 'release', session: numberOf(name), code: 'released' }),
    fallsSilent: (name: Name) => on({ kind: 'release', session: numberOf(name), code: 'silence' }),
    removes: (name: Name, code: 'left' | 'deleted' | 'disabled' | 'rate_limited') =>
      on({ kind: 'removed', session: numberOf(name), code }),
    loses: (name: Name) => on({ kind: 'lost', session: numberOf(name), forGood: false }),
    closes: (name: Name) => on({ kind: 'lost', session: numberOf(name), forGood: true }),
    returns: (name: Name) => on({ kind: 'returned', session: numberOf(name) }),
    becomes: (next: FloorMode, nextMaxTalkMs = maxTalkMs) =>
      on({ kind: 'settings', mode: next, maxTalkMs: nextMaxTalkMs }),
    raises(name: Name): string[] {
      urgent.add(userOf(name));
      return emergency(name, true);
    },
    clears(name: Name): string[] {
      urgent.delete(userOf(name));
      return emergency(name, false);
    },
    pass(ms: number): string[] {
      nowMs += ms;
      return on({ kind: 'tick' });
    },
  };
}

function spoken(outcome: Outcome): string {
  const name = NAMES[('holder' in outcome ? outcome.holder.claim.session : outcome.session) - 1];
  if ('holder' in outcome) return `${name} ${outcome.kind} ${outcome.holder.priority}`;
  if (outcome.kind === 'queued') return `${name} queued ${outcome.position}/${outcome.size}`;
  return `${name} ${outcome.kind} ${outcome.code}`;
}

t.test('a first frame is a request: it takes the free floor, and its burst begins at once', async (t) => {
  for (const mode of ['open', 'single'] as const) {
    const { talks } = talkgroup(mode);
    t.same(talks('ann'), ['ann granted 1', 'ann started 1']);
    t.same(talks('ann'), [], 'a second one is nobody’s news');
  }
});

t.test('a session that asked has a grant, and the burst begins with the first frame', async (t) => {
  const { asks, talks } = talkgroup('single');
  t.same(asks('ann', { priority: 3 }), ['ann granted 3']);
  t.same(talks('ann'), ['ann started 3']);
});

t.test('in open all talk at once', async (t) => {
  const { talks, asks, releases } = talkgroup('open');
  talks('ann');
  t.same(talks('bob'), ['bob granted 1', 'bob started 1']);
  t.same(asks('cid', { waits: true }), ['cid granted 1']);
  t.same(releases('ann'), ['ann ended released']);
});

t.test('in single one talks, and another is told that the floor is busy', async (t) => {
  const { talks, asks } = talkgroup('single');
  talks('ann');
  t.same(talks('bob'), ['bob denied busy']);
  t.same(asks('bob'), ['bob denied busy']);
});

t.test('a holder that asks again is answered with the same grant, whatever it asks', async (t) => {
  const { asks, talks, floor } = talkgroup('single');
  asks('admin', { priority: 2 });
  const before = floor();
  t.same(asks('admin', { priority: 7 }), ['admin granted 2']);
  talks('admin');
  t.same(asks('admin'), ['admin granted 2']);
  t.equal(before.holders[0]?.claim, floor().holders[0]?.claim);
});

t.test('a grant without a frame is taken back after 2 s, not before, in every mode', async (t) => {
  for (const mode of ['open', 'single'] as const) {
    const { asks, pass } = talkgroup(mode);
    asks('ann');
    t.same(pass(1999), []);
    t.same(pass(1), ['ann revoked unused'], 'no burst ends, for none had begun');
  }
});

t.test('a grant that was used is not taken back', async (t) => {
  const { asks, talks, pass } = talkgroup('single');
  asks('ann');
  pass(1999);
  talks('ann');
  t.same(pass(10_000), []);
});

t.test('a queued session is told the place, and again whenever it changes', async (t) => {
  const { talks, waits, releases } = talkgroup('single');
  talks('ann');
  t.same(waits('bob'), ['bob queued 1/1']);
  t.same(waits('cid'), ['cid queued 2/2'], 'who did not move hears nothing');
  t.same(waits('admin', 3), ['admin queued 1/3', 'bob queued 2/3', 'cid queued 3/3']);
  t.same(releases('bob'), ['cid queued 2/2']);
  t.same(releases('ann'), ['ann ended released', 'admin granted 3', 'cid queued 1/1']);
});

t.test('equals are served in the order of asking', async (t) => {
  const { talks, waits, releases, pass } = talkgroup('single');
  talks('ann');
  waits('cid');
  pass(1);
  waits('bob');
  t.same(releases('ann'), ['ann ended released', 'cid granted 1', 'bob queued 1/1']);
});

t.test(
  'the twenty-first that would wait finds the queue full, and one that waits already may ask again',
  async (t) => {
    let floor = emptyFloor('single', 0);
    const asks = (session: number) => {
      const claim = {
        ...{ session, user: userIdOf({ user: session }), priority: 1, isAdmin: false, inEmergency: false },
      };
      const { floor: after, outcomes } = step(floor, { kind: 'request', claim, queue: true }, 0, TALK_LIMITS);
      floor = after;
      return outcomes;
    };
    for (let session = 0; session <= 20; session++) asks(session);
    t.same(asks(21), [{ kind: 'denied', session: 21, code: 'queue_full' }]);
    t.same(asks(20), [{ kind: 'queued', session: 20, position: 20, size: 20 }]);
  },
);

t.test('asking again keeps the time waited', async (t) => {
  const { talks, waits, pass } = talkgroup('single');
  talks('ann');
  waits('bob');
  pass(1);
  waits('cid');
  t.same(waits('bob'), ['bob queued 1/2'], 'the place stays, and the request is answered');
  t.same(waits('cid', 2), ['cid queued 1/2', 'bob queued 2/2'], 'a higher one moves up');
  t.same(waits('cid', 1), ['bob queued 1/2', 'cid queued 2/2'], 'and back behind who asked before');
});

t.test('a queued session that asks again without waiting leaves the queue', async (t) => {
  const { talks, waits, asks } = talkgroup('single');
  talks('ann');
  waits('bob');
  waits('cid');
  t.same(asks('bob'), ['bob denied busy', 'cid queued 1/1']);
});

t.test('a frame of one who waits is refused, and it keeps its place', async (t) => {
  const { talks, waits, releases } = talkgroup('single');
  talks('ann');
  waits('bob');
  t.same(talks('bob'), ['bob denied busy']);
  t.same(releases('ann'), ['ann ended released', 'bob granted 1']);
});

t.test('priorities up to 3 never preempt, and more is 3 without the role', async (t) => {
  const { talks, asks, waits } = talkgroup('single');
  talks('ann');
  t.same(asks('bob', { priority: 3 }), ['bob denied busy']);
  t.same(asks('bob', { priority: 7 }), ['bob denied busy']);
  t.same(asks('admin', { priority: 3 }), ['admin denied busy']);
  waits('cid', 3);
  t.same(waits('bob', 7), ['bob queued 2/2'], 'nor does it wait in front of a 3');
});

t.test('an admin’s 4 to 7 preempt what is strictly lower', async (t) => {
  const { talks, asks } = talkgroup('single');
  talks('ann');
  t.same(asks('admin', { priority: 4 }), ['ann revoked preempted', 'ann ended preempted', 'admin granted 4']);
  t.same(asks('chief', { priority: 4 }), ['chief denied busy']);
  t.same(
    asks('chief', { priority: 5 }),
    ['admin revoked preempted', 'chief granted 5'],
    'no burst had begun',
  );
  asks('admin', { priority: 7 });
  t.same(asks('chief', { priority: 7 }), ['chief denied busy']);
});

t.test('an emergency counts as 7 whatever is asked, and only an admin’s 7 preempts it', async (t) => {
  const { raises, asks, talks, waits } = talkgroup('single');
  asks('admin', { priority: 6 });
  t.same(raises('ann'), [], 'an emergency of who is silent is nobody’s floor');
  t.same(talks('ann'), ['admin revoked preempted', 'ann granted 7', 'ann started 7']);
  raises('bob');
  t.same(waits('bob', 0), ['bob queued 1/1']);
  t.same(asks('admin', { priority: 6 }), ['admin denied busy']);
  t.same(asks('admin', { priority: 7 }), ['ann revoked preempted', 'ann ended preempted', 'admin granted 7']);
  t.same(talks('ann'), ['ann denied busy'], 'and not the other way round');
});

t.test(
  'an emergency raised in a burst lifts it, and it is not cut off at the limit it began with',
  async (t) => {
    const { talks, raises, asks, pass } = talkgroup('single');
    talks('ann');
    pass(59_000);
    t.same(raises('ann'), ['ann changed 7']);
    t.same(raises('ann'), [], 'once');
    t.same(asks('admin', { priority: 6 }), ['admin denied busy']);
    t.same(pass(60_999), []);
    t.same(pass(1), ['ann revoked too_long', 'ann ended too_long'], '120 s from its start');
  },
);

t.test('an emergency never shortens a burst', async (t) => {
  for (const maxTalkMs of [0, 300_000]) {
    const { talks, raises, pass } = talkgroup('single', maxTalkMs);
    talks('ann');
    raises('ann');
    t.same(pass(299_999), []);
  }
});

t.test('a cleared emergency leaves a burst priority 1 and its limit', async (t) => {
  const { raises, asks, talks, clears, pass } = talkgroup('single');
  raises('admin');
  asks('admin', { priority: 6 });
  talks('admin');
  t.same(clears('admin'), ['admin changed 1']);
  t.same(clears('admin'), [], 'once');
  t.same(pass(119_999), []);
  t.same(pass(1), ['admin revoked too_long', 'admin ended too_long']);
});

t.test('an emergency cleared that never was leaves the priority alone', async (t) => {
  const { asks, clears } = talkgroup('single');
  asks('ann', { priority: 3 });
  t.same(clears('ann'), []);
  t.same(asks('ann'), ['ann granted 3']);
});

t.test('no session waits for what a request would take now', async (t) => {
  const first = talkgroup('single');
  first.talks('ann');
  first.waits('cid', 3);
  first.waits('bob');
  t.same(
    first.raises('bob'),
    ['ann revoked preempted', 'ann ended preempted', 'bob granted 7'],
    'who waits and calls for help has the floor',
  );
  const second = talkgroup('single');
  second.raises('ann');
  second.talks('ann');
  second.waits('admin', 5);
  t.same(
    second.clears('ann'),
    ['ann changed 1', 'ann revoked preempted', 'ann ended preempted', 'admin granted 5'],
    'a burst that was an emergency keeps the floor no longer from who stands above it',
  );
});

t.test('an emergency cleared sends who waits back to its own priority', async (t) => {
  const { raises, talks, waits, clears, pass } = talkgroup('single');
  raises('ann');
  talks('ann');
  waits('cid', 2);
  pass(1);
  raises('bob');
  t.same(waits('bob'), ['bob queued 1/2', 'cid queued 2/2']);
  t.same(clears('bob'), ['cid queued 1/2', 'bob queued 2/2']);
});

t.test('a START in a burst ends it, and the next begins unless a session waits', async (t) => {
  const { talks, releases, waits } = talkgroup('single');
  talks('ann');
  t.same([...releases('ann'), ...talks('ann')], ['ann ended released', 'ann granted 1', 'ann started 1']);
  waits('bob');
  t.same([...releases('ann'), ...talks('ann')], ['ann ended released', 'bob granted 1', 'ann denied busy']);
});

t.test('silence ends a burst by the server’s will, and neither a grant nor a waiting', async (t) => {
  const { asks, fallsSilent, talks, waits } = talkgroup('single');
  asks('ann');
  waits('bob');
  t.same(fallsSilent('ann'), []);
  t.same(fallsSilent('bob'), []);
  talks('ann');
  t.same(fallsSilent('ann'), ['ann revoked silence', 'ann ended silence', 'bob granted 1']);
});

t.test('a grant given back unused, and a place left, are announced only to those that move up', async (t) => {
  const { asks, waits, releases } = talkgroup('single');
  asks('ann');
  waits('bob');
  waits('cid');
  t.same(releases('bob'), ['cid queued 1/1']);
  t.same(releases('ann'), ['cid granted 1']);
});

t.test('a burst is cut at its talk limit, and the next in the queue has the floor', async (t) => {
  const { asks, talks, waits, pass } = talkgroup('single', 5000);
  asks('ann');
  pass(1000);
  talks('ann');
  waits('bob');
  t.same(pass(4999), [], 'the limit counts from the first frame');
  t.same(pass(1), ['ann revoked too_long', 'ann ended too_long', 'bob granted 1']);
});

t.test('0 is no limit, and open has none', async (t) => {
  for (const [mode, maxTalkMs] of [
    ['single', 0],
    ['open', 1000],
  ] as const) {
    const { talks, pass } = talkgroup(mode, maxTalkMs);
    talks('ann');
    t.same(pass(3_600_000), []);
  }
});

t.test('an emergency’s burst has 120 s', async (t) => {
  const { raises, talks, pass } = talkgroup('single');
  raises('ann');
  talks('ann');
  t.same(pass(119_999), []);
  t.same(pass(1), ['ann revoked too_long', 'ann ended too_long']);
});

t.test('a new limit is for the next burst, and the running one keeps its own', async (t) => {
  const { talks, becomes, pass } = talkgroup('single');
  talks('ann');
  t.same(becomes('single', 1000), []);
  t.same(pass(59_999), []);
  pass(1);
  talks('ann');
  t.same(pass(1000), ['ann revoked too_long', 'ann ended too_long']);
});

t.test('the floor of a socket that died is kept 1.5 s, and its burst goes on at its return', async (t) => {
  const { talks, loses, returns, pass, asks } = talkgroup('single');
  talks('ann');
  t.same(loses('ann'), []);
  t.same(pass(1499), []);
  t.same(asks('bob'), ['bob denied busy']);
  t.same(returns('ann'), []);
  t.same(pass(10_000), []);
});

t.test(
  'a talker that does not return in 1.5 s is disconnected, and no revocation is sent to the dead socket',
  async (t) => {
    const { talks, loses, waits, pass } = talkgroup('single');
    talks('ann');
    waits('bob');
    loses('ann');
    pass(1000);
    loses('ann'); // told twice: the time counts from the first
    t.same(pass(500), ['ann ended disconnected', 'bob granted 1']);
  },
);

t.test('what was lost for good, or in open, ends at once', async (t) => {
  const single = talkgroup('single');
  single.talks('ann');
  single.waits('bob');
  t.same(single.closes('ann'), ['ann ended disconnected', 'bob granted 1']);
  const open = talkgroup('open');
  open.talks('ann');
  t.same(open.loses('ann'), ['ann ended disconnected']);
});

t.test('a place in the queue is kept 1.5 s, passed over meanwhile, and told at the return', async (t) => {
  const { talks, waits, loses, returns, releases, pass } = talkgroup('single');
  talks('ann');
  waits('bob');
  waits('cid');
  t.same(loses('bob'), []);
  t.same(releases('ann'), ['ann ended released', 'cid granted 1']);
  pass(1499);
  t.same(returns('bob'), ['bob queued 1/1']);
  t.same(releases('cid'), ['bob granted 1']);
});

t.test('a session that returns to a free floor it waited for has it', async (t) => {
  const { talks, waits, loses, returns, releases } = talkgroup('single');
  talks('ann');
  waits('bob');
  loses('bob');
  t.same(releases('ann'), ['ann ended released']);
  t.same(returns('bob'), ['bob granted 1']);
});

t.test('a return is told of a grant without a frame, and the first one gives it 2 s anew', async (t) => {
  const { asks, loses, returns, pass } = talkgroup('single');
  asks('admin', { priority: 5 });
  pass(1000);
  loses('admin');
  pass(900);
  t.same(returns('admin'), ['admin granted 5']);
  pass(1000);
  t.same(returns('admin'), ['admin granted 5'], 'also when its old socket was not seen to die');
  t.same(pass(999), []);
  t.same(pass(1), ['admin revoked unused'], '2 s from the first return');
});

t.test('a queued session that takes over from a live socket hears the place', async (t) => {
  const { talks, waits, returns } = talkgroup('single');
  talks('ann');
  waits('bob');
  waits('cid');
  t.same(returns('cid'), ['cid queued 2/2']);
  t.same(returns('cid'), ['cid queued 2/2'], 'every time');
  t.same(returns('ann'), [], 'a running burst is not told');
});

t.test('a queued session away for 1.5 s leaves the queue, and the others move up', async (t) => {
  const { talks, waits, loses, pass, closes } = talkgroup('single');
  talks('ann');
  waits('bob');
  waits('cid');
  waits('admin');
  loses('bob');
  t.same(pass(1500), ['cid queued 1/2', 'admin queued 2/2']);
  t.same(closes('cid'), ['admin queued 1/1'], 'for good: at once');
});

t.test('from open to single the oldest burst stays, not the oldest grant', async (t) => {
  const { asks, talks, pass, becomes } = talkgroup('open');
  asks('ann');
  pass(1);
  talks('bob');
  pass(1);
  talks('cid');
  t.same(becomes('single'), ['ann revoked mode', 'cid revoked mode', 'cid ended mode']);
  t.same(talks('bob'), [], 'it goes on');
});

t.test('broadcast ends what it forbids: the oldest burst of an admin stays', async (t) => {
  const { talks, pass, becomes } = talkgroup('open');
  talks('ann');
  pass(1);
  talks('chief');
  pass(1);
  talks('admin');
  t.same(becomes('broadcast'), [
    'ann revoked mode',
    'ann ended mode',
    'admin revoked mode',
    'admin ended mode',
  ]);
});

t.test(
  'sessions that may still talk keep their places when the mode changes, and others are denied',
  async (t) => {
    const { talks, waits, becomes } = talkgroup('single');
    talks('chief');
    waits('ann');
    waits('admin');
    waits('bob');
    t.same(becomes('broadcast'), ['ann denied forbidden', 'bob denied forbidden', 'admin queued 1/1']);
  },
);

t.test('in open no session waits, but one that is away has its grant at the return', async (t) => {
  const { talks, waits, loses, becomes, returns, floor } = talkgroup('single');
  talks('ann');
  for (const name of ['bob', 'cid', 'admin'] as const) waits(name);
  loses('bob');
  t.same(becomes('open'), ['cid granted 1', 'admin granted 1']);
  t.same(returns('bob'), ['bob granted 1']);
  t.equal(floor().waiting.length, 0);
});

t.test('in broadcast only admins talk, and who has an emergency', async (t) => {
  const { talks, asks, raises, clears } = talkgroup('broadcast');
  t.same(talks('ann'), ['ann denied forbidden']);
  t.same(asks('ann', { waits: true }), ['ann denied forbidden'], 'it does not wait for what it may not do');
  t.same(talks('admin'), ['admin granted 1', 'admin started 1']);
  raises('ann');
  t.same(talks('ann'), [
    'admin revoked preempted',
    'admin ended preempted',
    'ann granted 7',
    'ann started 7',
  ]);
  t.same(clears('ann'), ['ann changed 1', 'ann revoked mode', 'ann ended mode'], 'its right is gone with it');
});

t.test('in broadcast who waits for an emergency that is cleared is denied', async (t) => {
  const { asks, raises, waits, clears } = talkgroup('broadcast');
  asks('chief', { priority: 7 });
  raises('ann');
  waits('ann');
  t.same(clears('ann'), ['ann denied forbidden']);
});

t.test('a right that is gone ends a burst for its reason, and a queued session just leaves', async (t) => {
  for (const code of ['left', 'deleted', 'disabled'] as const) {
    const { talks, waits, removes } = talkgroup('single');
    talks('ann');
    waits('bob');
    waits('cid');
    t.same(removes('bob', code), ['cid queued 1/1']);
    t.same(removes('ann', code), [`ann revoked ${code}`, `ann ended ${code}`, 'cid granted 1']);
  }
});

t.test('what does not apply returns the same floor and announces nothing', async (t) => {
  const { talks, floor, on, pass } = talkgroup('single');
  talks('ann');
  const before = floor();
  const sessions = new Set([2]);
  const session = 2;
  const events: FloorEvent[] = [
    { kind: 'release', session, code: 'released' },
    { kind: 'release', session, code: 'silence' },
    { kind: 'removed', session, code: 'left' },
    { kind: 'lost', session, forGood: false },
    { kind: 'lost', session, forGood: true },
    { kind: 'returned', session },
    { kind: 'returned', session: 1 },
    { kind: 'settings', mode: 'single', maxTalkMs: 60_000 },
    { kind: 'emergency', sessions, inEmergency: true },
  ];
  for (const event of events) t.same(on(event), [], JSON.stringify(event));
  pass(59_999);
  t.equal(floor(), before);
  t.notOk(isIdle(before));
});

const roomFor = (talkersMax: number, talksPerUser = 2) =>
  talkgroup('open', 60_000, { talkersMax, talksPerUser });

t.test('in open a user’s third burst is denied, whatever radio it comes from', async (t) => {
  const { talks, waits, releases } = talkgroup('open');
  talks('ann');
  talks('ann2');
  t.same(talks('ann3'), ['ann3 denied busy']);
  t.same(waits('ann3'), ['ann3 denied busy'], 'it does not wait for its own user either');
  t.same(talks('bob'), ['bob granted 1', 'bob started 1'], 'other users are not concerned');
  releases('ann');
  t.same(talks('ann3'), ['ann3 granted 1', 'ann3 started 1']);
});

t.test('a grant without a frame counts as a burst', async (t) => {
  const { asks, talks, pass } = talkgroup('open');
  asks('ann');
  asks('ann2');
  t.same(talks('ann3'), ['ann3 denied busy']);
  pass(2000);
  t.same(talks('ann3'), ['ann3 granted 1', 'ann3 started 1']);
});

t.test('in open no more talk than may, and one that would wait has the next place', async (t) => {
  const { talks, asks, waits, releases } = roomFor(2);
  talks('ann');
  talks('bob');
  t.same(talks('cid'), ['cid denied busy']);
  t.same(asks('cid'), ['cid denied busy']);
  t.same(waits('cid'), ['cid queued 1/1']);
  t.same(waits('dan'), ['dan queued 2/2']);
  t.same(releases('bob'), ['bob ended released', 'cid granted 1', 'dan queued 1/1']);
});

t.test('a user without a burst takes the place of the newest second burst of another', async (t) => {
  const { talks, asks } = talkgroup('open', 60_000, { talkersMax: 4, talksPerUser: 2 });
  talks('ann');
  talks('ann2');
  talks('admin');
  talks('bob');
  t.same(talks('cid'), ['ann2 revoked preempted', 'ann2 ended preempted', 'cid granted 1', 'cid started 1']);
  t.same(talks('ann2'), ['ann2 denied busy'], 'a second burst takes nobody’s place');
  t.same(talks('dan'), ['dan denied busy'], 'each user has one');
  t.same(asks('chief'), ['chief granted 1']);
});

t.test('an administrator is never refused for the others, only for bursts of the same account', async (t) => {
  const limits = { talkersMax: 1, talksPerUser: 1 };
  const { talks, on } = talkgroup('open', 60_000, limits);
  talks('ann');
  t.same(talks('admin'), ['admin granted 1', 'admin started 1']);
  t.same(talks('chief'), ['chief granted 1', 'chief started 1']);
  const claim = {
    ...{ session: 8, user: userIdOf({ user: 4 }), priority: 1, isAdmin: true, inEmergency: false },
  };
  t.same(on({ kind: 'frame', claim }), ['dan denied busy']);
});

t.test('one burst of a user in an emergency stands above both limits', async (t) => {
  const full = roomFor(1);
  full.talks('bob');
  full.raises('ann');
  t.same(full.talks('ann'), ['ann granted 7', 'ann started 7']);
  t.same(full.talks('ann2'), ['ann2 denied busy'], 'one');
  t.same(full.talks('cid'), ['cid denied busy'], 'and it leaves the others as many as before');
  full.releases('bob');
  t.same(full.talks('cid'), ['cid granted 1', 'cid started 1']);

  const own = talkgroup('open');
  own.talks('ann');
  own.talks('ann2');
  own.raises('ann');
  t.same(own.talks('ann3'), ['ann3 granted 7', 'ann3 started 7']);
  t.same(
    own.clears('ann'),
    ['ann changed 1', 'ann2 changed 1', 'ann3 changed 1'],
    'what was granted goes on',
  );
});

t.test('the burst of an emergency is not taken for a second one', async (t) => {
  const { talks, raises } = roomFor(2);
  talks('ann');
  talks('ann2');
  raises('ann');
  t.same(talks('bob'), ['bob granted 1', 'bob started 1'], 'one of them does not count');
  t.same(talks('cid'), ['cid denied busy']);
});

t.test('one user’s radios do not fill the queue', async (t) => {
  const { talks, waits, asks, releases } = talkgroup('single');
  talks('bob');
  waits('ann');
  waits('ann2');
  t.same(waits('ann3'), ['ann3 denied busy']);
  t.same(waits('ann', 2), ['ann queued 1/2'], 'one that waits already may ask again');
  t.same(waits('cid'), ['cid queued 3/3']);
  releases('bob');
  t.same(waits('ann3'), ['ann3 denied busy'], 'one has the floor and one waits');
  t.same(asks('ann2'), ['ann2 denied busy', 'cid queued 1/1']);
  t.same(waits('ann3'), ['ann3 queued 2/2']);
});

t.test('a change to open serves the queue up to the limits, users without a burst first', async (t) => {
  const { talks, waits, becomes, releases } = talkgroup('single', 60_000, {
    talkersMax: 3,
    talksPerUser: 2,
  });
  talks('ann');
  for (const name of ['ann2', 'bob', 'cid', 'dan'] as const) waits(name);
  t.same(becomes('open'), ['bob granted 1', 'cid granted 1', 'dan queued 2/2']);
  t.same(releases('bob'), ['dan granted 1'], 'it has none yet, and ann2’s user has');
  t.same(releases('ann'), ['ann ended released', 'ann2 granted 1']);
});

t.test('a burst whose user sends too much ends for that, and no other one', async (t) => {
  const { talks, removes } = talkgroup('open');
  talks('ann');
  talks('bob');
  t.same(removes('ann', 'rate_limited'), ['ann revoked rate_limited', 'ann ended rate_limited']);
  t.same(talks('bob'), []);
});
