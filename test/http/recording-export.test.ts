// The command that exports recordings to files.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { readOpus } from '../../src/client/audio/ogg.js';
import { ENCRYPTED } from '../../src/protocol/frame.js';
import { openFolder } from '../helpers/database/open-folder.js';
import { run } from '../helpers/programs.js';
import { keptIn } from '../helpers/service/kept-recordings.js';
import { framesAt } from '../helpers/service/recorded.js';
import { type Json, runCommand, SECRET, service } from '../helpers/service/service.js';

t.setTimeout(300_000);

const s = await service(t);
const { kept, expire, deleteOld } = keptIn(t, s);

const at = (ms: number) => new Date(ms).toISOString();
const FROM = Date.now() - 3_600_000;
const TO = FROM + 1_800_000;

const environment = { DATABASE_URL: s.url, PORT: '1', JWT_SECRET: SECRET };
const wordsOf = (talkgroup: string, out: string, over: Record<string, string> = {}) => [
  ...['recordings', 'export'],
  ...Object.entries({ talkgroup, from: at(FROM), to: at(TO), out, ...over }).flatMap(([name, value]) => [
    `--${name}`,
    value,
  ]),
];
const exports = (...given: Parameters<typeof wordsOf>) => runCommand(wordsOf(...given), environment);

interface Exported {
  readonly recording: Json & { readonly recording_id: string };
  readonly missing_frames: Json[];
  readonly files: (Json & { readonly name: string; readonly sha256: string })[];
}

/** The manifest of a whole export, of which each file has the sums that are written of it. */
async function manifestOf(t: Test, out: string): Promise<Json & { readonly recordings: Exported[] }> {
  const lines = (await readFile(join(out, 'SHA256SUMS'), 'utf8')).trimEnd().split('\n');
  const sums = new Map(lines.map((line) => [line.slice(66), line.slice(0, 64)]));
  t.strictSame([...sums.keys(), 'SHA256SUMS'].sort(), (await readdir(out)).sort());
  for (const [name, sum] of sums) {
    const bytes = await readFile(join(out, name));
    t.equal(createHash('sha256').update(bytes).digest('hex'), sum, name);
    t.equal((await stat(join(out, name))).mode & 0o777, 0o600, `only its owner reads ${name}`);
  }
  const manifest = JSON.parse(await readFile(join(out, 'manifest.json'), 'utf8'));
  for (const { files } of (manifest as { recordings: Exported[] }).recordings)
    for (const { name, bytes, sha256 } of files) {
      t.equal(sha256, sums.get(name));
      t.equal((await stat(join(out, name))).size, bytes);
    }
  return manifest;
}

/** 20 ms of Opus (SILK, one frame). */
const packet = (n: number) => Uint8Array.of(0x08, n, n, n);
const name = (startedAt: number, rest: string) =>
  `Fire-1_${at(startedAt).replace(/\.\d+/, '').replaceAll(':', '')}_${rest}`;

