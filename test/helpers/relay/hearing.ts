// What a radio heard of numbered speech, and whether it was told of all that it missed.
import type { Socket } from 'node:net';
import type { Test } from 'tap';
import { comesTrue } from '../eventually.js';
import type { Heard, Json, Radio } from '../service/service.js';
import type { Speech } from './speech.js';

/** A radio's `arrivals`, of one socket or, one behind the other, of several. */
export type Arrivals = readonly (Json | Heard)[];

/** One LAG, as it concerns one talkgroup. */
export interface Lagged {
  readonly missed: number;
  readonly sinceMs: number;
  /** Frames that did not come, of all talkers heard again since. */
  lost: number;
  /** By talker: the numbers of the last frame before it, -1 for none, and of the first one behind it. */
  readonly around: Map<number, { readonly last: number; readonly next: number }>;
}

interface Group {
  readonly id: string;
  readonly number: number;
}

/**
 * Every LAG, the oldest first. Fails unless nothing comes twice or out of order, and no frame is lost but around a LAG.
 * The radio must have been there from the first frame of each talker.
 */
export function lagsIn(t: Test, arrivals: Arrivals, { id, number }: Group): Lagged[] {
  const lags: Lagged[] = [];
  const newest = new Map<number, number>();
  const faults: string[] = [];
  for (const arrival of arrivals) {
    if (isFrame(arrival)) {
      if (arrival.talkgroup === number) hear(arrival.sender, Number(arrival.text));
    } else if (arrival.type === 'LAG') {
      lags.push({ ...readLag(arrival, id), lost: 0, around: new Map() });
    }
  }

  function hear(talker: number, frame: number): void {
    const last = newest.get(talker) ?? -1;
    const lag = lags.at(-1);
    if (frame <= last) faults.push(`${frame} behind ${last}`);
    else if (lag !== undefined && !lag.around.has(talker)) {
      lag.lost += frame - last - 1;
      lag.around.set(talker, { last, next: frame });
    } else if (frame !== last + 1) faults.push(`${frame} behind ${last}, without LAG`);
    newest.set(talker, frame);
  }

  t.same(faults, [], 'in order, nothing twice, nothing lost without LAG');
  return lags;
}

/** The same. Fails also where `missed` is not what was lost. */
export function exactLagsIn(t: Test, arrivals: Arrivals, group: Group): Lagged[] {
  const lags = lagsIn(t, arrivals, group);
  t.same(
    lags.map(({ missed }) => missed),
    lags.map(({ lost }) => lost),
    'LAG says what was lost',
  );
  return lags;
}

export const isFrame = (arrival: Json | Heard): arrival is Heard => 'payload' in arrival;

const isLag = (arrival: Json | Heard) => !isFrame(arrival) && arrival.type === 'LAG';

/** Fresh snapshots that were not asked for. */
export const isResync = (arrival: Json | Heard) =>
  !isFrame(arrival) && arrival.type === 'SUBSCRIBED' && arrival.ref === undefined;

function readLag({ talkgroups, since_ms }: Json, id: string) {
  const counts = talkgroups as { talkgroup_id: string; missed: number }[];
  return {
    missed: counts.find(({ talkgroup_id }) => talkgroup_id === id)?.missed ?? 0,
    sinceMs: since_ms as number,
  };
}

/** The numbers of this talk's frames next to the LAG. NaN when it was not heard behind it, or there is none. */
export const around = (lag: Lagged | undefined, { talker }: Speech) =>
  lag?.around.get(talker) ?? { last: Number.NaN, next: Number.NaN };

export const lagCount = ({ arrivals }: Radio) => arrivals.filter(isLag).length;

/** The frames before, between and behind the LAGs. */
export function runsOf(arrivals: Arrivals): Heard[][] {
  const runs: Heard[][] = [[]];
  for (const arrival of arrivals) {
    if (isFrame(arrival)) runs.at(-1)?.push(arrival);
    else if (isLag(arrival)) runs.push([]);
  }
  return runs;
}

/** The number of the newest frame, for a radio that hears one talk. */
export const newestOf = ({ frames }: Radio) => Number(frames.at(-1)?.text);

/** Waits until the radio is told LAG, once more than it was waited for, and hears each of the talks behind it. */
export async function hearsAgain(radio: Radio, talks: readonly Speech[]): Promise<void> {
  await radio.hears('LAG');
  const lag = radio.arrivals.findLastIndex(isLag);
  for (const { talker, talkgroup } of talks) {
    const isHeard = (arrival: Json | Heard) =>
      isFrame(arrival) && arrival.sender === talker && arrival.talkgroup === talkgroup;
    await comesTrue(`${talker} in ${talkgroup} behind LAG`, () => radio.arrivals.slice(lag).some(isHeard));
  }
}

/** How many reads of the socket brought audio, from here on. */
export function readsOf({ socket }: Radio): () => number {
  let read = 0;
  const withAudio = new Set<number>();
  const { _socket } = socket as unknown as { _socket: Socket }; // the socket below it, which ws keeps for itself
  _socket.prependListener('data', () => read++);
  socket.on('message', (_data, isBinary) => isBinary && withAudio.add(read));
  return () => withAudio.size;
}
