// The judge of the chaos runner for several nodes can fail: each invariant is fed a record in which something went wrong.
import t from 'tap';
import type { PlayedFault } from '../chaos/episode.js';
import type { Arrival, History, Line, Span } from '../chaos/history.js';
import { breaches } from '../chaos/invariants.js';
import { cutNothing, scheduleOverNodes } from '../chaos/nodes/faults.js';
import { breachesOverNodes } from '../chaos/nodes/judge.js';
import { randomFrom } from '../helpers/random.js';

const OPEN = 9;
const SINGLE = 10;
const talkgroups = [
  { number: OPEN, mode: 'open' },
  { number: SINGLE, mode: 'single' },
] as const;
const ANN = { radio: 0, session: 4711 };
const BOB = { radio: 1, session: 4712 };
const CARL = { radio: 2, session: 4713 };
const DORA = { radio: 3, session: 4714 };
const FRAME_MS = 40;

/** What a listener gets of a burst of so many frames that was said from `fromMs`. */
function burst(
  talker: typeof ANN,
  { fromMs = 0, frames = 3, talkgroup = SINGLE, lateMs = 5, lost = [] as readonly number[] } = {},
): Arrival[] {
  const name = { talkgroup, sender: talker.session, burst: 1 };
  const said = Array.from({ length: frames }, (_, sequence) => sequence);
  return [
    { kind: 'started', ...name, heardAtMs: fromMs + lateMs },
    ...said
      .filter((sequence) => !lost.includes(sequence))
      .map((sequence): Arrival => {
        const sentAtMs = fromMs + sequence * FRAME_MS;
        const frame = { sequence, talker: talker.radio, number: sequence + 1, sentAtMs };
        return { kind: 'frame', ...name, ...frame, heardAtMs: sentAtMs + lateMs };
      }),
    { kind: 'ended', ...name, frames, code: 'released', heardAtMs: fromMs + frames * FRAME_MS + lateMs },
  ];
}

const missed = (talker: typeof ANN, count: number): Arrival => ({
  ...{ kind: 'missed', talkgroup: SINGLE, sender: talker.session, burst: 1, missed: count, heardAtMs: 0 },
});
const line = (listener: typeof ANN, ...arrivals: Arrival[]): Line => ({
  ...{ ...listener, arrivals, sent: new Map(), closed: null },
});

const quiet: History = {
  ...{ lines: [], withdrawals: [], requests: [], health: [], absences: [], stalls: [], exits: [] },
  ...{ faults: [], surprises: [], entries: [], before: new Map(), touched: new Set(), startsLate: true },
  sharedFloors: new Set(),
  radioOfSession: new Map([ANN, BOB, CARL, DORA].map(({ session, radio }) => [session, radio])),
  footprint: {
    baseline: { residentMiB: 100, descriptors: 50 },
    after: { residentMiB: 110, descriptors: 52 },
  },
};

/** Names of the invariants that are broken when these lines were heard. */
const broken = (
  lines: readonly Line[],
  {
    facts = {},
    faults = [],
    stalls = [],
  }: { facts?: Partial<History>; faults?: readonly PlayedFault[]; stalls?: readonly Span[] } = {},
) =>
  breachesOverNodes({ histories: [{ ...quiet, ...facts, lines }], broken: faults, stalls, talkgroups }).map(
    ({ invariant }) => invariant,
  );

t.test('a record in which one talks after the other breaks nothing', async (t) => {
  const heard = [...burst(ANN), ...burst(BOB, { fromMs: 200 })];
  t.same(broken([line(CARL, ...heard), line(DORA, ...heard)]), []);
});

t.test('I9: a radio that hears two talkers in `single` is found, and in `open` it is none', async (t) => {
  const both = (talkgroup: number) => {
    const [first, second] = [burst(ANN, { talkgroup }), burst(BOB, { talkgroup, fromMs: 100 })];
    return [line(CARL, ...first.slice(0, -1), ...second, ...first.slice(-1))];
  };
  t.same(broken(both(SINGLE)), ['I9']);
  t.same(broken(both(OPEN)), []);
  const [started, ...rest] = burst(ANN);
  const runs = (talker: typeof ANN) => ({ talkgroup: SINGLE, sender: talker.session, burst: 1, frames: 0 });
  const snapshot: Arrival = {
    ...{ kind: 'snapshot', talkgroup: SINGLE, isUnasked: false, heardAtMs: 0 },
    bursts: [runs(ANN), runs(BOB)],
  };
  t.same(broken([line(CARL, snapshot, ...burst(ANN).slice(-1), ...burst(BOB).slice(-1))]), ['I9']);
  t.same(broken([line(CARL, started as Arrival, started as Arrival, ...rest)]), ['I9'], 'announced twice');
  t.same(broken([line(CARL, ...burst(ANN), ...burst(ANN).slice(-1))]), ['I9'], 'ended twice');
});

