// Compares this build of the relay with others in one run: what an inbound frame and a delivery cost.

import { basename } from 'node:path';
import type { Claim } from '../experiments/comparison.js';
import { RELAY, withLineup } from '../experiments/lineup.js';
import { ONE_TALKER, playLoad, reportOfLoads, TALKGROUPS, UNHEARD } from '../experiments/loads.js';
import type { Bench, Report } from '../scenario.js';

const LOADS = [UNHEARD, ONE_TALKER, TALKGROUPS];

export async function builds(bench: Bench): Promise<Report> {
  if (bench.against.length === 0)
    throw new RangeError('AGAINST names no other checkout; separate several with commas');
  const others = Object.fromEntries(
    bench.against.map((folder, index) => [`build ${index + 1}, ${basename(folder)}`, folder]),
  );
  const names = [RELAY, ...Object.keys(others)];
  const claims = names.slice(1).map((to): Claim => ({ of: RELAY, to }));
  return withLineup(
    bench,
    names,
    async (lineup) => {
      const outcomes = [];
      for (const load of LOADS) outcomes.push(await playLoad(bench, lineup, { load, claims }));
      return { ...reportOfLoads(outcomes), plots: [], details: { load: LOADS, against: others } };
    },
    { builds: others },
  );
}
