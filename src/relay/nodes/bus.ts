// Describes how relays reach each other. The bus carries bytes to the other relays, at most once.

/** A topic of the bus, made by the functions below. */
export type Subject = string & { readonly kind: 'subject' };

/** What relays say about the talkgroup with this number. */
export const talkgroupSubject = (number: number) => `g.${number}` as Subject;
/** What is said to the relay with this id alone. */
export const relaySubject = (id: number) => `r.${id}` as Subject;
/** What is said to one relay alone. */
export const isOfOneRelay = (subject: Subject): boolean => subject.startsWith('r.');
/** What is said to every relay. */
export const EVERY_RELAY = 'all' as Subject;
/** Positions of devices, for the relays where sessions watch. */
export const POSITIONS = 'positions' as Subject;

/** Most bytes of one message. nats-server takes 1 MiB by default. */
export const MESSAGE_BYTES_MAX = 512 * 1024;

/** Plain numbers, counted since the start. */
export interface BusCounts {
  messagesOut: number;
  bytesOut: number;
  messagesIn: number;
  bytesIn: number;
  /** Messages that `publish` did not accept, that the connection then rejected, or that waited when it was lost. */
  readonly dropped: Record<'down' | 'backlog' | 'rejected', number>;
  /** Times the messages of a turn of the loop were handed to the network. */
  flushes: number;
  /** Times the bus came up. */
  ups: number;
}

export const newBusCounts = (): BusCounts => ({
  messagesOut: 0,
  bytesOut: 0,
  messagesIn: 0,
  bytesIn: 0,
  dropped: { down: 0, backlog: 0, rejected: 0 },
  flushes: 0,
  ups: 0,
});

/**
 * Messages of one relay about one subject arrive in their order, or not at all. A message that waits for the network
 * is dropped when the bus goes down, so none arrives late for that reason.
 */
export interface Bus {
  /**
   * Sends `head` and `body` as one message to every other relay that subscribes. Messages of one turn of the loop are
   * sent together at its end. The caller may change the bytes as soon as this returns. false: the message is dropped,
   * because the bus is down or has too much to send. `isNear`: only relays of this node need it, and a bus that has a way
   * of its own to them takes no other one.
   */
  publish(subject: Subject, head: Uint8Array, body: Uint8Array | ArrayBuffer, isNear?: boolean): boolean;
  /** Calls `receive` for each message from now on. It must not keep the bytes. The answer ends it. */
  subscribe(subject: Subject, receive: (bytes: Uint8Array) => void): () => void;
  /** It carries messages to every relay that it joins. */
  readonly isUp: boolean;
  /** It carries messages to some of them, when NATS is away to those of its own node. */
  readonly carriesSome: boolean;
  /** It joins nodes, and not only the threads of one. */
  readonly joinsNodes: boolean;
  /** Calls `changed` each time that the bus comes up or goes down. */
  onChange(changed: (isUp: boolean) => void): void;
  /** No other relay is heard although the bus is up: makes sure of its server, or leaves it for another one. */
  doubt(): void;
  readonly counts: BusCounts;
  /** Sends what waits, and ends. Nothing is received after it. */
  close(): Promise<void>;
}
