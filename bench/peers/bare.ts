// The yardstick: uWebSockets.js and nothing else. It authenticates nobody, knows one topic and looks into no frame.
import uWS from 'uWebSockets.js';

const TOPIC = 'a';

const app = uWS.App();
// The engine's options are those of our relay, so that the difference is what we do, not how it is set.
app.ws('/ws', {
  compression: uWS.DISABLED,
  maxPayloadLength: 8192,
  maxBackpressure: 64 * 1024,
  closeOnBackpressureLimit: 0,
  maxLifetime: 0,
  idleTimeout: 60,
  sendPingsAutomatically: true,
  open: (ws) => void ws.subscribe(TOPIC),
  message: (ws, message, isBinary) => void ws.publish(TOPIC, message, isBinary),
});
app.listen('127.0.0.1', 0, (socket) => {
  if (socket === false) throw new Error('no port to listen on');
  console.log(`WebSocket  ws://127.0.0.1:${uWS.us_socket_local_port(socket)}/ws`);
  console.log('Ready');
});
process.once('SIGTERM', () => app.close());
