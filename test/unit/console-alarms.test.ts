// The alarms of the console: their order, their tone, and the button that raises one.
import assert from 'node:assert/strict';
import { signal } from '@preact/signals';
import fc from 'fast-check';
import t from 'tap';
import type { Emergency } from '../../src/client/radio.js';
import { createEmergencyTarget } from '../../src/console/alarms/emergency-target.js';
import { CLEAR_HOLD_MS, createHeld, RAISE_HOLD_MS, SHORT_MS } from '../../src/console/alarms/held.js';
import { type AlarmRow, follow, STAYS_MS } from '../../src/console/alarms/order.js';
import { createAlarms, REST_MS } from '../../src/console/alarms/state.js';
import type { ConnectionView, TalkgroupView } from '../../src/console/worker/messages.js';
import { emergency, idOf, manualClock, turn } from '../helpers/client/fakes.js';

/** `all`: what GET /emergencies answers. null: no answer comes. */
function setUp({ isAdmin = true, all = [] }: { isAdmin?: boolean; all?: Emergency[] | null } = {}) {
  const clock = manualClock();
  const tones: string[] = [];
  let reads = 0;
  const alarms = createAlarms({
    ...{ clock, tone: (name) => tones.push(name), isRepeated: () => isAdmin },
    readAll() {
      reads += 1;
      return all === null ? new Promise<Emergency[]>(() => {}) : Promise.resolve([...all]);
    },
  });
  const take = (...emergencies: ReturnType<typeof emergency>[]) => alarms.take({ emergencies, left: [] });
  const shown = () => alarms.open.value.map(({ username }) => username);
  return { alarms, clock, tones, take, shown, reads: () => reads };
}

const of = (username: string, raised_at: string, over = {}) =>
  emergency({ emergency_id: idOf(username), username, raised_at, ...over });

const at = (s: number) => new Date(Date.UTC(2026, 0, 1) + s * 1000).toISOString();

t.test('the oldest alarm is first, a new one is last, and no state moves one', async (t) => {
  const { take, shown } = setUp();
  take(of('second', at(1)), of('first', at(0), { state: 'acknowledged' }), of('third', at(2)));
  t.same(shown(), ['first', 'second', 'third']);
  take(of('third', at(2), { state: 'acknowledged' }), of('fourth', at(3)));
  t.same(shown(), ['first', 'second', 'third', 'fourth']);
});

/** By alarm: the time of its raise, and the changes of its state behind the first one, in the order of time. */
const histories = fc.uniqueArray(
  fc.record({ n: fc.nat(), raisedS: fc.nat(3_600), isAcknowledged: fc.boolean(), delay: fc.nat(5) }),
  { selector: ({ n }) => n, maxLength: 20 },
);

t.test('the order of alarms is a function of the times of their raises', async () => {
  fc.assert(
    fc.property(histories, fc.array(fc.nat(3), { maxLength: 40 }), (alarms, sizes) => {
      const inTime = alarms.toSorted(
        (one, other) => one.raisedS - other.raisedS || (idOf(`${one.n}`) < idOf(`${other.n}`) ? -1 : 1),
      );
      const events = inTime.flatMap(({ n, raisedS, isAcknowledged, delay }, index) => {
        const raised = of(`${n}`, at(raisedS));
        const first = { due: index, emergency: raised };
        return isAcknowledged
          ? [first, { due: index + delay, emergency: { ...raised, state: 'acknowledged' as const } }]
          : [first];
      });
      events.sort((one, other) => one.due - other.due);
      let rows: readonly AlarmRow[] = [];
      let from = 0;
      for (const size of [...sizes, events.length]) {
        rows = follow(
          rows,
          events.slice(from, from + size).map(({ emergency }) => emergency),
          0,
        );
        from += size;
      }
      assert.deepEqual(
        rows.map(({ emergency }) => emergency.username),
        inTime.map(({ n }) => `${n}`),
      );
    }),
  );
});

