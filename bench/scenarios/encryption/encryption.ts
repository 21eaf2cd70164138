// What does encrypted speech cost? Late entry with a key to fetch, a rotation of a talkgroup with 1,000 key holders while it
// is talked in, sealing and opening of a frame, and the relay's CPU for sealed frames beside clear ones of the same size.
import { withAudience } from '../../experiments/beside.js';
import { type Comparison, compare, linesOfSides } from '../../experiments/comparison.js';
import { forthAndBack, playContest } from '../../experiments/contest.js';
import { withLogins } from '../../experiments/logins.js';
import { noiseOf } from '../../figures/doubts.js';
import { columns, ms, us } from '../../figures/figures.js';
import { atMost, watched, watchedMedian } from '../../figures/goals.js';
import { faultsOfDelivery, faultsOfGenerator } from '../../figures/judge.js';
import { percentilesOf } from '../../figures/plots.js';
import type { AudienceHeard } from '../../generator/loads/audience.js';
import type { Contest } from '../../generator/loads/contest.js';
import type {
  RotationPiece,
  RotationPlayed,
  RotationSetup,
} from '../../generator/loads/keys/key-rotation.js';
import type { KeyedEntry, KeyedEntryTask } from '../../generator/loads/keys/keyed-entry.js';
import type { SealingCosts, SealingTask } from '../../generator/loads/keys/sealing-cost.js';
import { soon } from '../../generator/player.js';
import { around, nowMs } from '../../machine/clock.js';
import { linesOfConditions } from '../../machine/conditions.js';
import type { Delivered } from '../../radios/channel.js';
import type { Bench, Report } from '../../scenario.js';
import { entrust } from '../../servers/holders.js';
import { enlist } from '../../servers/users.js';

const SETTINGS = { LOG_LEVEL: 'warn' };
const ENTRY_MS_MAX = 350;
const KEYED_MS_MAX = 10_000;
const AUDIO_MS_MAX = 30;
const FRAME_US_MAX = 50;
/** The relay compares two bits and a byte of both. What is beyond 1.00 is noise. */
const RATIO_MAX = 1.02;
/** Of Opus at 24 kbit/s, and sealed: SFrame adds 17 to 21. */
const PAYLOAD_BYTES = 60;
const SEALED_BYTES = 78;
/** They hear the sealed speech with the client library, the others fetch keys alone. */
const LISTENERS = 10;
/** Beside the talkgroup that rotates, in one of their own. */
const AUDIENCE = 250;
const LEAD_MS = 2_000;
const WARM_UP_ROUNDS = 2;
/** The service hashes a dozen a second, so the rest waits in the queue or is turned away. */
const LOGINS_PER_SECOND = 50;
const LOGIN_USERS = 100;
/** The queue is full by then: it has 2.5 s of hashes. */
const LOGIN_LEAD_MS = 3_000;

interface Plan {
  readonly entries: number;
  readonly entriesPerSecond: number;
  readonly holders: number;
  readonly useInMs: number;
  readonly sealing: SealingTask;
  readonly contest: { readonly listeners: number; readonly frames: number; readonly rounds: number };
}

const FULL: Plan = {
  entries: 300,
  entriesPerSecond: 15,
  holders: 1000,
  useInMs: 10_000,
  sealing: { payloadBytes: PAYLOAD_BYTES, batches: 50, framesPerBatch: 1000 },
  contest: { listeners: 1000, frames: 25, rounds: 24 },
};
const QUICK: Plan = {
  entries: 20,
  entriesPerSecond: 10,
  holders: 100,
  useInMs: 3000,
  sealing: { ...FULL.sealing, batches: 5 },
  contest: { listeners: 300, frames: 10, rounds: 3 },
};

interface Rotation {
  readonly played: RotationPlayed;
  readonly without: AudienceHeard;
  readonly meanwhile: AudienceHeard;
  readonly delivered: Delivered;
}

/** Late entry, alone and beside more logins than the service can hash. */
interface Entries {
  readonly entry: KeyedEntry;
  readonly besideLogins: KeyedEntry;
  /** What the logins were told meanwhile, by status and sentence. */
  readonly refusals: Readonly<Record<string, number>>;
}

interface Measured extends Entries {
  readonly rotation: Rotation;
  readonly sealing: SealingCosts;
  readonly contest: Contest;
  readonly comparison: Comparison;
}

