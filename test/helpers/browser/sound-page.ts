// Runs the sound of the console in Chromium, with a microphone that plays a file, and hears what the page plays.
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { type Browser, chromium, type Page } from 'playwright-core';
import type { Test } from 'tap';
import { programPath } from '../programs.js';
import { levelAt, wavOf } from '../sound/tones.js';

// From dist/test/helpers/browser.
const ROOT = fileURLToPath(new URL('../../../../', import.meta.url));
const RIG = join(ROOT, 'test/helpers/browser/rig');
const TAP = join(RIG, 'tap.js');

const FLAGS = [
  ...['--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
  ...['--disable-component-update', '--disable-sync', '--use-fake-ui-for-media-stream'],
  '--use-fake-device-for-media-stream',
];

/** The path of a Chromium, or null. */
export function chromiumPath(): string | null {
  return process.env.CHROMIUM ?? programPath('chromium') ?? programPath('chromium-browser');
}

/** For `skip`: false where there is a browser, or where one is asked for. */
export function unlessChromium(): string | false {
  const isHere = chromiumPath() !== null || process.env.NEEDS_PROGRAMS !== undefined;
  return isHere ? false : 'browser tests left out: no chromium';
}

/** A browser with a microphone that repeats these samples, or with Chromium's own beeps. */
export async function startBrowser(t: Test, microphone?: Float32Array): Promise<Browser> {
  const folder = await mkdtemp(join(tmpdir(), 'sound-'));
  const file = join(folder, 'microphone.wav');
  if (microphone) await writeFile(file, wavOf(microphone));
  const args = [...FLAGS, ...(microphone ? [`--use-file-for-fake-audio-capture=${file}`] : [])];
  const browser = await chromium.launch({
    executablePath: chromiumPath() ?? 'chromium',
    // Chromium refuses its sandbox to root.
    args: process.getuid?.() === 0 ? [...args, '--no-sandbox'] : args,
  });
  t.teardown(async () => {
    await browser.close();
    await rm(folder, { recursive: true, force: true });
  });
  return browser;
}

type Heard = { sinkId: string; rate: number; channels: [number[], number[]] };

/** A page with the sound, at its own address. */
export type SoundPage = Awaited<ReturnType<typeof soundPage>>;

/** Opens the page and starts its sound by a click. */
export async function soundPage(t: Test, browser: Browser, files: Promise<string> = serve(t)) {
  const address = await files;
  const context = await browser.newContext({ permissions: ['microphone'] });
  const page = await context.newPage();
  const errors: string[] = [];
  page.on('pageerror', ({ message }) => errors.push(message));
  await page.addInitScript({ path: TAP });
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
    /** The level of a frequency on the left and the right, of the first output or of another one. */
    async levels(hz: number, output = 0): Promise<[number, number]> {
      const heard = await call<Heard[]>(page, 'taps', 'heard', []);
      const [left = -200, right = -200] = (heard[output]?.channels ?? []).map((samples) =>
        levelAt(hz, Float32Array.from(samples), heard[output]?.rate),
      );
      return [left, right];
    },
    sinks: async () => (await call<Heard[]>(page, 'taps', 'heard', [])).map(({ sinkId }) => sinkId),
  };
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
  worklets: join(ROOT, 'src/console/sound/worklets.ts'),
};

/** Serves the page on 127.0.0.1, which browsers trust with the microphone. */
export async function serve(t: Test): Promise<string> {
  const { outputFiles } = await build({
    ...{ entryPoints: ENTRIES, bundle: true, write: false, outdir: '/', format: 'esm', target: 'es2022' },
    external: ['node:*'],
  });
  const files = new Map(outputFiles.map(({ path, contents }) => [path, contents]));
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
