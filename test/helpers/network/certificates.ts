// Issues self-signed certificates with the names and dates that a test wants, and puts pairs in place as Kubernetes does.
import { generateKeyPairSync, randomBytes, sign, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import type { Test } from 'tap';

export interface Pair {
  /** PEM. */
  readonly cert: string;
  readonly key: string;
  readonly fingerprint: string;
}

interface Wanted {
  readonly names?: readonly string[];
  readonly addresses?: readonly string[];
  readonly validFromS?: number;
  /** Seconds from now. */
  readonly expiresInS?: number;
}

/** A certificate of its own key. For `localhost` and 127.0.0.1 when nothing is said. */
export function issue({
  names = ['localhost'],
  addresses = ['127.0.0.1'],
  validFromS = -3600,
  expiresInS = 30 * 86_400,
}: Wanted = {}): Pair {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const name = sequence(set(sequence(oid('550403'), der(0x0c, Buffer.from(names[0] ?? 'no name')))));
  const alternatives = sequence(
    ...names.map((text) => der(0x82, Buffer.from(text))),
    ...addresses.map((text) => der(0x87, Buffer.from(text.split('.').map(Number)))),
  );
  const extension = sequence(oid('551d11'), der(0x04, alternatives));
  const toBeSigned = sequence(
    der(0xa0, integer(Buffer.from([2]))), // version 3
    integer(Buffer.concat([Buffer.from([1]), randomBytes(8)])), // serial number, positive
    ECDSA_WITH_SHA256,
    name,
    sequence(time(validFromS), time(expiresInS)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(extension)),
  );
  const signature = sign('sha256', toBeSigned, privateKey);
  const raw = sequence(toBeSigned, ECDSA_WITH_SHA256, der(0x03, Buffer.from([0]), signature));
  const lines = raw.toString('base64').match(/.{1,64}/g) ?? [];
  const cert = `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
  const key = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
  return { cert, key, fingerprint: new X509Certificate(cert).fingerprint256 };
}

function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size =
    length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

const sequence = (...parts: readonly Buffer[]) => der(0x30, ...parts);
const set = (...parts: readonly Buffer[]) => der(0x31, ...parts);
const oid = (hex: string) => der(0x06, Buffer.from(hex, 'hex'));
const integer = (bytes: Buffer) => der(0x02, bytes);
const ECDSA_WITH_SHA256 = sequence(oid('2a8648ce3d040302'));

/** UTCTime, which ends with the year 2049. */
function time(inS: number): Buffer {
  const iso = new Date(Date.now() + 1000 * inS).toISOString();
  return der(0x17, Buffer.from(`${iso.slice(2, 19).replaceAll(/[-T:]/g, '')}Z`));
}

/** A folder with the two files and DATA_DIR, with a path that is short enough for sockets. */
export async function certificateFolder(t: Test, first: Pair) {
  const folder = await mkdtemp(join(tmpdir(), 'radio-tls-'));
  t.teardown(() => rm(folder, { recursive: true }));
  let version = 0;

  /** The files are links to links: one rename changes both. */
  async function swap(pair: Partial<Pair>): Promise<void> {
    const data = join(folder, `v${++version}`);
    await mkdir(data);
    for (const part of ['cert', 'key'] as const)
      if (pair[part] !== undefined) await writeFile(join(data, `${part}.pem`), pair[part]);
    await symlink(`v${version}`, join(folder, 'next'));
    await rename(join(folder, 'next'), join(folder, 'now'));
  }

  await swap(first);
  for (const part of ['cert', 'key']) await symlink(`now/${part}.pem`, join(folder, `${part}.pem`));
  const settings = {
    TLS_CERT_FILE: join(folder, 'cert.pem'),
    TLS_KEY_FILE: join(folder, 'key.pem'),
    DATA_DIR: join(folder, 'data'),
  };
  return { folder, settings, swap };
}

/** A connection to the port that has not asked for anything. `servername` '' names no server. */
export async function shakenHands(url: string, servername: string): Promise<TLSSocket> {
  const { port } = new URL(url);
  const socket = connect({ host: '127.0.0.1', port: Number(port), servername, rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  return socket;
}

/** Fingerprint of the certificate that a new connection to the port gets. */
export async function presentedAt(url: string, servername: string): Promise<string> {
  const socket = await shakenHands(url, servername);
  const { fingerprint256 } = socket.getPeerCertificate();
  socket.destroy();
  return fingerprint256;
}
