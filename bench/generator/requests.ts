// Sends HTTP requests in open loop: each is due by the clock, over a bounded number of kept connections.
import { connect } from 'node:net';
import { createRecorder, type Latency, type Recorder } from '../figures/histogram.js';
import { around, nowMs, until } from '../machine/clock.js';
import { dueMsOf, onSchedule } from '../machine/schedule.js';

export interface Request {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly token?: string;
  readonly body?: object;
}

/** `body` is valid until the call that was given it returns. */
export interface Answer {
  readonly status: number;
  readonly body: Buffer;
}

export interface SenderOptions {
  /** `http://host:port`. Plain text only. */
  readonly url: string;
  /** Made when they are needed and kept. A request that finds all of them busy waits, and its time counts. */
  readonly connectionsMax: number;
}

/** Requests of the time from `fromMs` on, `ms` long, by nowMs(). */
export interface Round {
  readonly fromMs: number;
  readonly ms: number;
  /** null: the closed loop, in which each connection asks again when it is answered, and time counts from there. */
  readonly perSecond: number | null;
  /** The bytes of the n-th. */
  readonly request: (index: number) => Buffer;
  readonly answered?: (index: number, answer: Answer) => void;
}

/** What became of a round's requests. Plain data. */
export interface Sent {
  readonly requests: number;
  /** From when each was due to its end, whichever that was. One that was not answered in time counts what it waited. */
  readonly latency: Latency;
  /** The same by status, or by what went wrong on the way: `200`, `ECONNRESET`, `unanswered`. */
  readonly outcomes: Readonly<Record<string, Latency>>;
  /** How late they came to their turn, whether or not a connection was free: the generator's own doing. */
  readonly late: Latency;
  /** From the beginning of the round to the last answer. */
  readonly tookMs: number;
}

export interface Sender {
  /** One round at a time. Resolves when all are answered, at the latest ANSWER_MS_MAX after the round. */
  play(round: Round): Promise<Sent>;
}

/** The service answers everything within 5 s. */
const ANSWER_MS_MAX = 6_000;
const UNANSWERED = 'unanswered';

export function createSender({ url, connectionsMax }: SenderOptions): Sender {
  const { hostname, port } = new URL(url);
  const idle: Connection[] = [];
  const busy = new Set<Connection>();

  /** null: all are busy. */
  function takeConnection(): Connection | null {
    const connection = idle.pop() ?? null;
    if (connection !== null || busy.size >= connectionsMax) return connection;
    return openConnection(hostname, Number(port), (gone) => {
      const at = idle.indexOf(gone);
      if (at !== -1) idle.splice(at, 1);
    });
  }

  async function play({ fromMs, ms, perSecond, request, answered }: Round): Promise<Sent> {
    const endMs = fromMs + ms;
    const schedule = perSecond === null ? null : { fromMs, ms, perSecond };
    const tally = createTally();
    // Nothing is queued: who waits for a connection is who is due and not yet sent.
    let due = 0;
    let sent = 0;

    function send(): void {
      while (sent < due) {
        const connection = takeConnection();
        if (connection === null) return;
        ask(connection, sent++);
      }
    }

    function ask(connection: Connection, index: number): void {
      const sinceMs = schedule === null ? nowMs() : dueMsOf(schedule, index);
      busy.add(connection);
      connection.ask(request(index), (outcome) => {
        busy.delete(connection);
        tally.settle(typeof outcome === 'string' ? outcome : `${outcome.status}`, nowMs() - sinceMs);
        if (typeof outcome !== 'string') {
          answered?.(index, outcome);
          if (connection.isOpen()) idle.push(connection);
        }
        if (schedule === null && nowMs() < endMs) due++;
        send();
      });
    }

    if (schedule === null) {
      await around(fromMs);
      due = connectionsMax;
      send();
      await around(endMs);
    } else {
      await onSchedule(schedule, (_, lateMs) => {
        tally.late.record(lateMs);
        due++;
        send();
      });
    }
    await until(() => tally.settled() === due, Math.max(0, endMs - nowMs()) + ANSWER_MS_MAX);
    // Those first for which no connection came free, lest one does now.
    for (; schedule !== null && sent < due; sent++) {
      tally.settle(UNANSWERED, nowMs() - dueMsOf(schedule, sent));
    }
    for (const connection of busy) connection.abandon(UNANSWERED);
    return tally.result(fromMs);
  }

  return { play };
}

