// Hands renewed certificates to the relay's engine, as long as it has server names left for them.
import { readFileSync } from 'node:fs';
import { type CertificateFiles, digestOf } from '../../tls/certificate.js';
import { serverNames } from './server-names.js';

/** What the main thread read and checked. */
export interface RenewedCertificate {
  readonly digest: string;
  readonly names: readonly string[];
}

/**
 * `presented`: new connections that name their server get it. `changed`: the files hold something else by now. Ask
 * again. `no name left`, `rejected`: only a restart presents it.
 */
export type Renewal = 'presented' | 'changed' | 'no name left' | 'rejected';

interface Options {
  readonly files: CertificateFiles | null;
  /** The engine reads the files, and answers new connections to these server names with them. False: it cannot use them. */
  readonly addServerNames: (patterns: readonly string[]) => boolean;
}

export function createRenewals({ files, addServerNames }: Options) {
  let presented = 0;
  return {
    present({ digest, names }: RenewedCertificate): Renewal {
      if (files === null) return 'rejected';
      const patterns = serverNames(names, presented);
      if (patterns === null) return 'no name left';
      // The engine takes the names of files, not their content.
      if (digestNow(files) !== digest) return 'changed';
      if (!addServerNames(patterns)) return digestNow(files) === digest ? 'rejected' : 'changed';
      presented++; // also when it read something else: these names are taken
      return digestNow(files) === digest ? 'presented' : 'changed';
    },
  };
}

function digestNow({ certFile, keyFile }: CertificateFiles): string | null {
  try {
    return digestOf(readFileSync(certFile), readFileSync(keyFile));
  } catch {
    return null; // expected while the files are replaced
  }
}
