// The bounds of what is kept before WELCOME, on a clock of the test's own.
import fc from 'fast-check';
import t from 'tap';
import type { UserId } from '../../src/ids.js';
import { newCounts } from '../../src/relay/figures/counts.js';
import { refOf } from '../../src/relay/requests/read.js';
import { type Carrier, type Early, EarlyMessages } from '../../src/relay/websocket/early.js';

const KIB = 1024;

function setUp() {
  const clock = { nowMs: 10_000 };
  const counts = newCounts();
  const store = new EarlyMessages({
    counts,
    limits: { framesPerSecond: 110, controlPerSecond: 20, pingsPerSecond: 5 },
    refOf,
    nowMs: () => clock.nowMs,
  });
  return { clock, counts, store };
}

const bytesOf = (text: string) => new Uint8Array(Buffer.from(text)).buffer;

/** A session that notes what it is given. It is over with the message that says so. */
function carrier() {
  const done: { text: string; isBinary: boolean; arrivedAtMs: number | undefined }[] = [];
  const refs: unknown[] = [];
  let isLive = true;
  const receive = (isBinary: boolean) => (message: ArrayBuffer, arrivedAtMs?: number) => {
    const text = Buffer.from(message).toString();
    if (text.includes('throws')) throw new Error('on purpose');
    if (text.includes('ends')) isLive = false;
    done.push({ text, isBinary, arrivedAtMs });
    return true;
  };
  const session: Carrier = {
    get isLive() {
      return isLive;
    },
    receiveAudio: receive(true),
    receiveText: receive(false),
    refuseText: (_code, { ref }) => void refs.push(ref),
  };
  return { session, done, refs };
}

interface Sent {
  readonly socket: number;
  readonly size: number;
  readonly isBinary: boolean;
  readonly hasRef: boolean;
}

const sent: fc.Arbitrary<Sent> = fc.record({
  socket: fc.nat({ max: 11 }),
  size: fc.oneof(fc.integer({ min: 40, max: 200 }), fc.integer({ min: 40, max: 9 * KIB })),
  isBinary: fc.boolean(),
  hasRef: fc.boolean(),
});
const ending = fc.record({ socket: fc.nat({ max: 11 }), isAdmitted: fc.boolean() });
type Step = Sent | { readonly socket: number; readonly isAdmitted: boolean };

t.test('each message is carried out, told or counted, within the bounds, and nothing is left', async () => {
  const steps: fc.Arbitrary<Step[]> = fc.array(
    fc.oneof({ weight: 12, arbitrary: sent }, { weight: 1, arbitrary: ending }),
    { maxLength: 200 },
  );
  fc.assert(
    fc.property(steps, (steps) => {
      const { counts, store } = setUp();
      const sockets = new Map<number, { early: Early; sent: string[]; refs: number[]; bytes: number }>();
      let messages = 0;
      let carried = 0;
      let told = 0;
      // Two users: the sockets with even numbers, and the others.
      const userOf = (socket: number) => `${socket % 2}` as UserId;
      const end = (socket: number, isAdmitted: boolean) => {
        const held = sockets.get(socket);
        if (held === undefined) return;
        sockets.delete(socket);
        const { session, done, refs } = carrier();
        if (isAdmitted) held.early.carryOut(session);
        else held.early.drop();
        carried += done.length;
        told += refs.length;
        const texts = done.map(({ text }) => text);
        assertSame(texts, held.sent.slice(0, texts.length), 'the beginning of what was sent');
        if (texts.length > 8 || refs.length > 8) throw new Error(`${texts.length} kept, ${refs.length} told`);
        if (texts.join('').length > 16 * KIB) throw new Error('more than 16 KiB');
        assertSame(
          refs,
          held.refs.filter((ref) => ref >= texts.length).slice(0, refs.length),
          'the first refs',
        );
      };
      for (const step of steps) {
        if ('isAdmitted' in step) {
          end(step.socket, step.isAdmitted);
          continue;
        }
        const held = sockets.get(step.socket) ?? {
          early: store.of(userOf(step.socket)),
          sent: [],
          refs: [],
          bytes: 0,
        };
        sockets.set(step.socket, held);
        const at = held.sent.length;
        const text = JSON.stringify({ type: 'PING', t: at, ...(step.hasRef && { ref: at }) }).padEnd(
          step.size,
        );
        const message = bytesOf(text);
        messages++;
        if (!held.early.receive(message, step.isBinary)) throw new Error('that is no flood');
        new Uint8Array(message).fill(0); // as the engine does, sooner or later
        held.sent.push(text);
        if (step.hasRef && !step.isBinary) held.refs.push(at);
        if (store.bytes > 2 * 64 * KIB) throw new Error(`${store.bytes} bytes of two users`);
      }
      for (const [socket] of [...sockets]) end(socket, socket % 3 > 0);
      const dropped = counts.dropped.before_welcome + counts.textsDropped.before_welcome;
      assertSame([carried + told + dropped, told, store.bytes], [messages, counts.textsIn, 0], 'the sums');
    }),
  );
});

