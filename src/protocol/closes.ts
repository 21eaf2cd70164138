// Declares the WebSocket close codes and reasons of the server. Each tells the client what to do next.

export interface Close {
  readonly code: number;
  readonly reason: string;
  /** The session is kept for its client's return. */
  readonly isResumable?: boolean;
}

/** RFC 6455 section 7.4.1 and the IANA registry (1012, 1013); what a client does with each is listed in docs/protocol.md. */
export const closes = {
  normal: { code: 1000, reason: '' },
  /** Of a socket whose session goes on over another one. */
  resumed: { code: 1000, reason: 'resumed' },
  invalid_token: { code: 1008, reason: 'invalid token' },
  unknown_user: { code: 1008, reason: 'unknown user' },
  device_disabled: { code: 1008, reason: 'device disabled' },
  too_big: { code: 1009, reason: 'message too big', isResumable: true },
  internal: { code: 1011, reason: 'internal error' },
  restart: { code: 1012, reason: 'restart' },
  slow_consumer: { code: 1013, reason: 'slow consumer', isResumable: true },
  overloaded: { code: 1013, reason: 'overloaded' },
  rate_limited: { code: 1013, reason: 'rate_limited' },
  replaced: { code: 1013, reason: 'replaced', isResumable: true },
} as const satisfies Record<string, Close>;
