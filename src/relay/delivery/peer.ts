// Describes a socket and uWebSockets.js as the relay uses them.

/** The part of uWebSockets.js that publishes. The listener passes it in and encodes text. */
export interface Publisher {
  /** Sends to every subscriber of the topic. */
  publish(topic: string, message: string | ArrayBuffer, isBinary: boolean): boolean;
  numSubscribers(topic: string): number;
}

/** One socket. The WebSocket of uWebSockets.js has this shape. */
export interface Peer {
  /**
   * 1: written. 0: in the send buffer. DROPPED: the buffer is full. Text is passed as bytes: on Node 24 uWebSockets.js
   * writes some strings as Latin-1 (ENGINE.md), and a client closes a connection whose text is not UTF-8.
   */
  send(message: Buffer | ArrayBuffer, isBinary: boolean): number;
  /** Sends a WebSocket ping after everything written before. Answers like `send`. The text must be ASCII. */
  ping(message: string): number;
  /** Sends to every subscriber of the topic except this socket. The socket must subscribe to some topic itself. */
  publish(topic: string, message: ArrayBuffer, isBinary: boolean): boolean;
  /** Returns true when it was not subscribed before. */
  subscribe(topic: string): boolean;
  /** Returns true when it was subscribed. */
  unsubscribe(topic: string): boolean;
  /** Data that uWebSockets.js keeps for the socket: its messages go to this session, with null to none. */
  getUserData(): { session: unknown };
  /** The reason must be ASCII. */
  end(code: number, reason: string): void;
}

/** What a frame needs of its talker's socket. */
export type Voice = Pick<Peer, 'publish'>;

/** The answer of sends and pings when the socket's send buffer is full. */
export const DROPPED = 2;

/** Every session subscribes to it, so that it may publish when it subscribes to no talkgroup's audio. */
export const SERVICE_TOPIC = 's';
