// The Markdown pages of the repository, read for their links, headings and code.
import { readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A fenced block: its language, `''` without one, and its lines joined. */
export interface Fence {
  readonly language: string;
  readonly text: string;
  /** The line of the page in which it begins, from 1. */
  readonly at: number;
}

// From dist/test/helpers.
export const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

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

export function fencesOf(page: string): Fence[] {
  const fences: Fence[] = [];
  let open: { language: string; lines: string[]; at: number } | null = null;
  for (const [index, line] of page.split('\n').entries()) {
    const [, language] = /^```(.*)$/.exec(line) ?? [];
    if (language === undefined) open?.lines.push(line);
    else if (open === null) open = { language: language.trim(), lines: [], at: index + 1 };
    else {
      fences.push({ language: open.language, text: open.lines.join('\n'), at: open.at });
      open = null;
    }
  }
  if (open !== null) throw new Error(`the fence of line ${open.at} is not closed`);
  return fences;
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

/** The page with its fences emptied; each line stays where it was. */
function withoutFences(page: string): string {
  let isInside = false;
  return page
    .split('\n')
    .map((line) => {
      if (line.startsWith('```')) {
        isInside = !isInside;
        return '';
      }
      return isInside ? '' : line;
    })
    .join('\n');
}