export async function encryption(bench: Bench): Promise<Report> {
  const plan = bench.isQuick ? QUICK : FULL;
  const sealing = await bench.generate<SealingTask, SealingCosts>(
    new URL('../../generator/loads/keys/sealing-cost.js', import.meta.url),
    plan.sealing,
  );
  const entries = await enter(bench, plan);
  const rotation = await rotate(bench, plan);
  return reportOf(plan, { sealing, ...entries, rotation, ...(await contend(bench, plan)) });
}

function enter(bench: Bench, { entries, entriesPerSecond }: Plan): Promise<Entries> {
  bench.progress('late entry');
  return bench.withRelay(SETTINGS, async (relay) => {
    const { trusted } = await entrust(relay, await enlist(relay, { users: entries + 1 }));
    const [talker, ...entering] = trusted;
    if (talker === undefined) throw new RangeError('somebody talks');
    const { url, restUrl, pid } = relay;
    const task = {
      ...{ server: { url, restUrl, pid }, talker, entering },
      ...{ entriesPerSecond, payloadBytes: PAYLOAD_BYTES },
    };
    const generate = () =>
      bench.generate<KeyedEntryTask, KeyedEntry>(
        new URL('../../generator/loads/keys/keyed-entry.js', import.meta.url),
        task,
      );
    const entry = await generate();
    bench.progress('late entry beside logins');
    return withLogins(bench, { relay, users: LOGIN_USERS }, async (logins) => {
      const ms = LOGIN_LEAD_MS + (1000 * entries) / entriesPerSecond;
      const played = logins.play({ fromMs: soon(), ms, logins: (LOGINS_PER_SECOND * ms) / 1000 });
      await around(nowMs() + LOGIN_LEAD_MS);
      const besideLogins = await generate();
      return { entry, besideLogins, refusals: (await played).refusals };
    });
  });
}

function rotate(bench: Bench, { holders: count, useInMs }: Plan): Promise<Rotation> {
  bench.progress('rotation');
  return bench.withRelay(SETTINGS, async (relay) => {
    const { trusted, adminToken } = await entrust(relay, await enlist(relay, { users: count }));
    const [talker, ...others] = trusted;
    if (talker === undefined) throw new RangeError('somebody talks');
    const { url, restUrl } = relay;
    const setup: RotationSetup = {
      ...{ server: { url, restUrl }, adminToken, talker },
      ...{ listeners: others.slice(0, LISTENERS), holders: others.slice(LISTENERS) },
    };
    return withAudience(bench, { relay, listeners: AUDIENCE }, (audience) =>
      bench.withPlayer<RotationSetup, RotationPiece, RotationPlayed, null, Rotation>(
        new URL('../../generator/loads/keys/key-rotation.js', import.meta.url),
        setup,
        async (player) => {
          const without = await audience.play({ fromMs: soon(), ms: useInMs });
          const fromMs = soon() + LEAD_MS;
          const [played, meanwhile] = await Promise.all([
            player.play({ fromMs, useInMs, ms: useInMs + LEAD_MS }),
            audience.play({ fromMs, ms: useInMs }),
          ]);
          return { played, without, meanwhile, delivered: await audience.end() };
        },
      ),
    );
  });
}

/** Both talkgroups are of one relay, so that nothing but the frames differs. */
function contend(bench: Bench, { contest: load }: Plan): Promise<Pick<Measured, 'contest' | 'comparison'>> {
  bench.progress('sealed frames beside clear ones');
  return bench.withRelay(SETTINGS, async (relay) => {
    const { url, dialect, pid } = relay;
    const fleet = { users: load.listeners + 1 };
    const target = { url, dialect };
    const audience = { probeEvery: 20, framesPerSecond: 50, payloadBytes: SEALED_BYTES };
    const contest = await playContest(bench, {
      servers: [
        { target, pid, users: await enlist(relay, fleet), isSealed: true },
        { target, pid, users: await enlist(relay, fleet) },
      ],
      audience,
      piece: { talkers: 1, leadFrames: 10, frames: load.frames, isBurst: true },
      rounds: forthAndBack(2, load.rounds + WARM_UP_ROUNDS),
      warmUpRounds: WARM_UP_ROUNDS,
    });
    const claims = [{ of: 'sealed', to: 'clear', atMost: RATIO_MAX }];
    const names = ['sealed', 'clear'];
    return { contest, comparison: compare(contest, { names, claims, per: 'delivery', ...audience }) };
  });
}

