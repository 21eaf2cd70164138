// Runs two radios in terminals against the relay: the file of the listener has the audio of the talker.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { WebSocket, WebSocketServer } from 'ws';
import { readOpus, writeOpus } from '../../src/client/audio/ogg.js';
import { createRadio } from '../../src/client/node.js';
import { listenToFile, talkFile } from '../../src/client/terminal/terminal.js';
import { service } from '../helpers/service/service.js';

async function setUp(t: Test) {
  const s = await service(t);
  const [ann, bob] = [await s.person('ann'), await s.person('bob')];
  const group = await s.talkgroup('Alpha', ann, bob);
  const folder = await mkdtemp(join(tmpdir(), 'terminal-'));
  t.teardown(() => rm(folder, { recursive: true }));
  // Three tenths of a second of the recording: time here is real.
  const spoken = (await readOpus('bench/speech.ogg')).packets.slice(100, 115);
  const file = join(folder, 'spoken.ogg');
  await writeFile(file, await writeOpus({ packets: spoken, channels: 1, preSkip: 312 }));
  const [talker, listener] = [ann, bob].map(({ token }) => ({ url: s.ws, token }));
  if (!talker || !listener) throw new Error('two people were asked for');
  return { s, ann, bob, group, talker, listener, spoken, file, out: join(folder, 'heard.ogg') };
}

/** Starts to listen. `ready` resolves when the listener is connected. */
function listen(options: Parameters<typeof listenToFile>[0]) {
  const lines: string[] = [];
  let done: ReturnType<typeof listenToFile> | undefined;
  const ready = new Promise<void>((resolve, reject) => {
    done = listenToFile({
      ...options,
      report(line) {
        lines.push(line);
        options.report?.(line);
        if (line.startsWith('listening')) resolve();
      },
    });
    done.catch(reject);
  });
  return { done, ready, lines };
}

t.test('the file of a listener has every packet that was sent to the talkgroup', async (t) => {
  const { group, talker, listener, spoken, file, out } = await setUp(t);
  const { done, ready, lines } = listen({ ...listener, out, bursts: 2 });
  await ready;
  for (const talkgroup of [group.name, group.id]) {
    const outcome = await talkFile({ ...talker, talkgroup, file });
    t.match(outcome, { code: 'released', frames: spoken.length });
  }
  t.match(await done, { bursts: 2, packets: 2 * spoken.length, concealed: 0, leftOut: 0 });
  t.same((await readOpus(out)).packets, [...spoken, ...spoken]);
  t.match(lines, [
    'listening to 1 talkgroups',
    'ann talks in Alpha',
    /^heard \d\.\d s in Alpha: released$/,
    'ann talks in Alpha',
    /^heard \d\.\d s in Alpha: released$/,
  ]);
});

t.test('talker and listener find a talkgroup that comes in a later part of WELCOME', async (t) => {
  const { s, ann, bob, talker, listener, spoken, file, out } = await setUp(t);
  const ids = await s.talkgroups(ann, 200);
  const told = (await ann.radio()).welcome?.talkgroups as { talkgroup_id: string }[];
  const id = ids.find((one) => !told.some(({ talkgroup_id }) => talkgroup_id === one)) ?? '';
  await bob.post(`/talkgroups/${id}/join`);
  const { done, ready } = listen({ ...listener, out, talkgroup: id, bursts: 1 });
  await ready;
  t.match(await talkFile({ ...talker, talkgroup: id, file }), { code: 'released', frames: spoken.length });
  t.match(await done, { bursts: 1, packets: spoken.length });

  const interrupt = new AbortController();
  const own = listen({ ...talker, out, talkgroup: id, signal: interrupt.signal });
  await own.ready;
  interrupt.abort();
  t.match(await own.done, { bursts: 0 });
});

