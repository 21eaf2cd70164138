// The tiles of the console without a page: their order, their size, the way of the focus, favourites.
import { signal } from '@preact/signals';
import fc from 'fast-check';
import t from 'tap';
import { texts as words } from '../../src/console/app/texts.js';
import { createGrid } from '../../src/console/talkgroups/grid.js';
import { nextPlace } from '../../src/console/talkgroups/grid-focus.js';
import { createOrder, type Holder, LOADS_MS, RESTS_MS } from '../../src/console/talkgroups/order.js';
import type { Tile } from '../../src/console/talkgroups/state.js';
import { isLarge } from '../../src/console/talkgroups/tile-size.js';
import type { TalkgroupView } from '../../src/console/worker/messages.js';
import { manualClock } from '../helpers/client/fakes.js';
import { talkgroupView } from '../helpers/client/talkgroup-view.js';

function orderOf(ids: readonly string[]) {
  const clock = manualClock();
  const wanted = signal(ids);
  const existing = signal<ReadonlySet<string>>(new Set(ids));
  const order = createOrder(wanted, existing, clock);
  clock.pass(LOADS_MS);
  const want = (next: readonly string[], all: readonly string[] = next) => {
    existing.value = new Set(all);
    wanted.value = next;
  };
  return { clock, order, want, shown: () => order.shown.value.join(' ') };
}

t.test('the order stays while the pointer is over the grid, and for 5 s after it has left', async (t) => {
  const { clock, order, want, shown } = orderOf(['a', 'b', 'c']);
  order.hold('pointer', true);
  want(['c', 'b', 'a']);
  clock.pass(60_000);
  t.equal(shown(), 'a b c');
  t.ok(order.isHeld.value && order.isWaiting.value);
  order.hold('pointer', false);
  clock.pass(RESTS_MS - 1);
  t.equal(shown(), 'a b c');
  clock.pass(1);
  t.equal(shown(), 'c b a');
  t.notOk(order.isHeld.value || order.isWaiting.value);
});

t.test('a new talkgroup is last while the order is held, and one that was left goes at once', async (t) => {
  const { clock, order, want, shown } = orderOf(['b', 'c']);
  order.hold('focus', true);
  want(['a', 'c']);
  t.equal(shown(), 'c a');
  order.hold('focus', false);
  clock.pass(RESTS_MS);
  t.equal(shown(), 'a c');
});

t.test('a talkgroup that is filtered away stays in its place while the order is held', async (t) => {
  const { order, want, shown } = orderOf(['a', 'b']);
  order.hold('pointer', true);
  want(['b'], ['a', 'b']);
  t.equal(shown(), 'a b');
  order.sortNow();
  t.equal(shown(), 'b');
});

t.test('without a pointer the order changes at most once in 5 s', async (t) => {
  const { clock, want, shown } = orderOf(['a', 'b', 'c']);
  want(['b', 'a', 'c']);
  t.equal(shown(), 'b a c');
  want(['c', 'b', 'a']);
  t.equal(shown(), 'b a c');
  clock.pass(RESTS_MS);
  t.equal(shown(), 'c b a');
});

t.test('talkgroups that come in several messages after the login are sorted at once', async (t) => {
  const clock = manualClock();
  const wanted = signal<readonly string[]>([]);
  const order = createOrder(wanted, signal(new Set(['a', 'b', 'c'])), clock);
  order.hold('pointer', true);
  wanted.value = ['c'];
  wanted.value = ['a', 'c'];
  clock.pass(LOADS_MS - 1);
  wanted.value = ['a', 'b', 'c'];
  t.same(order.shown.value, ['a', 'b', 'c']);
  clock.pass(1);
  wanted.value = ['c', 'b', 'a'];
  t.same(order.shown.value, ['a', 'b', 'c']);
});

type Step =
  | { kind: 'want'; order: readonly string[] }
  | { kind: 'hold'; by: Holder; isOn: boolean }
  | { kind: 'wait'; ms: number };

t.test('in no history does a talkgroup change its place while the order is held', async () => {
  const ids = ['a', 'b', 'c', 'd', 'e'];
  const step: fc.Arbitrary<Step> = fc.oneof(
    fc.record({ kind: fc.constant('want' as const), order: fc.shuffledSubarray(ids) }),
    fc.record({
      kind: fc.constant('hold' as const),
      by: fc.constantFrom<Holder>('pointer', 'focus', 'key'),
      isOn: fc.boolean(),
    }),
    fc.record({ kind: fc.constant('wait' as const), ms: fc.integer({ min: 1, max: 2 * RESTS_MS }) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const { clock, order, want } = orderOf(ids);
      const held = new Set<Holder>();
      for (const one of steps) {
        const before = order.shown.value;
        const wasHeld = held.size > 0;
        if (one.kind === 'want') want(one.order, ids);
        if (one.kind === 'wait') clock.pass(one.ms);
        if (one.kind === 'hold') {
          if (one.isOn) held.add(one.by);
          else held.delete(one.by);
          order.hold(one.by, one.isOn);
        }
        // What was shown is the beginning of what is shown.
        if (wasHeld && before.some((id, at) => order.shown.value[at] !== id)) return false;
      }
      for (const by of held) order.hold(by, false);
      clock.pass(RESTS_MS);
      clock.pass(RESTS_MS);
      return !order.isWaiting.value;
    }),
  );
});

