// Loads the WebAssembly of the codec, which the bundler puts in a file of its own.

/** The page has just been loaded from the same server, so a failure is short or final. */
const TRIES = 5;
const WAIT_MS = 1_000;

/** Rejects when no attempt succeeds. Without the codec there is neither sound nor talk. */
export async function codecBytes(
  address: string,
  load: (address: string) => Promise<Response> = fetch,
  wait = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms)),
): Promise<ArrayBuffer> {
  for (let left = TRIES - 1; ; left--) {
    try {
      const answer = await load(address);
      if (answer.ok) return await answer.arrayBuffer();
      throw new Error(`the codec was answered with ${answer.status}`);
    } catch (error) {
      if (left === 0) throw error;
      await wait(WAIT_MS);
    }
  }
}