function assertSame(found: unknown, wanted: unknown, what: string): void {
  const [one, other] = [JSON.stringify(found), JSON.stringify(wanted)];
  if (one !== other) throw new Error(`${what}: ${one.slice(0, 500)} instead of ${other.slice(0, 500)}`);
}

t.test(
  '4 MiB of all users are kept, and a 65th user finds no room until another socket has its WELCOME',
  async (t) => {
    const { store } = setUp();
    const half = new ArrayBuffer(8 * KIB);
    const fill = (user: string) =>
      [1, 2, 3, 4].map(() => {
        const early = store.of(user as UserId);
        early.receive(half, true);
        early.receive(half, true);
        return early;
      });
    const first = fill('1');
    for (let user = 2; user <= 64; user++) fill(`${user}`);
    t.equal(store.bytes, 4 * KIB * KIB);
    const kept = (early: Early | undefined) => {
      const { session, done } = carrier();
      early?.carryOut(session);
      return done.length;
    };
    const late = store.of('65' as UserId);
    late.receive(new ArrayBuffer(1), false);
    t.equal(store.bytes, 4 * KIB * KIB);
    t.equal(kept(late), 0);
    t.equal(kept(first[0]), 2);
    const later = store.of('65' as UserId);
    later.receive(half, false);
    t.equal(kept(later), 1);
  },
);

t.test('a text keeps the time of its arrival, and audio grows too old after 500 ms', async (t) => {
  const { clock, counts, store } = setUp();
  const early = store.of('ann' as UserId);
  early.receive(bytesOf('text'), false);
  early.receive(bytesOf('old'), true);
  clock.nowMs += 1;
  early.receive(bytesOf('fresh'), true);
  clock.nowMs += 500;
  const { session, done } = carrier();
  early.carryOut(session);
  t.same(done, [
    { text: 'text', isBinary: false, arrivedAtMs: 10_000 },
    { text: 'fresh', isBinary: true, arrivedAtMs: 10_001 },
  ]);
  t.equal(counts.dropped.too_old, 1);
  t.equal(counts.dropped.before_welcome, 0);
});

t.test('behind a message that ends the session, or throws, the rest is dropped and counted', async (t) => {
  for (const last of ['ends', 'throws']) {
    const { counts, store } = setUp();
    const early = store.of('ann' as UserId);
    for (const text of ['one', last]) early.receive(bytesOf(text), false);
    for (let frame = 0; frame < 6; frame++) early.receive(bytesOf('frame'), true);
    for (let ref = 0; ref < 5; ref++) early.receive(bytesOf(`{"ref":${ref}}`), false);
    const { session, done, refs } = carrier();
    if (last === 'throws') t.throws(() => early.carryOut(session), { message: 'on purpose' });
    else early.carryOut(session);
    t.same(
      done.map(({ text }) => text),
      last === 'throws' ? ['one'] : ['one', 'ends'],
    );
    t.same(refs, []);
    t.equal(counts.dropped.before_welcome, 6);
    t.equal(counts.textsDropped.before_welcome, 5);
    t.equal(store.bytes, 0);
    early.drop();
    t.equal(counts.dropped.before_welcome, 6, 'once');
  }
});

t.test('ten times a rate for two seconds is a flood, of each kind by itself', async (t) => {
  const { clock, store } = setUp();
  const early = store.of('ann' as UserId);
  const kinds = {
    texts: [400, () => early.receive(bytesOf('{}'), false)],
    frames: [2200, () => early.receive(bytesOf('x'), true)],
    pings: [100, () => early.pinged()],
  } as const;
  for (let round = 0; round < 2; round++) {
    for (const [what, [max, send]] of Object.entries(kinds)) {
      let within = 0;
      for (let i = 0; i < max; i++) if (send()) within++;
      t.equal(within, max, what);
    }
    clock.nowMs += 2001;
  }
  for (const [what, [max, send]] of Object.entries(kinds)) {
    for (let i = 0; i < max; i++) send();
    t.notOk(send(), what);
  }
});
