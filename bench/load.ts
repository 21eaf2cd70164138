// `make load`: the generator of the bench on a service in use, over TLS and behind its proxy. URL=wss://… TOKENS=FILE
// TALKGROUP=ID, and LISTENERS, TALKERS, SECONDS, OTHERS_HEAR=1, SERVICE_PIDS.
import { readFile } from 'node:fs/promises';
import { play } from './load/play.js';
import { type LoadSettings, Refused, readSettings } from './load/settings.js';
import { linesOf, verdictOf } from './load/verdict.js';
import { showProgress } from './progress.js';

/** met and refused as every command, and a third one for neither. */
const CODES = { met: 0, 'NOT met': 1, 'cannot be told': 2 } as const;
/** Roughly, before the talkers begin and after they end. */
const JOINING_S = 3;

process.exit(await main()); // nothing of it goes on after Ctrl-C

async function main(): Promise<number> {
  const interrupt = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(name, () => interrupt.abort(new Refused(`interrupted by ${name}`)));
  try {
    if (process.platform !== 'linux') throw new Refused('the generator reads /proc: Linux only');
    const { TOKENS = '' } = process.env;
    if (TOKENS === '')
      throw new Refused('TOKENS must be a file with the lines that `talkgroup-radio token` prints');
    const settings = readSettings(process.env, await readFile(TOKENS, 'utf8'));
    return await measure(settings, interrupt.signal);
  } catch (error) {
    // A mistake of ours has a stack, what is refused a sentence.
    const isExpected = error instanceof Refused || (error as NodeJS.ErrnoException).code !== undefined;
    console.error(`not measured: ${isExpected ? (error as Error).message : (error as Error).stack}`);
    return 1;
  }
}

async function measure(settings: LoadSettings, signal: AbortSignal): Promise<number> {
  const { url, listeners, talkers, seconds, tokens } = settings;
  console.log(
    `${url}: listeners ${listeners}, talkers ${talkers}, tokens ${tokens.length}, about ${seconds} s`,
  );
  const progress = showProgress('load', seconds + JOINING_S, process.stdout);
  try {
    const played = await play(settings, { signal, tell: progress.tell });
    progress.end();
    const verdict = verdictOf(played);
    console.log(`\n${linesOf(played, verdict).join('\n')}`);
    return CODES[verdict.word];
  } finally {
    progress.end();
  }
}
