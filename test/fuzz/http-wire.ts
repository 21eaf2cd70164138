// HTTP over a connection that is kept: one request out as bytes, one answer back, as fast as the server gives it.
import { connect, type Socket } from 'node:net';

export interface Answer {
  readonly status: number;
  /** By lower-case name. The last of several. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Nothing that can be answered may take longer. */
export const ANSWER_MS_MAX = 5000;

export type HttpWire = ReturnType<typeof createHttpWire>;

export function createHttpWire(port: number) {
  let kept: Exchange | null = null;

  return {
    /** The answer to one whole request. null: the server closed without one. Rejects after ANSWER_MS_MAX. */
    async ask(request: Buffer, isHead: boolean): Promise<Answer | null> {
      const wasKept = kept !== null;
      kept ??= openExchange(port);
      const answer = await kept.ask(request, isHead);
      if (kept.isOver()) kept = null;
      // A connection that lay idle may be closed by the server at any time.
      if (answer === null && wasKept) return this.ask(request, isHead);
      return answer;
    },
    end(): void {
      kept?.end();
      kept = null;
    },
  };
}

/** All answers to bytes that need not be a request, in pieces of their own, on a connection of their own. */
export async function sendBytes(port: number, pieces: readonly Buffer[]): Promise<Answer[]> {
  const exchange = openExchange(port);
  try {
    await exchange.write(pieces);
    return await exchange.rest();
  } finally {
    exchange.end();
  }
}

type Exchange = ReturnType<typeof openExchange>;

/** When nothing came for so long, the server waits for more: we say that there is no more. */
const QUIET_MS = 60;

function openExchange(port: number) {
  const socket = connect(port, '127.0.0.1').setNoDelay(true);
  let received: Buffer = Buffer.alloc(0);
  let closed = false;
  let said = false;
  let changed = () => {};
  socket.on('data', (bytes) => {
    received = received.length === 0 ? bytes : Buffer.concat([received, bytes]);
    changed();
  });
  socket.on('close', () => {
    closed = true;
    changed();
  });
  socket.on('error', () => {}); // a reset is an end. 'close' follows

  /** Resolves with what `find` finds, which is asked again whenever something came. */
  function until<T>(find: () => T | undefined, ms = ANSWER_MS_MAX): Promise<T> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        changed = () => {};
        reject(new Error(`no answer within ${ms} ms`));
      }, ms);
      changed = () => {
        const found = find();
        if (found === undefined) return;
        clearTimeout(timer);
        changed = () => {};
        resolve(found);
      };
      changed();
    });
  }

  function take(isHead: boolean): Answer | undefined {
    const read = readAnswer(received, isHead);
    if (read === null) return undefined;
    received = received.subarray(read.bytes);
    if (read.answer.status < 200) return take(isHead); // announces an answer, is none
    said ||= read.answer.headers.connection === 'close';
    return read.answer;
  }

  return {
    ask(request: Buffer, isHead: boolean): Promise<Answer | null> {
      socket.write(request);
      return until(() => take(isHead) ?? (closed ? null : undefined));
    },
    isOver: () => closed || said,
    write: (pieces: readonly Buffer[]) => writeEach(socket, pieces),
    /** What is answered until the connection ends, at the latest to the end of ours. */
    async rest(): Promise<Answer[]> {
      const answers: Answer[] = [];
      const read = () => {
        for (let answer = take(false); answer !== undefined; answer = take(false)) answers.push(answer);
        return closed || undefined;
      };
      for (let before = -1; before < received.length + answers.length && !closed; ) {
        before = received.length + answers.length;
        await until(read, QUIET_MS).catch(() => {}); // expected: it waits for more of us
      }
      socket.end();
      await until(read);
      return answers;
    },
    end: () => socket.destroy(),
  };
}

/** The loop may hand several to the system as one, unless it turns between them. */
export async function writeEach(socket: Socket, pieces: readonly Buffer[]): Promise<void> {
  for (const [index, piece] of pieces.entries()) {
    socket.write(piece);
    if (index < pieces.length - 1) await new Promise(setImmediate);
  }
}

/** The first answer in the bytes and how many it takes. null: it is not whole. Ours all carry Content-Length. */
function readAnswer(bytes: Buffer, isHead: boolean): { answer: Answer; bytes: number } | null {
  const headEnd = bytes.indexOf('\r\n\r\n');
  if (headEnd < 0) return null;
  const [first = '', ...lines] = bytes.toString('latin1', 0, headEnd).split('\r\n');
  const headers: Record<string, string> = {};
  for (const line of lines) {
    const colon = line.indexOf(':');
    headers[line.slice(0, colon).toLowerCase()] = line.slice(colon + 1).trim();
  }
  const from = headEnd + 4;
  const end = from + (isHead ? 0 : Number(headers['content-length'] ?? 0));
  if (bytes.length < end) return null;
  const answer = { status: Number(first.split(' ')[1]), headers, body: bytes.toString('utf8', from, end) };
  return { answer, bytes: end };
}
