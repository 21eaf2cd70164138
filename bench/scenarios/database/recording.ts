// What does recording cost the relay, how soon is a recording listed, and what hears an audience while the database is away?
// Two relays play the same loads in turns, and the talkgroups of one are recorded. Then that one alone: bursts one by one,
// and a talker who is recorded while in every second phase PostgreSQL is stopped (SIGSTOP).
import { setTimeout } from 'node:timers/promises';
import type postgres from 'postgres';
import { createRadio } from '../../../src/client/node.js';
import {
  AUDIENCE,
  inTurns,
  latenciesOf,
  type Phase,
  ratiosOf,
  type Surroundings,
  watch,
  withAudience,
} from '../../experiments/beside.js';
import type { Claim } from '../../experiments/comparison.js';
import { RECORDING, RELAY, withLineup } from '../../experiments/lineup.js';
import {
  type Load,
  ONE_TALKER,
  type Outcome,
  playLoad,
  reportOfLoads,
  TALKGROUPS,
  UNHEARD,
} from '../../experiments/loads.js';
import { noiseOf } from '../../figures/doubts.js';
import { ms } from '../../figures/figures.js';
import { atMost, watched, watchedMedian } from '../../figures/goals.js';
import { createRecorder, type Latency } from '../../figures/histogram.js';
import { faultsOfDelivery, faultsOfGenerator } from '../../figures/judge.js';
import { soon } from '../../generator/player.js';
import { around, nowMs } from '../../machine/clock.js';
import type { Delivered } from '../../radios/channel.js';
import type { Bench, Report } from '../../scenario.js';
import { connectTo, whileSilent } from '../../servers/database.js';
import type { Relay } from '../../servers/relay.js';
import { enlist } from '../../servers/users.js';

/** The most that recording may add. Two hundredths fewer deliveries is the same as this for many talkgroups. */
const LOADS: readonly { readonly load: Load; readonly atMost?: number }[] = [
  { load: UNHEARD },
  { load: ONE_TALKER, atMost: 1.01 },
  { load: TALKGROUPS, atMost: 1.02 },
];
const LISTENERS = 200;
const LISTED_MS_MAX = 500;
const P99_RATIO_MAX = 1.2;
const FULL = { bursts: 60, pairs: 2, phaseMs: 60_000 };
const QUICK = { bursts: 5, pairs: 1, phaseMs: 2000 };
/** One may begin eight bursts in 10 s. */
const TALKERS = 10;
const BURST_FRAMES = 5;
const FRAME_MS = 20;
/** Between two looks whether a recording is listed. */
const LOOK_MS = 5;
/** After all that was said, until all of it is stored. */
const STORED_MS_MAX = 20_000;

type Plan = typeof FULL;

interface Away {
  readonly phases: readonly Phase<true>[];
  readonly conditions: Surroundings;
  readonly delivered: Delivered;
}

/** Frames that were relayed in recordings, and those that are stored. */
interface Stored {
  readonly recordings: number;
  readonly frames: number;
  readonly stored: number;
}

export function recording(bench: Bench): Promise<Report> {
  const plan = bench.isQuick ? QUICK : FULL;
  return withLineup(bench, [RECORDING, RELAY], async (lineup) => {
    const [relay] = lineup.flatMap(({ relay }) => relay ?? []);
    if (relay === undefined) throw new Error('a relay is needed');
    const sql = await connectTo(relay);
    try {
      const outcomes: Outcome[] = [];
      for (const { load, ...most } of LOADS) {
        const claims: readonly Claim[] = [{ of: RECORDING, to: RELAY, ...most }];
        outcomes.push(await playLoad(bench, lineup, { load, claims }));
      }
      const listed = await listBursts(bench, { relay, sql, bursts: plan.bursts });
      const away = await playAway(bench, relay, plan);
      return reportOf({ plan, outcomes, listed, away, stored: await allStored(bench, sql) });
    } finally {
      await sql.end();
    }
  });
}

interface Listing {
  readonly relay: Relay;
  readonly sql: postgres.Sql;
  readonly bursts: number;
}

