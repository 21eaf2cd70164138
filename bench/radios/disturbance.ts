// States the kinds of disturbance: radios that read too slowly, and a radio that floods the server.
import type { Member } from './member.js';
import type { Target } from './raw-radio.js';

/** Plain data. How many radios it has is up to the load. */
export type DisturbanceKind = Slowness | Flooding;

export type Slowness =
  /** They stop reading for as long as they disturb. */
  | { readonly kind: 'stopped' }
  /** They stop for `stopMs`, read for `readMs`, and so on. */
  | { readonly kind: 'stop_and_go'; readonly stopMs: number; readonly readMs: number }
  /** They take no more than this, in five sips a second. */
  | { readonly kind: 'slow'; readonly bytesPerSecond: number };

/** One of them sends frames at this rate until it is closed. */
export interface Flooding {
  readonly kind: 'flood';
  readonly framesPerSecond: number;
}

/** What became of the radios that disturbed. */
export interface Disturbed {
  /** Of slow ones, over all of them: frames heard, and frames the server says (LAG) it did not send them. */
  readonly heard: number;
  readonly missed: number;
  readonly lags: number;
  /** Each time one was closed or dropped by the server. */
  readonly ends: readonly End[];
}

export interface End {
  /** The close code. null: the connection was dropped. */
  readonly code: number | null;
  readonly message: string;
  /** ERROR and FLOOR_DENIED messages heard before. */
  readonly told: readonly string[];
  /** Since it began to disturb. */
  readonly afterMs: number;
  /** Of a flood. */
  readonly framesSent: number;
}

export interface Disturbance {
  begin(): void;
  end(): void;
  /** Disturbs no more. Waits until its radios have heard, or heard of, `sent` frames each. */
  finish(sent: number): Promise<Disturbed>;
}

export interface DisturbanceOptions {
  readonly target: Target;
  readonly users: readonly Member[];
  readonly payloadBytes: number;
}