t.test('an interrupted listener leaves a complete file of the audio until then', async (t) => {
  const { talker, listener, spoken, file, out } = await setUp(t);
  const interrupt = new AbortController();
  const { done, ready } = listen({
    ...listener,
    out,
    talkgroup: 'Alpha',
    signal: interrupt.signal,
    report: (line) => line.startsWith('heard') && interrupt.abort(),
  });
  await ready;
  await talkFile({ ...talker, talkgroup: 'Alpha', file });
  t.match(await done, { bursts: 1 });
  t.same((await readOpus(out)).packets, spoken);
});

t.test('an interrupted talker ends its burst with END', async (t) => {
  const { talker, listener, spoken, file } = await setUp(t);
  const interrupt = new AbortController();
  const radio = createRadio(listener);
  t.teardown(() => radio.close());
  await new Promise((resolve) => radio.on('open', resolve));
  radio.on('audio', ({ sequence }) => sequence === 3 && interrupt.abort());
  const outcome = await talkFile({ ...talker, talkgroup: 'Alpha', file, signal: interrupt.signal });
  t.equal(outcome.code, 'released');
  t.ok('frames' in outcome && (outcome.frames ?? 0) < spoken.length);
});

t.test(
  'while a user talks, a talker with --queue waits and is heard, and one without gets the name of the user',
  async (t) => {
    const { s, group, talker, listener, spoken, file } = await setUp(t);
    await s.admin.patch(`/talkgroups/${group.id}`, { floor_mode: 'single' });
    const radio = createRadio(listener);
    t.teardown(() => radio.close());
    await new Promise((resolve) => radio.on('open', resolve));
    const talk = radio.talk({ talkgroupId: group.id, floor: 'request' });
    await new Promise<void>((resolve) => talk.on('state', ({ kind }) => kind === 'granted' && resolve()));
    // Only a running burst names its talker.
    talk.send(spoken[0] ?? new Uint8Array());
    await radio.ping();

    const lines: string[] = [];
    const asking = { ...talker, talkgroup: 'Alpha', file, report: (line: string) => lines.push(line) };
    t.match(await talkFile(asking), { kind: 'denied', code: 'busy' });
    t.equal(lines.at(-1), 'floor denied: busy, bob talks');

    const outcome = talkFile({
      ...asking,
      queue: true,
      priority: 2,
      report(line) {
        lines.push(line);
        if (line.startsWith('queued')) talk.end();
      },
    });
    t.match(await outcome, { code: 'released', frames: spoken.length });
    t.match(lines.slice(-3), ['queued in Alpha: 1 of 1', /^talking in Alpha/, /^released/]);
  },
);

t.test('a radio that cannot connect prints the cause', async (t) => {
  const tls = {
    cert: readFileSync('test/helpers/network/tls-cert.pem'),
    key: readFileSync('test/helpers/network/tls-key.pem'),
  };
  const [secure, plain] = [createTlsServer(tls), createServer((_request, response) => response.end())];
  for (const server of [secure, plain]) {
    t.teardown(() => server.close());
    await once(server.listen(0, '127.0.0.1'), 'listening');
  }
  const at = (server: Server) => `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const cases: [url: string, cause: RegExp][] = [
    [`wss://${at(secure)}`, /self-signed certificate/],
    [`ws://${at(plain)}`, /Unexpected server response: 200/],
    [`wss://${at(plain)}`, /EPROTO.*wrong version number/],
    ['ws://127.0.0.1:1', /connect ECONNREFUSED 127\.0\.0\.1:1/],
    ['ws://radio.invalid', /getaddrinfo E\w+ radio\.invalid/],
  ];
  for (const [url, cause] of cases) {
    const interrupt = new AbortController();
    const lines: string[] = [];
    await listenToFile({
      ...{ url, token: 'of nobody', out: join(t.testdir({}), 'heard.ogg') },
      signal: interrupt.signal,
      report(line) {
        lines.push(line);
        interrupt.abort();
      },
    });
    const [, said = ''] = /^not connected \(1006 (.*)\), retry in \d\.\d s$/.exec(lines[0] ?? '') ?? [];
    t.match(said, cause, `${url}: ${lines[0]}`);
  }
});