t.test('I10: two talkers at different radios are found, but while the nodes are cut', async (t) => {
  const lines = [line(CARL, ...burst(ANN, { frames: 50 })), line(DORA, ...burst(BOB, { frames: 50 }))];
  t.same(broken(lines), ['I10']);
  const during = (name: string, untilMs: number) =>
    broken(lines, { faults: [{ name, fromMs: -100, untilMs }] });
  t.same(during('a node stands still', 1000), []);
  t.same(during('a node stands still', -5000), ['I10'], 'healed long before');
  for (const name of cutNothing) t.same(during(name, 1000), ['I10'], name);
  t.same(broken(lines, { stalls: [{ fromMs: -1600, untilMs: -100 }] }), [], 'the runner stood still');
  t.same(broken(lines, { stalls: [{ fromMs: -600, untilMs: -100 }] }), ['I10'], 'for a moment');
  const after = [line(CARL, ...burst(ANN, { frames: 50 })), line(DORA, ...burst(BOB, { fromMs: 1900 }))];
  t.same(broken(after), [], 'a first frame waits for its floor');
});

t.test('I11: speech that is old is found, but at a radio that does not read', async (t) => {
  const lines = [line(CARL, ...burst(ANN, { lateMs: 3500 }))];
  t.same(broken(lines), ['I11', 'I11', 'I11']);
  t.same(broken(lines, { facts: { touched: new Set([CARL.radio]) } }), []);
  const stood = { kind: 'stopped', fromMs: 0, untilMs: 2000 } as const;
  t.same(broken(lines, { facts: { absences: [stood] } }), [], 'a node stood still');
  t.same(broken(lines, { facts: { absences: [{ ...stood, kind: 'killed' }] } }), ['I11', 'I11', 'I11']);
  const stalls = Array.from({ length: 100 }, (_, at) => ({ fromMs: at * 100, untilMs: at * 100 + 50 }));
  t.same(broken(lines, { facts: { stalls } }), [], 'the runner stood still a hundred times');
});

t.test('I12: MISSED that is not exact is found, and I3 finds loss that is not told', async (t) => {
  const [started, first, ...rest] = burst(ANN, { frames: 5, lost: [1, 2] });
  const hears = (...told: Arrival[]) => [line(CARL, started as Arrival, first as Arrival, ...told, ...rest)];
  t.same(broken(hears(missed(ANN, 2))), []);
  t.same(broken(hears(missed(ANN, 1))), ['I12']);
  t.same(broken(hears(missed(ANN, 3))), ['I12']);
  t.same(broken(hears()), ['I12']);
  const told = (...arrivals: Arrival[]) =>
    breaches({ ...quiet, lines: hears(...arrivals) }).map(({ invariant }) => invariant);
  t.same(told(), ['I3']);
  t.same(told(missed(ANN, 1)), ['I3']);
  t.same(told(missed(ANN, 2)), []);
  const lag: Arrival = { kind: 'lag', talkgroup: SINGLE, missed: 2, heardAtMs: 0 };
  t.same(broken(hears(lag)), [], 'LAG counts what its receiver missed');
  const facts = { touched: new Set([CARL.radio]) };
  t.same(broken(hears(), { facts }), ['I12'], 'LAG comes when it reads again');
  const cut = hears().map((one) => ({ ...one, closed: { code: 1006, reason: '' } }));
  t.same(broken(cut, { facts }), [], 'its socket died before LAG came');
  t.same(broken(cut), ['I12'], 'it read all the time');
});

