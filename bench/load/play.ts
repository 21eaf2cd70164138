// Plays a load on a service in use: connects, checks who else would hear it, talks, and counts what arrived.
import type { ServerMessageOf, Welcome } from '../../src/protocol/types.js';
import { createRecorder } from '../figures/histogram.js';
import { aborted, until } from '../machine/clock.js';
import { readUsage, sharesOf, spent } from '../machine/conditions.js';
import { ConnectionLost } from '../radios/raw-radio.js';
import { type Crew, createCrew } from './crew.js';
import { createHearing, type Hearing } from './hearing.js';
import { refusalOf } from './refusals.js';
import { type LoadSettings, Refused } from './settings.js';
import { type Joined, joinAll, snapshotOf } from './stations.js';
import { framesIn, talk } from './talking.js';
import { lineOfJoining, type Played } from './verdict.js';

/** What is still under way after the last frame may take as long to arrive: a listener behind gets LAG by then. */
const ARRIVAL_MS_MAX = 4_000;

export interface PlayOptions {
  /** Ends the load. */
  readonly signal: AbortSignal;
  /** What is being done now. */
  readonly tell: (what: string) => void;
}

/** Throws Refused, and the reason of the signal. All sessions have ended when it settles. */
export async function play(settings: LoadSettings, { signal, tell }: PlayOptions): Promise<Played> {
  const hearing = createHearing(settings.listeners, framesIn(1000 * settings.seconds));
  const end = new AbortController();
  const stopped = AbortSignal.any([signal, end.signal]);
  const crew = createCrew(settings, hearing, (why) => end.abort(why));
  const run = async () => {
    tell('connecting');
    const { snapshot, joined } = await gather(settings, crew, stopped);
    tell('talking');
    return speak({ settings, crew, hearing, snapshot, joined, signal: stopped });
  };
  try {
    return await Promise.race([run(), aborted(stopped)]);
  } finally {
    end.abort();
    hearing.flow();
    await crew.leave();
  }
}

interface Gathered {
  readonly snapshot: ServerMessageOf<'SYNCED'>;
  readonly joined: Joined;
}

/** Connects all sessions. The first one asks before the others come. */
async function gather(settings: LoadSettings, crew: Crew, signal: AbortSignal): Promise<Gathered> {
  const { talkers, listeners } = settings;
  const all = talkers + listeners;
  const { refused } = await joinAll(1, crew.open, crew.refusal);
  if (refused !== null) throw new Refused(`the first session was refused: ${wordsOf(refused)}`);
  const snapshot = await look(settings, crew, 0);
  refuseTalkers(settings, snapshot, await crew.welcomeOf(0));
  const open = (index: number) => {
    signal.throwIfAborted();
    return crew.open(index + 1);
  };
  const joined = await joinAll(all - 1, open, crew.refusal);
  if (joined.refused !== null)
    throw new Refused(
      `${lineOfJoining(joined.sessions, joined.ms)}, of ${all}. The first refusal: ${wordsOf(joined.refused)}`,
    );
  // Asked by another one: a session asks once a second.
  await look(settings, crew, all - 1);
  const replaced = crew.refusal(); // its close may come behind the last WELCOME
  if (replaced !== null) throw replaced;
  return { snapshot, joined };
}

const wordsOf = (refused: Error): string =>
  refused instanceof ConnectionLost ? refusalOf(refused) : refused.message;

/** Throws Refused where a load would disturb others, or cannot be heard. */
async function look(
  { talkgroup, othersHear }: LoadSettings,
  crew: Crew,
  asker: number,
): Promise<ServerMessageOf<'SYNCED'>> {
  const snapshot = await snapshotOf(crew.at(asker), talkgroup);
  const { name, online, emergencies_total: emergencies, encryption } = snapshot;
  // Over several nodes the number is up to 250 ms late.
  const others = online - crew.online();
  if (others > 0 && !othersHear)
    throw new Refused(
      `other members are online in ${name} (sessions: ${others}), and would hear the load: choose another talkgroup, or set OTHERS_HEAR=1`,
    );
  if (emergencies > 0) throw new Refused(`an emergency is open in ${name}: choose another talkgroup`);
  if (encryption === 'required')
    throw new Refused(`${name} requires encryption, and the load is not encrypted: choose another talkgroup`);
  return snapshot;
}

function refuseTalkers(
  { talkers, tokens }: LoadSettings,
  { floor_mode }: ServerMessageOf<'SYNCED'>,
  { limits }: Welcome,
): void {
  if (floor_mode !== 'open') return; // they take turns
  if (talkers > limits.talkers_max)
    throw new Refused(`TALKERS_MAX of the service is ${limits.talkers_max}: fewer talkers`);
  if (talkers > limits.talks_per_user * tokens.length)
    throw new Refused(
      `TALKS_PER_USER of the service is ${limits.talks_per_user}: fewer talkers, or more tokens`,
    );
}

interface Speech extends Gathered {
  readonly settings: LoadSettings;
  readonly crew: Crew;
  readonly hearing: Hearing;
  readonly signal: AbortSignal;
}

async function speak({ settings, crew, hearing, snapshot, joined, signal }: Speech): Promise<Played> {
  const { talkers, listeners, seconds, servicePids } = settings;
  const late = createRecorder();
  const welcomes = Array.from({ length: talkers }, (_, index) => crew.welcomeOf(index));
  hearing.talks((await Promise.all(welcomes)).map(({ session }) => session));
  const said = welcomes.map((_, index) => ({ station: crew.at(index), sent: 0 }));
  crew.begin();
  hearing.hold();
  const before = readUsage(servicePids);
  const talked = await talk({ talkers: said, snapshot, ms: 1000 * seconds, late, signal });
  const shares = sharesOf(spent(before, readUsage(servicePids)));
  hearing.flow();
  const sent = said.reduce((sum, one) => sum + one.sent, 0);
  await until(() => signal.aborted || hearing.received() >= sent * listeners, ARRIVAL_MS_MAX);
  return {
    ...{ sessions: joined.sessions, joinedMs: joined.ms, ...talked, sent, ...hearing.heard() },
    ...{ skipped: crew.skipped(), ended: crew.ended },
    conditions: { ...shares, late: late.latency() },
  };
}
