// HTTP byte by byte: for what no HTTP client would send.
import { connect } from 'node:net';

export interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface RawExchange {
  readonly answers: RawAnswer[];
  /** How long until the last byte, or the close (ms). */
  readonly tookMs: number;
  readonly closed: boolean;
}

/** No exchange of ours takes longer: the slowest is a request that must time out after 10 s. */
const EXCHANGE_MS_MAX = 20_000;

/**
 * Sends the pieces over one connection, one TCP write each, and `afterAnswer` behind the first bytes that come back.
 * Resolves once `expected` answers came whole, or, without a number, once the server closed the connection.
 */
export function exchange(
  port: number,
  pieces: readonly (string | Buffer)[],
  expected = Number.POSITIVE_INFINITY,
  afterAnswer?: string,
): Promise<RawExchange> {
  const startedAt = performance.now();
  const socket = connect(port, '127.0.0.1').setNoDelay(true);
  let received = '';
  return new Promise((resolve, reject) => {
    const settle = (closed: boolean) => {
      clearTimeout(timer);
      socket.destroy();
      resolve({ answers: answersIn(received), tookMs: performance.now() - startedAt, closed });
    };
    const timer = setTimeout(() => {
      socket.destroy();
      reject(new Error(`no end of the exchange; received so far: ${received}`));
    }, EXCHANGE_MS_MAX);
    socket.on('data', (bytes) => {
      if (received === '' && afterAnswer !== undefined) socket.write(afterAnswer);
      received += bytes.toString('latin1');
      if (answersIn(received).length >= expected) settle(false);
    });
    socket.on('close', () => settle(true));
    socket.on('error', () => {
      // A reset is a close. What was received before it counts.
    });
    for (const piece of pieces) socket.write(piece);
  });
}

/** The answers that are complete. Ours all carry Content-Length. */
function answersIn(received: string): RawAnswer[] {
  const answers: RawAnswer[] = [];
  let rest = received;
  for (;;) {
    const headEnd = rest.indexOf('\r\n\r\n');
    if (headEnd === -1) return answers;
    const [statusLine = '', ...lines] = rest.slice(0, headEnd).split('\r\n');
    const headers = Object.fromEntries(
      lines.map((line) => {
        const colon = line.indexOf(':');
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
      }),
    );
    const status = Number(statusLine.split(' ')[1]);
    const bodyEnd = headEnd + 4 + Number(headers['content-length'] ?? 0);
    if (rest.length < bodyEnd) return answers;
    // 100 Continue announces an answer, it is none.
    if (status >= 200) answers.push({ status, headers, body: rest.slice(headEnd + 4, bodyEnd) });
    rest = rest.slice(bodyEnd);
  }
}