t.test('an export has the frames, Ogg Opus of clear ones, a manifest and the sums', async (t) => {
  const talkgroup_id = (await s.talkgroup('Fire 1')).id as never;
  const of = { talkgroup_id, talkgroup_name: 'Fire 1', isWhole: true };
  const whole = await kept({ ...of, started_at: FROM + 1000, payloads: [packet(1), packet(2), packet(3)] });
  const gap = await kept({
    ...of,
    ...{ started_at: FROM + 2000, isWhole: false, username: '/../ "Ann":<火>😀.' },
    payloads: [packet(1), null, null, packet(4)],
  });
  const twin = await kept({ ...of, started_at: FROM + 1000, payloads: [packet(9), new Uint8Array()] });
  const crypto = { suite: 4, epoch: 0, salt: 'oKGio6SlpqeoqaqrrK2urw' } as never;
  const sealed = await kept({ ...of, started_at: FROM + 3000, crypto, payloads: ['sealed'] });
  const codec = { name: 'codec2', sample_rate: 8000, frame_ms: 20 };
  const other = await kept({ ...of, started_at: FROM + 4000, codec, payloads: ['other'] });
  const erased = await kept({ ...of, started_at: FROM + 5000 });
  await s.admin.delete(`/recordings/${erased}`);
  const expired = await kept({ ...of, started_at: FROM + 6000 });
  const held = await kept({ ...of, started_at: FROM + 7000, payloads: [packet(5)] });
  const span = { from: at(FROM + 7000), to: at(FROM + 7001), reason: 'x' };
  await s.admin.post('/recordings/holds', { talkgroup_id, ...span });
  for (const id of [expired, held]) await expire(id, '2 minutes');
  const running = await kept({ ...of, started_at: FROM - 60_000, payloads: [packet(6)] });
  await s.sql`update recordings set frames = null, duration_ms = null, code = null where id = ${running}`;
  for (const started_at of [TO, FROM - 700_000]) await kept({ ...of, started_at });
  await kept({ started_at: FROM + 1000 });

  const out = join(await openFolder(t), 'export');
  const { code, output, printed } = await exports(talkgroup_id, out);
  t.equal(code, 0, output);
  t.equal(printed, '');
  t.match(
    output,
    /: 8 recordings, \d+ bytes, 5 missing frames, 1 encrypted \(no Ogg\), 1 erased \(no files\)\n$/,
  );
  t.equal((await stat(out)).mode & 0o777, 0o700);
  const { recordings, ...head } = await manifestOf(t, out);
  t.match(head, {
    ...{ format: 'talkgroup-radio-recordings', version: 1, talkgroup_id, from: at(FROM), to: at(TO) },
    exported_by: /^command ./,
  });
  const ids = recordings.map(({ recording }) => recording.recording_id);
  t.strictSame(ids, [running, whole, twin, gap, sealed, other, erased, held]);
  const namesOf = (id: string) => recordings[ids.indexOf(id)]?.files.map((file) => file.name);
  t.strictSame(namesOf(whole), [`${name(FROM + 1000, 'ann')}.frames`, `${name(FROM + 1000, 'ann')}.ogg`]);
  t.strictSame(namesOf(twin), [`${name(FROM + 1000, 'ann')}_2.frames`, `${name(FROM + 1000, 'ann')}_2.ogg`]);
  t.strictSame(namesOf(gap), [`${name(FROM + 2000, 'Ann-火')}.frames`, `${name(FROM + 2000, 'Ann-火')}.ogg`]);
  t.strictSame(namesOf(sealed), [`${name(FROM + 3000, 'ann')}.frames`]);
  t.strictSame(namesOf(other), [`${name(FROM + 4000, 'ann')}.frames`]);
  t.strictSame(namesOf(erased), []);
  t.strictSame(recordings[ids.indexOf(gap)]?.missing_frames, [
    { first: 2, frames: 2 },
    { first: 5, frames: 1 },
  ]);
  t.match(recordings[ids.indexOf(gap)]?.files[1], { concealed: 2, left_out: 0 });
  t.match(recordings[ids.indexOf(held)]?.recording, { held: true });

  for (const id of [running, whole, twin, gap, sealed, other, held]) {
    const { recording, files } = recordings[ids.indexOf(id)] as Exported;
    t.same(recording, (await s.admin.get(`/recordings/${id}`)).recording, 'as REST has it');
    const [frames] = files;
    const { bytes } = await framesAt(s.rest, s.admin, id);
    t.ok(bytes.equals(await readFile(join(out, frames?.name ?? ''))), 'and its frames as well');
  }
  const sealedFrames = await readFile(join(out, `${name(FROM + 3000, 'ann')}.frames`));
  t.notOk((sealedFrames[2] ?? 0) & ENCRYPTED, 'a frame is as it was given');
  const { packets } = await readOpus(join(out, `${name(FROM + 1000, 'ann')}.ogg`));
  t.same(
    packets.map((one) => [...one]),
    [1, 2, 3].map((n) => [...packet(n)]),
  );
  const filled = await readOpus(join(out, `${name(FROM + 2000, 'Ann-火')}.ogg`));
  t.same(
    filled.packets.map((one) => one.length),
    [4, 1, 1, 4],
  );

  const reads = await s.sql`select reader_id, reader_name, recording_id from recording_reads
    where reader_name like 'command %' order by id`;
  t.strictSame(
    reads.map(({ recording_id }) => recording_id),
    [running, whole, twin, gap, sealed, other, held],
  );
  t.match(reads[0], { reader_id: null, reader_name: head.exported_by });
  const [act] =
    await s.sql`select by_name, way, talkgroup_id, details from acts where act = 'recordings_exported'`;
  t.match(act, {
    ...{ by_name: head.exported_by, way: 'command', talkgroup_id },
    details: { talkgroup: 'Fire 1', from: at(FROM), to: at(TO) },
  });
  await deleteOld();
});

