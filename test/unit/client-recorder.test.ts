// The recorder: the packets that it writes, conceals and leaves out.
import t from 'tap';
import { opusMs } from '../../src/client/audio/opus.js';
import { createRecorder } from '../../src/client/terminal/recorder.js';
import { ENCRYPTED } from '../../src/protocol/frame.js';
import { ALPHA, fakeWorld, packet, talkEnd, talker, talkStart } from '../helpers/client/fakes.js';

function setUp({ write = async () => {} }: { write?: (packet: Uint8Array) => Promise<void> } = {}) {
  const { radio, ...world } = fakeWorld();
  const socket = world.socket();
  socket.welcomes();
  const packets: Uint8Array[] = [];
  let closes = 0;
  let failures = 0;
  const recorder = createRecorder({
    radio,
    writer: {
      async write(packet) {
        await write(packet);
        packets.push(packet);
      },
      async close() {
        closes += 1;
      },
    },
    onFailure: () => failures++,
  });
  let event = 0;
  const next = () => {
    event += 1;
    return event;
  };
  const starts = (session: number) => socket.says(talkStart({ event: next(), session }));
  const says = (session: number, sequence: number, payload: Uint8Array, flags = 0) =>
    socket.relays({ talkgroup: ALPHA.number, sender: session, burst: 1, sequence, payload, flags });
  const ends = (session: number) => socket.says(talkEnd({ event: next(), session }));
  const lags = () =>
    socket.says({
      type: 'LAG',
      talkgroups: [{ talkgroup_id: ALPHA.talkgroup_id, missed: 50 }],
      since_ms: 1_000,
    });
  return {
    radio,
    socket,
    recorder,
    packets,
    starts,
    says,
    ends,
    lags,
    closes: () => closes,
    failures: () => failures,
  };
}

t.test('packets are written as they were spoken, also when others talk meanwhile', async (t) => {
  const { recorder, packets, starts, says, ends } = setUp();
  for (const session of [20, 21, 22]) starts(session);
  for (let n = 0; n < 3; n++) for (const session of [21, 22, 20]) says(session, n, packet(session + n * 10));
  ends(21);
  ends(20);
  says(22, 3, packet(52));
  ends(22);
  await recorder.close();
  const tags = packets.map((packet) => packet[1]);
  t.same(tags, [20, 30, 40, 21, 31, 41, 22, 32, 42, 52]);
  t.same(recorder.recorded, { bursts: 3, packets: 10, concealed: 0, leftOut: 0 });
});

t.test('what was not heard leaves a gap of its own length, not a shorter burst', async (t) => {
  const { recorder, packets, starts, says } = setUp();
  starts(20);
  for (const sequence of [0, 3, 3, 2, 4]) says(20, sequence, packet(sequence));
  await recorder.close();
  t.same(packets, [packet(0), Uint8Array.of(0x08), Uint8Array.of(0x08), packet(3), packet(4)]);
  t.ok(packets.every((packet) => opusMs(packet) === 20));
  t.same(recorder.recorded, { bursts: 0, packets: 5, concealed: 2, leftOut: 0 });
});

t.test('a source that begins again within its burst is written on', async (t) => {
  const { recorder, packets, starts, says } = setUp();
  starts(20);
  for (let n = 0; n < 150; n++) says(20, n, packet(1));
  for (let n = 0; n < 150; n++) says(20, n, packet(2));
  await recorder.close();
  t.equal(
    packets.filter((one) => one[1] === packet(2)[1]).length,
    149,
    'all but the first, which may be a late one',
  );
  t.equal(recorder.recorded.concealed, 0);
});

