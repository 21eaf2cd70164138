// Sends one frame per second into each of many talkgroups, so that returning radios hear that they are back.
import { START } from '../../../src/protocol/frame.js';
import { createRecorder, type Latency } from '../../figures/histogram.js';
import { around, nowMs } from '../../machine/clock.js';
import type { Member } from '../../radios/member.js';
import { RawRadio, type Target } from '../../radios/raw-radio.js';
import { joinAll } from '../../radios/swarm.js';
import { timedFrame, UNTIMED } from '../../radios/timed-frame.js';
import { fail, type Performance, perform } from '../player.js';

export interface CallersSetup {
  readonly server: Target;
  /** Each talks in all of its talkgroups. Those of all callers are spread evenly over the second. */
  readonly callers: readonly Member[];
  readonly payloadBytes: number;
}

/** How late frames left. */
export interface CallersEnded {
  readonly late: Latency;
}

/** Below the silence that ends a burst: it goes on for the whole run. */
const PERIOD_MS = 1_000;
const FRAMES_PER_PERIOD = 50;

perform<CallersSetup, never, never, CallersEnded>(prepare);

async function prepare({
  server,
  callers,
  payloadBytes,
}: CallersSetup): Promise<Performance<never, never, CallersEnded>> {
  const radios = await joinAll(
    callers,
    (token) => new RawRadio({ target: server, token, isTalker: true, receive: () => {}, lost: fail }),
  );
  const calls = radios.flatMap((radio, i) =>
    (callers[i]?.talkgroups ?? []).map(({ number: talkgroup }) => ({ radio, talkgroup })),
  );
  const late = createRecorder();
  let isEnding = false;
  void talk(nowMs());

  async function talk(startMs: number): Promise<void> {
    for (let round = 0; ; round++) {
      for (const [i, { radio, talkgroup }] of calls.entries()) {
        const dueMs = startMs + PERIOD_MS * (round + i / calls.length);
        await around(dueMs);
        if (isEnding) return;
        late.record(nowMs() - dueMs);
        const flags = round === 0 ? START : 0;
        const sequence = round * FRAMES_PER_PERIOD;
        radio.send(timedFrame({ talkgroup, flags, sequence, payloadBytes, dueMs: UNTIMED }));
      }
    }
  }

  return {
    play: () => Promise.reject(new TypeError('callers know one piece and play it all the time')),
    async end() {
      isEnding = true;
      return { late: late.latency() };
    },
  };
}
