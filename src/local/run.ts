// Runs something for trying out until Ctrl-C: a local cluster, or a sandbox. All that it started ends with it.

export interface LocalRun {
  /** As in `cannot start the sandbox`. */
  readonly name: string;
  /** Is aborted when it shall end. */
  readonly interrupt: AbortController;
  /** Resolves when all of it runs. */
  start(): Promise<void>;
  /** Ends what `start` has started so far. `started` resolves when `start` starts no more. */
  stop(started: Promise<void>): Promise<void>;
  /** Behind the message of a start that failed because something else has the port or the files. */
  readonly leftOver: string;
}

/** Starts, waits for Ctrl-C, the end of the output or a fault, and stops. The exit code is 1 after a fault. */
export async function runUntilInterrupted({
  name,
  interrupt,
  start,
  stop,
  leftOver,
}: LocalRun): Promise<void> {
  const interrupted = new Promise<void>((resolve) => {
    interrupt.signal.addEventListener('abort', () => resolve());
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => interrupt.abort());
  // As when the reader of a pipe ends: the output is lost.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => interrupt.abort());
  // An unhandled rejection arrives here, too.
  process.on('uncaughtException', (error) => {
    console.error(`fault in the ${name}: ${error.stack}`);
    process.exitCode = 1;
    interrupt.abort();
  });

  const starting = start();
  try {
    await Promise.race([starting, interrupted]);
    await interrupted;
    console.log('stopping');
  } catch (error) {
    const { message } = error as Error;
    console.error(
      `cannot start the ${name}: ${message}${/cannot listen|in use/.test(message) ? leftOver : ''}`,
    );
    process.exitCode = 1;
  }
  interrupt.abort();
  await stop(starting.catch(() => {})); // it has seen the end of what it waited for
}
