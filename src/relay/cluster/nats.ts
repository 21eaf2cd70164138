// The bus over NATS: one connection of this relay to one of the servers, whichever answers. The only file that knows NATS.
import { setTimeout as delay } from 'node:timers/promises';
import {
  type ConnectionOptions,
  connect,
  credsAuthenticator,
  errors,
  type NatsConnection,
  type Subscription,
} from '@nats-io/transport-node';
import { type Bus, newBusCounts, type Subject } from './bus.js';
import { createOutbox } from './outbox.js';

export interface NatsOptions {
  /** URLs with commas between them, as the configuration has checked them. All have the user information of the first. */
  readonly urls: string;
  /** Content of a credentials file. null: none. */
  readonly credentials: Uint8Array | null;
  /** First token of every subject. */
  readonly prefix: string;
  /** As the servers list this connection. */
  readonly name: string;
  readonly log: {
    info(fields: object, message: string): void;
    warn(fields: object, message: string): void;
    error(fields: object, message: string): void;
  };
}

/** Bytes that the server has not confirmed, beyond which messages are dropped: seconds of audio of a large fleet. */
export const UNCONFIRMED_BYTES_MAX = 4 * 1024 * 1024;
/** The server is asked to confirm once so many bytes were sent: a question costs as much as a frame. */
const CONFIRM_BYTES = 64 * 1024;
/** Between two rounds of all servers, and after a connection that lasted no longer (ms). */
const AGAIN_MS = 250;
/** A server that answers within this time (ms) is not frozen. */
const ANSWER_MS_MAX = 250;
const CLOSE_MS_MAX = 500;

interface Subscribed {
  readonly subject: Subject;
  readonly receive: (bytes: Uint8Array) => void;
  /** null while there is no connection yet. */
  own: Subscription | null;
}

export interface NatsBus extends Bus {
  /** Resolves after the first try: why the server rejected the credentials, or null also when none answered. */
  readonly rejected: Promise<string | null>;
}

