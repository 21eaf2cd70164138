// Presents a renewed certificate on both ports. Looks at the content of its files once a minute, and when asked to.
import { type Certificate, type CertificateFiles, readCertificate } from './certificate.js';

/** What one look at the files came to. */
export interface Look {
  /** Both ports present what is in the files. */
  readonly isPresented: boolean;
  /** For the operator who asked for the look. */
  readonly text: string;
}

/** The connections that a certificate is presented to. */
export type Presented = 'rest' | 'relay' | 'relay_without_sni';

/**
 * The relay's answer to a certificate. `presented`: new connections get it. `changed`: the files hold something else by
 * now. `no name left`, `rejected`: only a restart presents it.
 */
type RelayAnswer = 'presented' | 'changed' | 'no name left' | 'rejected';

export interface CertificateRenewal {
  /**
   * Looks now, for what has changed since `first`, and from now on once per `everyMs`. Warns when clients reject `first`
   * because of its dates.
   */
  start(): void;
  /** Looks now, or right after a look that is under way. */
  look(): Promise<Look>;
  /** When each certificate that is presented expires, in Unix time (ms). */
  expiries(): Readonly<Record<Presented, number>>;
  close(): void;
}

interface Options {
  readonly files: CertificateFiles;
  /** What both ports present since the start. */
  readonly first: Certificate;
  readonly rest: { present(certificate: Certificate): void };
  readonly relay: { present(certificate: Certificate): Promise<RelayAnswer> };
  readonly everyMs?: number | undefined;
  readonly nowMs?: (() => number) | undefined;
  readonly log: Log;
}

interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/** Renewals come days before the expiry, so a minute is soon enough. */
const LOOK_MS = 60_000;

export function createCertificateRenewal(options: Options): CertificateRenewal {
  const { files, first, rest, relay, everyMs = LOOK_MS, nowMs = Date.now, log } = options;
  let onRest = first;
  let onRelay = first;
  /** Logged last. The same state of the files is logged once. */
  let logged = '';
  let timer: NodeJS.Timeout | null = null;
  let last: Promise<unknown> = Promise.resolve();

  async function look(): Promise<Look> {
    const reading = await readCertificate(files);
    if (reading.kind === 'unusable') return keep(reading.digest, reading.reason);
    const { pair } = reading;
    if (pair.digest === onRest.digest && pair.digest === onRelay.digest) return done(pair, 'unchanged');
    const reason = unfitAt(nowMs(), pair);
    return reason === null ? present(pair) : keep(pair.digest, reason);
  }

  async function present(pair: Certificate): Promise<Look> {
    // First, because only the relay may reject the pair.
    const renewal = pair.digest === onRelay.digest ? 'presented' : await relay.present(pair);
    if (renewal === 'changed' || renewal === 'rejected') return keep(pair.digest, reasons[renewal]);
    const fields = { expires: isoOf(pair.expiresAtMs), names: pair.names };
    if (pair.digest !== onRest.digest) {
      rest.present(pair);
      onRest = pair;
      log.info({ listener: 'rest', ...fields }, 'certificate renewed');
    }
    if (renewal === 'no name left') {
      logOnce(pair.digest, () =>
        log.warn(
          { expires: isoOf(onRelay.expiresAtMs), reason: reasons[renewal] },
          'relay keeps its previous certificate: restart the service',
        ),
      );
      const text = `REST presents the certificate that expires ${fields.expires}. The relay keeps the previous one: ${reasons[renewal]}. Restart the service, which drains.`;
      return { isPresented: false, text };
    }
    if (pair.digest !== onRelay.digest) {
      onRelay = pair;
      log.info({ listener: 'relay', ...fields }, 'certificate renewed');
      // A client that connects to an address names no server, and for those the engine has the first one alone.
      if (pair.isForAddress)
        log.warn(
          { expires: isoOf(first.expiresAtMs) },
          'relay keeps the certificate of its start for clients without SNI: restart the service',
        );
    }
    return done(pair, 'renewed');
  }

  function done(pair: Certificate, what: 'renewed' | 'unchanged'): Look {
    logged = '';
    return { isPresented: true, text: `certificate ${what}, expires ${isoOf(pair.expiresAtMs)}` };
  }

  function keep(digest: string | null, reason: string): Look {
    logOnce(`${digest} ${reason}`, () =>
      log.warn({ ...files, reason }, 'certificate not renewed, the previous one stays'),
    );
    return { isPresented: false, text: `${reason}. The service keeps the previous certificate.` };
  }

  function logOnce(state: string, write: () => void): void {
    if (state === logged) return;
    logged = state;
    write();
  }

  /** One look at a time. */
  function lookInTurn(): Promise<Look> {
    const next = last.then(look);
    last = next.catch(() => {});
    return next;
  }

  return {
    start() {
      const reason = unfitAt(nowMs(), first);
      // The service starts all the same: metrics and alerts work, and the renewed pair needs no second start.
      if (reason !== null) log.warn({ ...files, reason }, 'certificate not valid, clients reject it');
      const check = () => {
        lookInTurn().catch((error: Error) => log.warn({ err: error }, 'certificate check failed'));
      };
      timer = setInterval(check, everyMs);
      check();
    },
    look: lookInTurn,
    expiries: () => ({
      rest: onRest.expiresAtMs,
      relay: onRelay.expiresAtMs,
      relay_without_sni: first.expiresAtMs,
    }),
    close() {
      if (timer !== null) clearInterval(timer);
    },
  };
}

const reasons: Readonly<Record<Exclude<RelayAnswer, 'presented'>, string>> = {
  changed: 'the files changed while they were read, and the service looks again within a minute',
  'no name left': 'the WebSocket engine has no further server name for this certificate',
  rejected: 'the WebSocket engine cannot use the certificate and its key',
};

const isoOf = (ms: number) => new Date(ms).toISOString();

/** Why clients would not accept it at this time. null when they would. */
function unfitAt(nowMs: number, { validFromMs, expiresAtMs }: Certificate): string | null {
  if (expiresAtMs <= nowMs) return `the certificate in TLS_CERT_FILE expired ${isoOf(expiresAtMs)}`;
  if (validFromMs > nowMs)
    return `the certificate in TLS_CERT_FILE is not valid before ${isoOf(validFromMs)}`;
  return null;
}
