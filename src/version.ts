// Reads the version of the service from package.json.
import { readFileSync } from 'node:fs';

/** As in package.json. */
export function readVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
