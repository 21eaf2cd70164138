// Takes the WebAssembly of the codec out of its package when the console is bundled.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runInNewContext } from 'node:vm';
import type { Plugin } from 'esbuild';

const MODULE = /libopus-wasm[\\/]dist[\\/]generated[\\/]libopus\.generated\.mjs$/;
const STRING = /binaryDecode\(('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")\)/s;
const FILE = 'libopus.wasm';
/** What must stand around the string: bytes that are decoded as below, and a caller that awaits them. */
const AROUND = [
  'o[i]=~c>>8&c',
  'function findWasmBinary(){return binaryDecode(',
  'wasmBinaryFile??=findWasmBinary()',
  'await instantiateAsync(wasmBinary,wasmBinaryFile,info)',
  'function getBinarySync(file){return file}',
  'var binary=await getWasmBinary(binaryFile)',
];

/** Of Node. The types of Node 20 do not have it. */
declare const WebAssembly: { validate(bytes: Uint8Array): boolean };

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
        const taken = takeOut(await readFile(path, 'utf8'), path);
        bytes = taken.bytes;
        const loader = JSON.stringify(join(root, 'src/console/worker/codec-bytes.ts'));
        const imports = `import { codecBytes } from ${loader}\nimport address from '${FILE}'\n`;
        return { contents: imports + taken.rest, loader: 'js' };
      });
      build.onResolve({ filter: /^libopus\.wasm$/ }, () => ({ path: FILE, namespace: 'codec' }));
      build.onLoad({ filter: /./, namespace: 'codec' }, () => ({ contents: bytes, loader: 'file' }));
    },
  };
}

/** The WebAssembly, and the module without it, which loads it from `address`. `path` is for the error. */
export function takeOut(text: string, path: string): { bytes: Uint8Array; rest: string } {
  const missing = AROUND.find((part) => !text.includes(part));
  const [call, literal] = STRING.exec(text) ?? [];
  if (missing !== undefined || call === undefined || literal === undefined)
    throw new Error(
      `${path} does not keep its WebAssembly in a string as version 0.4.0 does: adapt src/console/codec-file.ts (missing: ${missing ?? 'the string'})`,
    );
  const bytes = decoded(runInNewContext(literal));
  if (!WebAssembly.validate(bytes)) throw new Error(`${path}: the string is no valid WebAssembly`);
  return { bytes, rest: text.replace(call, () => 'codecBytes(new URL(address, import.meta.url).href)') };
}

/** As `binaryDecode` of Emscripten does it: U+0100 and on stand for bytes that a string would not keep. */
const decoded = (string: string) =>
  Uint8Array.from(string, (character) => {
    const code = character.charCodeAt(0);
    return (~code >> 8) & code;
  });
