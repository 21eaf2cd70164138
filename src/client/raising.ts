// Calls for help: the one message that is sent until the relay has taken it.
import type { Clock } from './clock.js';
import type { MessageOf } from './messages.js';
import { RadioError, type Requests } from './requests.js';

/** `lat` -90 to 90 and `lng` -180 to 180 degrees, `alt` metres; `signal` takes the call back while it is not announced. */
export type EmergencyCall = {
  talkgroupId: string;
  lat?: number;
  lng?: number;
  alt?: number;
  signal?: AbortSignal;
};

export type Raising = {
  /**
   * Resolves with the emergency's id once it is announced. Without a connection it waits for one, and it asks again
   * after a lost connection, a missing answer, or `rate_limited`: the relay keeps one open emergency per user and
   * talkgroup, so that a second call raises no second one. Rejects with RadioError when it is refused (`not_member`),
   * `cancelled` by the signal, or the radio `stopped`.
   */
  raise(call: EmergencyCall): Promise<string>;
  connected(): void;
  /** There will be no connection any more. */
  stop(): void;
};

type Waiting = { send(): void; reject(reason: RadioError): void };

const RETRY_MS = 1_000;
/** The call as such is refused; asking again would not help. */
const FINAL = new Set<RadioError['code']>(['not_member', 'forbidden', 'bad_message']);

/** No call yet; `isOpen` says whether there is a connection. */
export function createRaising(requests: Requests, clock: Clock, isOpen: () => boolean): Raising {
  const waiting = new Set<Waiting>();

  return {
    async raise(call) {
      const answer = await untilTaken(call);
      if (answer.emergency_id === undefined) throw new RadioError('internal', 'the relay gave no id');
      return answer.emergency_id;
    },
    connected() {
      for (const call of waiting) call.send();
    },
    stop() {
      for (const call of waiting) call.reject(new RadioError('stopped', 'the radio is closed'));
    },
  };

  function untilTaken({ talkgroupId, signal, ...position }: EmergencyCall): Promise<MessageOf<'OK'>> {
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
              // A lost connection is followed by the next, which sends it again.
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
      const cancel = () => call.reject(new RadioError('cancelled', 'the call was taken back'));

      waiting.add(call);
      signal?.addEventListener('abort', cancel);
      if (signal?.aborted) cancel();
      else if (isOpen()) call.send();
    });
  }
}
