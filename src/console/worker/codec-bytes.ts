// Loads the WebAssembly of the codec, which the bundler puts in a file of its own.

/** Time limit for one try: the file takes 40 s at 32 kbit/s. */
const TRY_MS_MAX = 60_000;
/** Between the first two tries. Each further wait is twice as long, up to the maximum. */
const WAIT_MS_MIN = 1_000;
const WAIT_MS_MAX = 16_000;
/** The first bytes of every module (WebAssembly core, 5.5.16). */
const MAGIC = 0x0061736d;

type Load = (
  address: string,
  init: { cache: 'default' | 'reload'; signal: AbortSignal },
) => Promise<Response>;

/** Tries until it has the file, and never rejects: libopus-wasm asks once and keeps a failure until the next load of the page. */
export async function codecBytes(
  address: string,
  load: Load = fetch,
  wait = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms)),
): Promise<ArrayBuffer> {
  // The cache may have what a proxy sent in place of the file.
  for (let waitMs = 0, cache: 'default' | 'reload' = 'default'; ; cache = 'reload') {
    if (waitMs > 0) await wait(waitMs);
    try {
      const answer = await load(address, { cache, signal: AbortSignal.timeout(TRY_MS_MAX) });
      const bytes = await answer.arrayBuffer();
      if (answer.ok && new DataView(bytes).getUint32(0) === MAGIC) return bytes;
    } catch {
      // TypeError: no network. TimeoutError: too slow. RangeError: the answer has less than four bytes.
    }
    waitMs = Math.min(Math.max(2 * waitMs, WAIT_MS_MIN), WAIT_MS_MAX);
  }
}
