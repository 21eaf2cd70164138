// One radio talks to a thousand: what that costs live, and with three frames in a message.
import { type Plan, playWays } from '../experiments/ways.js';
import type { Bench, Report } from '../scenario.js';

const BUNDLED = 'bundles of 60 ms';
/** Leads and turns are whole bundles. */
const PLAN: Plan = {
  title: '1 talker, 1,000 listeners',
  ways: { live: {}, [BUNDLED]: { bundle_ms: 60 } },
  talkgroups: 1,
  listeners: 1_000,
  audience: { probeEvery: 20, framesPerSecond: 50, payloadBytes: 60 },
  leadFrames: 15,
  frames: 60,
  rounds: 12,
  warmUpRounds: 2,
  ratioAtMost: { [BUNDLED]: 0.45 },
  p99MsAtMost: {},
};
const QUICK: Plan = { ...PLAN, listeners: 500, frames: 30, rounds: 4, warmUpRounds: 1 };

export const bundles = (bench: Bench): Promise<Report> => playWays(bench, bench.isQuick ? QUICK : PLAN);
