// ws at its best: a message is put into its WebSocket frame once, and the same bytes are written to every socket.
//
// `client.send` in a loop, as its README has it, makes a header for each receiver and corks its socket for two writes. Who fans
// out much goes round it with Sender.frame, which the maintainers made a function of its own for that purpose, so this
// is the one to be held against. It gives up what ws does for a single message: compression, callbacks, bufferedAmount.
// In its favour, too: it pings no radio and drops nothing for a slow receiver. bufferutil, which ws can use, would only
// unmask faster what comes in, one message for each fan-out.
import type { AddressInfo, Socket } from 'node:net';
import * as ws from 'ws';

/** Exported by ws for all to use, but not known to its types. Gives the header and the data. */
const { Sender } = ws as unknown as { Sender: { frame(data: Buffer, options: object): Buffer[] } };
const FRAME = { fin: true, opcode: 2, mask: false, rsv1: false, readOnly: false };

const server = new ws.WebSocketServer({
  host: '127.0.0.1',
  port: 0,
  path: '/ws',
  perMessageDeflate: false,
  maxPayload: 8192,
  clientTracking: false, // the rooms do
});
const rooms = new Map<string, Set<Socket>>();

server.on('connection', (client, { socket, url = '' }) => {
  const name = new URLSearchParams(url.slice(url.indexOf('?'))).get('room') ?? '';
  const room = rooms.get(name) ?? new Set();
  rooms.set(name, room.add(socket));
  client.on('message', (data) => {
    const frame = Buffer.concat(Sender.frame(data as Buffer, FRAME)); // as binaryType is nodebuffer
    for (const other of room) if (other !== socket) other.write(frame);
  });
  client.on('close', () => room.delete(socket));
  client.on('error', () => {}); // a connection that breaks. `close` follows
});
server.on('listening', () => {
  console.log(`WebSocket  ws://127.0.0.1:${(server.address() as AddressInfo).port}/ws`);
  console.log('Ready');
});
process.once('SIGTERM', () => process.exit());
