// The commands of talkgroup-radio that a page shows, checked against the help of the real command line.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { codeOf, ROOT } from './pages.js';

/** `secrets rotate` or `radio talk`, and the options given with it. */
export interface ShownCommand {
  readonly words: string;
  readonly options: readonly string[];
}

interface Help {
  readonly exitCode: number;
  readonly text: string;
}

/**
 * Every call in the fences and code spans. `talkgroup-radio` is also a user and an image, so it must begin the command, or follow `exec CONTAINER`.
 * The first word after the program is a command, and so is each plain word after it. Arguments are written `NAME`.
 */
export function commandsOf(page: string): ShownCommand[] {
  return codeOf(page)
    .flatMap((code) => code.replaceAll(/\\\n\s*/g, ' ').split('\n'))
    .flatMap((line) => [
      ...line.matchAll(
        /\bcli\.js(?=\s|$)([^;&|#)>]*)|(?:^|[;&|(]|\$ | exec \S+)\s*(?:sudo |[A-Z_]+=\S+ )*talkgroup-radio(?=\s|$)([^;&|#)>]*)/g,
      ),
    ])
    .map(([, ofFile, ofName]) => (ofFile ?? ofName ?? '').trim().split(/\s+/))
    .map((tokens) => {
      const end = tokens.findIndex((token, at) => !(at === 0 ? /^[^-]/ : /^[a-z][a-z-]*$/).test(token));
      return {
        words: tokens.slice(0, end < 0 ? tokens.length : end).join(' '),
        options: tokens.filter((token) => /^--?[a-z]/i.test(token)).map((token) => token.replace(/=.*/, '')),
      };
    });
}

/** What is wrong with a command, if anything. Runs each distinct command once with --help. */
export async function faultsOf({ words, options }: ShownCommand): Promise<string[]> {
  const { exitCode, text } = await helpOf(words);
  const [, usage = ''] = /^Usage: talkgroup-radio(.*)$/m.exec(text) ?? [];
  const isKnown = exitCode === 0 && `${usage} `.startsWith(words === '' ? ' ' : ` ${words} `);
  if (!isKnown) return [`${words}: no such command`];
  if (words !== '' && usage.endsWith('[command]')) return [`${words}: a command is missing after it`];
  const known = new Set(
    [...text.matchAll(/^ {2}(?:(-\w), )?(--[a-z-]+)/gm)].flatMap(([, ...names]) => names),
  );
  return options.filter((option) => !known.has(option)).map((option) => `${words} ${option}: no such option`);
}

const asked = new Map<string, Promise<Help>>();

function helpOf(words: string): Promise<Help> {
  const help = asked.get(words) ?? askHelp(words.split(' ').filter((word) => word !== ''));
  asked.set(words, help);
  return help;
}

function askHelp(words: readonly string[]): Promise<Help> {
  const cli = join(ROOT, 'dist/src/cli.js');
  return new Promise((resolve) => {
    const child = execFile(process.execPath, [cli, ...words, '--help'], (_error, text) => {
      resolve({ exitCode: child.exitCode ?? 1, text });
    });
  });
}
