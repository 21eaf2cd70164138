// The yardstick: uWebSockets.js and nothing else. It authenticates nobody, knows rooms by name and looks into no frame.
import uWS, { type WebSocketBehavior } from 'uWebSockets.js';

interface Radio {
  readonly room: string;
}

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

const app = uWS.App();
app.ws<Radio>('/ws', {
  ...OPTIONS,
  open: (ws) => void ws.subscribe(ws.getUserData().room),
  message: (ws, message, isBinary) => void ws.publish(ws.getUserData().room, message, isBinary),
});
/** What a message costs before anybody does anything with it. */
app.ws<Radio>('/deaf', { ...OPTIONS, message: () => {} });
app.listen('127.0.0.1', 0, (socket) => {
  if (socket === false) throw new Error('no port to listen on');
  console.log(`WebSocket  ws://127.0.0.1:${uWS.us_socket_local_port(socket)}/ws`);
  console.log('Ready');
});
process.once('SIGTERM', () => app.close());