/** From the moment at which a burst ended for its talker to that at which a list has it with its end. */
async function listBursts(bench: Bench, { relay, sql, bursts }: Listing): Promise<Latency> {
  bench.progress('bursts one by one');
  const talkers = await enlist(relay, { users: TALKERS, recordingDays: 1 });
  const radios = talkers.map(({ token }) => createRadio({ url: relay.url, token }));
  const latencies = createRecorder();
  const payload = new Uint8Array(AUDIENCE.payloadBytes);
  try {
    await Promise.all(radios.map(({ opened }) => opened));
    for (let burst = 0; burst < bursts; burst++) {
      const [radio, talker] = [radios[burst % TALKERS], talkers[burst % TALKERS]];
      const [talkgroup] = talker?.talkgroups ?? [];
      if (radio === undefined || talkgroup === undefined) throw new Error('a talker is needed');
      const before = await endsOf(sql, talkgroup.id);
      const talk = radio.talk({ talkgroupId: talkgroup.id });
      for (let frame = 0; frame < BURST_FRAMES; frame++) {
        talk.send(payload);
        await setTimeout(FRAME_MS, undefined, { signal: bench.signal });
      }
      talk.end();
      await talk.ended;
      const endedMs = nowMs();
      while ((await endsOf(sql, talkgroup.id)) === before) {
        if (nowMs() - endedMs > STORED_MS_MAX) throw new Error('a burst was not listed within 20 s');
        await setTimeout(LOOK_MS, undefined, { signal: bench.signal });
      }
      latencies.record(nowMs() - endedMs);
    }
    return latencies.latency();
  } finally {
    for (const radio of radios) radio.close();
  }
}

async function endsOf(sql: postgres.Sql, talkgroup: string): Promise<number> {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::integer as count from recordings where talkgroup_id = ${talkgroup} and code is not null`;
  return row?.count ?? 0;
}

function playAway(bench: Bench, relay: Relay, { pairs, phaseMs }: Plan): Promise<Away> {
  bench.progress(`the database away for ${phaseMs / 1000} s`);
  return withAudience(bench, { relay, listeners: LISTENERS, recordingDays: 1 }, async (audience) => {
    const watched = watch(relay);
    const phases = await inTurns(pairs, async (isAway): Promise<Phase<true>> => {
      const fromMs = soon();
      const heard = audience.play({ fromMs, ms: phaseMs });
      heard.catch(() => {}); // heard of below: whatever fails, first the silence ends
      if (isAway) {
        await around(fromMs);
        await whileSilent(relay, () =>
          setTimeout(Math.max(0, fromMs + phaseMs - nowMs()), undefined, { signal: bench.signal }),
        );
      }
      return { heard: await heard, load: isAway ? true : null };
    });
    return {
      phases,
      conditions: watched(phases.map(({ heard }) => heard)),
      delivered: await audience.end(),
    };
  });
}

/** Resolves when all that was said is stored, or after 20 s with what is. */
async function allStored({ signal }: Bench, sql: postgres.Sql): Promise<Stored> {
  const fromMs = nowMs();
  for (;;) {
    const [now] = await sql<(Stored & { readonly open: number })[]>`
      select count(*)::integer as recordings, count(*) filter (where code is null)::integer as open,
             coalesce(sum(frames), 0)::float8 as frames,
             (select coalesce(sum(frames), 0) from recording_parts)::float8 as stored
      from recordings`;
    if (now === undefined) throw new Error('a count has a row');
    const { open, ...stored } = now;
    if ((open === 0 && stored.frames === stored.stored) || nowMs() - fromMs > STORED_MS_MAX) return stored;
    await setTimeout(500, undefined, { signal });
  }
}

interface Told {
  readonly plan: Plan;
  readonly outcomes: readonly Outcome[];
  readonly listed: Latency;
  readonly away: Away;
  readonly stored: Stored;
}

function reportOf({ plan, outcomes, listed, away, stored }: Told): Report {
  const loads = reportOfLoads(outcomes);
  const { phases, conditions, delivered } = away;
  const audio = latenciesOf(phases);
  const faultsOfAway = [
    ...faultsOfDelivery(delivered, 'audio'),
    ...faultsOfGenerator(conditions, 'while the database is away'),
  ];
  const missing = stored.frames - stored.stored;
  return {
    lines: [
      ...loads.lines,
      `listed after the end: p50 ${ms(listed.p50Ms)}, p95 ${ms(listed.p95Ms)}, longest ${ms(listed.maxMs)}, ${listed.count} bursts`,
      `audio p99: database there ${ms(audio.without.p99Ms)}, away ${ms(audio.with.p99Ms)}`,
      `stored: ${stored.stored} of ${stored.frames} frames in ${stored.recordings} recordings`,
    ],
    faults: [...loads.faults, ...faultsOfAway],
    noise: [...loads.noise, noiseOf(conditions, 'frames', audio.without.p99Ms, 'while the database is away')],
    goals: [
      ...loads.goals,
      atMost(watched('end of a burst until it is listed, p95', listed.p95Ms, 'ms'), LISTED_MS_MAX, []),
      atMost(
        watchedMedian('audio p99, database away / there', ratiosOf(phases), ''),
        P99_RATIO_MAX,
        plan === QUICK ? null : faultsOfAway,
      ),
      atMost(watched('frames of recordings that are not stored', missing, ''), 0, []),
    ],
    plots: [],
    details: {
      load: { loads: LOADS, listeners: LISTENERS, audience: AUDIENCE, ...plan },
      listed,
      audio,
      delivered,
      stored,
      ...conditions,
    },
  };
}