t.test('a listener prints emergencies', async (t) => {
  const { group, talker, listener, out } = await setUp(t);
  const interrupt = new AbortController();
  const radio = createRadio(talker);
  t.teardown(() => radio.close());
  const { done, ready, lines } = listen({
    ...{ ...listener, out, signal: interrupt.signal },
    report: (line) => line.includes('cleared') && interrupt.abort(),
  });
  await ready;
  const id = await radio.emergency.raise({ talkgroupId: group.id, lat: 52.25, lng: 5.5 });
  await radio.emergency.clear(id);
  await done;
  t.same(lines.slice(1), [
    'EMERGENCY of ann in Alpha: raised at 52.25, 5.5',
    'EMERGENCY of ann in Alpha: cleared at 52.25, 5.5',
  ]);
});

t.test('a listener prints how far its node reaches, and what is lost between nodes', async (t) => {
  const { s, group, listener, out } = await setUp(t);
  const interrupt = new AbortController();
  const told = [
    { type: 'REACH', reach: 'partial' },
    { type: 'REACH', reach: 'alone' },
    { type: 'MISSED', talkgroup_id: group.id, session: 1, burst: 1, missed: 3 },
    { type: 'REACH', reach: 'whole' },
  ];
  const { done, lines } = listen({
    ...{ ...listener, url: await relayThatAdds(t, s.ws, told), out, signal: interrupt.signal },
    report: (line) => line.startsWith('all nodes') && interrupt.abort(),
  });
  await done;
  t.same(
    lines.filter((line) => !line.startsWith('listening')),
    [
      'a node was lost within the last minute, or is not reached: its members may not hear this radio',
      'no other node is reached: only members on the same relay thread of this node hear this radio',
      'lost between nodes: 3 packets in Alpha',
      'all nodes reached',
    ],
  );
});

/** Address of a relay that sends what the other one sends, and these messages after WELCOME. */
async function relayThatAdds(t: Test, relay: string, told: readonly object[]): Promise<string> {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
  await once(server, 'listening');
  t.teardown(() => {
    for (const client of server.clients) client.terminate();
    server.close();
  });
  server.on('connection', (radio, { url = '' }) => {
    const upstream = new WebSocket(`${new URL(relay).origin}${url}`);
    t.teardown(() => upstream.terminate());
    radio.on('close', () => upstream.terminate());
    upstream.on('message', (data, isBinary) => {
      radio.send(data, { binary: isBinary });
      if (!isBinary && String(data).includes('"type":"WELCOME"'))
        for (const message of told) radio.send(JSON.stringify(message));
    });
  });
  return `ws://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

t.test(
  'a bad token, a foreign talkgroup and a file that is not Ogg Opus each have their own error',
  async (t) => {
    const { talker, listener, file, out } = await setUp(t);
    const nobody = { ...talker, token: 'bad' };
    await t.rejects(talkFile({ ...nobody, talkgroup: 'Alpha', file }), /invalid token/);
    await t.rejects(listenToFile({ ...nobody, out }), /invalid token/);
    t.ok((await stat(out)).size > 0, 'the file is closed and holds its header');
    await t.rejects(talkFile({ ...talker, talkgroup: 'Nowhere', file }), /not a member of talkgroup Nowhere/);
    await t.rejects(listenToFile({ ...listener, talkgroup: 'Nowhere', out }), /not a member/);
    await writeFile(out, 'RIFF');
    await t.rejects(talkFile({ ...talker, talkgroup: 'Alpha', file: out }), /Ogg|format/i);
    await t.rejects(talkFile({ ...talker, talkgroup: 'Alpha', file: 'no-such-file.ogg' }), {
      code: 'ENOENT',
    });
  },
);
