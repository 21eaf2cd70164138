// Two builds in one cluster, as during a rolling upgrade: one node of three runs the other build, in each episode another node.
import { existsSync, readdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { MAIN, type Server } from '../server.js';

const OWN_BUILD = fileURLToPath(new URL('../../../..', import.meta.url));

/** The program of the build in this folder. Throws when nodes of it cannot run beside those of this build. */
export function mainOf(folder: string, ownBuild = OWN_BUILD): string {
  const [main, packages] = [resolve(folder, 'dist/src/main.js'), resolve(folder, 'node_modules')];
  for (const path of [main, packages])
    if (!existsSync(path)) throw new Error(`OLD_BUILD must be a checkout that is built: no ${path}`);
  const [newest, ownNewest] = [newestMigration(folder), newestMigration(ownBuild)];
  // LIMIT: a node does not start again when newer code has migrated the database, so such an upgrade cannot be played.
  if (newest !== ownNewest)
    throw new Error(`OLD_BUILD must have migrations up to ${ownNewest}, as this build, not up to ${newest}`);
  return main;
}

const newestMigration = (build: string): number =>
  Math.max(...readdirSync(resolve(build, 'sql')).map((file) => Number.parseInt(file, 10) || 0));

/** The number of the node that runs `oldMain` in this episode. Nodes whose build changes are restarted by SIGTERM. */
export async function dealBuilds(
  servers: readonly Pick<Server, 'main' | 'terminate' | 'start'>[],
  { oldMain, episode }: { readonly oldMain: string; readonly episode: number },
): Promise<number> {
  const old = episode % servers.length;
  for (const [at, server] of servers.entries()) {
    const main = at === old ? oldMain : MAIN;
    if (server.main === main) continue;
    server.main = main;
    await server.terminate();
    await server.start();
  }
  return old;
}
