// Listens for change notifications from the database, and detects the gaps between them.
import { randomUUID } from 'node:crypto';
import type { Database } from './client.js';
import { deadlineIn } from './deadline.js';
import { CHANNEL, type Notice, type Question, readNotice } from './notice.js';
import { type Client, openListeningClient } from './pool.js';

/**
 * What a node says to itself, before its id. On the channel of the notices: of two channels a new connection may listen
 * to one alone, and a voice on the other would prove nothing.
 */
const VOICE = 'voice ';

/** A listening connection has nothing in flight worth waiting for. */
const END_MS_MAX = 50;

/**
 * The deadline of a heartbeat, in heartbeats. A commit may stall for 1.5 s while the disk is busy. A deadline of 1 s
 * replaced all connections then, just when the database was slow. With 2 s a half-open pool is still replaced by the
 * time its silence is noticed, and two connections at most wait for heartbeats.
 */
const BEATS_PER_DEADLINE = 2;

export interface NoticeListener {
  close(): Promise<void>;
}

export interface NoticeListenerOptions {
  readonly url: string;
  /** The pool through which this node calls itself. A heartbeat must take the way the notices take. */
  readonly database: Database;
  readonly onNotice: (notice: Notice | Question) => void;
  /** Notices may have been missed: everything held must be read again. Also called after the first LISTEN. */
  readonly onGap: () => void;
  readonly log: { warn(fields: object, message: string): void };
  readonly beatMs?: number;
  readonly silenceMsMax?: number;
}

/**
 * Listens until closed. Each second the node notifies itself. 3 s without hearing that is a gap, as is a connection
 * lost and found again: a half-open connection looks alive to all but the one that waits for its own voice.
 */
export function listenForNotices({
  url,
  database,
  onNotice,
  onGap,
  log,
  beatMs = 1000,
  silenceMsMax = 3000,
}: NoticeListenerOptions): NoticeListener {
  const own = `${VOICE}${randomUUID()}`;
  let client: Client | null = null;
  let isSilent = false;
  // Timers run before sockets are read: after a stall of our own the voice may be there, waiting to be heard.
  const silence = setTimeout(() => {
    isSilent = true;
    setImmediate(() => isSilent && client !== null && listenAnew());
  }, silenceMsMax);

  function heard(): void {
    isSilent = false;
    silence.refresh();
  }

  function listen(): void {
    const mine = openListeningClient(url);
    client = mine;
    heard();
    // postgres.js listens again by itself after a lost connection and then calls the third function again.
    mine.sql
      .listen(
        CHANNEL,
        (payload) => {
          if (payload !== own) receive(payload);
          else if (mine === client) heard();
        },
        () => mine === client && onGap(),
      )
      .catch(() => {
        // Expected while the database is away: the silence below opens the next one.
      });
  }

  function listenAnew(): void {
    log.warn({ silentMs: silenceMsMax }, 'database notifications silent, reconnecting');
    void client?.end(END_MS_MAX);
    listen();
  }

  function receive(payload: string): void {
    if (payload.startsWith(VOICE)) return; // another node's
    const notice = readNotice(payload);
    if (notice === null) log.warn({ bytes: payload.length }, 'malformed database notification ignored');
    else onNotice(notice);
  }

  const beat = setInterval(() => {
    database
      .write(deadlineIn(BEATS_PER_DEADLINE * beatMs), (sql) => sql`select pg_notify(${CHANNEL}, ${own})`)
      .catch(() => {
        // Expected while the database is away: silence is what is looked for below.
      });
  }, beatMs);

  listen();
  return {
    async close() {
      clearInterval(beat);
      clearTimeout(silence);
      const last = client;
      client = null;
      await last?.end(END_MS_MAX);
    },
  };
}
