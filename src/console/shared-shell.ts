// Puts the modules of the shell into few files when the console is bundled.
import { readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import type { Loader, Plugin } from 'esbuild';

const LOADERS: Readonly<Record<string, Loader>> = { '.ts': 'ts', '.tsx': 'tsx' };

/**
 * esbuild makes a file for each set of views that share a module, and does not know that the shell is there before them. So
 * each view imports the shell. All of them then share all of its modules, which become one file. `shell`, `views`: paths.
 */
export function sharedShell(shell: string, views: readonly string[]): Plugin {
  const later = new Set(views);
  return {
    name: 'shared-shell',
    setup(build) {
      build.onLoad({ filter: /\.tsx?$/ }, async ({ path }) => {
        const loader = LOADERS[extname(path)];
        if (!later.has(path) || loader === undefined) return undefined;
        // At the end, so that the lines of the file keep their numbers.
        return { contents: `${await readFile(path, 'utf8')}\nimport ${JSON.stringify(shell)}\n`, loader };
      });
    },
  };
}