/** Answers at once. The bus is down until a server answers, and tries for as long as it is open. */
export function openNats(options: NatsOptions): NatsBus {
  const { prefix, log } = options;
  const counts = newBusCounts();
  const subscribed = new Set<Subscribed>();
  let connection: NatsConnection | null = null;
  let isUp = false;
  let isClosed = false;
  let unconfirmed = 0;
  let isConfirming = false;
  /** In the order in which they are tried. One that was lost or left is the last. */
  let servers = shuffled(serversOf(options.urls).map(({ host }) => host));
  /** It answered, although no other relay was heard over it. */
  let isDoubted = false;
  let changed: (isUp: boolean) => void = () => {};
  let told: string | null = null;
  let tried: (rejected: string | null) => void = () => {};
  const rejected = new Promise<string | null>((resolve) => {
    tried = resolve;
  });

  const outbox = createOutbox(
    (subject, bytes) => {
      if (connection === null || !isUp) return;
      connection.publish(`${prefix}.${subject}`, bytes);
      unconfirmed += bytes.byteLength;
    },
    () => {
      counts.flushes++;
      if (unconfirmed >= CONFIRM_BYTES && !isConfirming) void confirm();
    },
  );

  /** The library keeps what its socket does not take, without bound: so the sum of it is bounded here. */
  async function confirm(): Promise<void> {
    const asked = unconfirmed;
    const of = connection;
    isConfirming = true;
    try {
      await of?.flush();
    } catch {
      return; // Expected: the connection is lost, and `down` forgets what was sent.
    }
    if (of !== connection) return;
    unconfirmed = Math.max(0, unconfirmed - asked);
    isConfirming = false;
  }

  function up(server: string): void {
    if (isUp || isClosed) return;
    isUp = true;
    isDoubted = false;
    told = null;
    counts.ups++;
    log.info({ server }, 'bus connected');
    changed(true);
  }

  /** What waits would be old after the next connection: nothing is left to the library. */
  function down(): void {
    if (!isUp) return;
    isUp = false;
    unconfirmed = 0;
    isConfirming = false;
    outbox.clear();
    if (!isClosed) log.warn({}, 'bus connection lost');
    changed(false);
  }

  function listen(to: Subscribed): void {
    if (connection === null) return;
    to.own = connection.subscribe(`${prefix}.${to.subject}`, {
      callback(error, message) {
        if (error !== null) return log.error({ err: error, subject: to.subject }, 'bus subscription failed');
        counts.messagesIn++;
        counts.bytesIn += message.data.byteLength;
        try {
          to.receive(message.data);
        } catch (thrown) {
          log.error({ err: thrown, subject: to.subject }, 'bus message failed'); // a bug; the reader must go on
        }
      },
    });
  }

  /** The library knows one connection only: it would dial the server again that was lost, and forget those that were away. */
  async function run(): Promise<void> {
    while (!isClosed) {
      let lastedMs = 0;
      try {
        const connected = await connect({ ...connectionOf(options), servers });
        if (isClosed) return await connected.close();
        const sinceMs = performance.now();
        connection = connected;
        for (const one of subscribed) listen(one);
        const following = follow(connected);
        up(connected.getServer());
        tried(null);
        await following;
        lastedMs = performance.now() - sinceMs;
        servers = withLast(servers, connected.getServer());
      } catch (error) {
        tell(error);
        tried(isRejection(error) ? reasonOf(error) : null);
      }
      down();
      connection = null;
      if (!isClosed && lastedMs <= AGAIN_MS) await delay(AGAIN_MS);
    }
  }

  /** Resolves at the end of the connection. */
  async function follow(connected: NatsConnection): Promise<void> {
    for await (const status of connected.status()) {
      if (status.type === 'disconnect') down();
      else if (status.type === 'error') tell(status.error);
    }
  }

  /** A server that answers is kept the first time, because the other relays may be the ones that are gone. */
  async function doubt(): Promise<void> {
    const of = connection;
    if (!isUp || of === null) return;
    const answer = of.flush().then(
      () => true,
      () => false, // expected: lost meanwhile
    );
    const hasAnswered = await Promise.race([answer, delay(ANSWER_MS_MAX, false, { ref: false })]);
    if (of !== connection || !isUp) return;
    if (hasAnswered && !isDoubted) {
      isDoubted = true;
      return;
    }
    log.warn({ server: of.getServer(), hasAnswered }, 'no relay heard over this bus server, leaving it');
    down();
    await of.close();
  }

  /** Each reason once, until the bus was up. Rejected credentials are an error, a server that is away is none. */
  function tell(error: unknown): void {
    const reason = reasonOf(error);
    if (reason === told || isClosed) return;
    told = reason;
    if (isRejection(error)) log.error({ reason }, 'NATS rejected the connection');
    else log.warn({ reason }, 'waiting for NATS');
  }

  const running = run();

  return {
    publish(subject, head, body) {
      if (!isUp) {
        counts.dropped.down++;
        return false;
      }
      const rest = body instanceof Uint8Array ? body : new Uint8Array(body);
      if (unconfirmed >= UNCONFIRMED_BYTES_MAX || !outbox.put(subject, head, rest)) {
        counts.dropped.backlog++;
        return false;
      }
      counts.messagesOut++;
      counts.bytesOut += head.byteLength + rest.byteLength;
      return true;
    },
    subscribe(subject, receive) {
      const one: Subscribed = { subject, receive, own: null };
      subscribed.add(one);
      listen(one);
      return () => {
        subscribed.delete(one);
        one.own?.unsubscribe();
      };
    },
    get isUp() {
      return isUp;
    },
    onChange(listener) {
      changed = listener;
    },
    doubt: () => void doubt(),
    counts,
    rejected,
    async close() {
      if (isClosed) return;
      tried(null);
      if (isUp) outbox.flush();
      isClosed = true;
      const last = isUp ? connection?.flush().catch(() => {}) : undefined; // expected: lost meanwhile
      await Promise.race([last, delay(CLOSE_MS_MAX, undefined, { ref: false })]);
      down();
      await connection?.close();
      // A dial that is under way ends by itself, and closes what it opened.
      await Promise.race([running, delay(CLOSE_MS_MAX, undefined, { ref: false })]);
    },
  };
}

const reasonOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

const isRejection = (error: unknown) =>
  error instanceof errors.AuthorizationError || error instanceof errors.PermissionViolationError;

const serversOf = (urls: string) =>
  urls.split(',').flatMap((url) => (url.trim() === '' ? [] : [new URL(url.trim())]));

/** Nodes with the same list must not all have the same server. */
const shuffled = <T>(list: readonly T[]): T[] =>
  list
    .map((one) => ({ one, at: Math.random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ one }) => one);

/** The list with this server at the end, as the library names it: always with a port. */
function withLast(servers: readonly string[], last: string): string[] {
  const isLast = (host: string) => host === last || `${host}:4222` === last;
  return [...servers.filter((host) => !isLast(host)), ...servers.filter(isLast)];
}

function connectionOf({ urls, credentials, name }: NatsOptions): ConnectionOptions {
  const servers = serversOf(urls);
  const [first] = servers;
  const user = decodeURIComponent(first?.username ?? '');
  const pass = decodeURIComponent(first?.password ?? '');
  return {
    name,
    noEcho: true,
    noRandomize: true,
    reconnect: false,
    // Only the servers that the operator names.
    ignoreClusterUpdates: true,
    // A server that does not answer is left after 2 to 3 s; one that closes the connection at once.
    pingInterval: 1000,
    maxPingOut: 2,
    timeout: 2000,
    ignoreAuthErrorAbort: true,
    ...(servers.some(({ protocol }) => protocol === 'tls:') && { tls: {} }),
    ...(credentials !== null && { authenticator: credsAuthenticator(credentials) }),
    // A user without a password is a token, as in every other client.
    ...(user !== '' && (pass === '' ? { token: user } : { user, pass })),
  };
}
