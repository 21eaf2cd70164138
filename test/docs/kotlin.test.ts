// docs/examples/Radio.kt compiles without a warning, and is the same radio as the other examples: on OkHttp, in a JVM.

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { WebSocket, WebSocketServer } from 'ws';
import {
  asksAgain,
  grant,
  hearsEachPacket,
  isFirst,
  library,
  madeUpRelay,
  type Program,
  raw,
  speechFolder,
  start,
  stopsAfterTenRequests,
  stopsForAWorthlessToken,
  stopsWhenLeft,
  talksOverLostLinks,
  twoPeople,
} from '../helpers/example-radios.js';
import { fencesOf, holds, linesOf, readPage } from '../helpers/pages/pages.js';
import { run, unless } from '../helpers/programs.js';
import { service } from '../helpers/service/service.js';

const SOURCE = 'docs/examples/Radio.kt';

/** The folder of the npm package `kotlin-compiler`. It has 94 MB, therefore it is no dependency of this package. */
const compiler = process.env.KOTLIN_COMPILER ?? 'kotlin-compiler';
const compilerJar = join(compiler, 'lib/kotlin-compiler.jar');
/** OKHTTP_JARS names those of another version, separated by colons. Debian has 3.13, with the interface of 4 and 5. */
const okHttpJars = process.env.OKHTTP_JARS?.split(':') ?? [
  '/usr/share/java/okhttp.jar',
  '/usr/share/java/okio.jar',
];
const jars = [...okHttpJars, '/usr/share/java/com.android.json.jar'];
const skip = unless('java', compilerJar, ...jars);
/** A short run is over before the JVM's second compiler has paid for itself. */
const JVM = ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC'];

t.test('Radio.kt is the same radio as the other examples', { skip, timeout: 300_000 }, async (t) => {
  // They talk in real time, and mostly wait. More JVMs at once start too slowly for the 1.5 s that a floor is kept.
  t.jobs = 3;
  const beside = () => ({ buffered: true, timeout: 120_000 });
  const { folder, speechFile } = await speechFolder(t);
  const classes = join(folder, 'classes');
  const [compiled, s] = await Promise.all([compile(classes), service(t)]);
  t.strictSame(compiled, { code: 0, output: '' }, 'it compiles, with warnings as errors');
  if (compiled.code !== 0) return;
  const classPath = [classes, join(compiler, 'lib/kotlin-stdlib.jar'), ...jars].join(':');
  const kotlin: Program = ['java', ...JVM, '-cp', classPath, 'RadioKt'];

  t.test('raw-radio.mjs receives each packet of Radio.kt', beside(), async (t) =>
    hearsEachPacket(t, s, { talker: kotlin, listener: raw, file: await speechFile(50) }),
  );

  t.test('Radio.kt receives each packet of radio.mjs', beside(), async (t) =>
    hearsEachPacket(t, s, { talker: library, listener: kotlin, file: await speechFile(50) }),
  );

  t.test('two Radio.kt lose the network, and the burst goes on', beside(), async (t) =>
    talksOverLostLinks(t, s, { talker: kotlin, listener: kotlin, file: await speechFile(200) }),
  );

  t.test('Radio.kt asks for bundles and hears each packet in them', beside(), async (t) => {
    const { ann, bob, id } = await twoPeople(s);
    const link = await countBundles(t, s.ws);
    const hears = start(t, [...kotlin, 'listen', link.url, bob.token, '1', '40']);
    await hears.says(/^connected$/m);
    const talks = start(t, [...raw, 'talk', s.ws, ann.token, id, await speechFile(50)]);
    t.strictSame([await talks.exit(), await hears.exit()], [0, 0], talks.output() + hears.output());
    const [, said] = /, checksum (\w+): released$/m.exec(talks.output()) ?? [];
    t.match(hears.output(), new RegExp(`^heard 50 packets, checksum ${said}: released$`, 'm'));
    t.ok(link.bundles() > 20, `${link.bundles()} bundles`);
  });

  t.test('Radio.kt stops and says why when the floor is taken', beside(), async (t) => {
    const { ann, bob, id } = await twoPeople(s);
    const talks = start(t, [...raw, 'talk', s.ws, ann.token, id, 'bench/speech.ogg']);
    await talks.says(/^talking$/m);
    const busy = start(t, [...kotlin, 'talk', s.ws, bob.token, id, await speechFile(50)]);
    t.equal(await busy.exit(), 1);
    t.match(busy.output(), /^sent 50 packets, checksum \w+: busy\nstopped: 1000$/m);
  });

  t.test('Radio.kt stops and says why when its user is no member of the talkgroup', beside(), async (t) => {
    const ann = await s.person('stranger');
    const { id } = await s.talkgroup('Not hers');
    const talks = start(t, [...kotlin, 'talk', s.ws, ann.token, id, await speechFile(50)]);
    t.equal(await talks.exit(), 1);
    t.match(talks.output(), /^sent 50 packets, checksum \w+: not_member$/m);
  });

  t.test('Radio.kt stores the position of its device', beside(), async (t) => {
    const ann = await s.person('gps-ann', { serial: 'gps-phone' });
    const reports = start(t, [...kotlin, 'gps', s.ws, ann.token, '52.52', '13.405']);
    t.equal(await reports.exit(), 0, reports.output());
    t.equal(reports.output(), 'connected\nposition stored\nstopped: 1000\n');
    const stored = await s.sql`select lat, lng, alt from gps_fixes where device_id = ${ann.device}`;
    t.match(stored, [{ lat: 52.52, lng: 13.405, alt: 0 }]);
  });

  t.test('Radio.kt says why a position is not stored', beside(), async (t) => {
    const bob = await s.person('gps-bob');
    const reports = start(t, [...kotlin, 'gps', s.ws, bob.token, '52.52', '13.405']);
    t.equal(await reports.exit(), 1);
    t.match(reports.output(), /^position rejected: unknown_device$/m);
  });

  t.test('Radio.kt asks again when no node decides the floor', beside(), async (t) => {
    await asksAgain(t, kotlin, await speechFile(100));
  });

  t.test('Radio.kt stops when its talkgroup is left while it asks', beside(), async (t) => {
    await stopsWhenLeft(t, kotlin);
  });

  t.test('Radio.kt stops after 10 requests without a decision', beside(), async (t) => {
    await stopsAfterTenRequests(t, kotlin);
  });

  t.test('Radio.kt with a worthless token stops and says why', beside(), async (t) =>
    stopsForAWorthlessToken(t, s, kotlin),
  );

  t.test(
    'Radio.kt drops and counts speech while its queue is full, and ends the burst',
    beside(),
    async (t) => {
      const frames: Buffer[] = [];
      const { url, server } = await madeUpRelay(t, (frame, relay) => {
        frames.push(frame);
        grant(frame, relay);
        if (isFirst(frame)) relay.socket.pause(); // the buffers of both systems fill
      });
      const file = join(folder, 'large.ogg');
      await writeFile(file, largePackets(150));
      const talk = start(t, [...kotlin, 'talk', url, 'token', 'made up', file]);
      await talk.says(/^talking$/m);
      await delay(4_000); // it talks for 3 s, and waits 5 s for the end of the burst
      for (const socket of server.clients) socket.resume();
      t.equal(await talk.exit(), 0, talk.output());
      const [, dropped] =
        /^dropped (\d+) packets\nsent 150 packets, checksum \w+: released$/m.exec(talk.output()) ?? [];
      const sequences = frames.map((frame) => frame.readUInt16BE(2));
      t.comment(`${dropped} dropped, ${frames.length} received`);
      t.equal(sequences.at(-1), 149, 'the sequence counts what is dropped');
      t.ok(Number(dropped) > 0 && frames.length + Number(dropped) >= 150);
    },
  );

  t.test('Radio.kt waits 5 s after 1013, which OkHttp before 4.1 takes for an error', beside(), async (t) => {
    const { url, server } = await madeUpRelay(t, () => {});
    server.on('connection', (socket) => socket.close(1013, 'overloaded'));
    const hears = start(t, [...kotlin, 'listen', url, 'token']);
    const [, waitMs] = await hears.says(/^connection lost: 1013 .*, next attempt in (\d+) ms$/m);
    t.ok(Number(waitMs) >= 5_000, `${waitMs} ms`);
  });
});

