// How many reads a second does the REST API serve? The load: GET /talkgroups and GET /devices/:id/gps in turns, in open
// loop, the rate stepped up. Constant are users, connections and mix. The number is the highest rate at which 99 of 100
// answers are there within 50 ms of when they were due. A closed loop on the same server shows what it would have said.
import { measureThroughput } from '../experiments/throughput.js';
import type { Bench, Report } from '../scenario.js';

export const restRead = (bench: Bench): Promise<Report> =>
  measureThroughput(bench, {
    mix: 'reads',
    name: 'REST reads',
    load: 'GET /talkgroups (three of each user) and GET /devices/:id/gps in turns, open loop',
    hasClosedLoop: true,
  });
