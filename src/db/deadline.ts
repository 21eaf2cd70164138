// Limits the time of work that a caller waits for.

/** A moment on the monotonic clock (ms, `performance.now()`) after which no caller waits any more. */
export interface Deadline extends Caller {
  readonly at: number;
}

/** Whose work it is. The service's own work has neither. */
export interface Caller {
  /** An id, or a key of the token whose user is looked up. undefined while neither is known. */
  readonly user?: string;
  /** A key of `addressKey` (http/address.ts). */
  readonly address?: string;
}

/** The deadline of work that may take `ms` milliseconds from now. */
export const deadlineIn = (ms: number, caller: Caller = {}): Deadline => ({
  ...caller,
  at: performance.now() + ms,
});

/** From arrival to answer, a REST request has this long for the gate, all statements and a retry. */
export const REQUEST_MS = 2500;
/** A single read may take this long of it. */
export const READ_MS_MAX = 1500;

/** No caller waits any more. Whether the work happens is unknown. */
export class DeadlineError extends Error {
  override name = 'DeadlineError';
}

/** The answer, or DeadlineError at `at`. Whatever would have answered is left to itself. */
export async function within<T>(at: number, answer: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new DeadlineError('no answer before the deadline')),
      Math.max(0, at - performance.now()),
    );
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
    answer.catch(() => {
      // Expected after a deadline, as when a retired pool rejects what it still held.
    });
  }
}