t.test('what is not Opus is left out and counted', async (t) => {
  const { radio, recorder, packets, socket, says } = setUp();
  socket.says({
    ...talkStart({ event: 1, session: 20 }),
    codec: { name: 'ambe2', sample_rate: 8000, frame_ms: 20 },
  });
  for (let n = 0; n < 5; n++) says(20, n, packet(n));
  socket.says({
    ...talkStart({ event: 2, session: 21 }),
    codec: { name: 'OPUS', sample_rate: 48_000, frame_ms: 20 },
  });
  says(21, 0, packet(9));
  await recorder.close();
  t.same(packets, [packet(9)]);
  t.equal(recorder.recorded.leftOut, 5);
  t.ok(radio);
});

t.test('a gap that no burst can have is not filled for hours', async (t) => {
  const { recorder, starts, says } = setUp();
  starts(20);
  says(20, 0, packet(0));
  says(20, 30_000, packet(1));
  await recorder.close();
  t.match(recorder.recorded, { packets: 2, concealed: 0 });
});

t.test('what a slow radio skipped is not concealed: live speech follows at once', async (t) => {
  const { recorder, packets, starts, says, lags } = setUp();
  starts(20);
  says(20, 0, packet(0));
  lags();
  says(20, 51, packet(51));
  says(20, 53, packet(53));
  await recorder.close();
  t.same(packets, [packet(0), packet(51), Uint8Array.of(0x08), packet(53)]);
  t.match(recorder.recorded, { packets: 4, concealed: 1 });
});

t.test('what no player could play is left out and counted', async (t) => {
  const { recorder, packets, starts, says, ends } = setUp();
  starts(20);
  says(20, 0, packet(0), ENCRYPTED);
  says(20, 1, Uint8Array.of(0x0b));
  says(20, 2, packet(2));
  says(20, 3, new Uint8Array(), 0x04);
  ends(20);
  await recorder.close();
  t.same(packets, [packet(2)]);
  t.same(recorder.recorded, { bursts: 1, packets: 1, concealed: 0, leftOut: 2 });
});

t.test('a burst that was never announced is left out, and holds up no other', async (t) => {
  const { recorder, packets, starts, says, ends } = setUp();
  says(99, 0, packet(99)); // one talker more than the server names
  starts(20);
  says(20, 0, packet(20));
  says(99, 1, packet(99));
  ends(20);
  says(20, 1, packet(20)); // behind its end
  starts(21);
  says(21, 0, packet(21));
  await new Promise((resolve) => setImmediate(resolve));
  t.same(packets, [packet(20), packet(21)], 'before it is closed');
  t.same(recorder.recorded, { bursts: 1, packets: 2, concealed: 0, leftOut: 3 });
  await recorder.close();
});

t.test('a recorder that begins amid a burst takes it from there', async (t) => {
  const { radio, socket } = fakeWorld();
  socket().welcomes({
    talkgroups: [{ ...ALPHA, talkers: [{ ...talker(), frames: 1, sequence: 0 }], talkers_total: 1 }],
  });
  const packets: Uint8Array[] = [];
  const writer = { write: async (one: Uint8Array) => void packets.push(one), async close() {} };
  const recorder = createRecorder({ radio, writer });
  socket().relays({ talkgroup: ALPHA.number, sender: 20, burst: 1, sequence: 1, payload: packet(1) });
  await recorder.close();
  t.same(packets, [packet(1)]);
});

t.test('a burst cut short by closing is in the file, as are those that waited for it', async (t) => {
  const { radio, recorder, packets, starts, says } = setUp();
  starts(20);
  starts(21);
  says(21, 0, packet(21));
  says(20, 0, packet(20));
  radio.close();
  await recorder.close();
  t.same(packets, [packet(20), packet(21)]);
  t.equal(recorder.recorded.bursts, 2);
});

t.test('a disk that takes no more is told at once, and the file is closed all the same', async (t) => {
  const full = new Error('ENOSPC');
  const { recorder, starts, says, closes, failures } = setUp({
    async write() {
      throw full;
    },
  });
  starts(20);
  says(20, 0, packet(0));
  await new Promise((resolve) => setImmediate(resolve));
  t.ok(failures() > 0);
  await t.rejects(recorder.close(), full);
  t.equal(closes(), 1);
});
