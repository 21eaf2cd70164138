// How many writes a second does the REST API serve? The load: eight positions, a leave and a join in turns, in open loop,
// the rate stepped up. Joins and leaves wait for the relay's acknowledgement. Constant are users, connections and mix.
// The number is the highest rate at which 99 of 100 answers, each after its commit, are there within 50 ms of their time.
import { measureThroughput } from '../experiments/throughput.js';
import type { Bench, Report } from '../scenario.js';

export const restWrite = (bench: Bench): Promise<Report> =>
  measureThroughput(bench, {
    mix: 'writes',
    name: 'REST writes',
    load: 'eight of ten POST /devices/:id/gps, one leave, one join of a talkgroup, open loop',
    hasClosedLoop: false,
  });
