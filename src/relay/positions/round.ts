// Publishes the positions of one talkgroup at one interval: one POSITIONS for all sessions that watch it that way.
import type { TalkgroupId } from '../../ids.js';
import type { WatchInterval } from '../../protocol/codes.js';
import type { Publisher } from '../delivery/peer.js';
import type { Device, Follower } from './devices.js';
import { GONE_MAX, positionsText } from './messages.js';

/** Between two messages (ms) when the positions of an interval do not fit into one: 64 KiB a second at most. */
const NEXT_MS = 250;

export interface RoundOptions {
  readonly publisher: Publisher;
  readonly counts: { published: number };
  readonly talkgroup: { readonly id: TalkgroupId; readonly number: number };
  readonly intervalMs: WatchInterval;
  /** When its first interval begins (monotonic ms). */
  readonly nowMs: number;
  readonly unixMs: () => number;
}

export class Round implements Follower {
  readonly topic: string;
  /** Watches of it, also those that get their positions by themselves for the moment. */
  watches = 0;
  private readonly options: RoundOptions;
  /** Moved in this interval. Each is there once, so there are never more than the talkgroup has devices. */
  private readonly waiting = new Set<Device>();
  /** Moved in an interval before, and not published yet. The position of the moment of sending counts. */
  private readonly batch = new Set<Device>();
  private gone: number[] = [];
  private endsAtMs: number;
  private nextAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: RoundOptions) {
    const { intervalMs, talkgroup, nowMs } = options;
    this.options = options;
    this.topic = `w${intervalMs}.${talkgroup.number}`;
    this.endsAtMs = nowMs + intervalMs;
  }

  moved(device: Device): void {
    if (!this.batch.has(device)) this.waiting.add(device);
  }

  /** These are not in the talkgroup any more. */
  left(devices: readonly Device[]): void {
    for (const device of devices) {
      this.waiting.delete(device);
      this.batch.delete(device);
      this.gone.push(device.n);
    }
  }

  /** Whether there is something to publish now. */
  isDue(nowMs: number): boolean {
    if (nowMs >= this.endsAtMs) this.beginInterval(nowMs);
    return nowMs >= this.nextAtMs && (this.batch.size > 0 || this.gone.length > 0);
  }

  private beginInterval(nowMs: number): void {
    // By the clock, so that a late timer does not make the interval longer, unless it was late by a whole one.
    this.endsAtMs = Math.max(this.endsAtMs, nowMs - this.options.intervalMs) + this.options.intervalMs;
    for (const device of this.waiting) this.batch.add(device);
    this.waiting.clear();
  }

  /** One message. What does not fit waits for the next one. */
  publish(nowMs: number): void {
    const { publisher, counts, talkgroup, unixMs } = this.options;
    this.nextAtMs = nowMs + NEXT_MS;
    if (publisher.numSubscribers(this.topic) === 0) {
      // Those that watch get what they miss by themselves, before they subscribe.
      this.batch.clear();
      this.gone = [];
      return;
    }
    const gone = this.gone.splice(0, GONE_MAX);
    publisher.publish(
      this.topic,
      positionsText(this.batch, { talkgroup: talkgroup.id, gone, serverTimeMs: unixMs() }),
      false,
    );
    counts.published++;
  }
}
