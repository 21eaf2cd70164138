// I9 to I13: what several nodes promise together. Pure, so that a test can show that each of them can fail.
import type { PlayedFault } from '../episode.js';
import { type Arrival, follow, type History, type Line, nameOf, type Span } from '../history.js';
import { type Breach, inWords } from '../invariants.js';
import type { Talkgroup } from '../radio.js';
import { cutNothing } from './faults.js';

export interface NodesHistory {
  /** One for each node. */
  readonly histories: readonly History[];
  readonly broken: readonly PlayedFault[];
  readonly talkgroups: readonly Pick<Talkgroup, 'number' | 'mode'>[];
  /** When the runner stood still, also before the episode. */
  readonly stalls: readonly Span[];
}

/**
 * I10. So long after a fault the nodes reach each other again: up to 5 s until what was lost is asked for. Then one of
 * two talkers is told within 500 ms.
 */
const HEAL_MS = 5500;
/**
 * I10. All links between nodes go through the runner. While it stands still, the nodes do not reach each other. They
 * notice after 1.5 s without a word, and speak every 250 ms.
 */
const CUT_MS = 1200;
/** I10. A first frame waits up to 200 ms for its floor. Three times that on a loaded machine. */
const HANDOVER_MS = 600;
/** I11. A frame may be 500 ms late between nodes, and 2 s behind at its receiver. 500 ms for a loaded machine. */
const OLD_MS = 3000;

/** Everything that is broken, I9 first. */
export function breachesOverNodes(history: NodesHistory): Breach[] {
  const checks = {
    I9: nobodyHearsTwo,
    I10: oneFloor,
    I11: nothingOldIsPlayed,
    I12: missedIsExact,
    I13: floorsAreFree,
  };
  return Object.entries(checks).flatMap(([invariant, check]) =>
    check(history).map((what) => ({ invariant, what })),
  );
}

const linesOf = ({ histories }: NodesHistory) => histories.flatMap(({ lines }) => lines);

/** I9: in `single` and `broadcast` one burst runs at a time on each socket, and each is announced and ended once. */
function nobodyHearsTwo(history: NodesHistory): string[] {
  const alone = new Set(
    history.talkgroups.filter(({ mode }) => mode !== 'open').map(({ number }) => `${number}`),
  );
  return linesOf(history).flatMap(({ radio, arrivals }) => {
    const found: string[] = [];
    const running = new Set<string>();
    const tell = (heardAtMs: number, what: string) =>
      found.push(`radio ${radio} at ${Math.round(heardAtMs)} ms: ${what}`);
    for (const arrival of arrivals) {
      const { kind, heardAtMs } = arrival;
      if (kind === 'started' && running.has(nameOf(arrival)))
        tell(heardAtMs, `burst ${nameOf(arrival)} is announced again while it runs`);
      if (kind === 'ended' && !running.has(nameOf(arrival)))
        tell(heardAtMs, `burst ${nameOf(arrival)} ends and does not run`);
      follow(running, arrival);
      if (kind !== 'started' && kind !== 'snapshot') continue;
      const together = [...running].filter((name) => name.startsWith(`${arrival.talkgroup}/`));
      if (alone.has(`${arrival.talkgroup}`) && together.length > 1)
        tell(heardAtMs, `two talkers at once: bursts ${together.join(' and ')}`);
    }
    return found;
  });
}

/** A burst as a radio heard it. Times are those of its frames at their talker. */
interface HeardBurst extends Span {
  readonly name: string;
}

/** I10: two talkers of such a talkgroup are heard by different radios only while nodes do not reach each other. */
function oneFloor(history: NodesHistory): string[] {
  const faults = history.broken.filter(({ name }) => !cutNothing.has(name));
  const stalls = history.stalls.filter(({ fromMs, untilMs }) => untilMs - fromMs >= CUT_MS);
  const apart = [...faults, ...stalls].map(({ fromMs, untilMs }) => ({
    fromMs,
    untilMs: untilMs + HEAL_MS,
  }));
  return history.talkgroups.flatMap(({ number, mode }) => {
    if (mode === 'open') return [];
    const bursts = heardBursts(linesOf(history), number).sort((one, other) => one.fromMs - other.fromMs);
    return bursts.flatMap((one, at) =>
      bursts.slice(at + 1).flatMap((other) => {
        const both = { fromMs: other.fromMs, untilMs: Math.min(one.untilMs, other.untilMs) };
        const ms = outsideMs(both, apart);
        return ms > HANDOVER_MS
          ? [`bursts ${one.name} and ${other.name} were heard at once for ${Math.round(ms)} ms`]
          : [];
      }),
    );
  });
}

function heardBursts(lines: readonly Line[], talkgroup: number): HeardBurst[] {
  const bursts = new Map<string, { fromMs: number; untilMs: number }>();
  for (const { arrivals } of lines)
    for (const frame of arrivals) {
      if (frame.kind !== 'frame' || frame.talkgroup !== talkgroup) continue;
      const { sentAtMs } = frame;
      const burst = bursts.get(nameOf(frame));
      if (burst === undefined) bursts.set(nameOf(frame), { fromMs: sentAtMs, untilMs: sentAtMs });
      else {
        burst.fromMs = Math.min(burst.fromMs, sentAtMs);
        burst.untilMs = Math.max(burst.untilMs, sentAtMs);
      }
    }
  return [...bursts].map(([name, span]) => ({ name, ...span }));
}

