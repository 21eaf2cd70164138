// Runs two radios in terminals against the relay: the file of the listener has the audio of the talker.
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { chmod, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { WebSocket, WebSocketServer } from 'ws';
import { readOpus, writeOpus } from '../../src/client/audio/ogg.js';
import type { HeardEnd } from '../../src/client/hearing/channel.js';
import { createRadio } from '../../src/client/node.js';
import { crowd, inWords } from '../../src/client/terminal/crowd.js';
import { echo } from '../../src/client/terminal/echo.js';
import { openKeys } from '../../src/client/terminal/keys.js';
import { replayToFile } from '../../src/client/terminal/replay.js';
import { listenToFile, talkFile } from '../../src/client/terminal/terminal.js';
import { ENCRYPTED } from '../../src/protocol/frame.js';
import { comesTrue } from '../helpers/eventually.js';
import { PASSWORD, PASSWORD_HASH } from '../helpers/http/rest.js';
import { endedOf } from '../helpers/service/recorded.js';
import { runCommand, service } from '../helpers/service/service.js';

async function setUp(t: Test, settings: Parameters<typeof service>[1] = {}) {
  const s = await service(t, settings);
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
  return { s, ann, bob, group, talker, listener, spoken, file, folder, out: join(folder, 'heard.ogg') };
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

/** Two bursts of ann in a talkgroup that is recorded, once both are stored. */
async function setUpRecorded(t: Test) {
  const set = await setUp(t);
  const { s, ann, bob, group, talker, file } = set;
  await s.admin.patch(`/talkgroups/${group.id}`, { recording_days: 1 });
  for (let burst = 0; burst < 2; burst++) await talkFile({ ...talker, talkgroup: 'Alpha', file });
  const [first, second] = await endedOf(bob, group.id, 2);
  if (!first || !second) throw new Error('two bursts were said');
  const replays = async (options: Omit<Parameters<typeof replayToFile>[0], 'url' | 'token'>) => {
    const lines: string[] = [];
    const replayed = await replayToFile({
      ...{ url: s.rest, token: bob.token, report: (line: string) => lines.push(line) },
      ...options,
    });
    return { replayed, lines };
  };
  return { ...set, ann, first, second, replays };
}

t.test('a replay writes what was recorded, the oldest first, and says what each has', async (t) => {
  const { group, spoken, out, first, second, replays } = await setUpRecorded(t);
  const all = await replays({ talkgroup: 'Alpha', last: 5, out });
  t.same(all.replayed, { listed: 2, recordings: 2, packets: 2 * spoken.length });
  t.match(all.lines, [/^20\S+Z ann, 0\.\d s$/, /^20\S+Z ann, 0\.\d s$/]);
  t.same((await readOpus(out)).packets, [...spoken, ...spoken]);
  const last = await replays({ talkgroup: group.id });
  t.same(last.replayed, { listed: 1, recordings: 0, packets: 0 }, 'without a file it is listed only');
  t.match(last.lines, [new RegExp(`^${second.started_at} ann`)]);
  const one = await replays({ recording: first.recording_id, out });
  t.same(one.replayed, { listed: 1, recordings: 1, packets: spoken.length });
  t.same((await readOpus(out)).packets, spoken);
});

t.test('a replay says why a recording is not in the file, or not all of it', async (t) => {
  const { s, group, talker, spoken, file, out, first, second, replays } = await setUpRecorded(t);
  await talkFile({ ...talker, talkgroup: 'Alpha', file });
  const [, , third] = await endedOf(s.admin, group.id, 3);
  await s.admin.delete(`/recordings/${first.recording_id}`);
  const crypto = JSON.stringify({ suite: 4, epoch: 0, salt: 'oKGio6SlpqeoqaqrrK2urw' });
  await s.sql`update recordings set crypto = ${crypto}::text::jsonb where id = ${second.recording_id}`;
  // Each frame of its parts begins with the flags: as if it was sealed.
  const sealed = `with part as (select recording_id, from_frame, bytes from recording_parts where recording_id = $1)
    select from_frame, bytes from part`;
  for (const { from_frame, bytes } of await s.sql.unsafe(sealed, [second.recording_id])) {
    for (let at = 0; at < bytes.length; at += 6 + bytes.readUInt16BE(at + 4)) bytes[at] |= ENCRYPTED;
    await s.sql`update recording_parts set bytes = ${bytes}
      where recording_id = ${second.recording_id} and from_frame = ${from_frame}`;
  }
  const id = third?.recording_id ?? '';
  // Four frames in the middle were never stored.
  const [part] = await s.sql`select bytes from recording_parts where recording_id = ${id}`;
  const kept: Buffer[] = [];
  for (let at = 0, frame = 0; at < part?.bytes.length; frame++) {
    const end = at + 6 + part?.bytes.readUInt16BE(at + 4);
    if (frame < 5 || frame >= 9) kept.push(part?.bytes.subarray(at, end));
    at = end;
  }
  await s.sql`update recording_parts set bytes = ${Buffer.concat(kept)}, frames = ${kept.length} where recording_id = ${id}`;
  await s.sql`update recordings set lost = '{"1": {"memory_full": 4}}' where id = ${id}`;

  const { replayed, lines } = await replays({ talkgroup: 'Alpha', last: 3, out });
  t.match(lines, [
    /^20\S+Z unknown talker, 0\.\d s, erased by an administrator$/,
    /^20\S+Z ann, 0\.\d s, encrypted, not written: this command has no keys for it$/,
    /^20\S+Z ann, 0\.\d s, 4 of 15 frames are missing \(the memory of the node was full: 4\)$/,
  ]);
  t.same(replayed, { listed: 3, recordings: 1, packets: spoken.length });
  const { packets } = await readOpus(out);
  t.same([...packets.slice(0, 5), ...packets.slice(9)], [...spoken.slice(0, 5), ...spoken.slice(9)]);
  t.ok(
    packets.slice(5, 9).every((packet) => packet.length <= 2),
    'packets that are concealed, so the time is right',
  );
});

t.test('the command radio replay lists and writes, and fails with the reason', async (t) => {
  const { s, bob, group, out } = await setUpRecorded(t);
  const run = (...more: string[]) =>
    runCommand(['radio', 'replay', '--rest', s.rest, ...more], { RADIO_TOKEN: bob.token });
  t.match(await run('--talkgroup', 'Alpha', '--last', '2', '--out', out), {
    code: 0,
    output: /^(20\S+Z ann, 0\.\d s\n){2}.*heard\.ogg: 2 recordings, 30 packets\n$/,
  });
  await s.admin.patch(`/talkgroups/${group.id}`, { name: 'Bravo' });
  const cases: [string[], string | RegExp][] = [
    [['--talkgroup', 'Alpha'], 'not a member of talkgroup Alpha\n'],
    [['--talkgroup', '00000000-0000-4000-8000-000000000000'], 'talkgroup not found\n'],
    [
      ['--recording', '00000000-0000-7000-8000-000000000000'],
      /^no such recording, or this user may not hear it\n$/,
    ],
    [[], '--talkgroup or --recording is needed\n'],
    [['--talkgroup', 'Bravo', '--last', '201'], '--last must be an integer from 1 to 200\n'],
    [['--talkgroup', 'Bravo', '--rest', s.ws], /^--rest must be the address of the REST API/],
  ];
  for (const [more, output] of cases) t.match(await run(...more), { code: 1, output }, more.join(' '));
});

/** The same with passwords, and keys of bob in a file. `encryption`: of the talkgroup. */
async function setUpKeys(t: Test, encryption: 'allowed' | 'required') {
  const set = await setUp(t, { SECRETS_KEY: randomBytes(32).toString('base64') });
  const { s, bob, group, folder } = set;
  await s.sql`update users set password_hash = ${PASSWORD_HASH} where username in ('ann', 'bob')`;
  if (encryption === 'required') await s.admin.patch(`/talkgroups/${group.id}`, { encryption });
  const { rotation_counter } = await s.admin.get(`/keys/rotation?talkgroup_id=${group.id}`);
  /** As `radio listen` opens them. A file that is new asks for the password. */
  async function keysOfBob(name: string, password: string | null = PASSWORD) {
    const lines: string[] = [];
    const keys = await openKeys({
      ...{ rest: s.rest, token: bob.token, holder: join(folder, name) },
      async password() {
        if (password === null) throw new Error('the file has a holder, so no password is needed');
        return password;
      },
      report: (line) => lines.push(line),
    });
    t.teardown(() => keys.close());
    const has = () => keys.store.secretFor(group.id, rotation_counter as number) !== null;
    return { keys, lines, hasKey: () => comesTrue('the key of now', has) };
  }
  /** `radio talk` of ann as a process, with her holder. What she types is her password. */
  const untokened = (file: string, ...more: string[]) => [
    ...['radio', 'talk', '--url', s.ws, '--talkgroup', 'Alpha', '--file', file],
    ...more,
  ];
  const command = (file: string, ...more: string[]) => untokened(file, '--token', set.ann.token, ...more);
  const annTalks = (...more: string[]) =>
    runCommand(
      untokened(set.file, '--rest', s.rest, '--holder', join(folder, 'ann.json'), ...more),
      { RADIO_TOKEN: set.ann.token },
      `${PASSWORD}\n`,
    );
  return { ...set, keysOfBob, annTalks, command };
}

const FINGERPRINT = '(\\d{5} ){11}\\d{5}';

t.test('a talker with --encrypt is heard by a listener with --holder, and by no other', async (t) => {
  const { annTalks, keysOfBob, listener, spoken, folder, out } = await setUpKeys(t, 'allowed');
  const { keys, lines } = await keysOfBob('bob.json');
  t.match(lines, [new RegExp(`^new key holder, fingerprint ${FINGERPRINT}$`)]);
  t.equal((await stat(join(folder, 'bob.json'))).mode & 0o777, 0o600);
  const deafOut = join(folder, 'deaf.ogg');
  const hears = listen({ ...listener, keys, out, bursts: 1 });
  const deaf = listen({ ...listener, out: deafOut, bursts: 1 });
  await Promise.all([hears.ready, deaf.ready]);
  const silent = await startEcho(t, listener);

  const { code, output } = await annTalks('--encrypt');
  t.match(
    [code, output],
    [
      0,
      new RegExp(
        `^new key holder, fingerprint ${FINGERPRINT}\ntalking in Alpha for 0.3 s\nreleased: 15 of 15 packets relayed\n$`,
      ),
    ],
  );
  t.match(await hears.done, { bursts: 1, packets: spoken.length });
  t.strictSame((await readOpus(out)).packets, spoken);
  t.same(hears.lines.slice(1), ['ann talks in Alpha', 'heard 0.3 s in Alpha: released']);
  t.match(await deaf.done, { bursts: 1, packets: 0 });
  t.same(deaf.lines.slice(1), [
    'ann talks in Alpha',
    'cannot open what ann says in Alpha',
    'heard 0.3 s in Alpha: released',
  ]);
  t.same(silent.lines.slice(1), ['encrypted speech is not repeated']);
});

t.test(
  'in a talkgroup that requires encryption it needs no --encrypt, and a later run no password',
  async (t) => {
    const { annTalks, keysOfBob, listener, spoken, out } = await setUpKeys(t, 'required');
    await keysOfBob('bob.json');
    const { keys, lines, hasKey } = await keysOfBob('bob.json', null);
    const { done, ready } = listen({ ...listener, keys, out, bursts: 2 });
    await ready;
    await hasKey();
    for (const _ of ['its first run', 'a later one'])
      t.match(await annTalks(), { code: 0, output: /released: 15 of 15 packets relayed/ });
    t.match(await done, { bursts: 2, packets: 2 * spoken.length });
    t.strictSame((await readOpus(out)).packets, [...spoken, ...spoken]);
    t.same(lines, []);
  },
);

t.test('a second holder prints what it waits for, and hears when it is accepted', async (t) => {
  const { s, bob, annTalks, keysOfBob, listener, spoken, out } = await setUpKeys(t, 'required');
  await keysOfBob('first.json');
  const { keys, lines, hasKey } = await keysOfBob('second.json');
  t.match(lines, [
    /^new key holder, fingerprint/,
    'it gets keys after an administrator or another device has accepted the fingerprint',
  ]);
  const { done, ready } = listen({ ...listener, keys, out, bursts: 1 });
  await ready;
  await comesTrue('it was refused a key', () => lines.length === 3);
  t.match(lines[2], /^no key yet: another device of the account, or an administrator, must accept/);
  const { holders } = (await bob.get('/keys/holders')) as {
    holders: { holder_id: string; accepted: boolean }[];
  };
  const waiting = holders.find(({ accepted }) => !accepted)?.holder_id;
  t.equal((await s.admin.call('POST', `/keys/holders/${waiting}/accept`, {})).status, 200);
  await hasKey();
  t.match(await annTalks(), { code: 0 });
  t.match(await done, { packets: spoken.length });
});

t.test('a talker without a key, a password or an option prints what is missing', async (t) => {
  const { s, command, file, folder } = await setUpKeys(t, 'required');
  t.match(await runCommand(command(file), {}), {
    code: 1,
    output: 'not sent: speech must be encrypted here. Add --holder and --rest\nthe talk ended: no_key\n',
  });
  const holder = join(folder, 'wrong.json');
  const keyed = command(file, '--rest', s.rest, '--holder', holder);
  t.match(await runCommand(keyed, {}, 'guess\n'), { code: 1, output: 'invalid credentials\n' });
  t.match(await runCommand(keyed, {}, `${PASSWORD}\n`), { code: 0 }, 'the file is used at the next try');
  await chmod(holder, 0o644);
  t.match(await runCommand(keyed, {}), { code: 1, output: /other users can read .*: set its mode to 0600/ });
  t.match(await runCommand(command(file, '--encrypt'), {}), {
    code: 1,
    output: '--encrypt needs --holder and --rest\n',
  });
  t.match(await runCommand(command(file, '--rest', s.rest), {}), {
    code: 1,
    output: '--holder and --rest belong together\n',
  });
});

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
      'no other node is reached: only members on this node hear this radio',
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

/** An echo in the background, once it repeats. */
async function startEcho(t: Test, options: Omit<Parameters<typeof echo>[0], 'signal'>) {
  const lines: string[] = [];
  const stop = new AbortController();
  const done = echo({ ...options, signal: stop.signal, report: (line) => lines.push(line) });
  t.teardown(() => stop.abort());
  await comesTrue('the echo repeats', async () => lines.some((line) => line.startsWith('repeating in')));
  return { lines, done, end: () => stop.abort() };
}

t.test('an echo repeats bit for bit what was said, in the order in which it was said', async (t) => {
  const { s, group, talker, spoken, file, folder, listener } = await setUp(t);
  const eve = await s.person('eve');
  await eve.post(`/talkgroups/${group.id}/join`);
  const { lines, done, end } = await startEcho(t, { url: s.ws, token: eve.token, talkgroup: group.name });
  const out = join(folder, 'echoed.ogg');
  const { done: heard, ready } = listen({ ...listener, out, bursts: 4 });
  await ready;
  const other = join(folder, 'other.ogg');
  const words = spoken.toReversed();
  await writeFile(other, await writeOpus({ packets: words, channels: 1, preSkip: 312 }));
  for (const said of [file, other])
    t.match(await talkFile({ ...talker, talkgroup: group.name, file: said }), { code: 'released' });
  t.match(await heard, { bursts: 4, leftOut: 0 });
  t.same((await readOpus(out)).packets, [...spoken, ...words, ...spoken, ...words]);
  end();
  t.match(await done, { repeated: 2 });
  t.match(lines.slice(1), [/^repeated 0\.3 s of ann: released$/, /^repeated 0\.3 s of ann: released$/]);
});

t.test('two echoes in one talkgroup repeat what is said once each', async (t) => {
  const { s, group, talker, spoken, file, folder } = await setUp(t);
  const people = await Promise.all(['eve', 'fay'].map((name) => s.person(name)));
  for (const one of people) await one.post(`/talkgroups/${group.id}/join`);
  const echoes = await Promise.all(people.map(({ token }) => startEcho(t, { url: s.ws, token })));
  const watcher = createRadio({ url: s.ws, token: talker.token });
  t.teardown(() => watcher.close());
  await watcher.opened;
  let bursts = 0;
  watcher.on('talk_ended', () => bursts++);
  const other = join(folder, 'other.ogg');
  await writeFile(other, await writeOpus({ packets: spoken.toReversed(), channels: 1, preSkip: 312 }));
  // What an echo of an echo would say comes before the repetition of the second talk.
  for (const [at, said] of [file, other].entries()) {
    const outcome = await talkFile({ ...talker, talkgroup: group.name, file: said });
    t.match(outcome, { code: 'released', frames: spoken.length });
    await comesTrue('both have repeated it', async () =>
      echoes.every(({ lines }) => lines.filter((line) => line.startsWith('repeated')).length > at),
    );
  }
  for (const { end } of echoes) end();
  for (const { done } of echoes) t.match(await done, { repeated: 2 });
  await comesTrue('all ends are heard', async () => bursts >= 6);
  t.equal(bursts, 6, 'two talks and one repetition of each by each echo');
});

t.test(
  'many radios talk, hear and move until the end, and report a member that the relay has closed',
  async (t) => {
    const { s, folder } = await setUp(t);
    const units = await Promise.all(
      ['u1', 'u2', 'u3'].map((name) => s.person(name, { serial: `SN-${name}` })),
    );
    const group = await s.talkgroup('Crowd', ...units);
    await s.sql`update users set password_hash = ${PASSWORD_HASH} where username like 'u_'`;
    const members = units.map(({ name: username }) => ({ username, password: PASSWORD }));
    const lines: string[] = [];
    const stop = new AbortController();
    t.teardown(() => stop.abort());
    const area = { lat: 53.55, lng: 9.99, km: 2 };
    const done = crowd({
      ...{ rest: s.rest, url: s.ws, members, area, talking: 0.5, signal: stop.signal },
      report: (line) => lines.push(line),
    });
    await comesTrue('all are there', () => lines.includes('3 radios are there'));
    const watcher = createRadio({ url: s.ws, token: units[0]?.token ?? '' });
    t.teardown(() => watcher.close());
    await watcher.opened;
    const talked = new Promise<HeardEnd>((resolve) => watcher.on('talk_ended', resolve));
    t.match(await talked, { talkgroup_id: group.id, code: 'released' });
    const places = () => s.sql<{ lat: number; lng: number }[]>`
    select f.lat, f.lng from gps_fixes f join devices d on d.id = f.device_id where d.serial like 'SN-u_'`;
    await comesTrue('each has a position', async () => (await places()).length === 3);
    for (const { lat, lng } of await places()) {
      const north = (lat - area.lat) * 111.32;
      const east = (lng - area.lng) * 111.32 * Math.cos((area.lat * Math.PI) / 180);
      t.ok(Math.hypot(north, east) <= area.km, `${north} km north, ${east} km east`);
    }
    await s.revoke('u2');
    await comesTrue('the revoked one is told of', () =>
      lines.includes('u2: the relay closed the connection: invalid token'),
    );
    stop.abort();
    const figures = await done;
    t.match(figures, { radios: 3, denied: 0 });
    t.ok(figures.talks > 0 && figures.heard > 0, inWords(figures));

    const users = join(folder, 'users.csv');
    const command = ['radio', 'crowd', '1', '--rest', s.rest, '--url', s.ws, '--users', users];
    for (const [rows, failure] of [
      ['username,password\nu1,wrong\n', `u1 cannot log in at ${s.rest}: invalid credentials`],
      ['username\nu1\n', `${users}, line 2: a radio needs a username and a password`],
      ['username,password\n', `${users} has users for 0 of the 1 radios`],
      ['name,password\nu1,x\n', `${users}, line 1: `],
    ] as const) {
      await writeFile(users, rows);
      const { code, output } = await runCommand(command, {});
      t.equal(code, 1);
      t.ok(output.startsWith(failure), output);
    }
    for (const option of [
      ['--talking', '0.51'],
      ['--talking', '-1'],
      ['--area', '53.5,10'],
      ['--area', '86,10,1'],
      ['--area', '53.5,10,0'],
    ])
      t.match(await runCommand([...command, ...option], {}), {
        code: 1,
        output: new RegExp(`^${option[0]} must be`),
      });
  },
);
