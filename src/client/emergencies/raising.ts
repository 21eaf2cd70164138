// Raises emergencies: repeats the request until the relay has accepted it.

import type { ServerMessageOf } from '../../protocol/types.js';
import type { Clock } from '../clock.js';
import { RadioError, type Requests } from '../connection/requests.js';

/**
 * The emergency to raise: `lat` -90 to 90 and `lng` -180 to 180 degrees, `alt` in metres, all optional. `signal` cancels
 * the call as long as the relay has not announced it.
 */
export type EmergencyCall = {
  talkgroupId: string;
  lat?: number;
  lng?: number;
  alt?: number;
  signal?: AbortSignal;
};

export type Raising = {
  /**
   * Resolves with the emergency's id after the relay has announced it. Without a connection it waits for one. It repeats
   * the request after a lost connection, a missing answer, or an error that may pass, such as `rate_limited`. The relay
   * keeps one open emergency per user and talkgroup, so a repeated request raises no second one. Rejects with RadioError
   * if the relay rejects the call (`not_member`), the signal cancels it (`cancelled`), or the radio stops (`stopped`).
   */
  raise(call: EmergencyCall): Promise<string>;
  connected(): void;
  /** The radio has stopped for good. */
  stop(): void;
};

type Waiting = { send(): void; reject(reason: RadioError): void };

const RETRY_MS = 1_000;
/** The relay rejected the call itself. A repeated request would fail too. */
const FINAL = new Set<RadioError['code']>(['not_member', 'forbidden', 'bad_message']);

/** Creates the emergency calls of one radio. `isOpen` returns whether there is a connection. */
export function createRaising(requests: Requests, clock: Clock, isOpen: () => boolean): Raising {
  const waiting = new Set<Waiting>();

  return {
    async raise(call) {
      const answer = await untilTaken(call);
      if (answer.emergency_id === undefined)
        throw new RadioError('internal', 'the relay answered without an emergency_id');
      return answer.emergency_id;
    },
    connected() {
      for (const call of waiting) call.send();
    },
    stop() {
      for (const call of waiting) call.reject(new RadioError('stopped', 'the radio is closed'));
    },
  };

  function untilTaken({ talkgroupId, signal, ...position }: EmergencyCall): Promise<ServerMessageOf<'OK'>> {
    return new Promise((resolve, reject) => {
      let cancelRetry = () => {};
      const settle = () => {
        waiting.delete(call);
        cancelRetry();
        signal?.removeEventListener('abort', cancel);
      };
      const call: Waiting = {
        send() {
          cancelRetry();
          requests.askFor('OK', { type: 'EMERGENCY_RAISE', talkgroup_id: talkgroupId, ...position }).then(
            (answer) => {
              settle();
              resolve(answer);
            },
            (error: RadioError) => {
              if (FINAL.has(error.code)) call.reject(error);
              // After a lost connection, `connected` sends the request again.
              else if (error.code !== 'disconnected' && waiting.has(call))
                cancelRetry = clock.after(RETRY_MS, call.send);
            },
          );
        },
        reject(reason) {
          settle();
          reject(reason);
        },
      };
      const cancel = () => call.reject(new RadioError('cancelled', 'the call was cancelled'));

      waiting.add(call);
      signal?.addEventListener('abort', cancel);
      if (signal?.aborted) cancel();
      else if (isOpen()) call.send();
    });
  }
}