/** How much of the span is in none of these. */
function outsideMs(span: Span, others: readonly Span[]): number {
  let left = [span];
  for (const { fromMs, untilMs } of others)
    left = left
      .flatMap((one) => [
        { fromMs: one.fromMs, untilMs: Math.min(one.untilMs, fromMs) },
        { fromMs: Math.max(one.fromMs, untilMs), untilMs: one.untilMs },
      ])
      .filter((one) => one.untilMs > one.fromMs); // else a hundred stalls of the runner make 2^100 pieces
  return left.reduce((sum, one) => sum + one.untilMs - one.fromMs, 0);
}

/** I11: no radio that reads hears speech that is old, not counting what a node or the runner stood still. */
function nothingOldIsPlayed({ histories }: NodesHistory): string[] {
  const stood = histories.flatMap(({ absences }) => absences.filter(({ kind }) => kind === 'stopped'));
  const stalls = histories[0]?.stalls ?? [];
  return histories.flatMap(({ lines, touched }) =>
    lines.flatMap(({ radio, arrivals }) =>
      arrivals.flatMap((frame) => {
        if (frame.kind !== 'frame' || touched.has(radio)) return [];
        if (frame.heardAtMs - frame.sentAtMs <= OLD_MS) return [];
        const ms = outsideMs({ fromMs: frame.sentAtMs, untilMs: frame.heardAtMs }, [...stood, ...stalls]);
        return ms > OLD_MS ? [`radio ${radio} heard ${inWords(frame)} after ${Math.round(ms)} ms`] : [];
      }),
    ),
  );
}

/**
 * I12: of a burst that a radio heard from its first frame to its end, frames and MISSED are together as many as the end
 * counts. When it did not hear the first frame, MISSED counts at least what it did not hear of what was said behind
 * TALK_STARTED. Where LAG or an unasked snapshot came as well, I3 alone judges.
 */
function missedIsExact(history: NodesHistory): string[] {
  const said = saidFrames(linesOf(history));
  // LAG does not come to one that read slowly when its socket dies first.
  const judged = history.histories.flatMap(({ lines, touched }) =>
    lines.filter(({ radio, closed }) => closed === null || !touched.has(radio)),
  );
  return judged.flatMap((line) => {
    const told = toldMissed(line);
    const bursts = new Map<string, { fromMs: number; heard: Set<number>; missed: number }>();
    const found: string[] = [];
    const tell = (name: string, told: { heard: Set<number>; missed: number }, of: string) =>
      found.push(
        `radio ${line.radio} heard ${told.heard.size} frames of burst ${name} and was told of ${told.missed} missed, of ${of}`,
      );
    for (const arrival of line.arrivals) {
      if (arrival.kind === 'started')
        bursts.set(nameOf(arrival), { fromMs: arrival.heardAtMs, heard: new Set(), missed: 0 });
      if (arrival.kind !== 'frame' && arrival.kind !== 'missed' && arrival.kind !== 'ended') continue;
      const name = nameOf(arrival);
      const burst = bursts.get(name);
      if (burst === undefined) continue;
      if (arrival.kind === 'frame') burst.heard.add(arrival.sequence);
      else if (arrival.kind === 'missed') burst.missed += arrival.missed;
      else {
        bursts.delete(name);
        if (isLagging(line.arrivals, arrival.talkgroup) || arrival.sender === line.session) continue;
        if (burst.heard.has(0)) {
          if (burst.heard.size + burst.missed !== arrival.frames) tell(name, burst, `${arrival.frames}`);
          continue;
        }
        // Other ends may be those of a burst that went on where no radio here could hear it.
        if (arrival.code !== 'released') continue;
        const unheard = [...(said.get(name) ?? [])].filter(
          ([sequence, sentAtMs]) => sentAtMs > burst.fromMs && !burst.heard.has(sequence),
        );
        // For listeners of another node a burst may end early. MISSED then comes behind its end.
        const missed = told.get(name) ?? 0;
        if (missed < unheard.length)
          tell(name, { ...burst, missed }, `${unheard.length} or more behind TALK_STARTED`);
      }
    }
    return found;
  });
}

/** By name of the burst, what MISSED counted on this line in all. */
function toldMissed({ arrivals }: Line): Map<string, number> {
  const told = new Map<string, number>();
  for (const arrival of arrivals)
    if (arrival.kind === 'missed')
      told.set(nameOf(arrival), (told.get(nameOf(arrival)) ?? 0) + arrival.missed);
  return told;
}

/** By name of the burst and by sequence, when each frame was said that any radio heard. */
function saidFrames(lines: readonly Line[]): Map<string, Map<number, number>> {
  const said = new Map<string, Map<number, number>>();
  for (const { arrivals } of lines)
    for (const frame of arrivals) {
      if (frame.kind !== 'frame') continue;
      const burst = said.get(nameOf(frame)) ?? new Map<number, number>();
      said.set(nameOf(frame), burst.set(frame.sequence, frame.sentAtMs));
    }
  return said;
}

const isLagging = (arrivals: readonly Arrival[], talkgroup: number) =>
  arrivals.some(
    (one) =>
      (one.kind === 'lag' || (one.kind === 'snapshot' && one.isUnasked)) && one.talkgroup === talkgroup,
  );

/** I13: when no radio has talked for a while, no open socket still waits for the end of a burst. */
function floorsAreFree(history: NodesHistory): string[] {
  return linesOf(history).flatMap(({ radio, arrivals, closed }) => {
    const running = new Set<string>();
    for (const arrival of arrivals) follow(running, arrival);
    return closed !== null || running.size === 0
      ? []
      : [`radio ${radio} was told of no end of ${[...running].join(', ')}`];
  });
}
