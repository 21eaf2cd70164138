// Sends requests to the relay and matches the answers by `ref`.

import type { ErrorCode } from '../../protocol/codes.js';
import type {
  ClientMessageOf,
  ClientMessage as Sent,
  ServerMessage,
  ServerMessageOf,
} from '../../protocol/types.js';
import type { Clock } from '../clock.js';

/** A message of a radio, without `ref`. */
export type ClientMessage = WithoutRef<Sent>;

type WithoutRef<Message> = Message extends object ? Omit<Message, 'ref'> : never;

/** A position: `lat` -90 to 90 and `lng` -180 to 180 degrees, `alt` in metres. Default device: the user's linked one. */
export type Fix = Omit<ClientMessageOf<'GPS_UPDATE'>, 'type' | 'ref'>;

/**
 * Why a request failed. `code` is that of the server's ERROR, or one of the radio's own: `disconnected` and `timeout`
 * (the outcome is unknown), `internal` (the answer does not fit the request), `stopped`, `cancelled`.
 */
export class RadioError extends Error {
  constructor(
    readonly code: ErrorCode | 'disconnected' | 'timeout' | 'internal' | 'stopped' | 'cancelled',
    message: string,
  ) {
    super(message);
    this.name = 'RadioError';
  }
}

const PASSING = new Set<RadioError['code']>(['rate_limited', 'unavailable', 'internal', 'timeout']);

/** True if the same request may succeed later. */
export const isPassing = ({ code }: RadioError): boolean => PASSING.has(code);

export type Requests = {
  /** Resolves with the answer, rejects with RadioError. */
  ask(request: ClientMessage): Promise<ServerMessage>;
  /** The same, and rejects if the answer has another type. */
  askFor<Type extends ServerMessage['type']>(
    type: Type,
    request: ClientMessage,
  ): Promise<ServerMessageOf<Type>>;
  /** Settles the request that this message answers, if any. */
  answer(message: ServerMessage): void;
  /** Rejects all open requests. */
  disconnected(): void;
};

type Open = { resolve(answer: ServerMessage): void; reject(reason: RadioError): void };

// The server answers every request within 5 s. The rest is for the network.
const ANSWER_MS_MAX = 10_000;

/** Creates the requests of one radio. `send` returns false if there is no connection. */
export function createRequests(send: (text: string) => boolean, clock: Clock): Requests {
  const open = new Map<number, Open>();
  let lastRef = 0;

  return {
    ask,
    async askFor(type, request) {
      const answer = await ask(request);
      if (isOf(type, answer)) return answer;
      throw new RadioError('internal', `unexpected answer to ${request.type}: ${answer.type}`);
    },
    answer(message) {
      const waiting = 'ref' in message && typeof message.ref === 'number' ? open.get(message.ref) : undefined;
      if (!waiting) return;
      if (message.type !== 'ERROR') waiting.resolve(message);
      else waiting.reject(new RadioError(message.code, message.message));
    },
    disconnected() {
      for (const waiting of [...open.values()]) waiting.reject(disconnected());
    },
  };

  function ask(request: ClientMessage): Promise<ServerMessage> {
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
  }
}

function isOf<Type extends ServerMessage['type']>(
  type: Type,
  message: ServerMessage,
): message is ServerMessageOf<Type> {
  return message.type === type;
}

const disconnected = () => new RadioError('disconnected', 'not connected to the relay');
