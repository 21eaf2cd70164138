// The sentences of docs/operations.md about a radio that hears nothing, and how a test compares one with them.
import { page } from './operations-page.js';

/** Rows of the table in their order. A finding with two sentences has two. */
export const rows: readonly { readonly code: string; readonly sentence: string }[] = tableOf(page);

function tableOf(text: string) {
  const [, table = ''] =
    /\| finding \| sentence \| cause \|\n\|---\|---\|---\|\n((?:\|.*\n)+)/.exec(text) ?? [];
  return table
    .trim()
    .split('\n')
    .map((row) => {
      const [, code = '', sentence = ''] = /^\| `(\w+)` \| (.+?) \|/.exec(row) ?? [];
      return { code, sentence };
    });
}

/** What stands for a name of the page in a test. */
export interface Names {
  readonly user: string;
  readonly talkgroup?: string;
  readonly device?: string;
  /** How many nodes answered, in words. */
  readonly nodes?: string;
}

/** What differs from run to run: times, nodes and figures. */
const SEEN: readonly (readonly [RegExp, string])[] = [
  [/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC/g, 'TIME'],
  [/node \S+ \d+ [0-9a-z]+/g, 'node NODE'],
  [/\d+ s ago/g, 'N s ago'],
  [/after \d+ ms/g, 'after N ms'],
];

const unlike = (text: string) => SEEN.reduce((left, [one, name]) => left.replace(one, name), text);

/** The finding that this line begins with, in the words of the page. Another line is answered as it came. */
export function findingOf(line: string, { user, talkgroup, device, nodes = '3 nodes' }: Names): string {
  for (const { code, sentence } of rows) {
    const named = unlike(sentence)
      .replaceAll('3 nodes', nodes)
      .replaceAll(/(?<![\w-])17(?![\w-])/g, user)
      .replaceAll('Fire 1', talkgroup ?? 'Fire 1')
      .replaceAll('Engine 4', device ?? 'Engine 4');
    const seen = unlike(line);
    if (seen === named || seen.startsWith(`${named} `)) return code;
  }
  return line;
}
