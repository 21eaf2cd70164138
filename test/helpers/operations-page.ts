// docs/operations.md for tests: its text, and its shell steps by the name behind ```sh.
import { readFileSync } from 'node:fs';
import { type Ended, run } from './programs.js';

export const page = readFileSync('docs/operations.md', 'utf8');

/** A file of docs/deploy. */
export const deployed = (name: string) => readFileSync(`docs/deploy/${name}`, 'utf8');

const STEP = /^( *)```sh ([\w-]+)\n(.*?)^ *```$/gms;

/** Every step with a name, without the indentation of the list it is in. */
export const steps: ReadonlyMap<string, string> = new Map(
  [...page.matchAll(STEP)].map(([, indent = '', name = '', text = '']) => [
    name,
    text.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  ]),
);

/** Carries a step out as it is written; a command that fails ends it. */
export async function carryOut(
  name: string,
  env: Readonly<Record<string, string>>,
  cwd?: string,
): Promise<string> {
  const step = steps.get(name);
  if (step === undefined) throw new Error(`docs/operations.md has no step ${name}`);
  const { code, output }: Ended = await run('bash', ['-euo', 'pipefail', '-c', step], {
    env,
    ...(cwd === undefined ? {} : { cwd }),
  });
  if (code !== 0) throw new Error(`${name}: exit code ${code}\n${output}`);
  return output;
}
