// Dispatchers who hear ten talkgroups at once: what their audio costs live, and joined into one write every 10 ms.
import { type Plan, playWays } from '../experiments/ways.js';
import type { Bench, Report } from '../scenario.js';

/** What comes within 10 ms leaves in one write: 5 of 500 frames a second. The window, and 5 ms for the rest of the way. */
const JOINED = 'coalesced, 10 ms';
const PLAN: Plan = {
  title: '200 monitors of ten talkgroups',
  ways: { live: {}, [JOINED]: { coalesce_ms: 10 } },
  talkgroups: 10,
  listeners: 200,
  audience: { probeEvery: 20, framesPerSecond: 50, payloadBytes: 60 },
  leadFrames: 15,
  frames: 60,
  rounds: 12,
  warmUpRounds: 2,
  ratioAtMost: { [JOINED]: 0.35 },
  p99MsAtMost: { [JOINED]: 15 },
};
const QUICK: Plan = { ...PLAN, frames: 30, rounds: 4, warmUpRounds: 1 };

export const monitor = (bench: Bench): Promise<Report> => playWays(bench, bench.isQuick ? QUICK : PLAN);
