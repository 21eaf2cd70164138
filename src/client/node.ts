// The radio client for Node: the same radio over the `ws` package, whose sockets every supported Node can open.
import { WebSocket } from 'ws';
import { createRadio as createAnyRadio, type Radio, type RadioOptions } from './radio.js';

export * from './radio.js';

// Opus does not compress further, and compression would only delay the packets.
class UncompressedWebSocket extends WebSocket {
  constructor(address: string) {
    super(address, { perMessageDeflate: false });
  }
}

/** As createRadio of radio.ts, with a WebSocket where none is given. */
export function createRadio(options: RadioOptions): Radio {
  return createAnyRadio({ WebSocket: UncompressedWebSocket, ...options });
}