function reportOf(plan: Plan, measured: Measured): Report {
  const { entry, besideLogins, rotation, sealing, contest, comparison } = measured;
  const { played, without, meanwhile } = rotation;
  const faults = [
    ...[entry, besideLogins].flatMap(({ unheard }) =>
      unheard > 0 ? [`${unheard} of ${plan.entries} radios heard nothing`] : [],
    ),
    ...faultsOfGenerator(entry, 'late entry'),
    ...faultsOfGenerator(besideLogins, 'late entry beside logins'),
    ...(Object.keys(measured.refusals).length > 0 ? [] : ['no login was turned away']),
    ...faultsOfGenerator(played, 'rotation'),
    ...faultsOfDelivery(rotation.delivered, 'beside the rotation'),
    ...(played.epochs.at(-1) === 1 ? [] : ['no burst had the next key']),
    ...comparison.faults,
  ];
  const lost = played.expected - played.heard;
  const line = columns(44, 12, 12, 12, 12);
  const latency = (name: string, { p50Ms, p95Ms, p99Ms, maxMs }: KeyedEntry['heard']) =>
    line(name, ms(p50Ms), ms(p95Ms), ms(p99Ms), ms(maxMs));
  return {
    lines: [
      line('', 'p50', 'p95', 'p99', 'longest'),
      latency('late entry: WELCOME', entry.ready),
      latency('late entry: key', entry.keyed),
      latency('late entry: first opened frame', entry.heard),
      latency('the same beside logins: key', besideLogins.keyed),
      latency('the same beside logins: first opened frame', besideLogins.heard),
      latency(`rotation of ${plan.holders} holders: key`, played.keyed),
      latency('audio beside it', meanwhile.latency),
      latency('audio before it', without.latency),
      '',
      line('a frame', 'seal', 'open'),
      line('browser', us(sealing.browser.sealUs.median), us(sealing.browser.openUs.median)),
      line('Node', us(sealing.node.sealUs.median), us(sealing.node.openUs.median)),
      '',
      `over the rotation: ${played.said} frames to ${LISTENERS} listeners, ${lost} lost, ${played.unopened} not opened, epochs ${played.epochs.join(' ')}`,
      `logins beside late entry: ${LOGINS_PER_SECOND} a second, turned away ${JSON.stringify(measured.refusals)}`,
      `requests that gave no key, by status: ${JSON.stringify(played.failures)}`,
      '',
      ...linesOfSides(comparison, 'delivery'),
      ...linesOfConditions(contest, 'frames'),
    ],
    faults,
    noise: [noiseOf(contest, 'frames', meanwhile.latency.p99Ms)],
    goals: [
      atMost(
        watched('late entry to the first opened frame, p95', entry.heard.p95Ms, 'ms'),
        ENTRY_MS_MAX,
        faults,
      ),
      watched('late entry to the key, p95', entry.keyed.p95Ms, 'ms'),
      atMost(
        watched('late entry with a full password queue, p95', besideLogins.heard.p95Ms, 'ms'),
        ENTRY_MS_MAX,
        faults,
      ),
      atMost(
        watched(`rotation: the last of ${plan.holders} holders has the key`, played.keyed.maxMs, 'ms'),
        KEYED_MS_MAX,
        faults,
      ),
      atMost(watched('rotation: holders without the key', played.unkeyed, ''), 0, faults),
      atMost(watched('rotation: sealed frames lost or not opened', lost, ''), 0, faults),
      atMost(watched('audio p99 during the rotation', meanwhile.latency.p99Ms, 'ms'), AUDIO_MS_MAX, faults),
      atMost(
        watchedMedian('sealing a frame in the browser', sealing.browser.sealUs, 'µs'),
        FRAME_US_MAX,
        faults,
      ),
      atMost(
        watchedMedian('opening a frame in the browser', sealing.browser.openUs, 'µs'),
        FRAME_US_MAX,
        faults,
      ),
      ...comparison.goals,
    ],
    plots: [
      percentilesOf(
        'Late entry with encryption',
        'From the intended connect of a radio of the client library.',
        [
          ['WELCOME', entry.ready],
          ['key', entry.keyed],
          ['first opened frame', entry.heard],
          ['first opened frame beside logins', besideLogins.heard],
        ],
      ),
      percentilesOf(
        `Rotation of ${plan.holders} holders`,
        'From the request that rotates to the key in the memory of a holder. They fetch within two thirds of the overlap.',
        [['key', played.keyed]],
      ),
    ],
    details: {
      settings: SETTINGS,
      load: plan,
      entry,
      besideLogins,
      refusals: measured.refusals,
      rotation,
      sealing,
      sides: comparison.sides,
      turns: contest.turns,
    },
  };
}
