// Checks the file that MAP_FILE names.
import { closeSync, openSync, readSync } from 'node:fs';

/** How a file of version 3 begins (https://github.com/protomaps/PMTiles, spec/v3). */
const BEGINNING = Buffer.from('PMTiles\u0003', 'latin1');

/** False also when the file is absent or cannot be read. */
export function isMapFile(path: string): boolean {
  try {
    const file = openSync(path, 'r');
    try {
      const bytes = Buffer.alloc(BEGINNING.length);
      readSync(file, bytes, 0, bytes.length, 0);
      return bytes.equals(BEGINNING);
    } finally {
      closeSync(file);
    }
  } catch {
    return false; // expected: absent, a folder, or not readable
  }
}
