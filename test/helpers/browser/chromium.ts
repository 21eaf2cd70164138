// Starts Debian's Chromium for a test, with a microphone that plays a file or a tone of its own.
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { type Browser, chromium } from 'playwright-core';
import type { Test } from 'tap';

/** CHROMIUM, or `chromium` on the path. null: there is none. */
export function chromiumPath(): string | null {
  const { CHROMIUM, PATH = '' } = process.env;
  if (CHROMIUM) return CHROMIUM;
  const paths = PATH.split(delimiter).map((folder) => join(folder, 'chromium'));
  return paths.find((path) => existsSync(path)) ?? null;
}

/** No request leaves for a server of the browser's maker, and a fake microphone is allowed without a question. */
const FLAGS = [
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--use-fake-device-for-media-stream',
];

export type ChromiumOptions = {
  /** A WAV file that the microphone plays once it is opened. Default: beeps of Chromium. */
  microphone?: string;
  /** The user is asked about the microphone, and the test answers with permissions of the context. */
  isAsking?: boolean;
  /** A name that leads to this machine, for a page that the browser does not take for one of this machine. */
  resolve?: string;
  /** Maps are drawn by software, because a test has no graphics card. */
  hasWebGl?: boolean;
};

/** Ends with the test. */
export async function startChromium(
  t: Test,
  { microphone, isAsking = false, resolve, hasWebGl = false }: ChromiumOptions = {},
): Promise<Browser> {
  const executablePath = chromiumPath();
  if (executablePath === null) throw new Error('no chromium: set CHROMIUM to its path');
  const browser = await chromium.launch({
    executablePath,
    chromiumSandbox: process.getuid?.() !== 0, // it refuses to run as root with one
    args: [
      ...FLAGS,
      ...(hasWebGl ? ['--use-gl=angle', '--use-angle=swiftshader', '--enable-unsafe-swiftshader'] : []),
      ...(isAsking ? [] : ['--use-fake-ui-for-media-stream']),
      ...(resolve === undefined ? [] : [`--host-resolver-rules=MAP ${resolve} 127.0.0.1`]),
      ...(microphone === undefined ? [] : [`--use-file-for-fake-audio-capture=${microphone}`]),
    ],
  });
  t.teardown(() => endingOf(t, browser.close()));
  return browser;
}

/**
 * Waits for the end of what a test has started, and fails the test when that goes wrong. For a teardown: tap calls none of
 * the others after one that rejects, so that their services would run on and hold up the whole file.
 */
export async function endingOf(t: Test, ending: Promise<void>): Promise<void> {
  try {
    await ending;
  } catch (error) {
    t.threw(error);
  }
}
