// Declares what the worker and the worklets send each other, and what of a MessagePort the worker uses.
import type { Samples } from './codec.js';

/** A MessagePort of a browser or of Node. */
export type Port = {
  postMessage(message: unknown, transfer: ArrayBuffer[]): void;
  addEventListener(type: 'message', listener: (event: unknown) => void): void;
  start(): void;
  close(): void;
};

/**
 * The worker to the player. `play` adds a piece to the queue of a voice: `length` samples, or silence of that length.
 * `due` comes back with `played`. `drop`: fade out now and forget the voice.
 */
export type ToPlayer =
  | { kind: 'play'; voice: number; samples: Samples | null; length: number; due: number }
  | { kind: 'drop'; voice: number };

/** The player to the worker: its rate, once, and each piece that was played, or dropped at the bound of the queue. */
export type FromPlayer = { kind: 'rate'; rate: number } | { kind: 'played'; voice: number; due: number };

/** The worker to the capture worklet. `talk` is on all frames until `silence`. */
export type ToCapture =
  | { kind: 'talk'; talk: number }
  | { kind: 'silence' }
  | { kind: 'return'; samples: Samples };

/** The capture worklet to the worker: 20 ms at the rate of its context. The worker gives the samples back. */
export type FromCapture = { talk: number; samples: Samples; rate: number };

/** Calls `receive` with each message. The other end of the port is ours, so its messages are of this type. */
export function listen<Message>(port: Port, receive: (message: Message) => void): void {
  port.addEventListener('message', (event) => receive((event as { data: Message }).data));
  port.start();
}
