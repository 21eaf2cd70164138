// I1 to I8 as code: each looks at the history of an episode and names what breaks it. Pure, so that a test can show
// that each of them can fail.
import {
  type BurstName,
  type Entry,
  type Footprint,
  FRAME_MS,
  type HeardFrame,
  type History,
  type Line,
  nameOf,
  type RequestRecord,
  type Span,
} from './history.js';

/** One broken invariant with what shows it. */
export interface Breach {
  readonly invariant: string;
  readonly what: string;
}

/** I6, beyond the time in which server or runner stood still. */
const ANSWER_MS_MAX = 5000;
/**
 * I8. The half of all answers come within it. The slowest is allowed more, because on two shared cores a burst of
 * bcrypt, a starting PostgreSQL and the runner itself compete with the server for their turn.
 */
const HEALTH_MS = 100;
const HEALTH_MS_MAX = 1000;
/** I3. A floor is asked for during at most this time (ms). */
const ASKED_MS_MAX = 1100;
/** I7. What the pools may open that the baseline had not: 10 and 4 connections, 1 for notices, some sockets in closing. */
const DESCRIPTORS_MORE = 24;
/** I7. There are two heaps, resized in steps, and that of the relay's thread is not collected before it is measured. */
const RESIDENT_MORE_MIB = 96;
/** The service's DRAIN_MS here is 1 s. What the drain waits for beyond that is bounded by this. */
const EXIT_MS_MAX = 15_000;
/** A connection so long before the first that was refused was accepted by the process, not only by the kernel. */
const ACCEPTED_MS = 250;

/** Everything that is broken in the history, I1 first. */
export function breaches(history: History): Breach[] {
  const checks = {
    I1: endsOnlyAsAsked,
    I2: nobodyHearsWithoutTheRight,
    I3: lossIsTold,
    I4: inOrderWithoutDuplicates,
    I5: writesAreKept,
    I6: requestsAreAnswered,
    I7: footprintReturns,
    I8: healthIsPrompt,
    bystanders: bystandersStay,
  };
  return Object.entries(checks).flatMap(([invariant, check]) =>
    check(history).map((what) => ({ invariant, what })),
  );
}

/** I1: the process ends only by its own decision or by our hand. No bug shows in an exit, a log, a 500 or a 1011. */
function endsOnlyAsAsked({ exits, faults, requests, lines }: History): string[] {
  const ended = exits.flatMap(({ how, asked, afterMs }) => {
    if (asked === 'nothing') return [`the process ended by itself: ${how}`];
    if (asked === 'kill') return how === 'SIGKILL' ? [] : [`killed, it ended with ${how}`];
    if (how !== 0) return [`after SIGTERM it ended with ${how}`];
    return afterMs > EXIT_MS_MAX ? [`after SIGTERM it took ${Math.round(afterMs)} ms to end`] : [];
  });
  return [
    ...ended,
    ...faults.map((line) => `logged: ${line}`),
    ...requests.filter(({ status }) => status === 500).map(({ what }) => `500 to ${what}`),
    ...lines.filter(({ closed }) => closed?.code === 1011).map(({ radio }) => `1011 to radio ${radio}`),
  ];
}

/** I2: what a talker handed over after the 200 that withdrew its right, or the listener's, is not heard. */
function nobodyHearsWithoutTheRight({ lines, withdrawals, radioOfSession }: History): string[] {
  const found: string[] = [];
  for (const { radio, arrivals } of lines) {
    for (const frame of arrivals) {
      if (frame.kind !== 'frame') continue;
      if (radioOfSession.get(frame.sender) !== frame.talker)
        found.push(`radio ${radio} heard ${inWords(frame)}, stamped as of another's session`);
      const withdrawn = withdrawals.find(
        (one) =>
          (one.radio === radio || one.radio === frame.talker) &&
          (one.talkgroup === null || one.talkgroup === frame.talkgroup) &&
          one.fromMs < frame.sentAtMs &&
          frame.heardAtMs < one.untilMs, // else it may have been on a slow link until the right was back
      );
      if (withdrawn === undefined) continue;
      const lateMs = Math.round(frame.sentAtMs - withdrawn.fromMs);
      found.push(
        `radio ${radio} heard ${inWords(frame)}, sent ${lateMs} ms after the 200 that took radio ${withdrawn.radio} out`,
      );
    }
  }
  return found;
}