function compile(classes: string) {
  const options = ['-Werror', '-jvm-target', '17', '-no-reflect', '-kotlin-home', compiler];
  const compile = ['-cp', compilerJar, 'org.jetbrains.kotlin.cli.jvm.K2JVMCompiler', ...options];
  return run('java', [...JVM, ...compile, '-cp', jars.join(':'), '-d', classes, SOURCE]);
}

/** The address of a relay that passes everything on to the one at `url`, and counts the bundles from there. */
async function countBundles(t: Test, url: string) {
  let bundles = 0;
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
  t.teardown(() => server.close());
  await once(server, 'listening');
  server.on('connection', (near, request) => {
    const far = new WebSocket(`${url}${request.url}`);
    const opened = once(far, 'open');
    near.on('message', async (data, binary) => {
      await opened;
      far.send(data, { binary });
    });
    far.on('message', (data: Buffer, binary) => {
      if (binary && ((data[0] ?? 0) & 0x30) === 0x10) bundles += 1;
      near.send(data, { binary });
    });
    near.on('close', () => far.close());
    far.on('close', () => near.close());
  });
  return { url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`, bundles: () => bundles };
}

/** An Ogg file with more than any socket takes at once: 3 MB for each second of speech. */
function largePackets(packets: number): Buffer {
  const lengths = Buffer.alloc(236, 255); // of the segments of a packet, a page for each
  lengths[235] = 0;
  const page = Buffer.concat([Buffer.alloc(26), Buffer.of(lengths.length), lengths, Buffer.alloc(235 * 255)]);
  return Buffer.concat(Array<Buffer>(2 + packets).fill(page)); // with two headers
}

t.test('the page takes the compiler that is tried', async (t) => {
  const versionIn = (path: string) => /kotlin-compiler@([\d.]+)/.exec(readPage(path))?.[1];
  t.ok(versionIn('.ci/run'));
  t.equal(versionIn('docs/websocket-guide.md'), versionIn('.ci/run'));
});

t.test('the Kotlin of the page is that of Radio.kt', async (t) => {
  const fences = fencesOf(readPage('docs/websocket-guide.md')).filter(
    ({ language }) => language === 'kotlin',
  );
  t.ok(fences.length > 0);
  const source = linesOf(readFileSync(SOURCE, 'utf8'));
  for (const { text } of fences) t.ok(holds(source, linesOf(text)), text);
});
