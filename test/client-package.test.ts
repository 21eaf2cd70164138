// The client as a package: what an app imports, in Node and bundled for a browser, from a folder outside the repository.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { createContext, runInContext } from 'node:vm';
import { build } from 'esbuild';
import t, { type Test } from 'tap';
import ts from 'typescript';
import { WebSocket as WsSocket } from 'ws';
import { eventually } from './helpers/eventually.js';
import { fencesOf, readPage } from './helpers/pages/pages.js';
import { type Person, type Service, service } from './helpers/service/service.js';

const run = promisify(execFile);
const NAME = 'talkgroup-radio-service';
/** What the client needs from the registry, its types included: the types of messages need no TypeBox. */
const DEPENDENCIES = ['ws', 'mediabunny', 'hpke', '@noble/ciphers', '@noble/hashes', 'libopus-wasm'];

/** What a bundle for a browser is made of. */
const OF_A_BUNDLE = new RegExp(`${NAME}/dist/src/|stdin|node_modules/(hpke|@noble/(ciphers|hashes))/`);

const folder = await mkdtemp(join(tmpdir(), 'client-package-'));
t.teardown(() => rm(folder, { recursive: true, force: true }));
const packed = await pack();

interface Packed {
  readonly filename: string;
  readonly files: readonly { readonly path: string }[];
}

/** An app with the packed package in its node_modules, and beside it the dependencies, as npm would install them. */
async function pack(): Promise<Packed & { readonly app: string }> {
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder];
  const { stdout } = await run('npm', args, { maxBuffer: 10 << 20 });
  const [about] = JSON.parse(stdout) as Packed[];
  if (about === undefined) throw new Error(`npm pack wrote nothing: ${stdout}`);
  const app = join(folder, 'app');
  const modules = join(app, 'node_modules');
  await mkdir(join(modules, '@noble'), { recursive: true });
  await run('tar', ['-xzf', join(folder, about.filename), '-C', modules]);
  await run('mv', [join(modules, 'package'), join(modules, NAME)]);
  for (const name of DEPENDENCIES) await symlink(resolve('node_modules', name), join(modules, name));
  return { ...about, app };
}

t.test('the package has the code and its types, and neither tests nor source maps', async (t) => {
  const paths = packed.files.map(({ path }) => path);
  for (const path of [
    'package.json',
    'dist/src/client/node.js',
    'dist/src/client/radio.d.ts',
    'dist/src/client/sound.d.ts',
    'dist/src/client/sound/input.js',
    'dist/src/client/sound/worklets.js',
    'dist/src/cli.js',
    'dist/console/index.html',
    'bench/speech.ogg',
  ])
    t.ok(paths.includes(path), path);
  t.ok(paths.some((path) => path.startsWith('sql/')));
  const known = /^(package\.json|README\.md|bench\/speech\.ogg|(dist\/src|dist\/console|sql)\/.*(?<!\.map))$/;
  t.strictSame(
    paths.filter((path) => !known.test(path)),
    [],
  );
});

/** What an app writes. `settings` and the two ways to report come from outside. */
const appOf = (settings: Settings) => `
import { createRadio } from '${NAME}/client';

const { url, token, talkgroupId } = ${JSON.stringify(settings)};
const radio = createRadio({ url, token });
radio.on('audio', ({ payload }) => {
  console.log('heard', new TextDecoder().decode(payload));
  radio.close();
});
radio.on('stopped', ({ code }) => console.log('stopped', code));
radio.on('open', async () => {
  const talk = radio.talk({ talkgroupId });
  talk.send(new TextEncoder().encode('one'));
  talk.end(new TextEncoder().encode('two'));
  console.log('ended', (await talk.ended).code);
});
`;

interface Settings {
  readonly url: string;
  readonly token: string;
  readonly talkgroupId: string;
}

/** Ann's app talks, and then hears bob. It writes to `lines`. */
async function converse(t: Test, lines: string[], start: (settings: Settings) => Promise<unknown>) {
  const { s, ann, bob } = await people(t);
  const { id, number } = await s.talkgroup('fire', ann, bob);
  const radio = await bob.radio();
  await start({ url: s.ws, token: ann.token, talkgroupId: id });
  await eventually(() => lines.includes('ended released') || fail(lines));
  await radio.hearsText('two');
  t.strictSame(
    radio.frames.map(({ text }) => text),
    ['one', 'two'],
  );
  radio.speaks(number, 'three', { start: true });
  await eventually(() => lines.includes('stopped 1000') || fail(lines));
  t.strictSame(lines, ['ended released', 'heard three', 'stopped 1000']);
}