t.test('an export of nothing said is whole, also into an empty folder', async (t) => {
  const { id } = await s.talkgroup('Silent');
  const out = await openFolder(t);
  t.match(await exports(id, out), { code: 0, output: /: 0 recordings, 0 bytes, 0 missing frames\n$/ });
  t.same((await manifestOf(t, out)).recordings, []);
});

t.test('an export replaces nothing, and leaves nothing of a failure', async (t) => {
  const { id } = await s.talkgroup('Fire 2');
  const folder = await openFolder(t);
  await writeFile(join(folder, 'a file'), 'x');
  const reads = async () => (await s.sql`select from recording_reads`).length;
  const before = await reads();
  const fails = async (output: RegExp, ...given: Parameters<typeof exports>) =>
    t.match(await exports(...given), { code: 1, output }, `${output}`);
  await fails(/is not empty: an export needs a new or an empty folder/, id, folder);
  await fails(/is a file: an export needs a folder/, id, join(folder, 'a file'));
  await fails(/the folder above it is missing/, id, join(folder, 'no', 'folder'));
  const out = join(folder, 'out');
  await fails(/^no such talkgroup/, '11111111-1111-4111-8111-111111111111', out);
  await fails(/^--talkgroup must be the id of a talkgroup, got "x"/, 'x', out);
  await fails(/^--from must be a time with a zone/, id, out, { from: '2026-11-25T14:00:00' });
  await fails(/^--to must be a time with a zone/, id, out, { to: '2d' });
  await fails(/^--from must be before --to/, id, out, { from: at(TO) });
  await fails(/^--to must not be in the future/, id, out, { to: at(Date.now() + 60_000) });
  t.strictSame(await readdir(folder), ['a file']);
  t.equal(await reads(), before);

  // It fails in the middle: the second recording cannot be noted.
  const talkgroup_id = id as never;
  const [, second] = [
    await kept({ talkgroup_id, started_at: FROM }),
    await kept({ talkgroup_id, started_at: FROM + 1 }),
  ];
  await s.sql`create function broken() returns trigger language plpgsql as $$ begin raise 'broken'; end $$`;
  await s.sql.unsafe(`create trigger broken before insert on recording_reads for each row
    when (new.recording_id = '${second}') execute function broken()`);
  await mkdir(join(folder, 'empty'));
  await fails(/broken/, id, out);
  await fails(/broken/, id, join(folder, 'empty'));
  await s.sql`drop trigger broken on recording_reads`;
  t.strictSame((await readdir(folder)).sort(), ['a file', 'empty']);
  t.strictSame(await readdir(join(folder, 'empty')), []);
  t.match(await exports(id, join(folder, 'empty')), { code: 0, output: /2 recordings/ });
});

const mayMount =
  process.platform === 'linux' &&
  spawnSync('unshare', ['--mount', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).status === 0;

const SKIP = { skip: mayMount ? false : 'needs the right to mount a small disk' };

t.test('a full disk ends an export, which says so', SKIP, async (t) => {
  const talkgroup_id = (await s.talkgroup('Fire 3')).id as never;
  for (let n = 0; n < 4; n++)
    await kept({
      talkgroup_id,
      started_at: FROM + n,
      payloads: Array.from({ length: 60 }, () => new Uint8Array(1000)),
    });
  const cli = new URL('../../src/cli.js', import.meta.url).pathname;
  const folder = await openFolder(t);
  const inner = 'mount -t tmpfs -o size=128k tmpfs "$0" && "$@"; code=$?; ls "$0"; exit $code';
  const words = [process.execPath, cli, ...wordsOf(talkgroup_id, join(folder, 'out'))];
  const { code, output } = await run('unshare', ['--mount', 'sh', '-c', inner, folder, ...words], {
    env: { ...process.env, ...environment },
  });
  t.equal(code, 1);
  t.match(output, /^cannot write .*: the disk is full\. Nothing was exported\.\n$/);
});
