// The yardstick: uWebSockets.js and nothing else. It authenticates no radio, knows rooms by name and looks into no frame.
// With a number of milliseconds as its argument it pings each member of a room so often, behind the frames of others.
import uWS, { type WebSocket, type WebSocketBehavior } from 'uWebSockets.js';

interface Radio {
  readonly room: string;
}

/** Of those who are pinged. `askAtMs`: when the next one is due. */
interface Room {
  readonly members: WebSocket<Radio>[];
  next: number;
  askAtMs: number;
}

/** 0: no radio is pinged. */
const pingMs = Number(process.argv[2] ?? 0);
const rooms = new Map<string, Room>();

// The engine's options are those of our relay, so that the difference is what we do, not how it is set.
const OPTIONS: WebSocketBehavior<Radio> = {
  compression: uWS.DISABLED,
  maxPayloadLength: 8192,
  maxBackpressure: 64 * 1024,
  closeOnBackpressureLimit: 0,
  maxLifetime: 0,
  idleTimeout: 60,
  sendPingsAutomatically: true,
  upgrade(res, req, context) {
    const header = (name: string) => req.getHeader(`sec-websocket-${name}`);
    const room = req.getQuery('room') ?? '';
    res.upgrade<Radio>({ room }, header('key'), header('protocol'), header('extensions'), context);
  },
};

function enter(name: string, member: WebSocket<Radio>): void {
  const room = rooms.get(name) ?? { members: [], next: 0, askAtMs: 0 };
  rooms.set(name, room);
  room.members.push(member); // for good: members stay until the server ends
}

function pingDue(name: string): void {
  const room = rooms.get(name);
  const now = performance.now();
  if (room === undefined || now < room.askAtMs) return;
  const eachMs = pingMs / room.members.length;
  const count = Math.min(1 + Math.floor((now - room.askAtMs) / eachMs), room.members.length);
  room.askAtMs = Math.max(room.askAtMs + count * eachMs, now - pingMs);
  for (let i = 0; i < count; i++) {
    room.members[room.next]?.ping(String(Math.floor(now)));
    room.next = (room.next + 1) % room.members.length;
  }
}

const app = uWS.App();
app.ws<Radio>('/ws', {
  ...OPTIONS,
  open(ws) {
    const { room } = ws.getUserData();
    ws.subscribe(room);
    if (pingMs > 0) enter(room, ws);
  },
  message(ws, message, isBinary) {
    const { room } = ws.getUserData();
    ws.publish(room, message, isBinary);
    if (pingMs > 0) pingDue(room);
  },
  ...(pingMs > 0 && { pong: () => {} }),
});
/** What a message costs before anything is done with it. */
app.ws<Radio>('/deaf', { ...OPTIONS, message: () => {} });
app.listen('127.0.0.1', 0, (socket) => {
  if (socket === false) throw new Error('no port to listen on');
  console.log(`WebSocket  ws://127.0.0.1:${uWS.us_socket_local_port(socket)}/ws`);
  console.log('Ready');
});
process.once('SIGTERM', () => app.close());
