// What the worker makes of the microphone: packets of a talk, and of nothing before or after it.
import t from 'tap';
import { createDecoder, createEncoder, FRAME_SAMPLES } from '../../src/client/sound/codec.js';
import { createFramer } from '../../src/client/sound/framer.js';
import { createMicrophone } from '../../src/client/sound/microphone.js';
import type { FromCapture, ToCapture } from '../../src/client/sound/ports.js';
import { type FakePort, fakePort } from '../helpers/sound/fake-port.js';
import { joined, levelAt, sine } from '../helpers/sound/tones.js';

type CapturePort = FakePort<ToCapture, FromCapture>;

/** A microphone with the real framer of the audio thread. `speak` is what it records, in quanta of 128 samples. */
async function setUp(t: { teardown(run: () => void): void }, rate = 48_000) {
  let open = 0;
  const microphone = await createMicrophone({
    async createEncoder() {
      const encoder = await createEncoder();
      open += 1;
      return {
        encode: encoder.encode,
        free() {
          open -= 1;
          encoder.free();
        },
      };
    },
  });
  t.teardown(() => microphone.close());
  const port: CapturePort = fakePort();
  const framer = createFramer(rate, {
    postMessage(message, transfer) {
      const copy = structuredClone(message, { transfer });
      coming.push(copy as FromCapture);
    },
  });
  const coming: FromCapture[] = [];
  microphone.attach(port as never);
  let from = 0;
  const settle = () => {
    for (const message of port.take()) framer.receive(message);
    for (const frame of coming.splice(0)) port.says(frame);
    for (const message of port.take()) framer.receive(message);
  };
  return {
    microphone,
    encoders: () => open,
    settle,
    speak(hz: number, ms: number, isWorkerBusy = false) {
      for (const endAt = from + (ms * rate) / 1000; from < endAt; from += 128) {
        framer.push(sine(hz, 128, { from, rate }));
        if (!isWorkerBusy) settle();
      }
    },
  };
}

async function heardIn(packets: readonly Uint8Array[]) {
  const decoder = await createDecoder();
  const samples = joined(packets.map((packet) => decoder.decode(packet)));
  decoder.free();
  return samples;
}

t.test('a talk is packets of 20 ms of what was said in it, and of nothing else', async (t) => {
  const { microphone, speak, settle } = await setUp(t);
  const packets: Uint8Array[] = [];
  speak(300, 500);
  microphone.start((packet) => packets.push(packet));
  settle();
  speak(1_000, 1_010);
  microphone.stop();
  speak(300, 500);
  t.equal(packets.length, 50);
  t.same([...new Set(packets.map(({ length }) => length))], [60]);
  const heard = await heardIn(packets);
  t.ok(levelAt(1_000, heard) > -14, `${levelAt(1_000, heard)} dBFS`);
  t.ok(levelAt(300, heard) < -50, `${levelAt(300, heard)} dBFS of what was said before and after`);
});

t.test('frames on their way from the talk before are not in the next one', async (t) => {
  const { microphone, speak, settle } = await setUp(t);
  microphone.start(() => {});
  settle();
  speak(300, 130, true);
  microphone.stop();
  const packets: Uint8Array[] = [];
  microphone.start((packet) => packets.push(packet));
  settle();
  t.same(packets, []);
  await new Promise((resolve) => setImmediate(resolve));
  speak(1_000, 200);
  const heard = await heardIn(packets);
  t.ok(levelAt(300, heard.subarray(0, 2 * FRAME_SAMPLES)) < -40);
  t.ok(levelAt(1_000, heard) > -16);
});

t.test('a worker that stands still for a second loses sound, and holds at most 160 ms of it', async (t) => {
  const { microphone, speak, settle } = await setUp(t);
  const packets: Uint8Array[] = [];
  microphone.start((packet) => packets.push(packet));
  settle();
  speak(1_000, 1_000, true);
  settle();
  t.equal(packets.length, 8);
  speak(1_000, 200);
  t.equal(packets.length, 18);
});

t.test('a microphone of 44.1 kHz gives packets of 20 ms of the same tone', async (t) => {
  const { microphone, speak, settle } = await setUp(t, 44_100);
  const packets: Uint8Array[] = [];
  microphone.start((packet) => packets.push(packet));
  settle();
  speak(1_000, 1_000);
  t.ok(Math.abs(packets.length - 49) <= 1, `${packets.length} packets`);
  const heard = await heardIn(packets);
  t.ok(levelAt(1_000, heard.subarray(4_800)) > -14);
});

t.test('every encoder is freed, however often the button is pressed', async (t) => {
  const { microphone, encoders } = await setUp(t);
  for (let i = 0; i < 20; i++) {
    microphone.start(() => {});
    microphone.stop();
  }
  await new Promise((resolve) => setImmediate(resolve));
  t.equal(encoders(), 1);
  microphone.close();
  t.equal(encoders(), 0);
});
