// The bus over NATS: one connection of this relay to one of the servers, whichever answers.
import { setTimeout as delay } from 'node:timers/promises';
import { connect, type NatsConnection, type Subscription } from '@nats-io/transport-node';
import { type Bus, newBusCounts } from '../bus.js';

export { areCredentials } from './nats-servers.js';

import { checkConnection, connectionOf, faultOf, hostsOf, shuffled, withLast } from './nats-servers.js';
import { createOutbox } from './outbox.js';
import { createReceiver, type Subscribed } from './receiving.js';

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
/** Bytes after which the server is asked to confirm: a question costs as much as a frame. */
const CONFIRM_BYTES = 64 * 1024;
/** Between two rounds of all servers, and after a connection that lasted no longer (ms). */
const AGAIN_MS = 250;
/** A server that answers within this time (ms) is not frozen. */
const ANSWER_MS_MAX = 250;
const CLOSE_MS_MAX = 500;
/** The start waits so long (ms) for the first try. Servers that are frozen cost 2 s each. */
const FIRST_MS_MAX = 3000;

interface Listening extends Subscribed {
  /** null while there is no connection yet. */
  own: Subscription | null;
}

export interface NatsBus extends Bus {
  /** Resolves after the first try, at most 3 s: why a server refused this relay, or null also when none answered. */
  readonly rejected: Promise<string | null>;
}

/** Answers at once. The bus is down until a server answers, and tries for as long as it is open. */
export function openNats(options: NatsOptions): NatsBus {
  const { prefix, log } = options;
  const counts = newBusCounts();
  const subscribed = new Set<Listening>();
  const take = createReceiver(counts, log);
  let connection: NatsConnection | null = null;
  /** The same, and one that is not checked yet. */
  let opened: NatsConnection | null = null;
  let isUp = false;
  let isClosed = false;
  let unconfirmed = 0;
  let isConfirming = false;
  /** In the order in which they are tried. One that was lost or left is the last. */
  let servers = shuffled(hostsOf(options.urls));
  const rest = connectionOf(options);
  /** It answered, although no other relay was heard over it. */
  let isDoubted = false;
  let changed: (isUp: boolean) => void = () => {};
  /** Kinds of faults that were logged since the bus was last up. */
  const told = new Set<string>();
  let tried: (rejected: string | null) => void = () => {};
  const firstTry = new Promise<string | null>((resolve) => {
    tried = resolve;
  });
  const rejected = Promise.race([firstTry, delay(FIRST_MS_MAX, null, { ref: false })]);

  const outbox = createOutbox(
    (subject, bytes) => {
      if (connection === null || !isUp) return;
      connection.publish(`${prefix}.${subject}`, bytes);
      unconfirmed += bytes.byteLength;
    },
    {
      flushed() {
        counts.flushes++;
        if (unconfirmed >= CONFIRM_BYTES && !isConfirming) void confirm();
      },
      failed(error) {
        counts.dropped.rejected++;
        tell(error);
      },
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
    if (unconfirmed >= CONFIRM_BYTES) void confirm(); // beyond the bound nothing is sent that would ask again
  }

  function up(server: string): void {
    if (isUp || isClosed) return;
    isUp = true;
    isDoubted = false;
    told.clear();
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
    counts.dropped.down += outbox.clear();
    if (!isClosed) log.warn({}, 'bus connection lost');
    changed(false);
  }

  function listen(to: Listening): void {
    if (connection === null) return;
    to.own = connection.subscribe(`${prefix}.${to.subject}`, {
      callback(error, message) {
        if (error !== null) tell(error);
        else take(to, message.data);
      },
    });
  }

  /** The library knows one connection only: it would dial the server again that was lost, and forget those that were away. */
  async function run(): Promise<void> {
    while (!isClosed) {
      const lastedMs = await round();
      if (!isClosed && lastedMs <= AGAIN_MS) await delay(AGAIN_MS);
    }
  }

  /** Tries each server until one takes this relay. How long (ms) that connection lasted. */
  async function round(): Promise<number> {
    let refusal: string | null = null;
    for (const server of servers) {
      if (isClosed) return 0;
      try {
        const lastedMs = await stay(server);
        servers = withLast(servers, server);
        return lastedMs;
      } catch (error) {
        tell(error);
        const { isRefusal, reason } = faultOf(error);
        if (isRefusal) refusal ??= reason;
      } finally {
        down();
        connection = null;
        opened?.close().catch(() => {}); // expected: lost already
        opened = null;
      }
    }
    tried(refusal);
    return 0;
  }

  /** Resolves at the end of the connection. Rejects when there is none, or the server does not let us do what we need. */
  async function stay(server: string): Promise<number> {
    const connected = await connect({ ...rest, servers: [server] });
    opened = connected;
    const faults: Error[] = [];
    const following = follow(connected, faults);
    if (!isClosed) await checkConnection(connected, prefix, faults);
    if (isClosed) return 0;
    const sinceMs = performance.now();
    connection = connected;
    for (const one of subscribed) listen(one);
    up(connected.getServer());
    tried(null);
    await following;
    return performance.now() - sinceMs;
  }

  /** Resolves at the end of the connection. `faults` are those before it was taken. */
  async function follow(connected: NatsConnection, faults: Error[]): Promise<void> {
    for await (const status of connected.status()) {
      if (status.type === 'disconnect') down();
      else if (status.type === 'error') {
        if (connection === connected) tell(status.error);
        else faults.push(status.error);
      }
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

  /** Each kind of fault once, until the bus was up: a refusal comes for every message. A server that is away is no error. */
  function tell(error: unknown): void {
    const { kind, reason, isRefusal } = faultOf(error);
    if (told.has(kind) || isClosed) return;
    told.add(kind);
    if (kind === 'message') log.error({ reason }, 'bus message rejected');
    else if (isRefusal) log.error({ reason }, 'NATS rejected the connection');
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
      const one: Listening = { subject, receive, own: null };
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
    get carriesSome() {
      return isUp;
    },
    joinsNodes: true,
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
      await opened?.close();
      // A dial that is under way ends by itself, and closes what it opened.
      await Promise.race([running, delay(CLOSE_MS_MAX, undefined, { ref: false })]);
    },
  };
}
