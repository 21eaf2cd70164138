// The invariants of the chaos runner can be broken: each is fed a history in which something went wrong.
import t from 'tap';
import { AppError, refusalCodes } from '../../src/errors.js';
import { schedule } from '../chaos/faults.js';
import type { Arrival, Entry, HeardFrame, History, Line, RequestRecord } from '../chaos/history.js';
import { breaches } from '../chaos/invariants.js';
import { outcomeOf } from '../chaos/ledger.js';
import { randomFrom } from '../helpers/random.js';

const FIRE = 9;
const ANN = { radio: 0, session: 4711 };
const BOB = { radio: 1, session: 4712 };

const burst = { talkgroup: FIRE, sender: ANN.session, burst: 1 };
const frame = (number: number, over: Partial<HeardFrame> = {}): HeardFrame => ({
  ...burst,
  ...{
    kind: 'frame',
    sequence: number - 1,
    talker: ANN.radio,
    number,
    sentAtMs: number * 40,
    heardAtMs: number * 40 + 5,
  },
  ...over,
});
const heardAtMs = 0;
const started: Arrival = { kind: 'started', heardAtMs, ...burst };
const ended = (frames: number): Arrival => ({ kind: 'ended', heardAtMs, ...burst, frames, code: 'released' });
const lag = (missed: number): Arrival => ({ kind: 'lag', heardAtMs, talkgroup: FIRE, missed });
const snapshot = (frames: number | null, isUnasked = false): Arrival => ({
  ...{ kind: 'snapshot', heardAtMs, talkgroup: FIRE, isUnasked },
  bursts: frames === null ? [] : [{ ...burst, frames }],
});
const line = (over: Partial<Line>): Line => ({
  ...{ ...BOB, arrivals: [], sent: new Map(), closed: null },
  ...over,
});
const answered = (what: string, over: Partial<RequestRecord> = {}): RequestRecord => ({
  ...{ what, startedAtMs: 0, connectedAtMs: 1, endedAtMs: 10, status: 200, error: null },
  ...over,
});

const quiet: History = {
  ...{ lines: [], withdrawals: [], requests: [], health: [], absences: [], stalls: [], exits: [] },
  ...{ faults: [], surprises: [], entries: [], startsLate: false, before: new Map(), touched: new Set() },
  sharedFloors: new Set(),
  radioOfSession: new Map([ANN, BOB].map(({ session, radio }) => [session, radio])),
  footprint: {
    baseline: { residentMiB: 100, descriptors: 50 },
    after: { residentMiB: 110, descriptors: 52 },
  },
};
/** Names of the invariants broken when these facts are added to a quiet episode. */
const broken = (facts: Partial<History>) =>
  breaches({ ...quiet, ...facts }).map(({ invariant }) => invariant);
const hears = (...arrivals: Arrival[]) => broken({ lines: [line({ arrivals })] });

t.test('a history in which all went well breaks nothing', async (t) => {
  t.same(
    breaches({
      ...quiet,
      lines: [
        line({ arrivals: [snapshot(null), started, frame(1), frame(2), ended(2)] }),
        line({ ...ANN, arrivals: [snapshot(null), started, ended(2)], sent: new Map([[FIRE, 2]]) }),
      ],
      requests: [answered('GET /talkgroups')],
      health: [answered('GET /healthz')],
      entries: [
        { key: 'fix', value: '1 2 3', outcome: 'stored' },
        { key: 'fix', value: '1 2 3', outcome: 'found' },
      ],
      before: new Map([['fix', 'none']]),
    }),
    [],
  );
});

t.test(
  'I1: an end that was not asked for, an unclean one, a logged error, a 500 and a 1011 are each a bug',
  async (t) => {
    const exit = { atMs: 1, afterMs: 0 };
    t.same(broken({ exits: [{ ...exit, how: 1, asked: 'nothing' }] }), ['I1']);
    t.same(broken({ exits: [{ ...exit, how: 'SIGSEGV', asked: 'nothing' }] }), ['I1']);
    t.same(broken({ exits: [{ ...exit, how: 1, asked: 'term' }] }), ['I1']);
    t.same(broken({ exits: [{ ...exit, how: 0, asked: 'term', afterMs: 16_000 }] }), ['I1']);
    t.same(broken({ exits: [{ ...exit, how: 0, asked: 'term' }] }), []);
    t.same(broken({ exits: [{ ...exit, how: 'SIGKILL', asked: 'kill' }] }), []);
    t.same(broken({ faults: ['{"level":50,"msg":"a bug"}'] }), ['I1']);
    t.same(broken({ requests: [answered('GET /devices', { status: 500 })] }), ['I1']);
    const failed = line({ closed: { code: 1011, reason: 'internal error' } });
    t.same(broken({ lines: [failed], touched: new Set([BOB.radio]) }), ['I1']);
  },
);

