// The judge of what chaos has recorded can fail: each invariant is fed a record in which something went wrong.
import t from 'tap';
import type { Absence, Arrival, History, Line } from '../chaos/history.js';
import { breachesOfRecordings, type StoredFrame, type StoredRecording } from '../chaos/recordings.js';

const ANN = { radio: 0, session: 4711 };
const BOB = { radio: 1, session: 4712 };
const NAME = { talkgroup: 9, sender: ANN.session, burst: 1 };
const ID = '019a0000-0000-7000-8000-000000000000';

/** Frames of ann's burst, and the same as bob hears them. */
const said = (...sequences: number[]): StoredFrame[] =>
  sequences.map((sequence) => ({ sequence, talker: ANN.radio, number: 100 + sequence }));
const heardBy = (listener: typeof ANN, frames: number): Line => ({
  ...listener,
  sent: new Map(),
  closed: null,
  arrivals: [
    { kind: 'started', ...NAME, heardAtMs: 1000 },
    ...said(...Array.from({ length: frames }, (_, sequence) => sequence)).map(
      (frame): Arrival => ({ kind: 'frame', ...NAME, ...frame, sentAtMs: 1000, heardAtMs: 1001 }),
    ),
    { kind: 'ended', ...NAME, frames, code: 'released', heardAtMs: 1200 },
  ],
});

const quiet: History = {
  ...{ lines: [], withdrawals: [], requests: [], health: [], absences: [], stalls: [], exits: [] },
  ...{ faults: [], surprises: [], entries: [], before: new Map(), touched: new Set(), startsLate: false },
  sharedFloors: new Set(),
  radioOfSession: new Map([ANN, BOB].map(({ session, radio }) => [session, radio])),
  footprint: {
    baseline: { residentMiB: 100, descriptors: 50 },
    after: { residentMiB: 110, descriptors: 52 },
  },
};
const whole: StoredRecording = { id: ID, ...NAME, frames: 3, parts: [{ from: 1, frames: said(0, 1, 2) }] };
const annsOwn: Line = { ...ANN, arrivals: [], sent: new Map(), closed: null };

/** Names of the broken invariants. Bob hears three frames of ann, on her node. */
const broken = (
  recordings: readonly StoredRecording[],
  { lines = [annsOwn, heardBy(BOB, 3)], absences = [] as readonly Absence[], others = [] as History[] } = {},
) =>
  breachesOfRecordings({ histories: [{ ...quiet, lines, absences }, ...others], recordings }).map(
    ({ invariant }) => invariant,
  );

t.test('a burst that is stored as it was heard breaks nothing, in one part or in two', async (t) => {
  t.same(broken([whole]), []);
  const parts = [
    { from: 1, frames: said(0, 1) },
    { from: 3, frames: said(2) },
  ];
  t.same(broken([{ ...whole, parts }]), []);
});

t.test('I14: a stored frame that is not what was said', async (t) => {
  const [zero, one, two] = said(0, 1, 2) as [StoredFrame, StoredFrame, StoredFrame];
  const storing = (...frames: StoredFrame[]) => broken([{ ...whole, parts: [{ from: 1, frames }] }]);
  t.same(storing(zero, { ...one, number: 105 }, { ...two, number: 106 }), ['I14', 'I14'], 'other frames');
  t.same(storing(zero, { ...one, talker: null }, two), ['I14'], 'other bytes');
  t.same(storing(zero, { ...one, talker: BOB.radio }, two), ['I14'], 'another talker');
  t.same(storing(zero, one, two, { ...two, sequence: 3, number: 103 }), ['I14'], 'more than its end says');
  const overlapping = [
    { from: 1, frames: said(0, 1) },
    { from: 2, frames: said(1, 2) },
  ];
  t.match(broken([{ ...whole, parts: overlapping }]), ['I14']);
});

t.test('I15: a burst that was heard, and is not stored whole', async (t) => {
  t.same(broken([]), ['I15'], 'none');
  t.same(broken([{ ...whole, parts: [{ from: 1, frames: said(0, 1) }] }]), ['I15'], 'a frame less');
  t.same(broken([{ ...whole, frames: 4 }]), ['I15'], 'another number of frames');
  t.same(broken([{ ...whole, frames: null }]), ['I15'], 'no end');
});

t.test(
  'I15: what a node had not stored when it was killed is excepted, and what it had been before is not',
  async (t) => {
    const killed = (fromMs: number): Absence => ({ kind: 'killed', fromMs, untilMs: fromMs + 100 });
    t.same(broken([], { absences: [killed(1100)] }), []);
    t.same(broken([], { absences: [killed(500)] }), ['I15']);
    t.same(broken([], { absences: [{ ...killed(1100), kind: 'stopped' }] }), ['I15']);
  },
);

t.test('I15: a radio on another node is no perfect listener', async (t) => {
  const others = [{ ...quiet, lines: [heardBy(BOB, 3)] }];
  t.same(broken([], { lines: [annsOwn], others }), []);
});
