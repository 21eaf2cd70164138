// Builds each object of the service once, top-down, and hands it on. Closing runs in the reverse order.
import type { Logger } from 'pino';
import { openAudit } from './audit/keeping.js';
import { makeAdmin } from './auth/first-admin.js';
import { addGuard } from './auth/guard.js';
import { createHashing } from './auth/hashing.js';
import { createLimits, limitsIn } from './auth/limits.js';
import { createPasswords } from './auth/passwords.js';
import { authOverflow } from './auth/routes.js';
import { keptSecret } from './auth/secret.js';
import { createTokenVerifier, type TokenKeys } from './auth/tokens.js';
import { type Config, checkHost, checkOpenFiles } from './config/config.js';
import { type Database, openDatabase } from './db/client.js';
import { checkConnections, connectionsOfNode } from './db/connections.js';
import { deadlineIn, REQUEST_MS } from './db/deadline.js';
import { startEmbedded } from './db/embedded.js';
import { faultOf, reasonOf, suspicious } from './db/faults.js';
import { migrate } from './db/migrate.js';
import { AppError, ConfigError } from './errors.js';
import { openFixIntake } from './gps/counts.js';
import { createProofs } from './holders/proof.js';
import { createLists } from './http/lists.js';
import { createHttpServer } from './http/server.js';
import { checkSecrets } from './keys/secrets.js';
import { openKeys } from './keys/serving.js';
import { createKeyring, type Keyring } from './keys/wrapping.js';
import { createMetricsServer } from './metrics/server.js';
import { openRecordings } from './recordings/serving.js';
import { composeRelay, HANDSHAKES, type Handshakes, type RelaySideOptions } from './relay/compose.js';
import { isEnforcedByAll, isRecordedByAll, type RelaySide } from './relay/relay-side.js';
import { startRelayThreads } from './relay/threads/threads.js';
import { restRoutes } from './rest.js';
import {
  type Certificate,
  type CertificateFiles,
  certificateFiles,
  readCertificate,
} from './tls/certificate.js';
import { createReloadServer } from './tls/reload.js';
import { createCertificateRenewal } from './tls/renewal.js';

/** A service that is built and not yet listening. */
export interface Service {
  /** Binds the ports. Rejects when one is in use. */
  listen(): Promise<{ readonly port: number; readonly wsPort: number; readonly metricsPort: number }>;
  /**
   * Waits for the database, migrates it, creates the admin, then serves. Resolves with the generated admin password, or
   * with null when closed before the database was up. Rejects when the service must not use the database or the admin's
   * name.
   */
  start(): Promise<{ readonly generatedPassword: string | null } | null>;
  /** Closes once. Every call resolves when that close is complete. */
  close(): Promise<void>;
}

export interface ComposeOptions {
  /** When it is aborted while `compose` waits for another process to end, `compose` rejects. */
  readonly signal?: AbortSignal | undefined;
  /** For tests. */
  readonly handshakes?: Handshakes;
  /** For tests: time between two looks at the TLS files (ms). */
  readonly certificateLookMs?: number;
  /** For tests, of a relay on this thread: makes the one that decides who has the floor. */
  readonly authorityOf?: RelaySideOptions['authorityOf'] | undefined;
}

