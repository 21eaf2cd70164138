// @fastify/websocket as its README has it: a route per connection, and a loop of `send` over the sockets of the room.
// It stands on ws, whose compression is off by default. No logger, for a line per request is not what is compared.
import websocket from '@fastify/websocket';
import Fastify from 'fastify';
import { WebSocket } from 'ws';

const fastify = Fastify();
await fastify.register(websocket, { options: { perMessageDeflate: false, maxPayload: 8192 } });
const rooms = new Map<string, Set<WebSocket>>();
const BINARY = { binary: true };

fastify.get<{ Querystring: { room?: string } }>('/ws', { websocket: true }, (socket, { query }) => {
  const name = query.room ?? '';
  const room = rooms.get(name) ?? new Set();
  rooms.set(name, room.add(socket));
  socket.on('message', (data) => {
    for (const other of room) {
      if (other !== socket && other.readyState === WebSocket.OPEN) other.send(data, BINARY);
    }
  });
  socket.on('close', () => room.delete(socket));
});
const address = await fastify.listen({ host: '127.0.0.1', port: 0 });
console.log(`WebSocket  ${address.replace('http', 'ws')}/ws`);
console.log('Ready');
process.once('SIGTERM', () => process.exit());
