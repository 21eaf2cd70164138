// One logger for a thread: JSON lines on standard error, so that standard output stays readable for people. Nobody
// waits for them: when they are not taken, because the reader sleeps or the disk is full, lines are lost.
import { write } from 'node:fs';
import { isMainThread } from 'node:worker_threads';
import { type DestinationStream, type Logger, pino } from 'pino';

/** Lines that wait; beyond, the newest are dropped and counted. Some 5,000 sessions that come or go. */
const WAITING_BYTES_MAX = 1024 * 1024;
/** A pipe that is full, or a disk, is tried again after so long. */
const AGAIN_MS = 100;
/** An end waits no longer for the last lines. */
const FLUSH_MS_MAX = 1000;

/** Of this thread: lines that were dropped. */
export const lines = { lost: 0 };

/** Objects first, then a sentence; errors under `err`. Never a token, a key or audio. */
export function createLog(level: string, fd = 2): Logger {
  if (isMainThread) unblockStandardError();
  const options = {
    level,
    base: null,
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
// LIMIT: a terminal stopped with Ctrl-S does block, until Ctrl-Q; opening it anew with O_NONBLOCK would lift that.
function unblockStandardError(): void {
  process.stderr.off('error', ignore).on('error', ignore);
}

/** Of what others write to that stream, such as Node's warnings. */
const ignore = () => {};

/** Not the error whole: Node's `input` may be a URL with its password, PostgreSQL's `detail` a row with its secret. */
export function traceOf(error: unknown) {
  const { message, stack, code } = error as { message?: unknown; stack?: unknown; code?: unknown };
  return { message, stack, code };
}

/** Resolves when everything logged so far is written, or after FLUSH_MS_MAX. For before process.exit. */
export const flushed = (log: Logger) => new Promise<void>((resolve) => log.flush(() => resolve()));

/**
 * Writes line by line: a pipe takes up to 4 KiB whole or not at all (PIPE_BUF), so the lines of two threads do not mix.
 * Not pino's own destination: at exit it tries to write to a full disk, or to a pipe that nobody reads, for ever (10.4.0).
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

  /** Not taken (EAGAIN), no room (ENOSPC), nobody there any more (EPIPE): it may pass, and there is nobody to tell. */
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
