// Writes the licences of what others made and the console has a copy of: most of them ask for their text beside each copy.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The last package of a path: `node_modules/a/node_modules/@scope/b/`. */
const PACKAGE = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//;
const TEXT = /^(licen[cs]e|notice|third_party)/i;
/** Of the drawings in icons/icons.ts. */
const ICONS = 'src/console/licenses/Lucide.txt';
/** As https://spdx.org/licenses/BSD-3-Clause.html has it, for a package that names the licence alone. */
const BSD_3 = 'src/console/licenses/BSD-3-Clause.txt';
/** What it reads beside those of packages. */
export const KEPT = [ICONS, BSD_3];

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license?: string;
  readonly author?: string;
}

/** `inputs`: paths below `root` of all that was bundled. Throws for a package without the text of its licence. */
export async function licensesOf(root: string, inputs: readonly string[]): Promise<string> {
  const folders = new Set(inputs.flatMap((path) => PACKAGE.exec(path)?.[1] ?? []));
  const [icons = '', bsd3 = ''] = await Promise.all(KEPT.map((path) => readFile(join(root, path), 'utf8')));
  const packages = [...folders].sort().map((folder) => partOf(join(root, folder), bsd3));
  const parts = [...(await Promise.all(packages)), part('Icons of Lucide, ISC and MIT', [icons])];
  return ['The console has copies of these works of others.', ...parts].join('\n\n');
}

async function partOf(folder: string, bsd3: string): Promise<string> {
  const text = await readFile(join(folder, 'package.json'), 'utf8');
  const { name, version, license = '', author = '' } = JSON.parse(text) as Manifest;
  const files = (await readdir(folder)).filter((file) => TEXT.test(file)).sort();
  const texts = await Promise.all(files.map((file) => readFile(join(folder, file), 'utf8')));
  if (texts.length === 0 && license === 'BSD-3-Clause' && author !== '')
    texts.push(bsd3.replace('AUTHOR', author));
  if (texts.length === 0) throw new Error(`${name} has no text of its licence`);
  return part(`${name} ${version}, ${license}`, texts);
}

const RULE = '='.repeat(80);

function part(title: string, texts: readonly string[]): string {
  return [`${RULE}\n${title}\n${RULE}`, ...texts.map((text) => text.trim()), ''].join('\n\n');
}
