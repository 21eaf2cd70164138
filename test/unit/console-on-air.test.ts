// Who is on air at the console, without a page: the slots of talkers, the last ten talks, the answer to the latest talker.
import fc from 'fast-check';
import t from 'tap';
import { createRecent } from '../../src/console/onair/recent.js';
import { assign, ENDED_MS, noSlots, type OnAirTalker, type Slots } from '../../src/console/onair/slots.js';
import { createOnAir } from '../../src/console/onair/state.js';
import { latestTalker } from '../../src/console/talk/answer.js';
import type { RecentBurst, TalkerView, TalkgroupView } from '../../src/console/worker/messages.js';
import { manualClock } from '../helpers/client/fakes.js';
import { talkgroupView } from '../helpers/client/talkgroup-view.js';

const talker = (username: string, over: Partial<OnAirTalker> = {}): OnAirTalker => ({
  ...{ key: username, talkgroupId: 'a', talkgroup: 'Fire 1', username, startedAtMs: 0 },
  ...{ emergency: false, isOwn: false, isUnopened: false, ...over },
});

/** The slots after each step, as names: `-` is free, `(ann)` has ended. */
function history(...steps: { on: readonly OnAirTalker[]; nowMs?: number; kept?: readonly number[] }[]) {
  let slots = noSlots;
  return steps.map(({ on, nowMs = 0, kept = [] }) => {
    const next = assign(slots, on, { nowMs, kept: new Set(kept) });
    slots = next.slots;
    const names = slots.map((slot) => {
      if (slot === null) return '-';
      return slot.endedAtMs === null ? slot.username : `(${slot.username})`;
    });
    return `${names.join(' ')}${next.more > 0 ? ` +${next.more}` : ''}`;
  });
}

const [ann, ben, cid, dan, eva, fay] = ['ann', 'ben', 'cid', 'dan', 'eva', 'fay'].map((name, index) =>
  talker(name, { startedAtMs: index }),
) as [OnAirTalker, OnAirTalker, OnAirTalker, OnAirTalker, OnAirTalker, OnAirTalker];

t.test('a talker takes the first free slot, keeps it, and it is free 10 s after the end', async (t) => {
  t.strictSame(
    history(
      { on: [ann, ben] },
      { on: [ben] },
      { on: [ben, cid], nowMs: 1 },
      { on: [ben], nowMs: ENDED_MS - 1 },
      { on: [ben, ann], nowMs: ENDED_MS - 1 },
      { on: [], nowMs: ENDED_MS },
      { on: [], nowMs: 2 * ENDED_MS },
    ),
    ['ann ben - -', '(ann) ben - -', '(ann) ben cid -', '(ann) ben (cid) -']
      .concat(['ann ben (cid) -', '(ann) (ben) (cid) -'])
      .concat(['- - - -']),
  );
});

t.test('a fifth talker takes the slot of the talk that ended first, else it is counted', async (t) => {
  t.strictSame(
    history(
      { on: [ann, ben, cid, dan, eva, fay] },
      { on: [ann, cid, dan, eva, fay], nowMs: 5 },
      { on: [ann, cid, dan, eva], nowMs: 6 },
      { on: [ann, dan, eva], nowMs: 7 },
      { on: [dan, eva], nowMs: 8 },
      { on: [dan, eva, fay], nowMs: 9 },
    ),
    ['ann ben cid dan +2', 'ann eva cid dan +1', 'ann eva cid dan', 'ann eva (cid) dan'].concat([
      '(ann) eva (cid) dan',
      '(ann) eva fay dan',
    ]),
  );
});