/**
 * I3, as far as it shows from outside.
 *
 * Receiver: of a burst whose beginning (or a snapshot) and end came over the same socket, as many frames came as the
 * end counts, less those before the snapshot. What is missing is covered by LAG or MISSED, or a snapshot came unasked, which
 * says that this receiver was left out for a while, or the socket was closed.
 *
 * Talker: on a socket that stayed open and was never refused anything in a talkgroup, every frame handed over there
 * is counted by the end of one of its bursts. Where another node decides the floor, the first ones may be dropped.
 */
function lossIsTold(history: History): string[] {
  const { lines, startsLate } = history;
  const dropped = droppedFirst(history);
  return lines
    .filter(({ closed }) => closed === null)
    .flatMap((line) => [...unheard(line, startsLate), ...unsaid(line, dropped)]);
}

function unheard({ radio, session, arrivals }: Line, startsLate: boolean): string[] {
  const found: string[] = [];
  const running = new Map<string, { base: number; heard: number; late: number }>();
  const missing = new Map<number, number>();
  const told = new Map<number, number>();
  const add = (to: Map<number, number>, talkgroup: number, more: number) =>
    to.set(talkgroup, (to.get(talkgroup) ?? 0) + more);

  const settle = (talkgroup: number) => {
    const lost = missing.get(talkgroup) ?? 0;
    const covered = told.get(talkgroup) ?? 0;
    if (lost > covered)
      found.push(`radio ${radio} missed ${lost} frames in talkgroup ${talkgroup}, told of ${covered}`);
    missing.delete(talkgroup);
    told.delete(talkgroup);
  };
  const reckon = ({ talkgroup, frames }: BurstName & { frames: number }, name: string) => {
    const burst = running.get(name);
    if (burst === undefined) return;
    // It may have been announced behind its last frame.
    if (startsLate && burst.heard === 0) return;
    add(missing, talkgroup, Math.max(0, frames - burst.base - burst.heard - burst.late));
    if (frames - burst.base < burst.heard)
      found.push(
        `radio ${radio} heard ${burst.heard} frames of burst ${name}, which had ${frames - burst.base}`,
      );
  };

  for (const arrival of arrivals) {
    switch (arrival.kind) {
      case 'started':
        if (arrival.sender !== session) running.set(nameOf(arrival), { base: 0, heard: 0, late: 0 });
        break;
      case 'frame': {
        const burst = running.get(nameOf(arrival));
        if (burst === undefined) break;
        // What was said before is not missed by a listener that came to a running burst.
        if (startsLate && burst.heard === 0) burst.late = arrival.sequence;
        burst.heard++;
        break;
      }
      case 'ended':
        reckon(arrival, nameOf(arrival));
        running.delete(nameOf(arrival));
        break;
      case 'lag':
      case 'missed':
        add(told, arrival.talkgroup, arrival.missed);
        break;
      case 'left':
        forget(running, arrival.talkgroup);
        break;
      case 'snapshot': {
        const { talkgroup, bursts, isUnasked } = arrival;
        if (isUnasked) {
          for (const burst of bursts) reckon(burst, nameOf(burst));
          if (told.has(talkgroup)) settle(talkgroup);
          missing.delete(talkgroup);
          forget(running, talkgroup);
        }
        for (const burst of bursts) {
          const name = nameOf(burst);
          if (burst.sender !== session && !running.has(name))
            running.set(name, { base: burst.frames, heard: 0, late: 0 });
        }
      }
    }
  }
  for (const talkgroup of missing.keys()) settle(talkgroup);
  return found;
}

function forget(running: Map<string, unknown>, talkgroup: number): void {
  for (const name of running.keys()) if (name.startsWith(`${talkgroup}/`)) running.delete(name);
}

/**
 * Of each burst there, by its name: at most so many frames were dropped before the floor was granted, as others heard it. Of
 * a burst without a frame all may have been: the next press displaced them before the home answered. What is said while the
 * server stands still comes to it at once, and has to wait for the same answer.
 */
function droppedFirst({ lines, sharedFloors: talkgroups, absences, stalls }: History): Map<string, number> {
  const dropped = new Map<string, number>();
  const still = [...absences.filter(({ kind }) => kind === 'stopped'), ...stalls];
  const stillMs = still.reduce((ms, { fromMs, untilMs }) => ms + untilMs - fromMs, 0);
  const droppedMax = Math.ceil((ASKED_MS_MAX + stillMs) / FRAME_MS);
  for (const { arrivals } of lines)
    for (const frame of arrivals) {
      if (frame.kind === 'ended' && frame.frames === 0 && talkgroups.has(frame.talkgroup))
        dropped.set(nameOf(frame), droppedMax);
      if (frame.kind !== 'frame' || !talkgroups.has(frame.talkgroup)) continue;
      const name = nameOf(frame);
      dropped.set(name, Math.min(dropped.get(name) ?? droppedMax, frame.sequence));
    }
  return dropped;
}

