// Reads and writes Ogg Opus files: every packet survives both.
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import t from 'tap';
import { createOpusWriter, readOpus, writeOpus } from '../../src/client/audio/ogg.js';
import { concealment, opusMs } from '../../src/client/audio/opus.js';

const SPEECH = 'bench/speech.ogg';

t.test('the committed recording is 20 ms mono Opus of six to eight seconds', async (t) => {
  const { packets, packetMs, channels, preSkip } = await readOpus(SPEECH);
  t.match({ packetMs, channels, preSkip }, { packetMs: 20, channels: 1, preSkip: 312 });
  const seconds = (packets.length * packetMs) / 1000;
  t.ok(seconds >= 6 && seconds <= 8, `${seconds} s`);
});

t.test('a recording that is read and written again has the same packets and pre-skip', async (t) => {
  const spoken = await readOpus(SPEECH);
  t.same(await readOpus(await writeOpus(spoken)), spoken);
});

t.test('all Opus packets survive a file, at every length', async (t) => {
  const packet = fc.uint8Array({ minLength: 1, maxLength: 1024 }).map((bytes) => {
    bytes[0] = (1 << 3) | 0; // SILK, 20 ms, one frame
    return bytes;
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(packet, { minLength: 1, maxLength: 120 }),
      fc.integer({ min: 0, max: 0xffff }),
      fc.constantFrom(1, 2),
      async (packets, preSkip, channels) => {
        const read = await readOpus(await writeOpus({ packets, preSkip, channels }));
        t.same(read, { packets, preSkip, channels, packetMs: 20 });
      },
    ),
    { numRuns: 25 },
  );
});

t.test('a file on disk plays before it is closed, and reads the same from its path', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'ogg-'));
  t.teardown(() => rm(folder, { recursive: true }));
  const path = join(folder, 'heard.ogg');
  const { packets } = await readOpus(SPEECH);
  const writer = await createOpusWriter(path);
  for (const packet of packets) await writer.write(packet);
  const early = await readOpus(new Uint8Array(await readFile(path)));
  t.ok(packets.length - early.packets.length <= 51, 'at most a page of a second is missing');
  await writer.close();
  t.same((await readOpus(path)).packets, packets);
});

t.test('a file without audio is valid, and packets that are not Opus are rejected', async (t) => {
  const silent = await writeOpus({ packets: [], channels: 1, preSkip: 312 });
  await t.rejects(readOpus(silent), { message: 'the Ogg Opus file contains no audio' });
  await t.rejects(readOpus(new Uint8Array(64)));
  await t.rejects(writeOpus({ packets: [new Uint8Array()], channels: 1, preSkip: 312 }), TypeError);
});

t.test('the first two bytes of a packet give its duration', async (t) => {
  t.equal(opusMs(Uint8Array.of(0x08)), 20);
  t.equal(opusMs(Uint8Array.of(0x18, 1, 2)), 60);
  t.equal(opusMs(Uint8Array.of(0x80)), 2.5);
  t.equal(opusMs(Uint8Array.of(0x09, 0)), 40);
  t.equal(opusMs(Uint8Array.of(0x0b, 0x83)), 60);
  for (const bad of [[], [0x0b], [0x0b, 0], [0x0b, 7]]) t.equal(opusMs(Uint8Array.from(bad)), null);
});

t.test('a concealed packet has the duration of the packet that it replaces', async (t) => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 2, maxLength: 4 }), (packet) => {
      if (opusMs(packet) !== null) t.equal(opusMs(concealment(packet)), opusMs(packet));
    }),
  );
});
