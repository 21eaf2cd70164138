// Creates the logger of a thread. It writes JSON lines to standard error and never blocks: it drops new lines while the
// reader stalls or the disk is full.
import { write } from 'node:fs';
import { isMainThread } from 'node:worker_threads';
import { type DestinationStream, type Logger, pino } from 'pino';

/** Bytes of waiting lines. Above it new lines are dropped and counted. It holds about 5,000 session events. */
const WAITING_BYTES_MAX = 1024 * 1024;
/** Time (ms) until the next try after a full pipe or disk. */
const AGAIN_MS = 100;
/** Longest wait (ms) for the last lines at exit. */
const FLUSH_MS_MAX = 1000;

/** Dropped lines of this thread. */
export const lines = { lost: 0 };

/**
 * Calls take fields first, then a fixed event phrase. Errors are in `err`. No log line has a token, a key or audio. With
 * `thread`, a name, each line has it as a field.
 */
export function createLog(level: string, { fd = 2, thread }: { fd?: number; thread?: string } = {}): Logger {
  if (isMainThread) unblockStandardError();
  const options = {
    level,
    base: thread === undefined ? null : { thread },
    timestamp: pino.stdTimeFunctions.isoTime,
    serializers: { err: traceOf },
  };
  const log = pino(
    options,
    writeBehind(fd, (lost) => log.warn({ lost }, 'log lines lost')),
  );
  return log;
}

/**
 * A blocked write would hold one of the four threads that do what blocks, and the exit, which waits for them. When Node
 * opens its own stream on a pipe or socket, libuv makes that non-blocking for all threads, and Node undoes it at exit.
 */
// LIMIT: a terminal stopped with Ctrl-S does block, until Ctrl-Q. Opening it anew with O_NONBLOCK would lift that.
function unblockStandardError(): void {
  process.stderr.off('error', ignore).on('error', ignore);
}

/** Of what others write to that stream, such as Node's warnings. */
const ignore = () => {};

/** The loggable part of an error. Node's `input` may hold a URL with a password, PostgreSQL's `detail` a secret. */
export function traceOf(error: unknown) {
  const { message, stack, code } = error as { message?: unknown; stack?: unknown; code?: unknown };
  return { message, stack, code };
}

/** Resolves when all log lines are written, or after FLUSH_MS_MAX. Call it before process.exit. */
export const flushed = (log: Logger) => new Promise<void>((resolve) => log.flush(() => resolve()));

/**
 * Writes line by line: a pipe takes up to 4 KiB whole or not at all (PIPE_BUF), so the lines of two threads do not mix.
 * Not pino's own destination: at exit it tries to write to a full disk, or to a pipe that is not read, for ever (10.4.0).
 */
function writeBehind(fd: number, onLoss: (lost: number) => void) {
  const waiting: Buffer[] = [];
  const flushing = new Set<() => void>();
  let waitingBytes = 0;
  let lost = 0;
  let writing = false;

  function next(): void {
    const [line] = waiting;
    writing = line !== undefined;
    if (line === undefined) rest();
    else write(fd, line, (error, written) => (error === null ? advance(line, written) : again()));
  }

  function advance(line: Buffer, written: number): void {
    waitingBytes -= written;
    if (written === line.length) waiting.shift();
    else waiting[0] = line.subarray(written);
    next();
  }

  /** Not taken (EAGAIN), no room (ENOSPC), no reader any more (EPIPE): it may pass, and there is nowhere to say it. */
  function again(): void {
    setTimeout(next, AGAIN_MS).unref();
  }

  function rest(): void {
    for (const done of flushing) done();
    if (lost === 0) return;
    const told = lost;
    lost = 0;
    onLoss(told);
  }

  return {
    write(text: string): void {
      const line = Buffer.from(text);
      if (waitingBytes + line.length > WAITING_BYTES_MAX) {
        lost++;
        lines.lost++;
        return;
      }
      waitingBytes += line.length;
      waiting.push(line);
      if (!writing) next();
    },
    /** What `log.flush` calls. */
    flush(callback: () => void): void {
      const done = () => {
        clearTimeout(late);
        flushing.delete(done);
        callback();
      };
      const late = setTimeout(done, FLUSH_MS_MAX);
      flushing.add(done);
      if (!writing) done();
    },
  } satisfies DestinationStream & { flush: unknown };
}

/** The totals without zeros, for a line of the log. Times of waits are in the metrics alone. */
export function withoutZeros(counts: object): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(counts).flatMap(([name, count]: [string, unknown]) => {
      if (typeof count !== 'object' || count === null) return count === 0 ? [] : [[name, count]];
      if (name === 'waits') return [];
      const inside = withoutZeros(count);
      return Object.keys(inside).length === 0 ? [] : [[name, inside]];
    }),
  );
}
