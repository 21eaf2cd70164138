// What a raw radio asks of a protocol: to be let into a room, to find audio in what arrives, to wrap what it says.

/** One audio frame lies in `bytes` from `start` to `end`, valid until the call returns. */
export type Receive = (bytes: Buffer, start: number, end: number) => void;

/** One connection as its dialect sees it. */
export interface Line {
  readonly url: URL;
  readonly token: string;
  /** Which of the server's rooms, by number. The relay takes it from token and frame. */
  readonly room: number;
  /** It need not hear its room. */
  readonly isTalker: boolean;
  /** One write to the socket. Nothing once the connection is lost or left. */
  readonly write: (bytes: Uint8Array | string) => void;
  /** The server hears and serves this radio. Only the first time counts. */
  readonly join: () => void;
  readonly hear: Receive;
  /** A text of the relay. It is valid until the call returns. */
  readonly tell: (text: Buffer) => void;
  /** The connection is of no use any more. `code` is the server's close code, `reason` its reason or status line. */
  readonly lose: (message: string, code?: number, reason?: string) => void;
}

/** One connection's side of a protocol. */
export interface Dialect {
  /** The TCP connection stands. */
  begin(): void;
  /**
   * Takes apart the whole messages at the beginning of `bytes` and says how far it got. It is shown the rest again with
   * what arrives next. Runs for tens of thousands of frames a second: it makes nothing new for one of them.
   */
  read(bytes: Buffer): number;
  /** An audio frame as a message. */
  speech(frame: Uint8Array): Buffer;
  /** A text as a message, where there is such a thing. */
  text?(text: string): Buffer;
  /** What a radio says that will not come back. */
  readonly goodbye: Buffer;
}

export type OpenDialect = (line: Line) => Dialect;