t.test('a cleared alarm stays for 10 s, and until neither pointer nor focus is in the list', async (t) => {
  const { alarms, take, clock } = setUp();
  const rows = () => alarms.rows.value.map(({ emergency, end }) => [emergency.username, end?.why ?? 'open']);
  take(of('ann', at(0)), of('bob', at(1)));
  take(of('ann', at(0), { state: 'cleared' }));
  clock.pass(STAYS_MS - 1);
  t.same(rows(), [
    ['ann', 'cleared'],
    ['bob', 'open'],
  ]);
  alarms.keep(true);
  clock.pass(60_000);
  t.equal(rows().length, 2, 'the pointer is in the list');
  alarms.keep(false);
  t.same(rows(), [['bob', 'open']]);
  t.ok(alarms.resting.value.has(idOf('bob')), 'its buttons have moved, and take no press');
  clock.pass(REST_MS);
  t.equal(alarms.resting.value.size, 0);
  take(of('ann', at(0), { state: 'cleared' }), of('bob', at(1), { state: 'cleared' }));
  clock.pass(STAYS_MS);
  t.same(rows(), [], 'one that was never shown is not shown');
});

t.test('the right button rests for 500 ms after its meaning changed', async (t) => {
  const { alarms, take, clock } = setUp();
  take(of('ann', at(0)));
  t.equal(alarms.resting.value.size, 0, 'a new one can be pressed at once');
  take(of('ann', at(0), { state: 'acknowledged' }));
  clock.pass(REST_MS - 1);
  t.ok(alarms.resting.value.has(idOf('ann')));
  clock.pass(1);
  t.notOk(alarms.resting.value.has(idOf('ann')));
});

t.test('the alarms of a talkgroup that the user has left end', async (t) => {
  const { alarms, take, shown, clock } = setUp();
  take(of('one', at(0)), of('other', at(1), { talkgroup_id: idOf('tg-bravo') }));
  alarms.take({ emergencies: [], left: [idOf('tg-bravo')] });
  t.same(shown(), ['one']);
  t.equal(alarms.rows.value[1]?.end?.why, 'left');
  clock.pass(STAYS_MS);
  t.equal(alarms.rows.value.length, 1);
});

/** A talkgroup with so many open emergencies in its last snapshot. */
const total = (emergenciesTotal: number) => ({ id: idOf('tg-alpha'), emergenciesTotal }) as TalkgroupView;

t.test('alarms that a snapshot has no room for are read before the others are shown', async (t) => {
  const all = [
    of('oldest', at(0)),
    of('first', at(1)),
    of('elsewhere', at(2), { talkgroup_id: idOf('tg-bravo') }),
  ];
  const { alarms, shown, reads } = setUp({ all });
  const talkgroups = [total(2)];
  alarms.take({ emergencies: [of('first', at(1))], talkgroups, left: [] });
  t.same(shown(), []);
  await turn();
  t.same(shown(), ['oldest', 'first']);
  alarms.take({ emergencies: [of('new', at(3))], talkgroups, left: [] });
  t.same([shown(), reads()], [['oldest', 'first', 'new'], 1], 'the same snapshot is not read for again');
  all.shift();
  alarms.take({ emergencies: [], left: [], connection: { opened: 2 } as ConnectionView });
  await turn();
  t.same([shown(), reads()], [['first', 'new'], 2], 'cleared while there was no connection');
});

t.test('alarms are shown after 2 s when the others cannot be read', async (t) => {
  const { alarms, shown, clock } = setUp({ all: null });
  alarms.take({ emergencies: [of('first', at(1))], talkgroups: [total(2)], left: [] });
  alarms.take({ emergencies: [of('second', at(2))], left: [] });
  await turn();
  t.same(shown(), []);
  clock.pass(2_000);
  t.same(shown(), ['first', 'second']);
});

t.test('alarms of the last 10 min are counted, also when they are cleared', async (t) => {
  const { alarms, take } = setUp();
  take(of('old', at(0)), of('new', at(1)));
  take(of('new', at(1), { state: 'cleared' }));
  t.equal(alarms.raisedAfter(Date.parse(at(0)) - 1), 2);
  t.equal(alarms.raisedAfter(Date.parse(at(0))), 1);
});

