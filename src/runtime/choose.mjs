// Chooses the Node for this machine: its own, or one of pins.json. It has no I/O. It is plain JavaScript because `make`
// runs it before anything is installed or built, and its syntax stays that of Node 12.

/**
 * What the tests prove: the oldest minor release, and the glibc that it needs here. The other releases have no binary of
 * uWebSockets.js (23, 26) or get no security fixes (21, 25).
 */
export const supported = [
  { major: 24, minor: 0, abi: 137, glibc: '2.38' },
  { major: 22, minor: 12, abi: 127, glibc: '2.38' },
  { major: 20, minor: 19, abi: 115, glibc: '2.28' },
];

/** The binary of uWebSockets.js for Node 24 needs it. Below it a pinned Node 20 is taken. */
const GLIBC_NEW = '2.38';
/** Every pinned Node for Linux needs it. */
const GLIBC_OLDEST = '2.28';

/**
 * `glibc` is null on musl, and on macOS. Answers {kind: 'own'}, {kind: 'pinned', pin, why} with a key of pins.json, or
 * {kind: 'none', why}.
 */
export function chooseNode({ version, platform, arch, glibc }) {
  const [major, minor] = numbers(version);
  if (major < 20) {
    return none(`Node ${version} is too old to install this service: install Node 24 or 22`);
  }
  if (!['linux', 'darwin'].includes(platform) || !['x64', 'arm64'].includes(arch)) {
    return none(`no uWebSockets.js for ${platform} on ${arch}: use Linux (glibc) or macOS on x64 or arm64`);
  }
  if (platform === 'linux' && glibc === null) {
    return none('uWebSockets.js needs glibc, and this Linux has another C library (musl): use the image');
  }
  if (platform === 'linux' && isBelow(glibc, GLIBC_OLDEST)) {
    return none(`this Linux has glibc ${glibc}: use one with glibc ${GLIBC_OLDEST} or newer, or the image`);
  }

  const release = supported.find((each) => each.major === major);
  const isTooOldGlibc = release !== undefined && platform === 'linux' && isBelow(glibc, release.glibc);
  if (release !== undefined && minor >= release.minor && !isTooOldGlibc) return { kind: 'own' };

  const pin = `${platform}-${arch}${platform === 'linux' && isBelow(glibc, GLIBC_NEW) ? '-old-glibc' : ''}`;
  const why = isTooOldGlibc
    ? `Node ${version} needs glibc ${release.glibc} to load uWebSockets.js, and this machine has ${glibc}`
    : `Node ${version} is not supported`;
  return { kind: 'pinned', pin, why };
}

function none(why) {
  return { kind: 'none', why };
}

function isBelow(version, least) {
  const [major, minor] = numbers(version);
  const [majorLeast, minorLeast] = numbers(least);
  return major < majorLeast || (major === majorLeast && minor < minorLeast);
}

function numbers(version) {
  return version.split('.').map(Number);
}