function unsaid({ radio, session, arrivals, sent }: Line, dropped: ReadonlyMap<string, number>): string[] {
  return [...sent].flatMap(([talkgroup, frames]) => {
    const isExcused = arrivals.some(
      (one) =>
        (one.kind === 'refused' && (one.talkgroup === null || one.talkgroup === talkgroup)) ||
        (one.kind === 'left' && one.talkgroup === talkgroup) ||
        (one.kind === 'snapshot' &&
          one.talkgroup === talkgroup &&
          (one.isUnasked || one.bursts.some(({ sender }) => sender === session))),
    );
    const ends = arrivals.flatMap((one) =>
      one.kind === 'ended' && one.talkgroup === talkgroup && one.sender === session ? [one] : [],
    );
    const counted = ends.reduce((sum, end) => sum + end.frames, 0);
    // Fewer may have been dropped: a listener may have come to the burst late.
    const droppedMax = ends.reduce((sum, end) => sum + (dropped.get(nameOf(end)) ?? 0), 0);
    if (isExcused || (counted <= frames && frames <= counted + droppedMax)) return [];
    return [
      `radio ${radio} said ${frames} frames in talkgroup ${talkgroup}, ${counted} were counted, at most ${droppedMax} dropped, none refused`,
    ];
  });
}

/** I4: per socket and talker's session frames grow, lie within their burst and are byte for byte what was said. */
function inOrderWithoutDuplicates({ lines }: History): string[] {
  return [...lines.flatMap(disorderOf), ...duplicates(lines)];
}

function disorderOf({ radio, arrivals }: Line): string[] {
  const found: string[] = [];
  const lastNumber = new Map<string, number>();
  const running = new Set<string>();
  for (const arrival of arrivals) {
    if (arrival.kind === 'started') running.add(nameOf(arrival));
    else if (arrival.kind === 'ended') running.delete(nameOf(arrival));
    else if (arrival.kind === 'snapshot') for (const burst of arrival.bursts) running.add(nameOf(burst));
    if (arrival.kind !== 'frame') continue;
    const { talkgroup, sender, talker, number } = arrival;
    const from = `${talkgroup}/${sender}`;
    const last = lastNumber.get(from) ?? 0;
    if (talker === null) found.push(`radio ${radio} heard bytes nobody said: ${inWords(arrival)}`);
    else if (number <= last) found.push(`radio ${radio} heard ${inWords(arrival)} behind ${last}`);
    if (!running.has(nameOf(arrival)))
      found.push(`radio ${radio} heard ${inWords(arrival)} outside of its burst`);
    lastNumber.set(from, number);
  }
  return found;
}

function duplicates(lines: readonly Line[]): string[] {
  const found: string[] = [];
  const heard = new Set<string>();
  for (const { radio, arrivals } of lines) {
    for (const frame of arrivals) {
      if (frame.kind !== 'frame' || frame.talker === null) continue;
      const name = `${radio} ${frame.talkgroup} ${frame.talker} ${frame.number}`;
      if (heard.has(name)) found.push(`radio ${radio} heard ${inWords(frame)} twice`);
      heard.add(name);
    }
  }
  return found;
}

/**
 * I5: what is read is what was acknowledged last, or one of those said to be unknown, which may happen long after they
 * were given up. Never what was refused.
 */
function writesAreKept({ entries, before, surprises }: History): string[] {
  const keys = new Set(entries.map(({ key }) => key));
  return [...surprises, ...[...keys].flatMap((key) => lostWrites(key, before.get(key), entries))];
}

function lostWrites(key: string, before: string | undefined, entries: readonly Entry[]): string[] {
  const own = entries.filter((entry) => entry.key === key);
  const found: string[] = [];
  const unknown = new Set<string>();
  let certain = before;
  own.forEach(({ value, outcome }, at) => {
    if (outcome === 'stored') certain = value;
    if (outcome === 'unknown') unknown.add(value);
    if (outcome !== 'found' || value === certain || unknown.has(value)) return;
    const told = own.slice(Math.max(0, at - 5), at).map((entry) => `${entry.value} ${entry.outcome}`);
    found.push(`${key} is ${value}, not ${certain}; at first ${before}, lately: ${told.join(', ')}`);
  });
  return found;
}