function fail(lines: readonly string[]): never {
  throw new Error(`not so far: ${lines.join(', ')}`);
}

async function people(t: Test): Promise<{ s: Service; ann: Person; bob: Person }> {
  const s = await service(t);
  return { s, ann: await s.person('ann'), bob: await s.person('bob') };
}

t.test('an app in Node imports the client, talks and listens, and exits after close', async (t) => {
  const lines: string[] = [];
  let exited: Promise<unknown[]> = Promise.resolve([]);
  await converse(t, lines, async (settings) => {
    await writeFile(join(packed.app, 'app.mjs'), appOf(settings));
    const child = spawn(process.execPath, ['app.mjs'], { cwd: packed.app, stdio: 'pipe' });
    t.teardown(() => child.kill('SIGKILL'));
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => lines.push(...text.trimEnd().split('\n')));
    }
    exited = once(child, 'close');
  });
  t.strictSame(await exited, [0, null]);
});

// In place of a browser: a context with what a page has and the client uses, and nothing of Node's. The WebSocket is
// that of Node 22 and newer, or of `ws` on Node 20. `instanceof ArrayBuffer` must see the one that the socket makes.
const { WebSocket = WsSocket } = globalThis as { WebSocket?: unknown };

t.test(
  'the bundle for a browser needs the packages of encryption alone, nothing of Node, and talks and listens',
  async (t) => {
    const lines: string[] = [];
    await converse(t, lines, async (settings) => {
      const { code, inputs } = await bundle(appOf(settings));
      t.strictSame(
        inputs.filter((path) => !OF_A_BUNDLE.test(path)),
        [],
      );
      // 30 kB of it seal and open frames.
      t.ok(code.length < 140_000, `${code.length} bytes`);
      const console = { log: (...words: unknown[]) => lines.push(words.join(' ')) };
      const page = {
        WebSocket,
        ArrayBuffer,
        TextDecoder,
        TextEncoder,
        performance,
        setTimeout,
        clearTimeout,
        console,
      };
      runInContext(code, createContext(page));
    });
  },
);

async function bundle(contents: string): Promise<{ code: string; inputs: string[] }> {
  const { outputFiles, metafile } = await build({
    stdin: { contents, resolveDir: packed.app },
    absWorkingDir: packed.app,
    bundle: true,
    platform: 'browser',
    format: 'iife',
    write: false,
    metafile: true,
    logLevel: 'silent', // a failure is thrown
  });
  return { code: outputFiles[0]?.text ?? '', inputs: Object.keys(metafile.inputs) };
}

t.test('Ogg files are read and written in Node and in a bundle for a browser', async (t) => {
  const source = `import { readOpus, writeOpus } from '${NAME}/client/ogg';`;
  const program = `${source} console.log((await readOpus(process.argv[1])).packets.length, typeof writeOpus);`;
  const args = ['--input-type=module', '-e', program, resolve('bench/speech.ogg')];
  t.equal((await run(process.execPath, args, { cwd: packed.app })).stdout, '387 function\n');
  t.ok((await bundle(`${source} console.log(readOpus, writeOpus);`)).code.length > 0);
});

t.test('the page of the guide is bundled with its sound, and its worklets are one file', async (t) => {
  await copyFile('docs/examples/browser/page.mjs', join(packed.app, 'page.mjs'));
  const { outputFiles, metafile } = await build({
    entryPoints: {
      page: 'page.mjs',
      worklets: `${NAME}/client/sound/worklets.js`,
    },
    absWorkingDir: packed.app,
    ...{ bundle: true, platform: 'browser', format: 'esm', external: ['node:module'] },
    ...{ outdir: 'out', write: false, metafile: true, logLevel: 'silent' },
  });
  const inputsOf = (name: string) => Object.keys(metafile.outputs[`out/${name}`]?.inputs ?? {});
  const known = new RegExp(`${OF_A_BUNDLE.source}|page\\.mjs$|node_modules/libopus-wasm/`);
  t.strictSame(
    inputsOf('page.js').filter((path) => !known.test(path)),
    [],
  );
  t.strictSame(inputsOf('worklets.js'), [`node_modules/${NAME}/dist/src/client/sound/worklets.js`]);
  t.ok(outputFiles.every(({ text }) => !/^import /m.test(text)));
});

