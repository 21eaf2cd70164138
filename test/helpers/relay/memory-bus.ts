// The bus without a network, for tests: relays of one process, with cuts and losses between any two of them.
import { type Bus, newBusCounts, type Subject } from '../../../src/relay/nodes/bus.js';
import { createOutbox } from '../../../src/relay/nodes/carriers/outbox.js';

export interface MemoryBus extends Bus {
  /** The whole bus is away for this one, until `mend`. */
  cut(): void;
  mend(): void;
  /** When `doubt` was called (monotonic ms). */
  readonly doubts: readonly number[];
  /** Messages that only relays of the same node needed. */
  readonly near: () => number;
}

interface Member {
  readonly subscribed: Map<Subject, Set<(bytes: Uint8Array) => void>>;
  isUp: boolean;
}

/** Decides whether a message is lost on its way. */
export type Loss = (from: number, to: number, subject: Subject, bytes: Uint8Array) => boolean;

export function createMemoryNetwork() {
  const members: Member[] = [];
  let isLost: Loss = () => false;
  let delayMs: (from: number, to: number) => number = () => 0;

  function deliver(from: number, subject: Subject, bytes: Uint8Array): void {
    for (const [to, member] of members.entries()) {
      if (to === from || isLost(from, to, subject, bytes)) continue;
      const copy = new Uint8Array(bytes); // each receiver has a buffer of its own, as over a network
      const arrive = () => {
        if (member.isUp) for (const receive of member.subscribed.get(subject) ?? []) receive(copy);
      };
      const ms = delayMs(from, to);
      if (ms === 0) setImmediate(arrive);
      else setTimeout(arrive, ms);
    }
  }

  return {
    /** Whether messages are lost from now on. */
    lose(loss: Loss): void {
      isLost = loss;
    },
    /** From now on each message arrives so much later. */
    delay(ms: number): void {
      delayMs = () => ms;
    },
    /** The same for each pair of members. */
    delayOf(ms: (from: number, to: number) => number): void {
      delayMs = ms;
    },
    join(): MemoryBus {
      const own: Member = { subscribed: new Map(), isUp: true };
      const at = members.push(own) - 1;
      const counts = newBusCounts();
      counts.ups = 1;
      let changed: (isUp: boolean) => void = () => {};
      const doubts: number[] = [];
      let near = 0;
      const outbox = createOutbox((subject, bytes) => deliver(at, subject, bytes), {
        flushed() {
          counts.flushes++;
        },
        failed(error) {
          throw error;
        },
      });
      const turn = (isUp: boolean) => {
        if (own.isUp === isUp) return;
        own.isUp = isUp;
        if (isUp) counts.ups++;
        else outbox.clear();
        changed(isUp);
      };
      return {
        publish(subject, head, body, isNear = false) {
          if (isNear) near++;
          const rest = body instanceof Uint8Array ? body : new Uint8Array(body);
          const refused = own.isUp ? (outbox.put(subject, head, rest) ? null : 'backlog') : 'down';
          if (refused !== null) counts.dropped[refused]++;
          else {
            counts.messagesOut++;
            counts.bytesOut += head.byteLength + rest.byteLength;
          }
          return refused === null;
        },
        subscribe(subject, receive) {
          const counted = (bytes: Uint8Array) => {
            counts.messagesIn++;
            counts.bytesIn += bytes.byteLength;
            receive(bytes);
          };
          const known = own.subscribed.get(subject) ?? new Set();
          own.subscribed.set(subject, known.add(counted));
          return () => {
            known.delete(counted);
          };
        },
        get isUp() {
          return own.isUp;
        },
        get carriesSome() {
          return own.isUp;
        },
        joinsNodes: true,
        onChange(listener) {
          changed = listener;
        },
        doubt() {
          doubts.push(performance.now());
        },
        doubts,
        near: () => near,
        counts,
        cut: () => turn(false),
        mend: () => turn(true),
        async close() {
          outbox.flush();
          own.subscribed.clear();
          turn(false);
        },
      };
    },
  };
}
