// I14 to I16: what is stored of the talk of an episode. The judge is pure, so that a test can show that each can fail.
import type postgres from 'postgres';
import { decodeFrames } from '../../src/protocol/bundle.js';
import { HEADER_BYTES } from '../../src/protocol/frame.js';
import { readRecordingId } from '../../src/protocol/recording-id.js';
import { eventually } from '../helpers/eventually.js';
import { type BurstName, type History, type Line, nameOf, type Span } from './history.js';
import type { Breach } from './invariants.js';
import { readPayload } from './radio.js';

/** One frame of a recording, with what its talker wrote into the payload. */
export interface StoredFrame {
  readonly sequence: number;
  /** null: the payload is not what any talker wrote. */
  readonly talker: number | null;
  readonly number: number;
}

/** Consecutive frames, as one row of the database has them. */
export interface StoredPart {
  /** Index of the first one in the burst, from 1. */
  readonly from: number;
  readonly frames: readonly StoredFrame[];
}

export interface StoredRecording extends BurstName {
  readonly id: string;
  /** null: it has no end. */
  readonly frames: number | null;
  /** In the order of their first frames. */
  readonly parts: readonly StoredPart[];
}

/** Until all that was said is stored (ms). A database that was away is asked again within 5 s. */
const STORED_MS_MAX = 10_000;
/** In front of a payload: the first four bytes of its header, and its length. */
const HEAD_BYTES = 6;
const LENGTH_AT = 4;

export type RecordingBook = ReturnType<typeof openRecordingBook>;

/** Reads what is stored, episode by episode. `sql` leads around the links. */
export function openRecordingBook(sql: postgres.Sql) {
  const known = new Map<string, string>();
  return {
    /** I14 to I16. Resolves when all is stored, or after 10 s. */
    async judge(histories: readonly History[]): Promise<Breach[]> {
      const wasKilled = histories.some(({ absences }) => absences.some(({ kind }) => kind !== 'stopped'));
      // A node that was killed leaves recordings without an end. All others have theirs once all is stored.
      if (!wasKilled) await eventually(() => haveEnds(sql, known), STORED_MS_MAX).catch(() => {});
      const all = await readAll(sql);
      const lost = [...known].filter(([id, was]) => textOf(all.get(id)) !== was).map(([id]) => id);
      const found = [...all.values()].filter(({ id }) => !known.has(id));
      for (const recording of found) known.set(recording.id, textOf(recording));
      return [
        ...breachesOfRecordings({ histories, recordings: found }),
        ...lost.map((id) => ({ invariant: 'I16', what: `recording ${id} is not as it was` })),
      ];
    },
  };
}

const textOf = (recording: StoredRecording | undefined) => JSON.stringify(recording ?? null);

async function haveEnds(sql: postgres.Sql, known: ReadonlyMap<string, string>): Promise<void> {
  const rows = await sql<{ id: string }[]>`select id from recordings where code is null`;
  const open = rows.filter(({ id }) => !known.has(id));
  if (open.length > 0) throw new Error(`${open.length} recordings have no end`);
}

async function readAll(sql: postgres.Sql): Promise<ReadonlyMap<string, StoredRecording>> {
  const rows = await sql<{ id: string; talkgroup: number; frames: number | null }[]>`
    select id, talkgroup_number::integer as talkgroup, frames::integer from recordings`;
  const parts = await sql<{ recording_id: string; from: number; bytes: Buffer }[]>`
    select recording_id, from_frame::integer as from, bytes from recording_parts order by recording_id, from_frame`;
  const partsOf = new Map<string, StoredPart[]>();
  for (const { recording_id, from, bytes } of parts) {
    const of = partsOf.get(recording_id) ?? [];
    of.push({ from, frames: framesIn(bytes) });
    partsOf.set(recording_id, of);
  }
  return new Map(
    rows.map(({ id, talkgroup, frames }) => {
      const { session: sender = 0, burst = 0 } = readRecordingId(id) ?? {};
      return [id, { id, talkgroup, sender, burst, frames, parts: partsOf.get(id) ?? [] }];
    }),
  );
}

function framesIn(bytes: Buffer): StoredFrame[] {
  const found: StoredFrame[] = [];
  for (let at = 0; at < bytes.length; ) {
    const length = bytes.readUInt16BE(at + LENGTH_AT);
    const frame = new Uint8Array(HEADER_BYTES + length);
    frame.set(bytes.subarray(at, at + LENGTH_AT));
    frame.set(bytes.subarray(at + HEAD_BYTES, at + HEAD_BYTES + length), HEADER_BYTES);
    const decoded = decodeFrames(frame);
    const [{ sequence, payload } = { sequence: -1, payload: new Uint8Array() }] =
      typeof decoded === 'string' ? [] : decoded;
    const { talker, number } = readPayload(payload);
    found.push({ sequence, talker, number });
    at += HEAD_BYTES + length;
  }
  return found;
}

