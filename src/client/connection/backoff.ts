// Decides from a close code whether and when the client reconnects (docs/protocol.md, sections 4 and 6).
import { closes } from '../../protocol/closes.js';

/** How a connection ended. Code 1006: it broke without a close frame. */
export type Close = { code: number; reason: string };

export type NextStep = { kind: 'stop' } | { kind: 'wait'; delayMs: number };

const BACKOFF_MS_FIRST = 500;
const BACKOFF_MS_MAX = 30_000;
const OVERLOADED_MS_MIN = 5_000;
const RATE_LIMITED_MS_MIN = 30_000;
const DISABLED_MS = 60_000;

/**
 * Whether and when to reconnect. `attempt`: failed attempts since the last stable connection, from 0. `reconnectAfterMs`:
 * the rest of the wait that GOAWAY requested, else 0. `wasSlow`: this radio received LAG recently. `random`: in [0, 1).
 */
export function nextStep({
  close: { code, reason },
  attempt,
  reconnectAfterMs,
  wasSlow,
  random,
}: {
  close: Close;
  attempt: number;
  reconnectAfterMs: number;
  wasSlow: boolean;
  random: () => number;
}): NextStep {
  // Full jitter, so that the radios of a fleet that lost its server do not reconnect at the same time.
  const jitterMs = random() * Math.min(BACKOFF_MS_MAX, BACKOFF_MS_FIRST * 2 ** attempt);
  switch (code) {
    case closes.normal.code:
      return { kind: 'stop' };
    case closes.device_disabled.code:
      if (reason !== closes.device_disabled.reason) return { kind: 'stop' };
      return { kind: 'wait', delayMs: DISABLED_MS * (0.75 + random() / 2) };
    case closes.overloaded.code: {
      const leastMs = reason === closes.rate_limited.reason ? RATE_LIMITED_MS_MIN : OVERLOADED_MS_MIN;
      // Radios that were rejected together are spread over a second period of the same length.
      const spreadMs = reason === closes.overloaded.reason ? random() * leastMs : 0;
      return { kind: 'wait', delayMs: leastMs + Math.max(jitterMs, spreadMs) };
    }
    default: {
      // If the send buffer is full, the server's 1013 `slow consumer` arrives as 1006.
      const slowMs = code === 1006 && wasSlow ? OVERLOADED_MS_MIN : 0;
      // The wait that GOAWAY requested applies to every close code.
      return { kind: 'wait', delayMs: Math.max(reconnectAfterMs, slowMs) + jitterMs };
    }
  }
}