t.test('an emergency takes the slot of the oldest ordinary talker, but none with the pointer', async (t) => {
  const georg = talker('georg', { startedAtMs: 9, emergency: true });
  const all = [ann, ben, cid, dan];
  t.strictSame(history({ on: all }, { on: [...all, georg] }), ['ann ben cid dan', 'georg ben cid dan +1']);
  t.strictSame(history({ on: all }, { on: [...all, georg], kept: [0] }), [
    ...['ann ben cid dan', 'ann georg cid dan +1'],
  ]);
  t.strictSame(
    history({ on: all }, { on: [...all, georg], kept: [0, 1, 2, 3] }).at(-1),
    'ann ben cid dan +1',
  );
  t.strictSame(
    history({ on: all }, { on: [ann, ben, cid] }, { on: [ann, ben, cid, georg] }).at(-1),
    'ann ben cid georg',
    'a talk that has ended goes first',
  );
  const alarmed = all.map((one) => ({ ...one, emergency: true }));
  t.strictSame(history({ on: alarmed }, { on: [...alarmed, georg] }).at(-1), 'ann ben cid dan +1');
});

t.test('a slot with the pointer stays after the end, and no other talker comes there', async (t) => {
  t.strictSame(
    history(
      { on: [ann, ben, cid, dan] },
      { on: [ben, cid, dan], kept: [0] },
      { on: [ben, cid, dan, eva], kept: [0], nowMs: 5 * ENDED_MS },
      { on: [ben, cid, dan, eva], nowMs: 5 * ENDED_MS },
    ),
    ['ann ben cid dan', '(ann) ben cid dan', '(ann) ben cid dan +1', 'eva ben cid dan'],
  );
});

const names = ['ann', 'ben', 'cid', 'dan', 'eva', 'fay', 'gus'];
const stepOf = fc.record({
  on: fc.uniqueArray(fc.record({ name: fc.constantFrom(...names), emergency: fc.boolean() }), {
    selector: ({ name }) => name,
  }),
  afterMs: fc.integer({ min: 0, max: ENDED_MS }),
  kept: fc.uniqueArray(fc.integer({ min: 0, max: 3 })),
});

t.test('in any history no talker changes the slot or has two, and none is forgotten', async () => {
  fc.assert(
    fc.property(fc.array(stepOf, { maxLength: 60 }), (steps) => {
      let slots: Slots = noSlots;
      let nowMs = 0;
      for (const { on, afterMs, kept } of steps) {
        nowMs += afterMs;
        const talkers = on.map(({ name, emergency }) => talker(name, { emergency, startedAtMs: nowMs }));
        const { slots: next, more } = assign(slots, talkers, { nowMs, kept: new Set(kept) });
        const keys = next.flatMap((slot) => slot?.key ?? []);
        if (next.length !== 4 || new Set(keys).size !== keys.length) return false;
        const shown = next.filter((slot) => slot !== null && slot.endedAtMs === null).length;
        if (shown + more !== talkers.length) return false;
        for (const [index, before] of slots.entries()) {
          if (before === null) continue;
          const at = keys.includes(before.key) ? next.findIndex((slot) => slot?.key === before.key) : null;
          if (at !== null && at !== index) return false;
          // The talker under the pointer stays there.
          if (at === null && kept.includes(index)) return false;
          // Only an emergency takes the slot of a running talk.
          const isOnAir = talkers.some(({ key }) => key === before.key);
          if (at === null && isOnAir && next[index]?.emergency !== true) return false;
        }
        // None waits while a slot is free.
        if (more > 0 && next.includes(null)) return false;
        slots = next;
      }
      return true;
    }),
  );
});

const view = (id: string, ...talkers: Partial<TalkerView>[]): TalkgroupView =>
  talkgroupView(id, {
    name: `Group ${id}`,
    talkers: talkers.map((over, session) => ({
      ...{ session, burst: 1, username: 'ann', startedAtMs: 0, emergency: false, isOwn: false },
      ...{ lock: 'clear', unopened: null, ...over },
    })),
  });

function onAirOf() {
  const clock = manualClock();
  return { clock, onAir: createOnAir(clock, () => clock.nowMs()) };
}

