// A relay of fifty lines over real sockets, for tests of the client alone: one talkgroup, no rights, no limits.
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { Test } from 'tap';
import { type WebSocket, WebSocketServer } from 'ws';
import { END, readFlags, readTalkgroup, START, stampFrame } from '../../src/relay/frame.js';
import { ALPHA, talker } from './client-fakes.js';

export type FakeRelay = {
  url: string;
  /** Resolves when so many radios are connected. */
  radios(count: number): Promise<void>;
};

/** Listens on a free port until `t` ends; the token `bad` is refused. */
export async function fakeRelay(t: Test): Promise<FakeRelay> {
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  t.teardown(() => {
    for (const socket of server.clients) socket.terminate();
    server.close();
  });
  let lastSession = 100;
  server.on('connection', (socket, request) => {
    if (request.url === '/ws?token=bad') return socket.close(1008, 'invalid token');
    lastSession += 1;
    serve(server, socket, lastSession);
  });
  return {
    url: `ws://127.0.0.1:${port}`,
    async radios(count) {
      while (server.clients.size < count) await once(server, 'connection');
    },
  };
}

function serve(server: WebSocketServer, socket: WebSocket, session: number): void {
  let burst = 0;
  let frames = 0;
  const tell = (message: object) => {
    for (const client of server.clients) client.send(JSON.stringify(message));
  };
  socket.send(
    JSON.stringify({
      type: 'WELCOME',
      protocol: 1,
      session,
      resumed: false,
      limits: {},
      talkgroups: [ALPHA],
    }),
  );
  socket.on('message', (data: Buffer, isBinary) => {
    if (!isBinary) return;
    const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
    const flags = readFlags(view);
    if (readTalkgroup(view) !== ALPHA.number) return;
    if (flags & START) {
      burst += 1;
      frames = 0;
      tell({ type: 'TALK_STARTED', ...talker({ session, burst }) });
    }
    frames += 1;
    stampFrame(view, flags, session, burst);
    for (const client of server.clients) if (client !== socket) client.send(data);
    if (flags & END) {
      const end = { talkgroup_id: ALPHA.talkgroup_id, event: 2, session, burst };
      tell({ type: 'TALK_ENDED', ...end, code: 'released', duration_ms: frames * 20, frames });
    }
  });
}
