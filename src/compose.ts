// The composition root: builds each thing once, top-down, and hands it on; close runs backwards.
import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import { createPasswords, type Passwords } from './auth/passwords.js';
import { authRoutes } from './auth/routes.js';
import { keptSecret } from './auth/secret.js';
import { ensureAdmin } from './auth/store.js';
import { createTokenVerifier } from './auth/tokens.js';
import { type Config, ConfigError, checkHost } from './config.js';
import { type Database, openDatabase } from './db/client.js';
import { deadlineIn, REQUEST_MS } from './db/deadline.js';
import { startEmbedded } from './db/embedded.js';
import { faultOf, reasonOf, suspicious } from './db/faults.js';
import { migrate } from './db/migrate.js';
import { deviceRoutes } from './devices/routes.js';
import { emergencyRoutes } from './emergencies/routes.js';
import { AppError } from './errors.js';
import { gpsRoutes } from './gps/routes.js';
import { createHttpServer } from './http/server.js';
import { keyRoutes } from './keys/routes.js';
import { composeRelay, type RelaySide } from './relay/compose.js';
import { startRelayThread } from './relay/host.js';
import { talkgroupRoutes } from './talkgroups/routes.js';

/** A service that is built and not yet listening. */
export interface Service {
  /** Binds both ports; rejects when one is taken. */
  listen(): Promise<{ readonly port: number; readonly wsPort: number }>;
  /**
   * Waits for the database, migrates it, makes the admin, opens both doors. Answers the generated admin password when
   * one was made, or null when closed before the database came. Rejects when the database or the admin's name is not
   * ours to use.
   */
  start(): Promise<{ readonly generatedPassword: string | null } | null>;
  close(): Promise<void>;
}

/** `onDeath` hears that the relay's thread ended by itself; the caller ends the process. */
export async function compose(
  config: Config,
  log: Logger,
  onDeath: (error: Error) => void,
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
    await checkHost(config.HOST);
    const url = config.DATABASE_URL ?? (await embedded());
    const secret = config.JWT_SECRET ?? (await keptSecret(config.DATA_DIR));
    let openDoors = () => {};
    const migrated = new Promise<void>((resolve) => {
      openDoors = resolve;
    });
    const database = openDatabase({ url, connections: config.DATABASE_POOL, log, after: migrated });
    closers.push(() => database.close());
    const passwords = createPasswords();
    const relay: RelaySide =
      config.RELAY_THREADS === 0
        ? composeRelay({ config, url, database, verifyToken: createTokenVerifier(secret), log })
        : startRelayThread({ config, url, secret }, onDeath);

    let phase: 'starting' | 'serving' | 'draining' = 'starting';
    const waiting = () => phase === 'starting';
    const ready = () => (phase === 'serving' ? (database.trouble() ?? relay.trouble()) : phase);
    const shared = { database, tell: relay.tell };
    const http = createHttpServer({
      config,
      secret,
      database,
      ready,
      log,
      routes: [
        authRoutes({ database, passwords, passwordLengthMin: config.PASSWORD_MIN_LENGTH }),
        talkgroupRoutes(shared),
        deviceRoutes(shared),
        gpsRoutes(shared),
        keyRoutes(shared),
        emergencyRoutes(shared),
      ],
    });
    // The relay's sockets go first; REST answers on, says that the connection ends, and its port closes last.
    closers.push(() => http.close());
    closers.push(() => relay.close());

    return {
      async listen() {
        const wsPort = await relay.listen();
        const { port } = await http.listen();
        return { port, wsPort };
      },
      async start() {
        await untilUp(() => migrate(url), { waiting, log });
        if (!waiting()) return null;
        openDoors();
        const generatedPassword = await untilUp(() => makeAdmin({ config, database, passwords, log }), {
          waiting,
          log,
        });
        if (!waiting()) return null;
        await relay.start();
        phase = 'serving';
        return { generatedPassword };
      },
      async close() {
        phase = 'draining';
        http.drain();
        await close();
      },
    };
  }

  async function embedded(): Promise<string> {
    const postgres = await startEmbedded({ dataDir: config.DATA_DIR, log });
    closers.push(() => postgres.stop());
    return postgres.url;
  }
}

/** Does the work, again and again while the database is away and somebody still waits for it; safe to repeat. */
async function untilUp<T>(work: () => Promise<T>, { waiting, log }: { waiting: () => boolean; log: Logger }) {
  let told: string | null = null;
  while (waiting()) {
    try {
      return await work();
    } catch (error) {
      if (!isAway(error)) throw error;
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

interface AdminParts {
  readonly config: Config;
  readonly database: Database;
  readonly passwords: Passwords;
  readonly log: Logger;
}

/** The admin of ADMIN_USERNAME exists afterwards, unless nobody told us a password for an external database. */
async function makeAdmin({ config, database, passwords, log }: AdminParts): Promise<string | null> {
  const generated = config.ADMIN_PASSWORD === undefined && config.DATABASE_URL === undefined;
  const password = config.ADMIN_PASSWORD ?? (generated ? randomBytes(12).toString('base64url') : null);
  if (password === null) {
    log.warn({ username: config.ADMIN_USERNAME }, 'ADMIN_PASSWORD is not set: an admin is not made at start');
    return null;
  }
  const passwordHash = await passwords.hash(password);
  const outcome = await ensureAdmin(database, deadlineIn(REQUEST_MS), {
    username: config.ADMIN_USERNAME,
    passwordHash,
  });
  if (outcome === 'plain_user') {
    throw new ConfigError(
      `ADMIN_USERNAME: ${config.ADMIN_USERNAME} is the name of a plain user; choose another or promote it with 'admin add --promote'`,
    );
  }
  return outcome === 'created' && generated ? password : null;
}
