// The alarms of the console: their order, their tone, and the button that raises one.
import t from 'tap';
import { createRaising, HOLD_MS } from '../../src/console/alarms/raising.js';
import { createAlarms } from '../../src/console/alarms/state.js';
import { emergency, idOf, manualClock, turn } from '../helpers/client/fakes.js';

function setUp({ isAdmin = true } = {}) {
  const clock = manualClock();
  const tones: string[] = [];
  const alarms = createAlarms({ clock, tone: (name) => tones.push(name), isRepeated: () => isAdmin });
  const take = (...emergencies: ReturnType<typeof emergency>[]) => alarms.take({ emergencies, left: [] });
  return { alarms, clock, tones, take, shown: () => alarms.open.value.map(({ username }) => username) };
}

const of = (username: string, raised_at: string, over = {}) =>
  emergency({ emergency_id: idOf(username), username, raised_at, ...over });

t.test('raised alarms come before acknowledged ones, and new ones before old ones', async (t) => {
  const { take, shown } = setUp();
  take(
    of('old', '2026-01-01T00:00:00.000Z'),
    of('acked', '2026-01-01T00:00:02.000Z', { state: 'acknowledged' }),
    of('new', '2026-01-01T00:00:01.000Z'),
  );
  t.same(shown(), ['new', 'old', 'acked']);
  take(of('new', '2026-01-01T00:00:01.000Z', { state: 'cleared' }));
  t.same(shown(), ['old', 'acked']);
});

t.test('the alarms of a talkgroup that the user has left are removed', async (t) => {
  const { alarms, take, shown } = setUp();
  take(of('one', ''), of('other', '', { talkgroup_id: idOf('tg-bravo') }));
  alarms.take({ emergencies: [], left: [idOf('tg-bravo')] });
  t.same(shown(), ['one']);
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

function raisingOf(raise: (id: string) => Promise<void>) {
  const clock = manualClock();
  const raising = createRaising(raise, clock);
  return { clock, raising, phase: () => raising.states.value.get('a') };
}

t.test('an emergency is raised after 1.5 s of holding, and not before', async (t) => {
  const raised: string[] = [];
  const { clock, raising, phase } = raisingOf(async (id) => void raised.push(id));
  raising.press('a');
  clock.pass(HOLD_MS - 1);
  t.same([phase(), raised], [{ phase: 'holding' }, []]);
  raising.release('a');
  clock.pass(60_000);
  t.same([phase(), raised], [undefined, []], 'a release before cancels');
  raising.press('a');
  clock.pass(HOLD_MS);
  t.same([phase(), raised], [{ phase: 'raising' }, ['a']]);
  raising.release('a');
  raising.press('a');
  clock.pass(60_000);
  t.same(raised, ['a'], 'a second press while it is raised changes nothing');
  await turn();
  t.equal(phase(), undefined);
});

t.test('an emergency that was rejected says why until the next press', async (t) => {
  const { clock, raising, phase } = raisingOf(() =>
    Promise.reject(new Error('not a member of this talkgroup')),
  );
  raising.press('a');
  clock.pass(HOLD_MS);
  await turn();
  t.same(phase(), { phase: 'failed', text: 'not a member of this talkgroup' });
  raising.press('a');
  t.same(phase(), { phase: 'holding' });
});
