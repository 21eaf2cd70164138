// Floor control over random histories: whatever happens in whatever order, an onlooker sees no promise broken.
import fc from 'fast-check';
import t from 'tap';
import type { FloorMode } from '../../src/protocol/codes.js';
import { step } from '../../src/relay/floor/machine.js';
import { emptyFloor, type FloorEvent, type Outcome } from '../../src/relay/floor/state.js';
import {
  type Radio,
  TALK_LIMITS,
  userIdOf,
  type Watching,
  watchFloor,
} from '../helpers/relay/floor-onlooker.js';

type Act =
  | { act: 'asks'; radio: number; priority: number; waits: boolean }
  | { act: 'talks' | 'releases' | 'fallsSilent' | 'returns'; radio: number }
  | { act: 'loses'; radio: number; forGood: boolean }
  | { act: 'isRemoved'; radio: number; code: 'left' | 'deleted' | 'disabled' | 'rate_limited' }
  | { act: 'settings'; mode: FloorMode; maxTalkMs: number }
  | { act: 'emergency'; radio: number; raised: boolean }
  | { act: 'tick' };

const mode = fc.constantFrom<FloorMode[]>('single', 'broadcast', 'open', 'single');
// Times around every limit. Mostly short, or nothing would ever meet.
const afterMs = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(0, 1, 50) },
  { weight: 2, arbitrary: fc.constantFrom(500, 1000, 1499, 1500, 1999, 2000) },
  { weight: 1, arbitrary: fc.constantFrom(59_999, 60_000, 120_000) },
);

function actsOf(radioCount: number): fc.Arbitrary<Act> {
  const radio = fc.nat(radioCount - 1);
  const one = <A extends Act['act']>(act: A) => fc.record({ act: fc.constant(act), radio });
  const asks = fc.record({
    act: fc.constant('asks' as const),
    radio,
    priority: fc.oneof(fc.constant(1), fc.nat(7)),
    waits: fc.oneof({ weight: 3, arbitrary: fc.constant(true) }, fc.constant(false)),
  });
  return fc.oneof(
    { weight: 8, arbitrary: asks },
    { weight: 4, arbitrary: one('talks') },
    { weight: 3, arbitrary: one('releases') },
    one('fallsSilent'),
    { weight: 2, arbitrary: fc.record({ act: fc.constant('loses' as const), radio, forGood: fc.boolean() }) },
    { weight: 2, arbitrary: one('returns') },
    fc.record({
      act: fc.constant('isRemoved' as const),
      radio,
      code: fc.constantFrom(
        'left' as const,
        'deleted' as const,
        'disabled' as const,
        'rate_limited' as const,
      ),
    }),
    fc.record({ act: fc.constant('settings' as const), mode, maxTalkMs: fc.constantFrom(0, 1000, 60_000) }),
    {
      weight: 2,
      arbitrary: fc.record({ act: fc.constant('emergency' as const), radio, raised: fc.boolean() }),
    },
    { weight: 3, arbitrary: fc.constant({ act: 'tick' as const }) },
  );
}

type Watched = ReturnType<typeof watchFloor>;

/** As an event, or null for what an absent radio cannot do. */
function eventOf(act: Act, watched: Watched): FloorEvent | null {
  if (act.act === 'tick') return { kind: 'tick' };
  if (act.act === 'settings') return { kind: 'settings', mode: act.mode, maxTalkMs: act.maxTalkMs };
  const radio = watched.radios[act.radio];
  if (radio === undefined) return null;
  const { session, isAdmin } = radio;
  const isThere = radio.awayAtMs === null;
  const claim = (priority: number) => ({
    ...{ session, user: userIdOf(radio), priority, isAdmin },
    inEmergency: watched.isUrgent(radio),
  });
  switch (act.act) {
    case 'asks':
      return isThere ? { kind: 'request', claim: claim(act.priority), queue: act.waits } : null;
    case 'talks':
      return isThere ? { kind: 'frame', claim: claim(1) } : null;
    case 'releases':
      return isThere ? { kind: 'release', session, code: 'released' } : null;
    case 'fallsSilent':
      return { kind: 'release', session, code: 'silence' };
    case 'loses':
      return { kind: 'lost', session, forGood: act.forGood };
    case 'returns':
      return { kind: 'returned', session };
    case 'isRemoved':
      return { kind: 'removed', session, code: act.code };
    case 'emergency': {
      const own = watched.radios.filter(({ user }) => user === radio.user);
      return {
        kind: 'emergency',
        sessions: new Set(own.map((each) => each.session)),
        inEmergency: act.raised,
      };
    }
  }
}

