// Declares the WebSocket close codes and reasons of the server. Each tells the client what to do next.

export interface Close {
  readonly code: number;
  readonly reason: string;
  /** The session is kept for its client's return. */
  readonly isResumable?: boolean;
  /** When the server sends it: in answer to a handshake, to a session, or both. null: only a client sends it. */
  readonly sentTo: 'handshake' | 'session' | 'both' | null;
}

/** RFC 6455 section 7.4.1 and the IANA registry (1012, 1013). What a client does with each is listed in docs/protocol.md. */
export const closes = {
  normal: { code: 1000, reason: '', sentTo: null },
  /** Of a socket whose session goes on over another one. */
  resumed: { code: 1000, reason: 'resumed', sentTo: 'session' },
  invalid_token: { code: 1008, reason: 'invalid token', sentTo: 'both' },
  unknown_user: { code: 1008, reason: 'unknown user', sentTo: 'both' },
  device_disabled: { code: 1008, reason: 'device disabled', sentTo: 'both' },
  too_big: { code: 1009, reason: 'message too big', sentTo: 'session', isResumable: true },
  internal: { code: 1011, reason: 'internal error', sentTo: 'both' },
  restart: { code: 1012, reason: 'restart', sentTo: 'both' },
  slow_consumer: { code: 1013, reason: 'slow consumer', sentTo: 'session', isResumable: true },
  overloaded: { code: 1013, reason: 'overloaded', sentTo: 'handshake' },
  rate_limited: { code: 1013, reason: 'rate_limited', sentTo: 'both' },
  replaced: { code: 1013, reason: 'replaced', sentTo: 'session', isResumable: true },
} as const satisfies Record<string, Close>;