t.test('other modules of the package cannot be imported', async (t) => {
  const program = `await import('${NAME}/dist/src/client/radio.js')`;
  await t.rejects(run(process.execPath, ['--input-type=module', '-e', program], { cwd: packed.app }), {
    message: /ERR_PACKAGE_PATH_NOT_EXPORTED/,
  });
});

t.test('the types of the package check an app, in Node and with a bundler', async (t) => {
  const app = join(packed.app, 'typed.ts');
  await writeFile(
    app,
    `import { type ClientMessage, createRadio, type HeardFrame, type Radio, type ServerMessage, type Snapshot, type TalkOutcome } from '${NAME}/client';
import { type OpusRecording, readOpus } from '${NAME}/client/ogg';
import { createMicrophone, createSound, createVoices, type MicrophoneTalk, playRadio, type Sound, talkWithMicrophone } from '${NAME}/client/sound';
const radio: Radio = createRadio({ url: 'ws://127.0.0.1:3001', token: 'x' });
radio.on('audio', ({ talkgroupId, payload }: HeardFrame) => console.log(talkgroupId.length, payload.byteLength));
radio.on('message', (message: ServerMessage) => message.type === 'LAG' && message.since_ms.toFixed());
radio.request({ type: 'SYNC', talkgroup_id: 'x' } satisfies ClientMessage);
radio.gps({ lat: 52.25, lng: 5.5, alt: 12 });
export const outcome: Promise<TalkOutcome> = radio.talk({ talkgroupId: 'x', floor: 'queue' }).ended;
export const recording: Promise<OpusRecording> = readOpus('speech.ogg');
const sound: Sound = createSound({ workletsUrl: new URL('worklets.js', 'https://radio.example') });
playRadio({ radio, sound }).then(({ stop }) => stop());
const talk: MicrophoneTalk = talkWithMicrophone({ radio, sound, talkgroupId: 'x', floor: 'queue' });
talk.ended.then((outcome) => outcome.kind === 'no_microphone' && outcome.reason === 'lost');
Promise.all([createVoices({ targetMs: 80 }), createMicrophone()]).then(([voices, microphone]) => {
  voices.attach('x', sound.add('x'));
  sound.openMicrophone().then(microphone.attach);
});
// @ts-expect-error: without a radio
playRadio({ sound });
// @ts-expect-error: without a token
createRadio({ url: 'ws://127.0.0.1:3001' });
// @ts-expect-error: no such event
radio.on('music', () => {});
// @ts-expect-error: no such message
radio.request({ type: 'SING' });
// @ts-expect-error: no such floor mode
export const mode: Snapshot['floor_mode'] = 'closed';
`,
  );
  const { NodeNext, Bundler } = ts.ModuleResolutionKind;
  for (const [module, moduleResolution, conditions] of [
    [ts.ModuleKind.NodeNext, NodeNext, []],
    [ts.ModuleKind.ESNext, Bundler, ['browser']],
  ] as const) {
    const program = ts.createProgram([app], {
      ...{ module, moduleResolution, ...(conditions.length > 0 && { customConditions: [...conditions] }) },
      ...{ noEmit: true, strict: true, target: ts.ScriptTarget.ES2023, types: [] },
      lib: ['lib.es2023.d.ts', 'lib.dom.d.ts'],
    });
    const faults = ts.getPreEmitDiagnostics(program);
    t.strictSame(
      faults.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n')),
      [],
    );
  }
});

t.test('the commands of the WebSocket guide add the package to an app', async (t) => {
  const { text: commands = 'false' } =
    fencesOf(readPage('docs/websocket-guide.md')).find(
      ({ language, text }) => language === 'sh' && /^cd .*npm install/s.test(text),
    ) ?? {};
  const workspace = join(folder, 'workspace');
  const app = join(workspace, 'my-app');
  await mkdir(app, { recursive: true });
  await writeFile(join(app, 'package.json'), '{"private": true, "type": "module"}');
  await symlink(resolve('.'), join(workspace, NAME));
  // Nothing is to be fetched: the packages of the linked folder are there.
  const script = `set -e\ncd '${join(workspace, NAME)}'\nexport npm_config_offline=true npm_config_audit=false\n${commands}`;
  await run('sh', ['-c', script]);
  const program = `import { createRadio } from '${NAME}/client'; console.log(typeof createRadio);`;
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', program], { cwd: app });
  t.equal(stdout, 'function\n');
});
