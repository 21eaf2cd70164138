// Gives the addresses of bundled files that are loaded by address and not by import: workers, worklets, stylesheets.

/** build.ts puts the table in. In Node there is none, because there is no bundle. */
declare const BUILT_FILES: Readonly<Record<string, string>> | undefined;

/**
 * The address of a bundled file by its source as seen from src/console, such as `worker/radio-worker.ts`. Each file that ends in
 * `-worker.ts` or `-worklet.ts`, and each stylesheet that build.ts names, is bundled by itself.
 */
export function builtFile(source: string): string {
  const name = typeof BUILT_FILES === 'undefined' ? undefined : BUILT_FILES[source];
  if (name === undefined) throw new Error(`build.ts has not bundled ${source}`);
  return new URL(name, import.meta.url).href;
}