function createTally() {
  const all = createRecorder();
  const late = createRecorder();
  const outcomes = new Map<string, Recorder>();
  let settled = 0;
  let lastMs = 0;
  return {
    late,
    settled: () => settled,
    settle(outcome: string, tookMs: number): void {
      settled++;
      lastMs = nowMs();
      all.record(tookMs);
      const own = outcomes.get(outcome) ?? createRecorder();
      outcomes.set(outcome, own);
      own.record(tookMs);
    },
    result(fromMs: number): Sent {
      return {
        requests: settled,
        latency: all.latency(),
        outcomes: Object.fromEntries([...outcomes].map(([outcome, of]) => [outcome, of.latency()])),
        late: late.latency(),
        tookMs: Math.max(0, lastMs - fromMs),
      };
    },
  };
}

/** One request at a time. */
interface Connection {
  /** `done` is called once, with the answer or with what went wrong. */
  ask(request: Buffer, done: (outcome: Answer | string) => void): void;
  /** Ends it. The request under way has this outcome. */
  abandon(outcome: string): void;
  isOpen(): boolean;
}

const NOTHING = Buffer.alloc(0);

function openConnection(host: string, port: number, gone: (connection: Connection) => void): Connection {
  const socket = connect({ host, port, noDelay: true });
  let rest: Buffer = NOTHING;
  let done: ((outcome: Answer | string) => void) | null = null;
  let open = true;

  function settle(outcome: Answer | string): void {
    const tell = done;
    done = null;
    tell?.(outcome);
  }

  function end(outcome: string): void {
    if (!open) return;
    open = false;
    socket.destroy();
    gone(connection);
    settle(outcome);
  }

  socket.on('data', (chunk) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const answer = readAnswer(rest);
    if (answer === null) return;
    if (answer === 'unreadable') return end(answer);
    rest = NOTHING;
    if (answer.isLast) open = false;
    settle(answer);
    if (answer.isLast) socket.destroy();
  });
  socket.on('error', ({ message, code = message }: NodeJS.ErrnoException) => end(code));
  socket.on('close', () => end('closed'));

  const connection: Connection = {
    ask(request, settled) {
      done = settled;
      socket.write(request);
    },
    abandon: end,
    isOpen: () => open,
  };
  return connection;
}

/** The service says the length of every answer. null: more is to come. */
function readAnswer(bytes: Buffer): (Answer & { readonly isLast: boolean }) | 'unreadable' | null {
  const end = bytes.indexOf('\r\n\r\n');
  if (end === -1) return null;
  const head = bytes.toString('latin1', 0, end);
  const status = /^HTTP\/1\.1 (\d{3}) /.exec(head)?.[1];
  const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1];
  if (status === undefined || length === undefined) return 'unreadable';
  const from = end + 4;
  const to = from + Number(length);
  if (bytes.length < to) return null;
  return {
    status: Number(status),
    body: bytes.subarray(from, to),
    isLast: /\r\nconnection: close/i.test(head),
  };
}

/** As it stands on the wire. */
export function encodeRequest({ method, path, token, body }: Request): Buffer {
  const json = body === undefined ? '' : JSON.stringify(body);
  const lines = [`${method} ${path} HTTP/1.1`, 'Host: bench'];
  if (token !== undefined) lines.push(`Authorization: Bearer ${token}`);
  if (method !== 'GET') lines.push(`Content-Length: ${Buffer.byteLength(json)}`);
  if (body !== undefined) lines.push('Content-Type: application/json');
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${json}`);
}

/** How many ended with anything but 200. */
export const failuresOf = ({ requests, outcomes }: Sent): number => requests - (outcomes['200']?.count ?? 0);
