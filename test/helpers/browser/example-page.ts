// Serves docs/examples/browser as docs/websocket-guide.md says, from an app that has the package as a link.
import { spawn } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';
import { eventually } from '../eventually.js';
import { fencesOf, ROOT, readPage } from '../pages/pages.js';
import { freePort } from '../programs.js';

const PAGE_PORT = '8080';

/** The command of the guide that bundles and serves the page, with this port. */
function commandOf(port: number): string {
  const texts = fencesOf(readPage('docs/websocket-guide.md')).map(({ text }) => text);
  const [, command] = texts.map((text) => /npx (esbuild page\.mjs .*)/s.exec(text)).find(Boolean) ?? [];
  if (!command?.includes(PAGE_PORT)) throw new Error('the guide does not serve the page');
  return `exec ${ROOT}node_modules/.bin/${command.replace(PAGE_PORT, String(port))}`;
}

/** Returns the origin of the page. */
export async function serveExample(t: Test): Promise<string> {
  const app = await mkdtemp(join(tmpdir(), 'example-page-'));
  t.teardown(() => rm(app, { recursive: true, force: true }));
  await cp(join(ROOT, 'docs/examples/browser'), app, { recursive: true });
  await mkdir(join(app, 'node_modules'));
  await symlink(ROOT, join(app, 'node_modules/talkgroup-radio-service'));
  const port = await freePort();
  // With an input that stays open: esbuild ends with it.
  const child = spawn('sh', ['-c', commandOf(port)], { cwd: app, stdio: 'pipe' });
  t.teardown(() => child.kill());
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  const origin = `http://127.0.0.1:${port}`;
  await eventually(async () => {
    const answer = await fetch(`${origin}/page.js`).catch(() => null);
    if (!answer?.ok) throw new Error(`no page: ${output}`);
  });
  return origin;
}
