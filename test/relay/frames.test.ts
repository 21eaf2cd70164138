// Frames: what is relayed unchanged, what the server writes, what is dropped, and who hears of it.
import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import t from 'tap';
import { EMERGENCY, ENCRYPTED, END, encodeFrame, HEADER_BYTES, START } from '../../src/protocol/frame.js';
import { type Radio, service } from '../helpers/service/service.js';

const FUZZ_RUNS = Number(process.env.PROVE_RUNS ?? 3000) / 100;

t.test('frames', { timeout: 120_000 }, async (t) => {
  const s = await service(t);

  /** A talkgroup of a talker and a listener with names of their own. */
  async function pair(name: string, at = s) {
    const [ann, bob] = [await at.person(`${name}-ann`), await at.person(`${name}-bob`)];
    const talkgroup = await at.talkgroup(name, ann, bob);
    const [a, b] = [await ann.radio(), await bob.radio()];
    return { ann, bob, talkgroup, number: talkgroup.number, a, b };
  }

  /** Nothing of what the talker sent so far reached the listener. */
  async function heardNothing(talker: Radio, listener: Radio): Promise<boolean> {
    await talker.settled();
    await listener.settled();
    return listener.frames.length === 0 && !listener.messages.some(({ type }) => type === 'TALK_STARTED');
  }

  t.test('the server writes sender, burst, START and EMERGENCY, and not a bit more', async (t) => {
    const { number, a, b } = await pair('stamp');
    const payload = Buffer.from([0x88, 0x02, 0x03, 0xe8, 0, 255]); // looks like a close frame of the WebSocket
    const forged = { sequence: 513, talkgroup: number, payload, epoch: 7, sender: 1, burst: 99 };
    a.sends(encodeFrame({ ...forged, flags: EMERGENCY | ENCRYPTED }));
    a.sends(encodeFrame({ ...forged, flags: EMERGENCY | START | END, sequence: 514 }));
    const [first, second] = await b.hearsFrames(2);
    const stamped = { epoch: 7, talkgroup: number, sender: a.session };
    t.match(first, { ...stamped, burst: 1, sequence: 513, flags: START | ENCRYPTED });
    t.match(second, { ...stamped, burst: 2, sequence: 514, flags: START | END });
    t.same(Buffer.from(first?.payload ?? []), payload);
  });

  t.test('START is set on the first relayed frame of a burst and on no other', async (t) => {
    const { number, a, b } = await pair('start');
    for (const text of ['one', 'two', 'three']) a.speaks(number, text);
    t.same(
      (await b.hearsFrames(3)).map(({ flags }) => flags),
      [START, 0, 0],
    );
  });

  t.test('frames behind an END begin no burst, and the next START does', async (t) => {
    const { number, a, b } = await pair('ghost');
    a.speaks(number, 'last', { start: true, end: true });
    for (const text of ['ghost 1', 'ghost 2', 'ghost 3']) a.speaks(number, text);
    a.speaks(number, 'next', { start: true });
    t.same(
      (await b.hearsFrames(2)).map(({ text }) => text),
      ['last', 'next'],
    );
    t.equal(b.messages.filter(({ type }) => type === 'TALK_STARTED').length, 2);
    a.speaks(number, 'end', { end: true });
    await b.hearsText('end');
    await delay(350);
    a.speaks(number, 'later');
    t.equal((await b.hearsText('later')).flags & START, START, 'later a frame without START begins one');
  });

  t.test('the longest payload is relayed whole', async (t) => {
    const { number, a, b } = await pair('long');
    a.speaks(number, 'x'.repeat(1024));
    t.equal((await b.hearsFrame()).text.length, 1024);
  });

  const good = (talkgroup: number) => encodeFrame({ sequence: 0, talkgroup, payload: Buffer.from('x') });
  const bad: [name: string, bytes: (talkgroup: number) => Uint8Array][] = [
    ['of no byte', () => new Uint8Array(0)],
    ['of 1 byte', () => new Uint8Array([0x40])],
    ['of 15 bytes', (number) => good(number).subarray(0, 15)],
    ['of 16 bytes without END', (number) => good(number).subarray(0, 16)],
    ['of version 0', (number) => good(number).fill(0x00, 0, 1)],
    ['of version 2', (number) => good(number).fill(0x80, 0, 1)],
    ['of kind 1', (number) => good(number).fill(0x50, 0, 1)],
    ['of kind 3', (number) => good(number).fill(0x70, 0, 1)],
    [
      'with 1,025 bytes of payload',
      (talkgroup) => encodeFrame({ sequence: 0, talkgroup, payload: new Uint8Array(1025) }),
    ],
  ];
  for (const [name, bytes] of bad) {
    t.test(`a frame ${name} is dropped, and its talker hears of the stream once`, async (t) => {
      const { number, a, b } = await pair(name);
      for (let sent = 0; sent < 5; sent++) a.sends(bytes(number));
      t.match(await a.hears('ERROR'), { code: 'bad_frame' });
      t.ok(await heardNothing(a, b));
      t.same(a.messages, [], 'once');
      a.speaks(number, 'good');
      t.equal((await b.hearsFrame()).text, 'good', 'the session goes on');
    });
  }

  t.test('a stranger is told that it is none, once for each stream', async (t) => {
    const { number, b } = await pair('stranger');
    const cid = await (await s.person('stranger-cid')).radio();
    cid.speaks(number, 'one', { start: true });
    cid.speaks(number, 'two');
    t.match(await cid.hears('ERROR'), { code: 'not_member' });
    t.ok(await heardNothing(cid, b));
    t.same(cid.messages, []);
    cid.speaks(number, 'again', { start: true });
    t.match(await cid.hears('ERROR'), { code: 'not_member' }, 'a START is another stream');
    cid.speaks(4_000_000_000, 'nowhere', { start: true });
    t.match(await cid.hears('ERROR'), { code: 'not_member', number: 4_000_000_000 });
  });

  t.test('a stranger cannot tell a talkgroup of others from a number that names none', async (t) => {
    const empty = await s.talkgroup('empty');
    const cid = await (await s.person('empty-cid')).radio();
    const answers = [];
    for (const number of [empty.number, 4_000_000_001]) {
      cid.speaks(number, 'hello', { start: true });
      const { number: named, ...answer } = await cid.hears('ERROR');
      t.equal(named, number);
      answers.push(answer);
    }
    t.same(answers[0], answers[1]);
  });

  t.test('a flood is cut at its rate, told once, and harms no other radio', async (t) => {
    const { number, a, b } = await pair('flood');
    const startedAt = performance.now();
    for (let frame = 0; frame < 1000; frame++) a.speaks(number, `${frame}`, { start: frame === 0 });
    await a.settled();
    await b.settled();
    const allowed = 220 + 110 * ((performance.now() - startedAt) / 1000);
    t.ok(b.frames.length >= 220, `${b.frames.length} relayed`);
    t.ok(b.frames.length <= allowed, `of ${Math.floor(allowed)} allowed`);
    t.same(
      a.messages.filter(({ type }) => type === 'ERROR').map(({ code }) => code),
      ['rate_limited'],
    );
    b.speaks(number, 'of another', { start: true });
    await a.hearsText('of another');
  });

  t.test('200 frames in one write arrive in order', async (t) => {
    const { number, a, b } = await pair('write');
    // The raw socket under the WebSocket holds them back and lets them go at once.
    const raw = (a.socket as unknown as { _socket: { cork(): void; uncork(): void } })._socket;
    raw.cork();
    for (let frame = 0; frame < 200; frame++) a.speaks(number, `${frame}`, { start: frame === 0 });
    raw.uncork();
    const heard = await b.hearsFrames(200);
    t.same(
      heard.map(({ text }) => Number(text)),
      Array.from({ length: 200 }, (_, index) => index),
    );
  });

  t.test('whatever the bytes, exactly the true frames are relayed, under the true name', async (t) => {
    // The sockets of one user, each for one batch, send more than one user may.
    const wide = await service(t, { FRAMES_PER_SECOND: '10000', USER_BYTES_PER_SECOND: '1000000000' });
    const { ann, number, b } = await pair('fuzz', wide);
    const frame = fc
      .record({
        // Mostly the middle of a burst, for of beginnings there may be only eight.
        flags: fc.oneof({ arbitrary: fc.constantFrom(0, EMERGENCY, ENCRYPTED), weight: 6 }, fc.nat(15)),
        epoch: fc.nat(255),
        sequence: fc.nat(65_535),
        sender: fc.nat(),
        burst: fc.nat(),
        payload: fc.oneof(
          fc.uint8Array({ maxLength: 40 }),
          fc.uint8Array({ minLength: 1022, maxLength: 1026 }),
        ),
      })
      .map((fields) => encodeFrame({ ...fields, talkgroup: number }));
    const broken = fc
      .tuple(frame, fc.nat(17), fc.nat(255))
      .map(([bytes, at, value]) => Uint8Array.from(bytes, (byte, index) => (index === at ? value : byte)));
    const noise = fc.uint8Array({ maxLength: 2 * HEADER_BYTES });
    const batch = fc.array(fc.oneof(frame, frame, frame, broken, noise), { maxLength: 60, size: 'max' });
    let relayed = 0;
    await fc.assert(
      fc.asyncProperty(batch, async (sent) => {
        const a = await ann.radio();
        const sentAtMs = performance.now();
        for (const bytes of sent) a.sends(bytes);
        await a.settled();
        // Behind an END a frame without START begins a burst after 300 ms: when the machine stood still, no more can be said.
        const isInTime = performance.now() - sentAtMs < 300;
        a.socket.terminate();
        await b.settled();
        const heard = b.frames.splice(0).map((one) => Buffer.from(encodeFrame(one)).toString('hex'));
        if (isInTime) t.strictSame(heard, relayedOf(sent, { talkgroup: number, session: a.session }));
        relayed += heard.length;
      }),
      { numRuns: FUZZ_RUNS },
    );
    t.ok(relayed > 5 * FUZZ_RUNS, `${relayed} of the frames were true`);
  });
});