const tileOf = (view: TalkgroupView): Tile => ({
  ...{ id: view.id, view: signal(view), isSelected: signal(false), isMuted: signal(false) },
  ...{ volume: signal(1), isEncrypting: signal(false) },
});

function gridOf(views: readonly TalkgroupView[], texts = new Map<string, string>()) {
  const alarms = signal<readonly { talkgroup_id: string }[]>([]);
  const nowMs = signal(1_000_000);
  const grid = createGrid({
    ...{
      talkgroups: { tiles: signal(views.map(tileOf)) },
      alarms,
      nowMs,
      clock: manualClock(),
      userId: 'u1',
    },
    shelf: {
      getItem: (key) => texts.get(key) ?? null,
      setItem: (key, text) => void texts.set(key, text),
    },
  });
  return { grid, alarms, nowMs, texts, shown: () => grid.tiles.value.map(({ id }) => id).join(' ') };
}

const lastAt = (endedAtMs: number) => ({ last: { username: 'ann', endedAtMs, isCutOff: false } });

t.test('favourites and the kind of sorting are kept for each user of the browser', async (t) => {
  const { grid, texts, shown } = gridOf([
    talkgroupView('a', { number: 2 }),
    talkgroupView('b', { number: 1 }),
  ]);
  grid.favour('b', true);
  grid.favour('a', true);
  grid.sortBy('number');
  t.equal(shown(), 'b a');
  const again = gridOf([talkgroupView('a', { number: 2 }), talkgroupView('b', { number: 1 })], texts);
  t.same(again.grid.favourites.value, ['b', 'a'], 'in the order of the keys 1 and 2');
  t.equal(again.shown(), 'b a');
  again.grid.favour('b', false);
  again.grid.show('favourites');
  t.equal(again.shown(), 'a');
  t.same([...texts.keys()], ['talkgroup.tiles.u1']);
});

t.test(
  'a talkgroup is active while someone talks, has an alarm, or talked in the last 5 minutes',
  async (t) => {
    const { grid, alarms, nowMs, shown } = gridOf([
      talkgroupView('alarmed'),
      talkgroupView('long ago', lastAt(700_000)),
      talkgroupView('quiet'),
      talkgroupView('recent', lastAt(700_001)),
    ]);
    alarms.value = [{ talkgroup_id: 'alarmed' }];
    grid.sortBy('activity');
    grid.show('active');
    t.equal(shown(), 'alarmed recent');
    t.equal(grid.counts.value.active, 2);
    nowMs.value += 1;
    t.equal(grid.counts.value.active, 1);
  },
);

t.test('to go to a talkgroup that is filtered away shows all again', async (t) => {
  const { grid, shown } = gridOf([talkgroupView('a'), talkgroupView('b')]);
  grid.favour('a', true);
  grid.show('favourites');
  grid.goTo('b');
  t.equal(shown(), 'a b');
  t.equal(grid.current.value, 'b');
  t.strictSame(grid.goingTo.value, { id: 'b', takesFocus: true });
});

t.test('the note in the talk key says how many days recordings are kept', async (t) => {
  const { recorded } = words.talkgroups;
  t.equal(recorded(30), 'Recorded, kept 30 days');
  t.equal(recorded(1), 'Recorded, kept 1 day');
});

t.test('large tiles are the default in a wide window that has room for all of them', async (t) => {
  const wide = { size: 'auto', windowWidth: 1920, view: { width: 1540, height: 920 } } as const;
  t.equal(isLarge({ ...wide, count: 30 }), true);
  t.equal(isLarge({ ...wide, count: 31 }), false);
  t.equal(isLarge({ ...wide, count: 1, windowWidth: 1599 }), false);
  t.equal(isLarge({ ...wide, count: 31, size: 'large' }), true);
  t.equal(isLarge({ ...wide, count: 1, size: 'compact' }), false);
});

t.test('arrow keys move among tiles and stop at the edges', async (t) => {
  const from = (at: number, key: string) => nextPlace({ key, at, count: 12, columns: 5 });
  t.equal(from(0, 'ArrowRight'), 1);
  t.equal(from(11, 'ArrowRight'), 11);
  t.equal(from(0, 'ArrowLeft'), 0);
  t.equal(from(1, 'ArrowDown'), 6);
  t.equal(from(7, 'ArrowDown'), 7, 'no tile is below the last but one row here');
  t.equal(from(6, 'ArrowUp'), 1);
  t.equal(from(3, 'ArrowUp'), 3);
  t.equal(from(6, 'Home'), 0);
  t.equal(from(6, 'End'), 11);
  t.equal(from(6, 'a'), null);
});
