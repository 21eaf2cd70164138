// The NATS client protocol, core only: one subject for a room. Lines of text, a payload after those that announce one.
import type { Dialect, Line } from './dialect.js';

const CR = '\r'.charCodeAt(0);
const SPACE = ' '.charCodeAt(0);
const ZERO = '0'.charCodeAt(0);
/** MSG is the only thing a server says that begins with it. */
const MSG = 'M'.charCodeAt(0);

/** No `+OK` for each thing said, and a publisher does not hear itself. */
const OPTIONS = { verbose: false, pedantic: false, echo: false, headers: false, protocol: 1 };

/** A radio has joined when the server answers the ping that follows its subscription. */
export function openNats(line: Line): Dialect {
  const subject = `room.${line.room}`;
  let isGreeted = false;

  function readOther(text: string): void {
    if (text.startsWith('PING')) line.write('PONG\r\n');
    else if (text.startsWith('PONG')) line.join();
    else if (text.startsWith('-ERR')) line.lose(`the server says ${text}`);
    // Further INFO tell of other servers.
    else if (text.startsWith('INFO') && !isGreeted) {
      isGreeted = true;
      line.write(`CONNECT ${JSON.stringify(OPTIONS)}\r\nSUB ${subject} 1\r\nPING\r\n`);
    }
  }

  return {
    begin: () => {}, // the server speaks first
    read(bytes) {
      let at = 0;
      for (;;) {
        let lineEnd = at;
        while (lineEnd < bytes.length && bytes[lineEnd] !== CR) lineEnd++;
        const start = lineEnd + 2;
        if (start > bytes.length) return at;
        if (bytes[at] === MSG) {
          // MSG subject subscription size
          const end = start + readSize(bytes, lineEnd);
          if (end + 2 > bytes.length) return at;
          line.hear(bytes, start, end);
          at = end + 2;
        } else {
          readOther(bytes.toString('latin1', at, lineEnd));
          at = start;
        }
      }
    },
    speech: (frame) => Buffer.concat([Buffer.from(`PUB ${subject} ${frame.length}\r\n`), frame, LINE_END]),
    goodbye: Buffer.alloc(0),
  };
}

const LINE_END = Buffer.from('\r\n');

/** The decimal number that ends before `end`. */
function readSize(bytes: Buffer, end: number): number {
  let size = 0;
  let scale = 1;
  for (let i = end - 1; i >= 0 && bytes[i] !== SPACE; i--) {
    size += ((bytes[i] ?? ZERO) - ZERO) * scale;
    scale *= 10;
  }
  return size;
}
