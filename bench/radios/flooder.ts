// Sends frames far above the permitted rate from one radio.

import { around, nowMs } from '../machine/clock.js';
import type { Disturbance, DisturbanceOptions, End } from './disturbance.js';
import { RawRadio } from './raw-radio.js';
import { timedFrame, UNTIMED } from './timed-frame.js';

/** Each time it begins it is a new radio, for the one before was closed. */
export function createFlooder(
  { target, users, payloadBytes }: DisturbanceOptions,
  perSecond: number,
): Disturbance {
  const ends: End[] = [];
  let radio: RawRadio | null = null;

  function begin(): void {
    const told: string[] = [];
    const user = users[0];
    if (user === undefined) throw new RangeError('a flood has a radio');
    const talkgroup = user.talkgroups[0]?.number ?? 0;
    let sinceMs = nowMs();
    let framesSent = 0;
    const flooding = new RawRadio({
      target,
      token: user.token,
      receive: () => {},
      told({ type, code }) {
        if (type === 'ERROR' || type === 'FLOOR_DENIED') told.push(`${type} ${code}`);
      },
      lost({ code, message }) {
        if (radio === flooding) radio = null;
        ends.push({ code, message, told, afterMs: nowMs() - sinceMs, framesSent });
      },
    });
    radio = flooding;
    flooding.joined.then(flood, () => {}); // lost before it joined: one of the ends

    async function flood(): Promise<void> {
      sinceMs = nowMs();
      while (radio === flooding) {
        const due = Math.ceil(((nowMs() - sinceMs) * perSecond) / 1000);
        if (due > framesSent) flooding.sendAll(framesFrom(framesSent, due, talkgroup));
        framesSent = Math.max(framesSent, due);
        await around(nowMs() + 1);
      }
    }
  }

  const framesFrom = (first: number, end: number, talkgroup: number) =>
    Array.from({ length: end - first }, (_, i) =>
      timedFrame({ talkgroup, flags: 0, sequence: first + i, payloadBytes, dueMs: UNTIMED }),
    );

  function end(): void {
    radio?.leave();
    radio = null;
  }

  return {
    begin,
    end,
    finish() {
      end();
      return Promise.resolve({ heard: 0, missed: 0, lags: 0, ends });
    },
  };
}
