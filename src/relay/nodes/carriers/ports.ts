// The bus between the relay threads of one process: a port to each of the others.
//
// What a turn of the loop says to a thread is one buffer, handed over without a copy: a message of its own for each frame
// would cost three times as much. A thread gets what it subscribes to, and nothing else.
import type { MessagePort } from 'node:worker_threads';
import { type Bus, type BusCounts, MESSAGE_BYTES_MAX, newBusCounts, type Subject } from '../bus.js';
import { createReceiver, type Subscribed } from './receiving.js';
import { type BatchReader, readBatch, Sibling } from './sibling.js';

export interface PortsOptions {
  /** One to each other relay thread of this process. Closed with the bus. */
  readonly ports: readonly MessagePort[];
  readonly log: { error(fields: object, message: string): void };
}

/** A subscription of another thread: its number there. */
interface Interest {
  readonly sibling: Sibling;
  readonly id: number;
}

/** The bus of the threads alone. */
export interface PortsBus extends Bus {
  /** Whether another thread subscribes. */
  isHeard(subject: Subject): boolean;
}

/** The bus is up until it is closed, because a thread that ends ends the process. */
export function openPorts({ ports, log }: PortsOptions): PortsBus {
  const counts: BusCounts = { ...newBusCounts(), ups: 1 };
  /** Subscriptions here, by the numbers that the others know them by. */
  const subscribed = new Map<number, Subscribed>();
  let lastId = 0;
  /** Subscriptions of the others. */
  const interests = new Map<Subject, Interest[]>();
  /** Subjects of the others' subscriptions. */
  const siblings = new Map<Sibling, Map<number, Subject>>();
  const take = createReceiver(counts, log);
  let isArmed = false;
  let isClosed = false;
  let changed: (isUp: boolean) => void = () => {};

  function arm(): void {
    if (isArmed) return;
    isArmed = true;
    setImmediate(turnEnds);
  }

  function turnEnds(): void {
    isArmed = false;
    if (!isClosed) flush();
  }

  function flush(): void {
    const nowMs = performance.now();
    let hasMessages = false;
    for (const sibling of siblings.keys()) hasMessages = sibling.flush(nowMs) || hasMessages;
    if (hasMessages) counts.flushes++;
  }

  const readerOf = (sibling: Sibling): BatchReader => ({
    message: hand,
    subscribe(id, subject) {
      siblings.get(sibling)?.set(id, subject);
      interests.set(subject, [...(interests.get(subject) ?? []), { sibling, id }]);
    },
    unsubscribe: (id) => forget(sibling, id),
    ask() {
      sibling.answer();
      arm();
    },
    answer() {
      if (sibling.confirmed(performance.now())) arm();
    },
  });

  function hand(id: number, bytes: Uint8Array): void {
    const to = subscribed.get(id);
    if (to !== undefined && !isClosed) take(to, bytes); // else it ended while the message was on its way
  }

  function forget(sibling: Sibling, id: number): void {
    const subject = siblings.get(sibling)?.get(id);
    if (subject === undefined) return;
    siblings.get(sibling)?.delete(id);
    const others = interests.get(subject)?.filter((one) => one.sibling !== sibling || one.id !== id) ?? [];
    if (others.length > 0) interests.set(subject, others);
    else interests.delete(subject);
  }

  /** Its thread ended. */
  function gone(sibling: Sibling): void {
    for (const id of [...(siblings.get(sibling)?.keys() ?? [])]) forget(sibling, id);
    siblings.delete(sibling);
  }

  for (const port of ports) {
    const sibling = new Sibling(port);
    const reader = readerOf(sibling);
    siblings.set(sibling, new Map());
    port.on('message', (batch: ArrayBuffer) => readBatch(batch, reader));
    port.on('close', () => gone(sibling));
  }

  return {
    publish(subject, head, body) {
      const bytes = head.byteLength + body.byteLength;
      if (bytes > MESSAGE_BYTES_MAX) throw new Error(`a message of ${bytes} bytes is too long for the bus`);
      if (isClosed) {
        counts.dropped.down++;
        return false;
      }
      const to = interests.get(subject);
      if (to === undefined) return true;
      const rest = body instanceof Uint8Array ? body : new Uint8Array(body);
      let isTaken = true;
      for (const { sibling, id } of to) {
        if (sibling.put(id, head, rest)) {
          counts.messagesOut++;
          counts.bytesOut += bytes;
        } else {
          counts.dropped.backlog++;
          isTaken = false;
        }
      }
      arm();
      return isTaken;
    },
    subscribe(subject, receive) {
      do lastId = (lastId + 1) >>> 0;
      while (subscribed.has(lastId));
      const id = lastId;
      subscribed.set(id, { subject, receive });
      for (const sibling of siblings.keys()) sibling.tell(id, subject);
      arm();
      return () => {
        if (!subscribed.delete(id)) return;
        for (const sibling of siblings.keys()) sibling.tell(id, null);
        arm();
      };
    },
    isHeard: (subject) => interests.has(subject),
    get isUp() {
      return !isClosed;
    },
    get carriesSome() {
      return !isClosed;
    },
    joinsNodes: false,
    onChange(listener) {
      changed = listener;
    },
    doubt() {}, // there is nothing between the threads that could be left
    counts,
    async close() {
      if (isClosed) return;
      flush();
      isClosed = true;
      for (const port of ports) port.close(); // what was handed to it arrives
      changed(false);
    },
  };
}