/** What docs/protocol.md says a listener hears of these messages, as hexadecimal text. Written apart from the relay's code. */
function relayedOf(
  sent: readonly Uint8Array[],
  { talkgroup, session }: { talkgroup: number; session: number },
) {
  const heard: string[] = [];
  let burst = 0;
  let isOpen = false;
  let isMuted = false;
  for (const bytes of sent) {
    const copy = Buffer.from(bytes);
    const flags = copy[0] ?? 0;
    const isEmpty = copy.length === 16;
    if (copy.length < 16 || copy.length > 16 + 1024 || flags >> 4 !== 0b0100) continue;
    if (copy.readUInt32BE(4) !== talkgroup || (isEmpty && !(flags & END))) continue;
    const begins = !isOpen || (flags & START) !== 0;
    if (begins) {
      if (isEmpty && !isOpen) continue; // the rest of a burst that is over
      if (!isOpen && burst > 0 && !(flags & START)) continue; // behind an END
      isOpen = false;
      isMuted ||= burst === 8; // the ninth within 10 s
      if (isMuted) continue;
      burst++;
    }
    isOpen = (flags & END) === 0;
    copy[0] = 0x40 | (begins ? START : 0) | (flags & (END | ENCRYPTED));
    copy.writeUInt32BE(session, 8);
    copy.writeUInt32BE(burst, 12);
    heard.push(copy.toString('hex'));
  }
  return heard;
}
