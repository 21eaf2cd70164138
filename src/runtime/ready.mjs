// Sees to it that the Node of this machine can run the service. `make` starts it first, with the machine's own Node.
// Where that one cannot, .node/bin leads to a pinned Node, which is taken from npm once. The Makefile has .node/bin
// first in PATH.
import { readFileSync, readlinkSync, renameSync, symlinkSync, unlinkSync } from 'node:fs';
import { join, resolve, sep } from 'node:path';
import { chooseNode } from './choose.mjs';

const FOLDER = resolve('.node');
const LINK = join(FOLDER, 'bin');

// Inside another make, which has chosen already, there is nothing to do.
if (!process.execPath.startsWith(FOLDER + sep)) ready().catch((error) => refuse(error.message));

async function ready() {
  const { versions, platform, arch } = process;
  const libc = platform === 'linux' ? glibc() : null;
  const choice = chooseNode({ version: versions.node, platform, arch, glibc: libc });
  if (choice.kind === 'none') return refuse(choice.why);
  if (choice.kind === 'own') return unlink();

  const pin = JSON.parse(readFileSync(new URL('pins.json', import.meta.url), 'utf8'))[choice.pin];
  // Not before now: an old Node, which is refused above, lacks what it imports.
  const { takeNode } = await import('./take.mjs');
  const name = takeNode({
    pin,
    folder: FOLDER,
    announce: () =>
      console.log(`${choice.why}: taking Node ${pin.version} from npm into .node (50 MB, once)`),
  });
  link(join(name, 'bin'));
}

/** null on musl. */
function glibc() {
  process.report.excludeNetwork = true; // else it looks names up
  return process.report.getReport().header.glibcVersionRuntime || null;
}

function link(target) {
  if (linked() === target) return;
  const next = `${LINK}-${process.pid}`;
  symlinkSync(target, next);
  renameSync(next, LINK);
}

function unlink() {
  if (linked() !== null) unlinkSync(LINK);
}

function linked() {
  try {
    return readlinkSync(LINK);
  } catch {
    return null; // there is none
  }
}

function refuse(why) {
  console.error(`make: ${why}`);
  process.exitCode = 1;
}
