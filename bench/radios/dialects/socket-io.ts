// Socket.IO 5 over Engine.IO 4 on WebSocket: an event with one binary argument is a text message and a binary one.
import type { Dialect, Line } from './dialect.js';
import { openWebSocket } from './websocket.js';

/** Engine.IO's kinds of packet, and Socket.IO's within its messages: single characters. */
const OPEN = '0'.charCodeAt(0);
const CLOSE = '1'.charCodeAt(0);
const PING = '2'.charCodeAt(0);
const MESSAGE = '4'.charCodeAt(0);
const CONNECT = '0'.charCodeAt(0);
const DISCONNECT = '1'.charCodeAt(0);
const CONNECT_ERROR = '4'.charCodeAt(0);

/** A message (4) that is a binary event (5) named f with one attachment, which follows. */
const EVENT = '451-["f",{"_placeholder":true,"num":0}]';

/** A radio has joined when the server has let it into the main namespace. Its room is in the request. */
export function openSocketIo(line: Line): Dialect {
  const webSocket = openWebSocket(line, {
    query: `EIO=4&transport=websocket&room=${line.room}`,
    opened: () => {},
    said,
  });
  const { text } = webSocket;
  const event = text(EVENT);
  const pong = text('3');

  function said(bytes: Buffer, start: number, end: number): void {
    const kind = bytes[start];
    if (kind === MESSAGE) saidMessage(bytes, start + 1, end);
    // The server sends its pings every 25 s and closes a connection that does not answer for 20.
    else if (kind === PING) line.write(pong);
    else if (kind === OPEN) line.write(text('40'));
    else if (kind === CLOSE) line.lose('the server closed a connection');
  }

  function saidMessage(bytes: Buffer, start: number, end: number): void {
    const kind = bytes[start];
    if (kind === CONNECT) line.join();
    else if (kind === DISCONNECT || kind === CONNECT_ERROR)
      line.lose(`the server does not serve a connection: ${bytes.toString('utf8', start, end)}`);
  }

  return {
    begin: webSocket.begin,
    read: webSocket.read,
    speech: (frame) => Buffer.concat([event, webSocket.speech(frame)]),
    goodbye: Buffer.concat([text('41'), webSocket.goodbye]),
  };
}
