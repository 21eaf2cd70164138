// The radio in a terminal over real sockets and files: what one speaks is in the file of the other.
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { readOpus, writeOpus } from '../../src/client/ogg.js';
import { listenToFile, talkFile } from '../../src/client/terminal.js';
import { fakeRelay } from '../helpers/fake-relay.js';

async function setUp(t: Test) {
  const relay = await fakeRelay(t);
  const folder = await mkdtemp(join(tmpdir(), 'terminal-'));
  t.teardown(() => rm(folder, { recursive: true }));
  // Three tenths of a second of the recording: time here is real.
  const spoken = (await readOpus('bench/speech.ogg')).packets.slice(100, 115);
  const file = join(folder, 'spoken.ogg');
  await writeFile(file, await writeOpus({ packets: spoken, channels: 1, preSkip: 312 }));
  return { relay, spoken, file, out: join(folder, 'heard.ogg') };
}

t.test('what is spoken into a talkgroup is, packet for packet, in the file of a listener', async (t) => {
  const { relay, spoken, file, out } = await setUp(t);
  const lines: string[] = [];
  const listening = listenToFile({
    url: relay.url,
    token: 'a',
    out,
    bursts: 2,
    report: (line) => lines.push(line),
  });
  await relay.radios(1);
  for (const talkgroup of ['Alpha', 'tg-alpha']) {
    const outcome = await talkFile({ url: relay.url, token: 'b', talkgroup, file });
    t.match(outcome, { code: 'released', frames: spoken.length });
  }
  t.match(await listening, { bursts: 2, packets: 2 * spoken.length, concealed: 0, leftOut: 0 });
  t.same((await readOpus(out)).packets, [...spoken, ...spoken]);
  t.match(lines, [
    'listening to 1 talkgroups',
    'heard 0.3 s in Alpha: released',
    'heard 0.3 s in Alpha: released',
  ]);
});

t.test('an interrupted listener leaves a whole file of what it heard so far', async (t) => {
  const { relay, spoken, file, out } = await setUp(t);
  const interrupt = new AbortController();
  const listening = listenToFile({
    ...{ url: relay.url, token: 'a', out, talkgroup: 'Alpha', signal: interrupt.signal },
    report: (line) => line.startsWith('heard') && interrupt.abort(),
  });
  await relay.radios(1);
  await talkFile({ url: relay.url, token: 'b', talkgroup: 'Alpha', file });
  t.match(await listening, { bursts: 1 });
  t.same((await readOpus(out)).packets, spoken);
});

t.test('an interrupted talker ends its burst properly', async (t) => {
  const { relay, file } = await setUp(t);
  const interrupt = new AbortController();
  const outcome = await talkFile({
    ...{ url: relay.url, token: 'b', talkgroup: 'Alpha', file, signal: interrupt.signal },
    report: (line) => line.startsWith('talking') && interrupt.abort(),
  });
  t.same(outcome, { code: 'unsent' });
});

t.test(
  'a bad token, a talkgroup one is not in, and a file that is no Ogg Opus are told as such',
  async (t) => {
    const { relay, file, out } = await setUp(t);
    const { url } = relay;
    await t.rejects(talkFile({ url, token: 'bad', talkgroup: 'Alpha', file }), /invalid token/);
    await t.rejects(listenToFile({ url, token: 'bad', out }), /invalid token/);
    t.ok((await stat(out)).size > 0, 'the file is closed and holds its header');
    await t.rejects(
      talkFile({ url, token: 'a', talkgroup: 'Nowhere', file }),
      /not a member of a talkgroup Nowhere/,
    );
    await t.rejects(listenToFile({ url, token: 'a', talkgroup: 'Nowhere', out }), /not a member/);
    await writeFile(out, 'RIFF');
    await t.rejects(talkFile({ url, token: 'a', talkgroup: 'Alpha', file: out }), /Ogg|format/i);
    await t.rejects(talkFile({ url, token: 'a', talkgroup: 'Alpha', file: 'no-such-file.ogg' }), {
      code: 'ENOENT',
    });
  },
);
