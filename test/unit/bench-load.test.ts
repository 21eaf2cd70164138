// What `make load` takes for an order, and what it makes of a measurement.
import t from 'tap';
import { createRecorder } from '../../bench/figures/histogram.js';
import { refusalOf } from '../../bench/load/refusals.js';
import { readSettings } from '../../bench/load/settings.js';
import { linesOf, type Played, verdictOf } from '../../bench/load/verdict.js';
import { ConnectionLost } from '../../bench/radios/raw-radio.js';
import { closes } from '../../src/protocol/closes.js';

const ORDER = { URL: 'wss://radio.example.com', TALKGROUP: 'F14E0000-0000-4000-8000-000000000001' };
const TOKENS = 'ann\ta.b.c\r\nbob b\td.e-_f.g\n\nann again\ta.b.c\nh.i.j\n';

t.test('an order has a preset for each number, and names what is wrong with it', async (t) => {
  t.match(readSettings(ORDER, TOKENS), {
    ...{ url: 'wss://radio.example.com/ws', talkgroup: ORDER.TALKGROUP.toLowerCase() },
    ...{ tokens: ['a.b.c', 'd.e-_f.g', 'h.i.j'], listeners: 200, talkers: 1, seconds: 30 },
    ...{ othersHear: false, servicePids: [] },
  });
  for (const [URL, url] of [
    ['wss://radio.example.com/', 'wss://radio.example.com/ws'],
    ['wss://radio.example.com/ws/', 'wss://radio.example.com/ws'],
    ['ws://127.0.0.1:3001/radio', 'ws://127.0.0.1:3001/radio/ws'],
  ] as const)
    t.equal(readSettings({ ...ORDER, URL }, TOKENS).url, url);
  const most = { LISTENERS: '2000', TALKERS: '32', SECONDS: '120', SERVICE_PIDS: '1, 22' };
  t.match(readSettings({ ...ORDER, ...most }, TOKENS), {
    listeners: 2000,
    seconds: 120,
    servicePids: [1, 22],
  });
  for (const [changes, why] of [
    [{ URL: '' }, /^URL must be the address of the relay/],
    [{ URL: 'https://radio.example.com' }, /^URL must/],
    [{ TALKGROUP: 'Fire 1' }, /^TALKGROUP must be the id of a talkgroup, got "Fire 1"/],
    [{ LISTENERS: '2001' }, /^LISTENERS must be an integer from 1 to 2000, got "2001"/],
    [{ LISTENERS: '0' }, /^LISTENERS must/],
    [{ TALKERS: '33' }, /^TALKERS must/],
    [{ SECONDS: '121' }, /^SECONDS must be an integer from 1 to 120/],
    [{ SECONDS: '1.5' }, /^SECONDS must/],
    [{ SERVICE_PIDS: 'all' }, /^SERVICE_PIDS must/],
  ] as const)
    t.throws(() => readSettings({ ...ORDER, ...changes }, TOKENS), { name: 'Refused', message: why });
  t.throws(() => readSettings(ORDER, '\n'), { message: 'TOKENS: the file has no token' });
  t.throws(() => readSettings(ORDER, 'a.b.c\nann a.b\n'), { message: 'TOKENS: line 2 ends with no token' });
});

const latencyOf = (...values: readonly number[]) => {
  const recorder = createRecorder();
  for (const ms of values) recorder.record(ms);
  return recorder.latency();
};

/** Of two listeners on a quiet machine. */
const WELL: Played = {
  ...{ sessions: 2, joinedMs: 10, bursts: 1, floorMsMax: 1, sent: 100 },
  ...{ byListener: [100, 100], twice: 0, skipped: 0, ended: {}, latency: latencyOf(5, 140), probes: 2 },
  conditions: {
    ...{ serverShare: 0, generatorShare: 0.2, generatorShares: [0.2], othersShare: 0.02 },
    late: latencyOf(0.1),
  },
};
const QUIET = WELL.conditions;
const LOUD = { ...QUIET, othersShare: 0.11 };

t.test(
  'the verdict is met, NOT met, or cannot be told where the generator or the machine is in it',
  async (t) => {
    const word = (changes: Partial<Played>) => verdictOf({ ...WELL, ...changes }).word;
    t.equal(word({}), 'met');
    t.equal(word({ latency: latencyOf(5, 151) }), 'NOT met');
    t.equal(word({ byListener: [100, 99] }), 'NOT met', 'one frame of one listener');
    t.equal(word({ byListener: [0, 0], latency: latencyOf() }), 'NOT met', 'nothing arrived');
    for (const conditions of [
      LOUD,
      { ...QUIET, late: latencyOf(29) }, // a fifth of 140 ms is 28
      { ...QUIET, generatorShare: 0.86 },
    ]) {
      t.equal(word({ conditions }), 'cannot be told');
      t.equal(word({ conditions, latency: latencyOf(5, 130) }), 'cannot be told', 'also below the target');
    }
    t.equal(word({ conditions: { ...QUIET, late: latencyOf(27) } }), 'met');

    const lost = { byListener: [100, 90] };
    t.equal(word({ ...lost, conditions: LOUD }), 'NOT met', 'a loud machine drops no frames');
    t.equal(word({ ...lost, skipped: 10, conditions: LOUD }), 'cannot be told', 'a slow listener on it does');
    t.equal(word({ ...lost, skipped: 9, conditions: LOUD }), 'NOT met');
    t.equal(word({ ...lost, skipped: 10 }), 'NOT met', 'on a quiet machine the way to it was slow');
  },
);

t.test('what is printed has the loss by listener, and what else went wrong', async (t) => {
  const played = {
    ...WELL,
    ...{ byListener: [100, 97], twice: 3, skipped: 2, ended: { '1013 slow consumer': 1 } },
  };
  const lines = linesOf(played, verdictOf(played));
  for (const line of [
    /^latency, p99 +140 ms; target at most 150 ms: met$/,
    /^frames lost +3; target at most 0: NOT met$/,
    /^loss: 3 of 200 frames; listeners that lost some: 1, the worst 3 of 100$/,
    /^skipped for slow listeners \(LAG\): 2 frames$/,
    /^heard twice: 3 frames$/,
    /^connections: 1 ended: 1013 slow consumer$/,
    /^verdict: NOT met$/,
  ])
    t.ok(
      lines.some((text) => line.test(text)),
      `${line} in ${lines.join('\n')}`,
    );
});

t.test('each close of a handshake is explained, and so is what a proxy answers', async (t) => {
  const closed = ({ code, reason }: { code: number; reason: string }) =>
    refusalOf(new ConnectionLost('closed', code, reason));
  for (const close of Object.values(closes))
    if (close.sentTo === 'handshake' || close.code === 1008)
      t.match(closed(close), /^closed: \w/, close.reason);
  t.match(closed(closes.replaced), 'SOCKETS_PER_USER');
  t.match(closed(closes.overloaded), 'SOCKETS_MAX');
  t.equal(closed({ code: 4000, reason: 'of a later version' }), 'closed');
  t.match(
    refusalOf(new ConnectionLost('m', null, 'HTTP/1.1 502 Bad Gateway')),
    'm: the proxy reaches no relay',
  );
  t.equal(refusalOf(new ConnectionLost('m', null, 'HTTP/1.1 418 Teapot')), 'm');
  t.match(refusalOf(new ConnectionLost('self-signed certificate')), 'NODE_EXTRA_CA_CERTS');
});
