// The Markdown pages of the repository, read for their links, headings and code.
import { readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Fence, splitFences } from './fences.js';

// From dist/test/helpers/pages.
export const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));

/** Folders without pages of ours. Those with a leading dot are skipped as well. */
const SKIPPED = new Set(['node_modules', 'dist']);

/** Every page by its path from the root, with forward slashes. */
export function markdownFiles(folder = ''): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true })
    .flatMap((entry) => {
      const path = posix.join(folder, entry.name);
      if (entry.name.startsWith('.') || SKIPPED.has(entry.name)) return [];
      if (entry.isDirectory()) return markdownFiles(path);
      return entry.name.endsWith('.md') ? [path] : [];
    })
    .sort();
}

export const readPage = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

export const fencesOf = (page: string): readonly Fence[] => splitFences(page).fences;

export const linesOf = (text: string) => text.split('\n').filter((line) => line.trim() !== '');

/** Whether `lines` come in this order, others between them or not. */
export function holds(all: readonly string[], lines: readonly string[]): boolean {
  let at = 0;
  return lines.every((line) => {
    at = all.indexOf(line, at) + 1;
    return at > 0;
  });
}

/** What is in fences and in backticks. */
export function codeOf(page: string): string[] {
  const spans = [...withoutFences(page).matchAll(/`([^`\n]+)`/g)].map(([, span = '']) => span);
  return [...fencesOf(page).map(({ text }) => text), ...spans];
}

/** Targets of links and images, as written. */
export function linksOf(page: string): string[] {
  const prose = withoutFences(page).replaceAll(/`[^`\n]*`/g, '`');
  return [
    ...prose.matchAll(/\]\(<?([^)\s>]+)>?(?:\s+"[^"]*")?\)/g),
    ...prose.matchAll(/^\[[^\]]+\]:\s+(\S+)/gm),
    ...prose.matchAll(/\b(?:href|src|srcset)="([^"\s]+)/g),
  ].map(([, target = '']) => target);
}

/** What may stand behind `#`: the headings as GitHub names them, and ids given by hand. */
export function anchorsOf(page: string): ReadonlySet<string> {
  const prose = withoutFences(page);
  const anchors = new Set([...prose.matchAll(/<a (?:id|name)="([^"]+)"/g)].map(([, id = '']) => id));
  for (const [, heading = ''] of prose.matchAll(/^#{1,6} +(.+?) *#*$/gm)) {
    const slug = slugOf(heading);
    let name = slug;
    for (let n = 1; anchors.has(name); n++) name = `${slug}-${n}`;
    anchors.add(name);
  }
  return anchors;
}

function slugOf(heading: string): string {
  const text = heading.replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase();
  return text.replaceAll(/[^\p{L}\p{M}\p{N}\p{Pc} -]/gu, '').replaceAll(' ', '-');
}

/** The page with its fences emptied. Each line stays where it was. */
const withoutFences = (page: string): string => splitFences(page).lines.join('\n');
