// Takes the WebAssembly of the codec out of its package when the console is bundled.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runInNewContext } from 'node:vm';
import type { Plugin } from 'esbuild';

const MODULE = /libopus-wasm[\\/]dist[\\/]generated[\\/]libopus\.generated\.mjs$/;
const STRING = /binaryDecode\(('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")\)/s;
const FILE = 'libopus.wasm';
/** The first bytes of every module (WebAssembly core, 5.5.16). */
const MAGIC = '\0asm';

/**
 * libopus-wasm keeps its WebAssembly in a string, for programs without a bundler. Packed by gzip the string has 9 % more
 * bytes than the file, and a browser has to parse it. `root` has `src/console`. The build fails when the package looks
 * different.
 */
export function codecFile(root: string): Plugin {
  return {
    name: 'codec-file',
    setup(build) {
      let bytes: Uint8Array = new Uint8Array();
      build.onLoad({ filter: MODULE }, async ({ path }) => {
        const text = await readFile(path, 'utf8');
        const [call, literal] = STRING.exec(text) ?? [];
        if (call === undefined || literal === undefined)
          throw new Error(`${path} has no WebAssembly in a string`);
        bytes = decoded(runInNewContext(literal));
        if (!Buffer.from(bytes).toString('latin1').startsWith(MAGIC))
          throw new Error(`${path}: the string is no WebAssembly`);
        const loader = JSON.stringify(join(root, 'src/console/sound/codec-bytes.ts'));
        const imports = [`import { codecBytes } from ${loader}`, `import address from '${FILE}'`, ''].join(
          '\n',
        );
        // The caller awaits what findWasmBinary returns.
        const contents =
          imports + text.replace(call, () => 'codecBytes(new URL(address, import.meta.url).href)');
        return { contents, loader: 'js' };
      });
      build.onResolve({ filter: /^libopus\.wasm$/ }, () => ({ path: FILE, namespace: 'codec' }));
      build.onLoad({ filter: /./, namespace: 'codec' }, () => ({ contents: bytes, loader: 'file' }));
    },
  };
}

/** As `binaryDecode` of Emscripten does it: U+0100 and on stand for bytes that a string would not keep. */
const decoded = (string: string) =>
  Uint8Array.from(string, (character) => {
    const code = character.charCodeAt(0);
    return (~code >> 8) & code;
  });