/** Calls `onDeath` when a relay thread failed or ended by itself. The caller then ends the process. */
export async function compose(
  config: Config,
  log: Logger,
  onDeath: (error: Error) => void,
  { signal, handshakes = HANDSHAKES, certificateLookMs, authorityOf }: ComposeOptions = {},
): Promise<Service> {
  const closers: (() => Promise<void>)[] = [];
  const close = async () => {
    for (const undo of closers.splice(0).reverse()) await undo();
  };
  try {
    return await build();
  } catch (error) {
    await close();
    throw error;
  }

  async function build(): Promise<Service> {
    checkOpenFiles(config); // not in readConfig: the command line works with fewer
    await checkHost(config.HOST);
    const url = config.DATABASE_URL ?? (await embedded());
    const tokenKeys: TokenKeys = [
      config.JWT_SECRET ?? (await keptSecret(config.DATA_DIR)),
      ...(config.JWT_SECRET_PREVIOUS === undefined ? [] : [config.JWT_SECRET_PREVIOUS]),
    ];
    if (tokenKeys[0] === tokenKeys[1])
      throw new ConfigError(
        'JWT_SECRET_PREVIOUS must differ from JWT_SECRET (here: the key in jwt.secret). Set the new key as JWT_SECRET.',
      );
    const keyring = createKeyring(config.SECRETS_KEY);
    let admitStatements = () => {};
    const migrated = new Promise<void>((resolve) => {
      admitStatements = resolve;
    });
    const { DATABASE_POOL: connections } = config;
    // The relay on this thread reads rights with it, too.
    const reserved = config.RELAY_THREADS === 0 ? 1 : 0;
    const database = openDatabase({ url, connections, reserved, log, after: migrated });
    closers.push(() => database.close());
    const hashing = createHashing({ log });
    closers.push(() => hashing.close());
    const passwords = createPasswords({ bcrypt: hashing, waitingMax: config.LOGIN_QUEUE });
    const limits = createLimits(limitsIn(config));
    const tls = await tlsOf(config);
    const recordings = openRecordings({ config, database, log });
    // Behind the relay, also when a relay thread dies: it stores what the drain left.
    closers.push(() => recordings.close());
    const parts = { config, handshakes, url, database, log };
    const relay: RelaySide =
      config.RELAY_THREADS === 0
        ? relayHere()
        : startRelayThreads({ ...parts, tokenKeys, taped: recordings.taped, onDeath });

    function relayHere(): RelaySide {
      const here = composeRelay({
        ...{ ...parts, authorityOf, verifyToken: createTokenVerifier(tokenKeys) },
        taped: (batch) => recordings.taped(batch, here.stored),
      });
      return here;
    }

    let phase: 'starting' | 'serving' | 'draining' = 'starting';
    const waiting = () => phase === 'starting';
    const trouble = () => because('database', database.trouble()) ?? because('relay', relay.trouble());
    const ready = () => (phase === 'serving' ? trouble() : phase);
    const keys = openKeys({ keyring, database, tell: relay.notice, log });
    closers.push(() => keys.close());
    const stored = { database, tell: relay.notice, lists: createLists(), proofs: createProofs(tokenKeys) };
    const audit = openAudit({ config, database, log });
    closers.push(async () => audit.close());
    const fixes = openFixIntake(database, relay.located);
    let wsPort = config.WS_PORT;
    const http = createHttpServer({
      config,
      certificate: tls?.first ?? null,
      guard: (app) => addGuard(app, { config, tokenKeys, database, noted: audit.noted }),
      ready,
      log,
      overflow: authOverflow(passwords),
      routes: restRoutes({
        ...{
          ...stored,
          ...keys,
          config,
          passwords,
          limits,
          storeFix: fixes.storeFix,
          wasRead: recordings.wasRead,
        },
        isEnforced: async () => isEnforcedByAll(await relay.figures()),
        isRecorded: async () => isRecordedByAll(await relay.figures()),
        wsPort: () => wsPort,
      }),
    });
    const renewal =
      tls && createCertificateRenewal({ ...tls, rest: http, relay, everyMs: certificateLookMs, log });
    const metrics = createMetricsServer({ config, log }, async () => ({
      notReady: ready(),
      relays: await relay.figures(),
      database: database.figures(),
      http: http.counts,
      passwords: passwords.figures(),
      keys: keys.figures(),
      audit: audit.figures(),
      recordings: recordings.figures(),
      limits,
      fixes: fixes.counts,
      certificateExpiries: renewal?.expiries() ?? null,
    }));
    closers.push(() => metrics.close());
    // The relay's sockets go first. REST answers on, says that the connection ends, and its port closes last.
    closers.push(() => http.close());
    closers.push(() => relay.close());
    const reload = renewal && createReloadServer({ config, look: renewal.look, log });
    closers.push(async () => {
      renewal?.close();
      await reload?.close();
    });

    let closed: Promise<void> | null = null;
    async function drainAndClose(): Promise<void> {
      phase = 'draining';
      http.drain();
      await close();
    }

    return {
      async listen() {
        wsPort = await relay.listen(); // another one than in the settings when that is 0
        const { port } = await http.listen();
        const metricsPort = await metrics.listen();
        renewal?.start();
        await reload?.listen();
        return { port, wsPort, metricsPort };
      },
      async start() {
        await untilUp(() => migrate(url), { waiting, log });
        if (!waiting()) return null;
        admitStatements();
        await untilUp(() => lookAtDatabase({ config, database, keyring, log }), { waiting, log });
        if (!waiting()) return null;
        keys.admitSecrets();
        const generatedPassword = await untilUp(() => makeAdmin({ config, database, passwords, log }), {
          waiting,
          log,
        });
        if (!waiting()) return null;
        await relay.start();
        if (!waiting()) return null;
        keys.start();
        audit.start();
        recordings.start();
        phase = 'serving';
        return { generatedPassword };
      },
      close() {
        closed ??= drainAndClose();
        return closed;
      },
    };
  }

  async function embedded(): Promise<string> {
    const postgres = await startEmbedded({ dataDir: config.DATA_DIR, log, signal });
    closers.push(() => postgres.stop());
    return postgres.url;
  }
}