t.test('I2: a frame sent after the 200 that took its talker, or its listener, out is found', async (t) => {
  const lines = [line({ arrivals: [started, frame(1), ended(1)] })];
  const out = { talkgroup: FIRE, fromMs: 39, untilMs: 1000 };
  t.same(broken({ lines, withdrawals: [{ ...out, radio: ANN.radio }] }), ['I2']);
  t.same(broken({ lines, withdrawals: [{ ...out, radio: BOB.radio }] }), ['I2']);
  t.same(broken({ lines, withdrawals: [{ ...out, radio: BOB.radio, talkgroup: null }] }), ['I2']);
  t.same(broken({ lines, withdrawals: [{ ...out, radio: 2 }] }), [], 'a third one');
  t.same(broken({ lines, withdrawals: [{ ...out, radio: ANN.radio, talkgroup: FIRE + 1 }] }), []);
  t.same(
    broken({ lines, withdrawals: [{ ...out, radio: ANN.radio, fromMs: 41 }] }),
    [],
    'sent before the 200',
  );
  t.same(
    broken({ lines, withdrawals: [{ ...out, radio: ANN.radio, fromMs: 0, untilMs: 39 }] }),
    [],
    'back again',
  );
  t.same(
    broken({ lines, withdrawals: [{ ...out, radio: ANN.radio, fromMs: 0, untilMs: 44 }] }),
    [],
    'on its way until then',
  );
  t.same(hears(started, frame(1, { talker: 2 }), ended(1)), ['I2'], 'one that says to be of another');
});

t.test('I3: what a receiver misses is told to it, or the invariant is broken', async (t) => {
  t.same(hears(started, frame(1), ended(2)), ['I3']);
  t.same(hears(snapshot(5), frame(6), ended(7)), ['I3'], 'counted from the snapshot');
  t.same(hears(snapshot(5), frame(6), frame(7), ended(7)), []);
  t.same(hears(started, frame(1), ended(3), lag(2)), [], 'told by LAG');
  t.same(hears(started, frame(1), ended(3), lag(1)), ['I3'], 'told of less than it was');
  t.same(hears(started, frame(1), lag(1), snapshot(2, true), frame(3), ended(3)), []);
  t.same(hears(started, frame(1), lag(1), snapshot(3, true), frame(4), ended(4)), ['I3']);
  t.same(
    hears(started, frame(1), snapshot(4, true), frame(5), ended(5)),
    [],
    'left out while a right was in doubt',
  );
  t.same(hears(started, frame(1), frame(2), ended(1)), ['I3'], 'more than were counted');
  const closed = line({ arrivals: [started, ended(2)], closed: { code: 1013, reason: 'slow consumer' } });
  t.same(broken({ lines: [closed], touched: new Set([BOB.radio]) }), [], 'told by the close');
});

t.test('I3: what a talker says is counted or refused', async (t) => {
  const facts = (...arrivals: Arrival[]) => ({
    lines: [line({ ...ANN, arrivals, sent: new Map([[FIRE, 3]]) })],
  });
  const says = (...arrivals: Arrival[]) => broken(facts(...arrivals));
  t.same(says(started, ended(3)), []);
  t.same(says(started, ended(0)), ['I3']);
  const sharedFloors = new Set([FIRE]);
  t.same(broken({ ...facts(started, ended(0)), sharedFloors }), [], 'displaced before the home answered');
  t.same(broken({ ...facts(started, ended(2)), sharedFloors }), ['I3']);
  const late = { lines: [line({ ...ANN, arrivals: [started, ended(0)], sent: new Map([[FIRE, 40]]) })] };
  const stood = (ms: number) => ({ kind: 'stopped', fromMs: 0, untilMs: ms }) as const;
  t.same(broken({ ...late, sharedFloors, absences: [stood(400)] }), ['I3'], '1,500 ms are 38 frames');
  t.same(broken({ ...late, sharedFloors, absences: [stood(500)] }), [], 'said while the node stood still');
  t.same(says(started, ended(2)), ['I3']);
  t.same(says(), ['I3']);
  t.same(says(started, ended(2), { kind: 'refused', heardAtMs, talkgroup: FIRE, code: 'busy' }), []);
  t.same(says(started, ended(2), { kind: 'refused', heardAtMs, talkgroup: FIRE + 1, code: 'busy' }), ['I3']);
});

t.test('I4: a frame doubled, late, altered or outside of its burst is found', async (t) => {
  t.same(hears(started, frame(1), frame(1)), ['I4', 'I4'], 'out of order and double');
  t.same(hears(started, frame(2), frame(1), ended(2)), ['I4']);
  t.same(hears(frame(1)), ['I4'], 'before it began');
  t.same(hears(started, ended(0), frame(1)), ['I4'], 'behind its end');
  t.ok(hears(started, frame(1, { talker: null }), ended(1)).includes('I4'), 'bytes nobody said');
  const [first, second] = [
    line({ arrivals: [started, frame(1)] }),
    line({ arrivals: [snapshot(0), frame(1)] }),
  ];
  t.same(broken({ lines: [first, second] }), ['I4'], 'twice over two sockets');
});

