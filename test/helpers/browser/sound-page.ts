// Runs the sound of the console in Chromium, with a microphone that plays a file, and hears what the page plays.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import type { Browser, Page } from 'playwright-core';
import type { Test } from 'tap';
import { eventually, HANGS_MS } from '../eventually.js';
import { levelAt, wavOf } from '../sound/tones.js';
import { type ChromiumOptions, endingOf, startChromium } from './chromium.js';

// From dist/test/helpers/browser.
const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const RIG = join(ROOT, 'test/helpers/browser/rig');

/** A script that runs in a page before its own, so that the test hears what it plays. */
export const TAP = readFileSync(join(RIG, 'tap.js'), 'utf8');

/** A browser with a microphone that repeats these samples, or with Chromium's own beeps. */
export async function startBrowser(
  t: Test,
  microphone?: Float32Array,
  options: ChromiumOptions = {},
): Promise<Browser> {
  if (microphone === undefined) return startChromium(t, options);
  const folder = await mkdtemp(join(tmpdir(), 'sound-'));
  t.teardown(() => rm(folder, { recursive: true, force: true }));
  const file = join(folder, 'microphone.wav');
  await writeFile(file, wavOf(microphone));
  return startChromium(t, { ...options, microphone: file });
}

type Heard = { sinkId: string; rate: number; channels: [number[], number[]] };

/** A page with the sound, at its own address. */
export type SoundPage = Awaited<ReturnType<typeof soundPage>>;

/** Opens the page and starts its sound by a click. */
export async function soundPage(t: Test, browser: Browser, files: Promise<string> = serve(t)) {
  const address = await files;
  const context = await browser.newContext({ permissions: ['microphone'] });
  t.teardown(() => endingOf(t, context.close()));
  const page = await context.newPage();
  page.setDefaultTimeout(HANGS_MS);
  const errors: string[] = [];
  page.on('pageerror', ({ message }) => errors.push(message));
  await page.addInitScript({ content: TAP });
  await page.goto(address);
  await page.getByRole('button', { name: 'Start' }).click();
  await page.waitForFunction('document.title === "started"');
  const rig = <T = void>(name: string, ...args: unknown[]) => call<T>(page, 'rig', name, args);
  return {
    page,
    /** Uncaught errors of the page. */
    errors,
    rig,
    taps: <T = void>(name: string, ...args: unknown[]) => call<T>(page, 'taps', name, args),
    levels: (hz: number, output = 0) => levelsOf(page, hz, output),
    sinks: async () => (await call<Heard[]>(page, 'taps', 'heard', [])).map(({ sinkId }) => sinkId),
  };
}

/** The level of a frequency on the left and the right, of the first output or of another one. The page has the tap. */
export async function levelsOf(page: Page, hz: number, output = 0): Promise<[number, number]> {
  const heard = (await call<Heard[]>(page, 'taps', 'heard', []))[output];
  const levels = (heard?.channels ?? []).map((samples) =>
    levelAt(hz, Float32Array.from(samples), heard?.rate),
  );
  return [levels[0] ?? SILENCE_DB, levels[1] ?? SILENCE_DB];
}

const SILENCE_DB = -200;

/** The figures of the page's voices, as soon as they have played or left out so many packets. */
export function figuresAfter({ rig }: Pick<SoundPage, 'rig'>, packets: number) {
  return eventually(async () => {
    const found = await rig<Record<string, number>>('figures');
    if ((found.played ?? 0) + (found.leftOut ?? 0) < packets) throw new Error(JSON.stringify(found));
    return found;
  });
}

type Rig = Readonly<Record<string, Readonly<Record<string, (...args: unknown[]) => unknown>>>>;

function call<T>(page: Page, object: 'rig' | 'taps', name: string, args: unknown[]): Promise<T> {
  return page.evaluate(
    ([from, method, given]) => (globalThis as unknown as Rig)[from]?.[method]?.(...given) as T,
    [object, name, args] as const,
  );
}

const ENTRIES = {
  page: join(RIG, 'page.mjs'),
  worker: join(RIG, 'worker.mjs'),
  detector: join(RIG, 'detector.mjs'),
  worklets: join(ROOT, 'src/client/sound/worklets.ts'),
};

/** Made once for all pages of a test file. */
let bundled: Promise<ReadonlyMap<string, Uint8Array>> | undefined;

async function bundle() {
  const { outputFiles } = await build({
    ...{ entryPoints: ENTRIES, bundle: true, write: false, outdir: '/', format: 'esm', target: 'es2022' },
    external: ['node:*'],
  });
  return new Map(outputFiles.map(({ path, contents }) => [path, contents]));
}

/** Serves the page on 127.0.0.1, which browsers trust with the microphone. */
export async function serve(t: Test): Promise<string> {
  bundled ??= bundle();
  const files = await bundled;
  const server = createServer(({ url = '/' }, response) => {
    const file = files.get(url);
    response.setHeader('Content-Type', file ? 'text/javascript' : 'text/html');
    response.end(file ?? '<!doctype html><body><script type="module" src="/page.js"></script>');
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.teardown(() => server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

/** What the machine was busy with, for a figure: the load of its cores. */
export function load(): string {
  return `load ${loadavg()[0]?.toFixed(1)} on ${cpus().length} cores`;
}
