// ws as its README broadcasts: `send` to every other client, here of the room. What most users of ws have.
import type { AddressInfo } from 'node:net';
import { WebSocket, WebSocketServer } from 'ws';

const server = new WebSocketServer({
  host: '127.0.0.1',
  port: 0,
  path: '/ws',
  perMessageDeflate: false,
  maxPayload: 8192,
  clientTracking: false, // the rooms do
});
const rooms = new Map<string, Set<WebSocket>>();
const BINARY = { binary: true };

server.on('connection', (client, { url = '' }) => {
  const name = new URLSearchParams(url.slice(url.indexOf('?'))).get('room') ?? '';
  const room = rooms.get(name) ?? new Set();
  rooms.set(name, room.add(client));
  client.on('message', (data) => {
    for (const other of room) {
      if (other !== client && other.readyState === WebSocket.OPEN) other.send(data, BINARY);
    }
  });
  client.on('close', () => room.delete(client));
  client.on('error', () => {}); // a connection that breaks; `close` follows
});
server.on('listening', () => {
  console.log(`WebSocket  ws://127.0.0.1:${(server.address() as AddressInfo).port}/ws`);
  console.log('Ready');
});
process.once('SIGTERM', () => process.exit());