t.test('I5: a write that was acknowledged and is gone is found, one refused and there as well', async (t) => {
  const finds = (found: string, ...outcomes: Entry['outcome'][]) =>
    broken({
      before: new Map([['fix', 'none']]),
      entries: [
        ...outcomes.map((outcome, at) => ({ key: 'fix', value: `value ${at}`, outcome })),
        { key: 'fix', value: found, outcome: 'found' },
      ],
    });
  t.same(finds('none', 'stored'), ['I5']);
  t.same(finds('value 0', 'stored', 'stored'), ['I5'], 'an older one than the last');
  t.same(finds('value 1', 'stored', 'unknown'), []);
  t.same(finds('value 0', 'stored', 'unknown'), []);
  t.same(finds('value 0', 'unknown', 'stored'), [], 'an unknown one may happen late');
  t.same(finds('value 0', 'refused'), ['I5']);
  t.same(finds('none', 'refused'), []);
  t.same(finds('value 1', 'found', 'stored'), ['I5'], 'in the midst of it');
  t.same(broken({ surprises: ['a right password: 401'] }), ['I5']);
});

t.test('I5: each text of a 503 says whether the write is stored', async (t) => {
  const outcomes = refusalCodes.flatMap((code) => {
    const { status, message } = new AppError(code);
    const answer = { status, wasConnected: true, body: { error: message } };
    return status === 503 ? [[code, outcomeOf(answer)]] : [];
  });
  t.same(Object.fromEntries(outcomes), {
    ...{ database_unavailable: 'refused', login_queue_full: 'refused', map_unavailable: 'refused' },
    not_ready: 'refused',
    ...{ outcome_unknown: 'unknown', relay_unconfirmed: 'stored', sealing_unavailable: 'refused' },
  });
});

t.test('I6: a request that waits too long or gets no answer is found', async (t) => {
  const slow = answered('POST /talkgroups', { endedAtMs: 6000 });
  const lost = answered('POST /talkgroups', { status: null, error: 'socket hang up' });
  const refused = answered('GET /devices', {
    connectedAtMs: null,
    startedAtMs: 9,
    status: null,
    error: 'refused',
  });
  t.same(broken({ requests: [slow] }), ['I6']);
  t.same(
    broken({ requests: [slow], stalls: [{ fromMs: 100, untilMs: 2000 }] }),
    [],
    'the runner stood still',
  );
  t.same(broken({ requests: [slow], absences: [{ kind: 'stopped', fromMs: 0, untilMs: 3000 }] }), []);
  t.same(broken({ requests: [slow], absences: [{ kind: 'killed', fromMs: 0, untilMs: 3000 }] }), ['I6']);
  t.same(broken({ requests: [lost] }), ['I6']);
  t.same(broken({ requests: [refused] }), ['I6'], 'nobody had ended it');
  t.same(broken({ requests: [lost], absences: [{ kind: 'killed', fromMs: 5, untilMs: 3000 }] }), []);
  const restarted = { kind: 'restarted', fromMs: 5, untilMs: 3000 } as const;
  t.same(broken({ requests: [lost], absences: [restarted] }), ['I6'], 'it was accepted while it drained');
  t.same(broken({ requests: [lost, refused], absences: [restarted] }), [], 'its port closed at that moment');
});

t.test('I7: memory or descriptors that do not come back are found', async (t) => {
  const { baseline } = quiet.footprint;
  const left = (residentMiB: number, descriptors: number) =>
    broken({ footprint: { baseline, after: { residentMiB, descriptors } } });
  t.same(left(300, 50), ['I7']);
  t.same(left(100, 90), ['I7']);
});

t.test('I8: a health that comes late or not at all is found', async (t) => {
  const taking = (...times: number[]) =>
    broken({ health: times.map((endedAtMs) => answered('GET /healthz', { endedAtMs })) });
  t.same(taking(5, 5, 900), []);
  t.same(taking(5, 200, 200), ['I8']);
  t.same(taking(5, 5, 1100), ['I8']);
  t.same(broken({ health: [answered('GET /healthz', { status: 503 })] }), ['I8']);
});

t.test('a radio that loses its connection without having to do with a fault is found', async (t) => {
  const lines = [line({ closed: { code: 1006, reason: '' } })];
  t.same(broken({ lines }), ['bystanders']);
  t.same(broken({ lines, touched: new Set([BOB.radio]) }), []);
  t.same(broken({ lines, absences: [{ kind: 'stopped', fromMs: 0, untilMs: 1 }] }), ['bystanders']);
  t.same(broken({ lines, absences: [{ kind: 'restarted', fromMs: 0, untilMs: 1 }] }), []);
});

t.test('a seed gives the same faults at the same times again, and another seed others', async (t) => {
  const plan = (seed: number) => JSON.stringify(schedule(randomFrom(seed), 30_000));
  t.equal(plan(42), plan(42));
  t.not(plan(42), plan(43));
  const drawn = Array.from({ length: 2000 }, (_, seed) => schedule(randomFrom(seed), 30_000));
  t.ok(drawn.every((faults) => faults.length >= 1 && faults.length <= 3));
  t.ok(
    drawn.flat().every(({ atMs, untilMs }) => atMs >= 0 && untilMs <= 30_000),
    'mended in time',
  );
  t.equal(new Set(drawn.flat().map(({ name }) => name)).size, 28, 'every fault of the catalogue comes up');
});