t.test('a silence of 60 s acknowledges nothing, and a new alarm ends it', async (t) => {
  const { alarms, take, clock, tones } = setUp();
  take(of('ann', at(0)));
  alarms.silence();
  clock.pass(59_000);
  t.same([tones.length, alarms.isSilent.value], [1, true]);
  t.equal(alarms.open.value[0]?.state, 'raised');
  clock.pass(1_000);
  t.same([tones.length, alarms.isSilent.value], [2, false], 'it sounds again afterwards');
  alarms.silence();
  take(of('bob', at(1)));
  t.same([tones.length, alarms.isSilent.value], [3, false]);
  clock.pass(5_000);
  t.equal(tones.length, 4);
});

t.test('an alarm sounds every 5 s until it is acknowledged', async (t) => {
  const { take, clock, tones } = setUp();
  take(of('ann', ''));
  t.equal(tones.length, 1);
  clock.pass(10_000);
  t.equal(tones.length, 3);
  take(of('ann', '', { state: 'acknowledged' }));
  clock.pass(60_000);
  t.equal(tones.length, 3);
  t.equal(clock.pending, 0);
});

t.test('users who cannot acknowledge hear it once, and an acknowledged one not at all', async (t) => {
  const { take, clock, tones } = setUp({ isAdmin: false });
  take(of('ann', ''), of('bob', '', { state: 'acknowledged' }));
  take(of('ann', ''));
  clock.pass(60_000);
  t.same(tones, ['alarm']);
});

function heldOf(holdMs: number, act: () => Promise<unknown>) {
  const clock = manualClock();
  const held = createHeld(holdMs, clock);
  const press = () => held.press('a', act);
  return { clock, held, press, phase: () => held.states.value.get('a') };
}

for (const [what, holdMs] of [
  ['an emergency is raised', RAISE_HOLD_MS],
  ['an alarm is cleared', CLEAR_HOLD_MS],
] as const)
  t.test(`${what} after ${holdMs} ms of holding, once, and not before`, async (t) => {
    let acts = 0;
    const { clock, held, press, phase } = heldOf(holdMs, async () => {
      acts += 1;
    });
    press();
    clock.pass(holdMs - 1);
    t.same([phase(), acts], [{ phase: 'holding' }, 0]);
    held.release('a');
    t.same(phase(), { phase: 'short' }, 'a release before cancels, and the button says so');
    clock.pass(SHORT_MS);
    t.same([phase(), acts], [undefined, 0]);
    press();
    held.release('a');
    press();
    clock.pass(holdMs);
    t.same([phase(), acts], [{ phase: 'sent' }, 1]);
    held.release('a');
    press();
    clock.pass(60_000);
    t.equal(acts, 1, 'a second press while it is sent changes nothing');
    await turn();
    t.equal(phase(), undefined);
  });

t.test('a request that was rejected says why until the next press', async (t) => {
  const { clock, press, phase } = heldOf(RAISE_HOLD_MS, () =>
    Promise.reject(new Error('not a member of this talkgroup')),
  );
  press();
  clock.pass(RAISE_HOLD_MS);
  await turn();
  t.same(phase(), { phase: 'failed', text: 'not a member of this talkgroup' });
  press();
  t.same(phase(), { phase: 'holding' });
});

t.test('the target of the emergency button stays while the pointer or the focus is on it', async (t) => {
  const wanted = signal<string | null>('fire');
  const ids = signal<ReadonlySet<string>>(new Set(['fire', 'police']));
  const target = createEmergencyTarget(wanted, ids);
  target.hold('pointer', true);
  wanted.value = 'police';
  t.equal(target.id.value, 'fire');
  target.hold('focus', true);
  target.hold('pointer', false);
  t.equal(target.id.value, 'fire');
  target.hold('focus', false);
  t.equal(target.id.value, 'police');
  wanted.value = null;
  t.equal(target.id.value, null);
  target.hold('pointer', true);
  wanted.value = 'fire';
  t.equal(target.id.value, 'fire', 'a button without a target gets one');
  wanted.value = 'police';
  t.equal(target.id.value, 'fire');
  ids.value = new Set(['police']);
  t.equal(target.id.value, 'police', 'the user has left the talkgroup under the pointer');
});