interface History {
  readonly mode: FloorMode;
  readonly acts: readonly (readonly [ms: number, act: Act])[];
}

const historiesOf = (radioCount: number, length: number, modes = mode): fc.Arbitrary<History> =>
  fc.record({
    mode: modes,
    acts: fc.array(fc.tuple(afterMs, actsOf(radioCount)), { maxLength: length, size: 'max' }),
  });

/** Plays the history, then lets each holder of the floor give it up until none waits. */
function play(
  { mode, acts }: History,
  radioCount: number,
  seen: Map<string, number>,
  watching?: Watching,
): void {
  const watched = watchFloor(radioCount, mode, 60_000, watching);
  let nowMs = 1000;
  const note = (outcomes: readonly Outcome[]) => {
    for (const outcome of outcomes) {
      const what = 'code' in outcome ? `${outcome.kind} ${outcome.code}` : outcome.kind;
      seen.set(what, (seen.get(what) ?? 0) + 1);
    }
    return outcomes;
  };
  for (const [ms, act] of acts) {
    nowMs += ms;
    const event = eventOf(act, watched);
    if (event !== null) note(watched.see(event, nowMs));
  }
  const hopeful = watched.waiting().filter(({ awayAtMs }) => awayAtMs === null);
  const served: number[] = [];
  // In `open` more may talk than may begin to: administrators, and users in an emergency.
  const rounds = watched.mode() === 'open' ? 2 * radioCount : hopeful.length;
  for (let round = 0; round <= rounds; round++) {
    const [holder] = watched.holders();
    const event = holder ? givingUp(holder, round) : ({ kind: 'tick' } as const);
    nowMs += 2000; // an unused grant is over
    for (const outcome of note(watched.see(event, nowMs)))
      if (outcome.kind === 'granted') served.push(outcome.holder.claim.session);
  }
  const expected = hopeful.map(({ session }) => session);
  if (watched.mode() === 'open') for (const sessions of [served, expected]) sessions.sort();
  if (served.join() !== expected.join()) throw new Error(`${expected} waited, ${served} were served`);
}

const givingUp = ({ session, state }: Readonly<Radio>, round: number): FloorEvent => {
  if (state === 'granted' && round % 2 === 1) return { kind: 'tick' };
  return { kind: 'release', session, code: 'released' };
};

const RUNS = Number(process.env.PROVE_RUNS ?? 3000);

t.test('over any history every promise of the floor holds, and every queued session is served', async (t) => {
  const seen = new Map<string, number>();
  fc.assert(
    fc.property(historiesOf(6, 80), (history) => play(history, 6, seen)),
    { numRuns: RUNS },
  );
  // A history that never gets there proves nothing.
  const codes = ['preempted', 'too_long', 'unused', 'silence', 'mode', 'left', 'deleted', 'disabled'];
  for (const code of [...codes, 'rate_limited'])
    t.ok(seen.get(`revoked ${code}`), `revoked ${code} was seen`);
  for (const what of ['ended disconnected', 'ended released', 'denied busy', 'denied forbidden', 'changed'])
    t.ok(seen.get(what), `${what} was seen`);
});