export interface Recorded {
  readonly histories: readonly History[];
  /** Those that are new. */
  readonly recordings: readonly StoredRecording[];
}

/** I14 and I15. */
export function breachesOfRecordings(recorded: Recorded): Breach[] {
  return [
    ...onlyTalkIsStored(recorded).map((what) => ({ invariant: 'I14', what })),
    ...talkIsStored(recorded).map((what) => ({ invariant: 'I15', what })),
  ];
}

/** I14: a stored frame is one that was heard, or that its talker said there. It is stored once, in the order of talk. */
function onlyTalkIsStored({ histories, recordings }: Recorded): string[] {
  const heard = new Map<string, number>();
  const talkerOf = new Map<number, number>();
  for (const { lines, radioOfSession } of histories) {
    for (const [session, radio] of radioOfSession) talkerOf.set(session, radio);
    for (const { arrivals } of lines)
      for (const frame of arrivals)
        if (frame.kind === 'frame') heard.set(`${nameOf(frame)}/${frame.sequence}`, frame.number);
  }
  return recordings.flatMap((recording) => {
    const found: string[] = [];
    const name = nameOf(recording);
    let next = 1;
    let newest = 0;
    for (const { from, frames } of recording.parts) {
      if (from < next) found.push(`burst ${name}: the part from frame ${from} overlaps the one before`);
      next = from + frames.length;
      for (const { sequence, talker, number } of frames) {
        const expected = heard.get(`${name}/${sequence}`) ?? number;
        if (talker === null || talker !== talkerOf.get(recording.sender))
          found.push(`burst ${name}: frame ${sequence} is not its talker's`);
        else if (number !== expected)
          found.push(`burst ${name}: frame ${sequence} is number ${number}, and ${expected} was heard`);
        else if (number <= newest) found.push(`burst ${name}: number ${number} is behind ${newest}`);
        newest = Math.max(newest, number);
      }
    }
    if (recording.frames !== null && next - 1 > recording.frames)
      found.push(`burst ${name}: more is stored than the ${recording.frames} frames of its end`);
    return found;
  });
}

/**
 * I15: what a radio heard on the talker's own node is stored, and the recording has as many frames as the end of the burst
 * said. What a node has not stored is lost when it is killed or ended.
 */
function talkIsStored({ histories, recordings }: Recorded): string[] {
  const byName = new Map<string, StoredRecording>();
  for (const recording of recordings) byName.set(nameOf(recording), recording);
  const nodesOf = new Map<number, Set<number>>();
  for (const [node, { lines }] of histories.entries())
    for (const { session } of lines) nodesOf.set(session, (nodesOf.get(session) ?? new Set()).add(node));
  return histories.flatMap(({ lines, absences }, node) => {
    const ends = absences.filter(({ kind }) => kind !== 'stopped');
    return lines.flatMap((line) =>
      wholeBursts(line).flatMap(({ name, sender, frames, sequences, fromMs }) => {
        // A session that was on several nodes may have been recorded by each of them.
        const isOwn = nodesOf.get(sender)?.has(node) === true && nodesOf.get(sender)?.size === 1;
        if (!isOwn || ends.some(({ untilMs }) => untilMs > fromMs)) return [];
        const recording = byName.get(name);
        if (recording === undefined) return [`burst ${name} of ${frames} frames is not recorded`];
        const stored = new Set(
          recording.parts.flatMap((part) => part.frames.map(({ sequence }) => sequence)),
        );
        const lacking = sequences.filter((sequence) => !stored.has(sequence));
        return [
          ...(recording.frames !== frames
            ? [`burst ${name} had ${frames} frames, its recording says ${recording.frames}`]
            : []),
          ...(lacking.length > 0
            ? [`burst ${name}: ${lacking.length} frames were heard and are not stored`]
            : []),
        ];
      }),
    );
  });
}

interface WholeBurst extends Pick<Span, 'fromMs'> {
  readonly name: string;
  readonly sender: number;
  readonly frames: number;
  readonly sequences: readonly number[];
}

/** Bursts whose beginning and end came over the same socket. */
function wholeBursts({ arrivals }: Line): WholeBurst[] {
  const running = new Map<string, { readonly fromMs: number; readonly sequences: number[] }>();
  const found: WholeBurst[] = [];
  for (const arrival of arrivals) {
    if (arrival.kind === 'started')
      running.set(nameOf(arrival), { fromMs: arrival.heardAtMs, sequences: [] });
    if (arrival.kind === 'frame') running.get(nameOf(arrival))?.sequences.push(arrival.sequence);
    if (arrival.kind !== 'ended') continue;
    const burst = running.get(nameOf(arrival));
    if (burst === undefined || arrival.frames === 0) continue;
    const { sender, frames } = arrival;
    found.push({ ...burst, name: nameOf(arrival), sender, frames });
    running.delete(nameOf(arrival));
  }
  return found;
}
