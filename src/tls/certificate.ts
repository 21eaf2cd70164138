// Reads TLS_CERT_FILE and TLS_KEY_FILE as one pair and checks that TLS can use it.
import { createHash, createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';

export interface CertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

/** A certificate chain and its private key, which match. */
export interface Certificate {
  readonly cert: Buffer;
  readonly key: Buffer;
  /** Of both contents. Two pairs with the same digest are the same pair. */
  readonly digest: string;
  /** Of the first certificate of the chain, in Unix time (ms). */
  readonly validFromMs: number;
  readonly expiresAtMs: number;
  /** DNS names that the certificate is for, in lower case, wildcards such as `*.example.com` included. */
  readonly names: readonly string[];
  /** It is also for an IP address. */
  readonly isForAddress: boolean;
}

/** A pair, or why there is none. `digest` is null when a file cannot be read. */
export type CertificateReading =
  | { readonly kind: 'pair'; readonly pair: Certificate }
  | { readonly kind: 'unusable'; readonly digest: string | null; readonly reason: string };

/** Settings that name the files. null without TLS. */
export function certificateFiles(config: {
  readonly TLS_CERT_FILE?: string | undefined;
  readonly TLS_KEY_FILE?: string | undefined;
}): CertificateFiles | null {
  const { TLS_CERT_FILE: certFile, TLS_KEY_FILE: keyFile } = config;
  return certFile === undefined || keyFile === undefined ? null : { certFile, keyFile };
}

/** The pair that is in the files now. A writer may be half-way through: then the files do not match, or one is cut off. */
export async function readCertificate(files: CertificateFiles): Promise<CertificateReading> {
  const contents = await Promise.allSettled([readFile(files.certFile), readFile(files.keyFile)]);
  const [cert, key] = contents;
  if (cert.status === 'rejected') return unreadable('TLS_CERT_FILE', cert.reason);
  if (key.status === 'rejected') return unreadable('TLS_KEY_FILE', key.reason);
  return examine(cert.value, key.value);
}

function unreadable(name: string, error: unknown): CertificateReading {
  return { kind: 'unusable', digest: null, reason: `cannot read ${name}: ${(error as Error).message}` };
}

function examine(cert: Buffer, key: Buffer): CertificateReading {
  const digest = digestOf(cert, key);
  const unusable = (reason: string): CertificateReading => ({ kind: 'unusable', digest, reason });
  let x509: X509Certificate;
  try {
    x509 = new X509Certificate(cert);
  } catch (error) {
    return unusable(`TLS_CERT_FILE must be a certificate in PEM: ${(error as Error).message}`);
  }
  if (!isWhole(cert)) return unusable('TLS_CERT_FILE must end with a whole certificate in PEM');
  try {
    if (!x509.checkPrivateKey(createPrivateKey(key)))
      return unusable('TLS_KEY_FILE must be the key of TLS_CERT_FILE');
  } catch (error) {
    return unusable(`TLS_KEY_FILE must be a private key in PEM: ${(error as Error).message}`);
  }
  try {
    createSecureContext({ cert, key }); // also reads the rest of the chain
  } catch (error) {
    return unusable(`TLS cannot use TLS_CERT_FILE: ${(error as Error).message}`);
  }
  return {
    kind: 'pair',
    pair: {
      cert,
      key,
      digest,
      validFromMs: Date.parse(x509.validFrom),
      expiresAtMs: Date.parse(x509.validTo),
      names: namesOf(x509),
      isForAddress: x509.subjectAltName?.includes('IP Address:') ?? false,
    },
  };
}

const END_OF_CERTIFICATE = '-----END CERTIFICATE-----';

/** A file that is half-written may hold the first certificate alone, and the beginning of the next one. */
function isWhole(cert: Buffer): boolean {
  const text = cert.toString('latin1');
  const end = text.lastIndexOf(END_OF_CERTIFICATE);
  return end >= 0 && !/^-/m.test(text.slice(end + END_OF_CERTIFICATE.length));
}

export function digestOf(cert: Buffer, key: Buffer): string {
  const hash = createHash('sha256');
  // With its length, so that no byte can move from one file to the other unnoticed.
  for (const content of [cert, key]) hash.update(`${content.length}\n`).update(content);
  return hash.digest('hex');
}

/** RFC 6125, section 6.4.4: the common name counts only when there is no DNS name. */
function namesOf({ subject, subjectAltName }: X509Certificate): readonly string[] {
  const names = [...(subjectAltName ?? '').matchAll(/\bDNS:([^\s,"]+)/g)].map(([, name = '']) => name);
  const [, commonName] = /^CN=(\S+)$/m.exec(subject ?? '') ?? [];
  if (names.length === 0 && subjectAltName === undefined && commonName !== undefined) names.push(commonName);
  return [...new Set(names.map((name) => name.toLowerCase()))];
}