t.test('with more radios than may wait the promises hold as well', async (t) => {
  const seen = new Map<string, number>();
  const everybodyAsks = Array.from({ length: 26 }, (_, radio): [number, Act] => [
    0,
    { act: 'asks', radio, priority: 1, waits: true },
  ]);
  const crowded = historiesOf(26, 120).map(({ acts }) => ({
    mode: 'single' as const,
    acts: [...everybodyAsks, ...acts],
  }));
  fc.assert(
    fc.property(crowded, (history) => play(history, 26, seen)),
    { numRuns: RUNS / 10 },
  );
  t.ok(seen.get('denied queue_full'), 'the queue was full');
});

t.test('over any history in open no limit is exceeded, and a radio is refused only at one', async (t) => {
  const seen = new Map<string, number>();
  const limits = fc.record({
    talkersMax: fc.integer({ min: 1, max: 5 }),
    talksPerUser: fc.integer({ min: 1, max: 3 }),
  });
  const open = fc.constantFrom<FloorMode[]>('open', 'open', 'open', 'single');
  const radioCount = 16;
  // An administrator's second burst is granted at its return, and gives way at once to the user that waits.
  const oneTalker = { talkersMax: 1, talksPerUser: 2 };
  const givesWay: History['acts'] = [
    [0, { act: 'asks', radio: 0, priority: 0, waits: true }],
    [0, { act: 'asks', radio: 2, priority: 0, waits: true }],
    [0, { act: 'loses', radio: 2, forGood: false }],
    [0, { act: 'asks', radio: 4, priority: 0, waits: true }],
    [0, { act: 'settings', mode: 'open', maxTalkMs: 0 }],
    [0, { act: 'returns', radio: 2 }],
  ];
  fc.assert(
    fc.property(limits, historiesOf(radioCount, 120, open), (limits, history) =>
      play(history, radioCount, seen, { limits, radiosPerUser: 4 }),
    ),
    { numRuns: RUNS, examples: [[oneTalker, { mode: 'single', acts: givesWay }]] },
  );
  for (const what of ['denied busy', 'queued', 'revoked preempted', 'ended preempted'])
    t.ok(seen.get(what), `${what} was seen`);
});

t.test('whatever a caller says, one talks at a time and no session is in the floor twice', async (t) => {
  const session = fc.integer({ min: 1, max: 5 });
  const user = fc.nat(2).map((number) => userIdOf({ user: number }));
  const claim = fc.record({
    ...{ session, user, priority: fc.nat(7), isAdmin: fc.boolean(), inEmergency: fc.boolean() },
  });
  const event: fc.Arbitrary<FloorEvent> = fc.oneof(
    {
      weight: 3,
      arbitrary: fc.record({ kind: fc.constant('request' as const), claim, queue: fc.boolean() }),
    },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('frame' as const), claim }) },
    fc.record({ kind: fc.constant('release' as const), session, code: fc.constant('released' as const) }),
    fc.record({ kind: fc.constant('lost' as const), session, forGood: fc.boolean() }),
    fc.record({ kind: fc.constant('returned' as const), session }),
    fc.record({ kind: fc.constant('settings' as const), mode, maxTalkMs: fc.constant(1000) }),
    fc.record({
      kind: fc.constant('emergency' as const),
      sessions: fc.array(session).map((sessions) => new Set(sessions)),
      inEmergency: fc.boolean(),
    }),
    fc.constant({ kind: 'tick' as const }),
  );
  fc.assert(
    fc.property(fc.array(fc.tuple(afterMs, event), { maxLength: 60, size: 'max' }), (events) => {
      let floor = emptyFloor('single', 1000);
      let nowMs = 0;
      for (const [ms, next] of events) {
        nowMs += ms;
        floor = step(floor, next, nowMs, TALK_LIMITS).floor;
        if (floor.mode !== 'open' && floor.holders.length > 1) throw new Error('two talk');
        const all = [...floor.holders.map(({ claim }) => claim), ...floor.waiting].map((one) => one.session);
        if (new Set(all).size < all.length) throw new Error('somebody is in it twice');
      }
    }),
    { numRuns: RUNS },
  );
  t.pass(`${RUNS} histories`);
});
