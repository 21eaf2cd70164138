// CPU profiles as V8 writes them when a thread ends (--cpu-prof): which functions a span of time went to.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** What of the file is read here. */
export interface Profile {
  /** Microseconds of the clock of nowMs(). */
  readonly startTime: number;
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string };
  }[];
  /** The function on top of the stack, by node. */
  readonly samples: readonly number[];
  /** Microseconds since the sample before, or the start. */
  readonly timeDeltas: readonly number[];
}

export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Of each thread of the process that has ended. */
export async function readProfiles(folder: string): Promise<readonly Profile[]> {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.cpuprofile'));
  // As V8 wrote it.
  return Promise.all(
    files.map(async (file) => JSON.parse(await readFile(join(folder, file), 'utf8')) as Profile),
  );
}

/** Seconds within the span that functions of any of the threads were on top of the stack, longest first. */
export function selfTimes(threads: readonly Profile[], span: Span): Map<string, number> {
  const seconds = new Map<string, number>();
  for (const { startTime, nodes, samples, timeDeltas } of threads) {
    const names = new Map(nodes.map(({ id, callFrame }) => [id, nameOf(callFrame)]));
    let atUs = startTime;
    for (const [i, node] of samples.entries()) {
      atUs += timeDeltas[i] ?? 0;
      const name = names.get(node) ?? null;
      if (name === null || atUs < 1000 * span.fromMs || atUs >= 1000 * span.toMs) continue;
      // Until the next sample, what was seen goes on.
      seconds.set(name, (seconds.get(name) ?? 0) + (timeDeltas[i + 1] ?? 0) / 1e6);
    }
  }
  return new Map([...seconds].toSorted(([, a], [, b]) => b - a));
}

/** `stampFrame, protocol/frame`, `handle, postgres`, `writeBuffer, native`. null: no function, but V8's `(idle)` or `(program)`. */
function nameOf({ functionName, url }: Profile['nodes'][number]['callFrame']): string | null {
  if (functionName === '(garbage collector)') return 'garbage collector';
  if (functionName.startsWith('(')) return null;
  const own = /dist\/src\/(.+)\.js$/.exec(url)?.[1];
  const library = /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1];
  const home = own ?? library ?? (url.startsWith('node:') ? 'node' : 'native');
  return `${functionName || 'anonymous'}, ${home}`;
}
