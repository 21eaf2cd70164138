// docs/operations.md for tests: its text, and its shell steps by the name behind ```sh.
import { readFileSync } from 'node:fs';
import { type Ended, run } from '../programs.js';
import { fencesOf, readPage } from './pages.js';

export const page = readPage('docs/operations.md');

/** A file of docs/deploy. */
export const deployed = (name: string) => readFileSync(`docs/deploy/${name}`, 'utf8');

/** Every step with a name, without the indentation of the list it is in. */
export const steps: ReadonlyMap<string, string> = new Map(
  fencesOf(page).flatMap(({ language, text }): [string, string][] => {
    const [, name] = /^sh ([\w-]+)$/.exec(language) ?? [];
    return name === undefined ? [] : [[name, text]];
  }),
);

/** The one configuration on the page that has this setting. */
export function documentedConfiguration(setting: string): string {
  const [found, ...others] = fencesOf(page).filter(({ text }) => text.includes(`${setting}:`));
  if (found === undefined || others.length > 0) throw new Error(`not one configuration has ${setting}`);
  return found.text;
}

/** Carries a step out as it is written. A command that fails ends it. */
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
