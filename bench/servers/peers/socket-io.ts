// Socket.IO's rooms: a binary event to all others in the room, on WebSocket alone.
//
// Its own advice on performance is followed: no compression (the default), the request of a handshake not kept. The
// engine is ws, the default. A binary event is two WebSocket messages, of which the second is the frame. A parser of
// one's own (MessagePack) would make it one, with other bytes than its users see when they follow the guide.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Server } from 'socket.io';

const http = createServer();
const io = new Server(http, {
  transports: ['websocket'],
  perMessageDeflate: false,
  httpCompression: false,
  serveClient: false,
  maxHttpBufferSize: 8192,
});
io.on('connection', async (socket) => {
  const room = String(socket.handshake.query.room);
  Object.assign(socket.conn, { request: null });
  socket.on('f', (frame: Buffer) => {
    socket.to(room).emit('f', frame);
  });
  await socket.join(room);
});
http.listen(0, '127.0.0.1', () => {
  console.log(`WebSocket  ws://127.0.0.1:${(http.address() as AddressInfo).port}/socket.io/`);
  console.log('Ready');
});
process.once('SIGTERM', () => process.exit());