t.test(
  'I12: a burst of which a radio hears nothing was said before its TALK_STARTED, or was told',
  async (t) => {
    const silent = (lateMs: number, ...told: Arrival[]) => {
      const [started, end] = burst(ANN, { frames: 5, lateMs, lost: [0, 1, 2, 3, 4] });
      return broken([
        line(CARL, started as Arrival, ...told, end as Arrival),
        line(DORA, ...burst(ANN, { frames: 5 })),
      ]);
    };
    t.same(silent(5), ['I12']);
    t.same(silent(5, missed(ANN, 4)), []);
    t.same(silent(90, missed(ANN, 1)), ['I12'], 'two were said behind it');
    t.same(silent(90, missed(ANN, 2)), []);
    t.same(silent(170), [], 'announced behind its last frame');
    const [begun, ended] = burst(ANN, { frames: 5, lost: [0, 1, 2, 3, 4] });
    const behind = line(CARL, begun as Arrival, ended as Arrival, missed(ANN, 4));
    t.same(broken([behind, line(DORA, ...burst(ANN, { frames: 5 }))]), [], 'told behind its end');
    const [started, , second, ...rest] = burst(ANN, { frames: 5 });
    const others = line(DORA, ...burst(ANN, { frames: 5 }));
    const late = { ...started, heardAtMs: -5 } as Arrival;
    t.same(broken([line(CARL, late, second as Arrival, ...rest), others]), ['I12'], 'the first frame');
    t.same(broken([line(CARL, late, missed(ANN, 1), second as Arrival, ...rest), others]), []);
  },
);

t.test('I3: frames before a late TALK_STARTED are not missed with several nodes', async (t) => {
  const late = burst(ANN, { frames: 5, lost: [0, 1] });
  const told = (startsLate: boolean) =>
    breaches({ ...quiet, startsLate, lines: [line(CARL, ...late)] }).map(({ invariant }) => invariant);
  t.same(told(true), []);
  t.same(told(false), ['I3']);
  const announced = line(CARL, ...burst(ANN, { lost: [0, 1, 2] }));
  t.same(breaches({ ...quiet, lines: [announced] }), [], 'behind its last frame');
});

t.test(
  'I3: first frames may be dropped while another node is asked for the floor, and no others',
  async (t) => {
    const said = (lost: readonly number[], sharedFloors: ReadonlySet<number>) => {
      const [started, ...rest] = burst(ANN, { frames: 3, lost }).slice(0, -1);
      const end = { ...burst(ANN, { frames: 3 - lost.length }).at(-1) } as Arrival;
      const lines = [
        { ...line(ANN, started as Arrival, end), sent: new Map([[SINGLE, 3]]) },
        line(CARL, started as Arrival, ...rest, end),
      ];
      return breaches({ ...quiet, sharedFloors, lines }).map(({ invariant }) => invariant);
    };
    t.same(said([0, 1], new Set([SINGLE])), []);
    t.same(said([0, 1], new Set()), ['I3']);
    t.same(said([1], new Set([SINGLE])), ['I3'], 'in the middle');
    const [started, ...rest] = burst(ANN, { lost: [0, 1] });
    const counted = (frames: number) => {
      const own = line(ANN, started as Arrival, ...burst(ANN, { frames }).slice(-1));
      const lines = [{ ...own, sent: new Map([[SINGLE, 3]]) }, line(CARL, started as Arrival, ...rest)];
      return breaches({ ...quiet, sharedFloors: new Set([SINGLE]), lines }).map(({ invariant }) => invariant);
    };
    t.same(counted(3), [], 'the listener came late');
    t.same(counted(4), ['I3'], 'more than were said');
  },
);

t.test('I13: a burst without an end is found when all is quiet', async (t) => {
  const unended = line(CARL, ...burst(ANN).slice(0, -1));
  t.same(broken([unended]), ['I13']);
  t.same(broken([{ ...unended, closed: { code: 1006, reason: '' } }]), []);
});

t.test('a seed gives two faults of two kinds, and the same ones again', async (t) => {
  const plan = (seed: number) => JSON.stringify(scheduleOverNodes(randomFrom(seed), 10_000));
  t.equal(plan(42), plan(42));
  t.not(plan(42), plan(43));
  const drawn = Array.from({ length: 500 }, (_, seed) => scheduleOverNodes(randomFrom(seed), 10_000));
  t.ok(drawn.every((faults) => faults.length === 2));
  t.ok(drawn.flat().every(({ atMs, untilMs }) => atMs >= 0 && untilMs <= 10_000));
  t.equal(new Set(drawn.flat().map(({ name }) => name)).size, 13, 'every fault comes up');
});