/** The files of the certificate and what is in them now. Null without TLS. */
async function tlsOf(config: Config): Promise<{ files: CertificateFiles; first: Certificate } | null> {
  const files = certificateFiles(config);
  if (files === null) return null;
  const reading = await readCertificate(files);
  if (reading.kind === 'unusable') throw new ConfigError(reading.reason);
  return { files, first: reading.pair };
}

/** The reason as /readyz and the metrics give it. */
const because = (what: 'database' | 'relay', trouble: string | null) => trouble && `${what}: ${trouble}`;

/** Does the work, and repeats it while the database is away and the start still waits. The work is safe to repeat. */
async function untilUp<T>(work: () => Promise<T>, { waiting, log }: { waiting: () => boolean; log: Logger }) {
  let told: string | null = null;
  while (waiting()) {
    try {
      return await work();
    } catch (error) {
      if (!isAway(error)) throw error;
      if (!waiting()) return null; // what it worked with was closed under it
      const reason = reasonOf(error);
      if (reason !== told) log.warn({ reason }, 'waiting for the database');
      told = reason;
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    }
  }
  return null;
}

const AGAIN_MS = 250;

const isAway = (error: unknown) =>
  error instanceof AppError ? error.status === 503 : suspicious.has(faultOf(error));

/**
 * Stops the start when SECRETS_KEY cannot decrypt a secret. Warns when its first key does not encrypt all of them, and
 * when the database server allows too few connections for the nodes.
 */
async function lookAtDatabase({ config, database, keyring, log }: DatabaseParts): Promise<void> {
  await database.up(deadlineIn(REQUEST_MS)); // it has only just been let in
  const unwrapped = await checkSecrets(database, deadlineIn(REQUEST_MS), keyring);
  if (unwrapped > 0)
    log.warn(
      { talkgroups: unwrapped },
      "secrets not encrypted with the first key of SECRETS_KEY: run 'secrets rotate'",
    );
  const { NATS_URL, DATABASE_POOL: pool, RELAY_THREADS: threads } = config;
  if (NATS_URL === undefined) return;
  await checkConnections(database, deadlineIn(REQUEST_MS), {
    ofNode: connectionsOfNode({ pool, threads }),
    log,
  });
}

interface DatabaseParts {
  readonly config: Config;
  readonly database: Database;
  readonly keyring: Keyring;
  readonly log: Logger;
}