t.test('an ended talk leaves by itself, but not under the pointer', async (t) => {
  const { clock, onAir } = onAirOf();
  onAir.take({ talkgroups: [view('a', {}), view('b', { username: 'ben' })], left: [] });
  onAir.keep(1, true);
  onAir.take({ talkgroups: [view('a')], left: ['b'] });
  const shown = () => onAir.slots.value.map((slot) => slot?.username ?? null);
  clock.pass(ENDED_MS - 1);
  t.strictSame(shown(), ['ann', 'ben', null, null]);
  clock.pass(1);
  t.strictSame(shown(), [null, 'ben', null, null], 'the talkgroup of ben is left, and the pointer is there');
  clock.pass(60_000);
  t.equal(clock.pending, 0, 'nothing is waited for');
  onAir.keep(1, false);
  t.strictSame(shown(), [null, null, null, null]);
});

t.test('a session number that another user gets is another talker', async (t) => {
  const { onAir } = onAirOf();
  onAir.take({ talkgroups: [view('a', { session: 7 })], left: [] });
  onAir.keep(0, true);
  onAir.take({ talkgroups: [view('a', { session: 7, username: 'ben' })], left: [] });
  t.strictSame(
    onAir.slots.value.map((slot) => slot?.username ?? null),
    ['ann', 'ben', null, null],
  );
});

t.test(
  'a slot that has not changed is the same object, and one that cannot be decoded says so',
  async (t) => {
    const { onAir } = onAirOf();
    onAir.take({ talkgroups: [view('a', {})], left: [] });
    const [before] = onAir.slots.value;
    onAir.take({ talkgroups: [view('a', {}), view('b', { lock: 'cannot_open' })], left: [] });
    t.equal(onAir.slots.value[0], before);
    t.match(onAir.slots.value, [{ isUnopened: false }, { isUnopened: true }]);
    onAir.take({ talkgroups: [view('a', { emergency: true })], left: [] });
    t.match(onAir.slots.value, [{ emergency: true, endedAtMs: null }]);
  },
);

t.test('the answer goes to the latest other talker that the user has heard', async (t) => {
  const { onAir } = onAirOf();
  const answered = (...muted: string[]) => latestTalker(onAir.heardAtMs, (id) => muted.includes(id));
  t.strictSame(answered(), []);
  onAir.take({ talkgroups: [view('a', { startedAtMs: 5 }), view('b', { startedAtMs: 7 })], left: [] });
  onAir.take({ talkgroups: [view('c', { startedAtMs: 9, isOwn: true })], left: [] });
  t.strictSame(answered(), ['b'], 'not the own talk');
  onAir.take({ talkgroups: [view('a'), view('b'), view('c')], left: [] });
  t.strictSame(answered(), ['b'], 'also after the end');
  t.strictSame(answered('b'), ['a'], 'a muted talkgroup does not count');
  onAir.take({ talkgroups: [view('a', { startedAtMs: 12 })], left: ['b'] });
  t.strictSame(answered(), ['a']);
  t.strictSame(answered('a'), []);
});

const burst = (username: string): RecentBurst => ({
  ...{ talkgroupId: 'a', talkgroup: 'Fire 1', username, isOwn: false, endedAtMs: 0, durationMs: 1_000 },
});

t.test('the last ten talks are listed, the last one first', async (t) => {
  const recent = createRecent();
  const shown = () => recent.rows.value.map(({ username }) => username).join(' ');
  recent.take([burst('ann'), burst('ben')]);
  t.equal(shown(), 'ben ann');
  recent.take(Array.from({ length: 10 }, (_, n) => burst(`u${n}`)));
  t.equal(shown(), 'u9 u8 u7 u6 u5 u4 u3 u2 u1 u0');
});

t.test('while the pointer is in the list new talks wait, are counted, and come afterwards', async (t) => {
  const recent = createRecent();
  recent.take([burst('ann')]);
  recent.keep(true);
  const before = recent.rows.value;
  recent.take([burst('ben')]);
  recent.take([burst('cid')]);
  t.equal(recent.rows.value, before);
  t.equal(recent.waiting.value, 2);
  recent.keep(false);
  t.strictSame(
    recent.rows.value.map(({ username }) => username),
    ['cid', 'ben', 'ann'],
  );
  t.equal(recent.waiting.value, 0);
});