/**
 * I6: a client that got a connection gets an answer within 5 s, not counting what server or runner stood still. No answer is
 * allowed where the server was killed, and to a connection that the kernel took when a stopping server did no more.
 */
function requestsAreAnswered(history: History): string[] {
  const { requests, absences, stalls } = history;
  return requests.flatMap((request) => {
    const { what, startedAtMs, endedAtMs, status, error } = request;
    const stoodStill = absences.filter(({ kind }) => kind === 'stopped');
    const tookMs = endedAtMs - startedAtMs - overlapMs(request, [...stoodStill, ...stalls]);
    if (tookMs > ANSWER_MS_MAX) return [`${what} took ${Math.round(tookMs)} ms: ${status ?? error}`];
    if (status !== null || isExcused(request, history)) return [];
    return [`${what} got no answer: ${error}`];
  });
}

function isExcused(request: RequestRecord, { absences, requests }: History): boolean {
  const { startedAtMs, connectedAtMs, endedAtMs } = request;
  return absences.some(({ kind, fromMs, untilMs }) => {
    if (kind === 'stopped' || endedAtMs < fromMs || startedAtMs > untilMs) return false;
    if (kind === 'killed' || connectedAtMs === null) return true;
    const refused = requests.filter((one) => one.connectedAtMs === null && one.startedAtMs > fromMs);
    const portClosedAtMs = Math.min(untilMs, ...refused.map((one) => one.startedAtMs));
    return connectedAtMs > portClosedAtMs - ACCEPTED_MS;
  });
}

/** True when the process holds no more than it may behind an episode. */
export const isFootprintBack = (baseline: Footprint, now: Footprint) => excess(baseline, now).length === 0;

/** I7: behind the episode the process holds about what it held before the first. */
function footprintReturns({ footprint: { baseline, after } }: History): string[] {
  return excess(baseline, after);
}

function excess(baseline: Footprint, after: Footprint): string[] {
  const found: string[] = [];
  if (after.descriptors > baseline.descriptors + DESCRIPTORS_MORE)
    found.push(`${after.descriptors} descriptors, ${baseline.descriptors} at first`);
  if (after.residentMiB > baseline.residentMiB + RESIDENT_MORE_MIB)
    found.push(`${after.residentMiB} MiB resident, ${baseline.residentMiB} at first`);
  return found;
}

/** I8: outside of the times in which there was no server, or a stopped one. */
function healthIsPrompt({ health, absences, stalls }: History): string[] {
  const judged = health.filter((request) => overlapMs(request, absences) === 0);
  const tookMs = judged
    .map((request) => request.endedAtMs - request.startedAtMs - overlapMs(request, stalls))
    .sort((a, b) => a - b);
  const [median = 0, slowest = 0] = [tookMs[Math.floor(tookMs.length / 2)], tookMs.at(-1)];
  return [
    ...judged
      .filter(({ status }) => status !== 200)
      .map(({ status, error }) => `/healthz: ${status ?? error}`),
    ...(median > HEALTH_MS ? [`/healthz took ${Math.round(median)} ms in the median`] : []),
    ...(slowest > HEALTH_MS_MAX ? [`/healthz took ${Math.round(slowest)} ms`] : []),
  ];
}

/** Beyond the eight: a radio that has nothing to do with a fault stays connected, be the database away or the server stopped. */
function bystandersStay({ lines, touched, absences }: History): string[] {
  if (absences.some(({ kind }) => kind !== 'stopped')) return [];
  return lines.flatMap(({ radio, closed }) =>
    closed === null || touched.has(radio)
      ? []
      : [`radio ${radio}, to which nothing was done, was closed: ${closed.code} ${closed.reason}`],
  );
}

const overlapMs = ({ startedAtMs, endedAtMs }: RequestRecord, spans: readonly Span[]) =>
  spans.reduce(
    (sum, { fromMs, untilMs }) =>
      sum + Math.max(0, Math.min(endedAtMs, untilMs) - Math.max(startedAtMs, fromMs)),
    0,
  );

export const inWords = (frame: HeardFrame) =>
  `frame ${frame.number} of radio ${frame.talker} (burst ${nameOf(frame)})`;
