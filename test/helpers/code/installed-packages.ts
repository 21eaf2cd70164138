// What lies in a node_modules folder, and what the lock file says of it.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** One package of a lock file. `resolved` stands there for what is not from the registry. */
export interface LockedPackage {
  readonly version: string;
  readonly integrity?: string;
  readonly resolved?: string;
  readonly link?: boolean;
  /** Wanted by devDependencies alone. */
  readonly dev?: boolean;
  readonly license?: string;
  readonly hasInstallScript?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/** By folder, `node_modules/tap/node_modules/x`. '' is the project itself. */
export type Lock = Readonly<Record<string, LockedPackage>>;

/** Of a clone, or of the archive of a release. */
export function readLock(project: string): Lock {
  const ofRelease = join(project, 'npm-shrinkwrap.json');
  const file = existsSync(ofRelease) ? ofRelease : join(project, 'package-lock.json');
  return JSON.parse(readFileSync(file, 'utf8')).packages;
}

/** Version of each package on the disk, by its folder. What npm noted down is not asked. */
export function installedPackages(project: string, folder = 'node_modules'): Map<string, string> {
  const found = new Map<string, string>();
  if (!existsSync(join(project, folder))) return found;
  const names = readdirSync(join(project, folder)).filter((name) => !name.startsWith('.'));
  for (const name of names) {
    const path = `${folder}/${name}`;
    if (name.startsWith('@')) {
      for (const [at, version] of installedPackages(project, path)) found.set(at, version);
    } else if (existsSync(join(project, path, 'package.json'))) {
      found.set(path, JSON.parse(readFileSync(join(project, path, 'package.json'), 'utf8')).version);
      for (const [at, version] of installedPackages(project, `${path}/node_modules`)) found.set(at, version);
    }
  }
  return found;
}

/** What does not belong into a production install: packages for development, and what the lock file does not know. */
export function strangersIn(installed: ReadonlyMap<string, string>, lock: Lock): string[] {
  return [...installed]
    .filter(([path, version]) => lock[path]?.version !== version || lock[path]?.dev === true)
    .map(([path, version]) => `${path} ${version}`);
}
