// Several properties at once, each with seeds of its own: the same inputs again for the same seed, shrunk when one fails.
import fc from 'fast-check';

export interface Failure {
  /** What tries it alone: `rest 42 17:0`. */
  readonly replay: string;
  readonly why: string;
  /** As small as it could be made. */
  readonly input: string;
}

export interface LanesOptions<T> {
  readonly name: string;
  readonly seed: number;
  readonly lanes: number;
  /** Of all lanes together, as `tries` counts them. */
  readonly inputs: number;
  readonly generated: fc.Arbitrary<T>;
  /** Throws when something went wrong, else says how many inputs it was. */
  readonly tries: (generated: T, lane: number) => Promise<number>;
  readonly shows: (generated: T) => string;
}

/** Few, so that a lane goes on behind a failure. */
const ROUND = 100;
const FAILURES_OF_LANE_MAX = 3;
/** A failing input is made smaller for so long. */
const SHRINK_MS_MAX = 20_000;
/** Primes: neighbours of a seed would have each other's lanes and rounds. */
const LANE_STEP = 7_919;
const ROUND_STEP = 104_729;

export async function runLanes<T>(options: LanesOptions<T>): Promise<Failure[]> {
  const all = await Promise.all(Array.from({ length: options.lanes }, (_, lane) => runLane(options, lane)));
  return all.flat();
}

async function runLane<T>(options: LanesOptions<T>, lane: number): Promise<Failure[]> {
  const share = options.inputs / options.lanes;
  const failures: Failure[] = [];
  let sent = 0;
  for (let round = 0; sent < share && failures.length < FAILURES_OF_LANE_MAX; round++) {
    let failing = false;
    const tries = async (generated: T) => {
      if (sent >= share && !failing) return; // the rest of the round
      failing = true;
      sent += await options.tries(generated, lane);
      failing = false;
    };
    const seed = (options.seed + lane * LANE_STEP + round * ROUND_STEP) | 0;
    const failure = await check(options, tries, { seed, numRuns: ROUND });
    if (failure !== null) failures.push(failure);
  }
  return failures;
}

/** Tries one failure alone. `at` is what its `replay` has behind the name. */
export async function replayLane<T>(options: LanesOptions<T>, at: string): Promise<Failure[]> {
  const [seed, path = ''] = at.split(' ');
  const trying = async (generated: T) => void (await options.tries(generated, 0));
  const failure = await check(options, trying, { seed: Number(seed), path, numRuns: 1 });
  return failure === null ? [] : [failure];
}

async function check<T>(
  { name, generated, shows }: LanesOptions<T>,
  tries: (generated: T) => Promise<void>,
  parameters: { readonly seed: number; readonly numRuns: number; readonly path?: string },
): Promise<Failure | null> {
  let failedAtMs = Number.POSITIVE_INFINITY;
  const property = fc.asyncProperty(generated, async (one) => {
    if (performance.now() - failedAtMs > SHRINK_MS_MAX) return; // small enough
    try {
      await tries(one);
    } catch (error) {
      failedAtMs = Math.min(failedAtMs, performance.now());
      throw error;
    }
  });
  const details = await fc.check(property, parameters);
  if (!details.failed) return null;
  const { counterexample, counterexamplePath, seed, errorInstance } = details;
  return {
    replay: `${name} ${seed} ${counterexamplePath ?? ''}`,
    why: errorInstance instanceof Error ? errorInstance.message : String(errorInstance),
    input: counterexample === null ? 'none' : shows(counterexample[0]),
  };
}
