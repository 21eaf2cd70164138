// The bundled console: its size, that it loads nothing from elsewhere, and that the same sources give the same bytes.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { type BuiltConsole, buildConsole } from '../../src/console/build.js';
import { takeOut } from '../../src/console/codec-file.js';

/**
 * Goals of the console (bytes, by gzip): before the login can be used, and with all that a login loads. Replay and the signs of
 * recorded talkgroups were given the last 2,000. Browsers load an eighth less, by brotli.
 */
const FIRST_MAX = 20_000;
const ALL_MAX = 252_000;

/** Built by `make` before. */
const MADE = fileURLToPath(new URL('../../console', import.meta.url));

const one = t.testdir({ built: {} });
const built = await buildConsole(join(one, 'built'));
const names = await readdir(join(one, 'built'));

const bytesOf = ({ files }: BuiltConsole, isCounted: (name: string) => boolean) =>
  files.filter(({ name }) => isCounted(name)).reduce((sum, { gzipBytes }) => sum + gzipBytes, 0);

t.test(
  `a browser loads at most ${FIRST_MAX} bytes before the login, and ${ALL_MAX} with what a login loads`,
  async (t) => {
    const first = bytesOf(built, (name) => built.first.includes(name));
    const after = bytesOf(built, (name) => built.login.includes(name));
    t.comment(`before the login ${first} bytes, after it ${after} more`);
    t.ok(
      built.login.some((name) => name.endsWith('.wasm')),
      'the codec is counted',
    );
    t.ok(first > 5_000 && after > 100_000, 'and so is the page');
    t.ok(first <= FIRST_MAX, `${first} bytes before the login`);
    t.ok(first + after <= ALL_MAX, `${first + after} bytes in all`);
  },
);

t.test('a login loads few files, and the shell comes with it and not before', async (t) => {
  const count = built.first.length + built.login.length;
  t.ok(count <= 20, `${count} files`);
  const isShell = async (name: string) =>
    (await readFile(join(one, 'built', name), 'utf8')).includes('AudioWorkletNode');
  for (const name of built.first) t.notOk(await isShell(name), name);
  t.ok((await Promise.all(built.login.map(isShell))).includes(true), 'one of the files of a login has it');
});

t.test('the codec is not loaded before the login', async (t) => {
  for (const name of built.first) {
    const text = await readFile(join(one, 'built', name), 'utf8');
    t.notMatch(text, /libopus|WebAssembly/, name);
  }
  t.notOk(built.first.some((name) => name.endsWith('.wasm')));
});

t.test(
  'the codec is a file and in no script, and a package that looks different is not bundled',
  async (t) => {
    const path = fileURLToPath(
      new URL('../../../node_modules/libopus-wasm/dist/generated/libopus.generated.mjs', import.meta.url),
    );
    const text = await readFile(path, 'utf8');
    const { bytes, rest } = takeOut(text, path);
    const [name = ''] = names.filter((name) => name.endsWith('.wasm'));
    t.match(name, /^libopus-[A-Z0-9]{8}\.wasm$/);
    t.ok((await readFile(join(one, 'built', name))).equals(bytes), 'the file has the bytes of the package');
    t.ok(text.includes('\0asm') && !rest.includes('\0asm'), 'and the script does not');
    for (const [was, is] of [
      ["binaryDecode('", "binaryDecode(B+'"],
      ['o[i]=~c>>8&c', 'o[i]=c-1'],
      ['var binary=await getWasmBinary', 'var binary=getWasmBinary'],
    ] as const)
      t.throws(() => takeOut(text.replace(was, is), path), /adapt src\/console\/codec-file\.ts/, is);
    t.throws(() => takeOut(text.replace('\0asm', '\0asn'), path), /no valid WebAssembly/);
  },
);

t.test('the same sources give the same bytes', async (t) => {
  t.strictSame((await readdir(MADE)).sort(), names.toSorted(), 'as `make` built it');
  for (const name of names) {
    const [first, second] = await Promise.all(
      [join(one, 'built'), MADE].map((at) => readFile(join(at, name))),
    );
    t.ok(first?.equals(second ?? Buffer.alloc(0)), name);
  }
});

/** What a browser installs the console with. */
const install = ['icon-192.png', 'icon-512.png', 'icon-maskable-512.png', 'manifest.webmanifest'];

t.test('the manifest makes the console an app, and its icons have the sizes that it names', async (t) => {
  const read = (name: string) => readFile(join(one, 'built', name));
  const manifest = JSON.parse(String(await read('manifest.webmanifest')));
  t.match(manifest, { name: 'Talkgroup Radio', display: 'standalone', start_url: './', scope: './' });
  const icons: { src: string; sizes: string; purpose?: string }[] = manifest.icons;
  for (const { src, sizes } of icons) {
    const png = await read(src);
    t.equal(`${png.readUInt32BE(16)}x${png.readUInt32BE(20)}`, sizes, src); // width and height in IHDR
  }
  t.strictSame(
    icons.map(({ sizes, purpose = 'any' }) => `${sizes} ${purpose}`),
    ['192x192 any', '512x512 any', '512x512 maskable'],
  );
  t.strictSame(
    manifest.shortcuts.map(({ url }: { url: string }) => url),
    ['./#talk', './#map'],
  );
  t.match(String(await read('index.html')), '<link rel="manifest" href="manifest.webmanifest" />');
  t.strictSame(names.filter((name) => install.includes(name)).sort(), install);
});

t.test(
  'a file has a hash in its name, but for the page, licences and installation, and is packed in two ways',
  async (t) => {
    const plain = names.filter((name) => !/\.(gz|br)$/.test(name));
    for (const name of plain) {
      if (!['index.html', 'licenses.txt', ...install].includes(name))
        t.match(name, /-[A-Z0-9]{8}\.(js|css|\w+)$/);
      t.ok(names.includes(`${name}.gz`) && names.includes(`${name}.br`), name);
    }
    t.ok(
      plain.some((name) => name.startsWith('radio-worker-')),
      'the worker is a file of its own',
    );
  },
);

t.test('the licence of each package in the console, and of its icons, is beside it', async (t) => {
  const text = await readFile(join(one, 'built/licenses.txt'), 'utf8');
  const packages = built.inputs.flatMap(
    (path) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? [],
  );
  t.ok(new Set(packages).size > 8);
  const parts = new Map(
    text.split(/^=+\n(?=\S)/m).map((part) => [/^(\S+) (?=[\d.]+, )|^/.exec(part)?.[1] ?? '', part]),
  );
  for (const name of new Set(packages)) t.match(parts.get(name), /copyright/i, name);
  t.match(text, /Icons of Lucide.*Copyright \(c\) \d+ Lucide Icons/s);
});

t.test('the page has no inline script or style, and names no other host', async (t) => {
  const page = await readFile(join(one, 'built/index.html'), 'utf8');
  t.notMatch(page, /<style|style=|<script(?![^>]+src=)|\son\w+=/);
  const hosts = page.match(/(?:src|href)="(?:https?:)?\/\/[^"]+/g);
  t.equal(hosts, null);
});
