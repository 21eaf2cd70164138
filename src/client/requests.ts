// Questions to the relay and their answers, matched by `ref`.
import type { Clock } from './clock.js';
import type { ServerMessage } from './messages.js';

/** Why a request was not done: the server's ERROR code, or `disconnected`, `timeout`: then its outcome is unknown. */
export class RadioError extends Error {
  constructor(
    readonly code: string,
    message: string,
    /** When the server said how long to wait before the next try. */
    readonly retryMs?: number,
  ) {
    super(message);
    this.name = 'RadioError';
  }
}

/** A client message: `type` and its fields; `ref` is added. */
export type Request = { type: string; ref?: never; [field: string]: unknown };

export type Requests = {
  /** Resolves with the answer, rejects with RadioError. */
  ask(request: Request): Promise<ServerMessage>;
  /** Settles the question this message answers, if any. */
  answer(message: ServerMessage): void;
  /** Rejects all that is open. */
  disconnected(): void;
};

type Open = { resolve(answer: ServerMessage): void; reject(reason: RadioError): void };

// The server answers everything within 5 s; the rest is the way there and back.
const ANSWER_MS_MAX = 10_000;

/** No question asked yet; `send` says false when there is no connection. */
export function createRequests(send: (text: string) => boolean, clock: Clock): Requests {
  const open = new Map<number, Open>();
  let lastRef = 0;

  return {
    ask(request) {
      lastRef += 1;
      const ref = lastRef;
      return new Promise((resolve, reject) => {
        if (!send(JSON.stringify({ ...request, ref }))) return reject(disconnected());
        const cancelTimer = clock.after(ANSWER_MS_MAX, () => {
          open.delete(ref);
          reject(new RadioError('timeout', `no answer to ${request.type} within ${ANSWER_MS_MAX} ms`));
        });
        const settled = <Outcome>(settle: (outcome: Outcome) => void) => {
          return (outcome: Outcome) => {
            cancelTimer();
            open.delete(ref);
            settle(outcome);
          };
        };
        open.set(ref, { resolve: settled(resolve), reject: settled(reject) });
      });
    },
    answer(message) {
      const waiting = 'ref' in message && typeof message.ref === 'number' ? open.get(message.ref) : undefined;
      if (!waiting) return;
      if (message.type !== 'ERROR') waiting.resolve(message);
      else waiting.reject(new RadioError(message.code, message.message, message.retry_ms));
    },
    disconnected() {
      for (const waiting of [...open.values()]) waiting.reject(disconnected());
    },
  };
}

const disconnected = () => new RadioError('disconnected', 'there is no connection to the relay');
