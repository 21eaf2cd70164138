// Talks as radios do, in bursts: by the floor of the talkgroup, all talkers at once or in turns, each frame on a schedule.
import { END } from '../../src/protocol/frame.js';
import type { ServerMessage, ServerMessageOf } from '../../src/protocol/types.js';
import type { Recorder } from '../figures/histogram.js';
import { around, exactly, nowMs } from '../machine/clock.js';
import { loadFrame, PERIOD_MS } from './hearing.js';
import { Refused } from './settings.js';
import type { Station } from './stations.js';

/** A burst of speech, and the pause behind it: a session may begin eight bursts within 10 s. */
const BURST_MS = 10_000;
const PAUSE_MS = 500;
/** Of the talk limit T2, which would revoke the floor. */
const LIMIT_SHARE = 0.8;
/** From now to the first frame: it is not late because of what was waited for. */
const NOTICE_MS = 1;
/** Moments of a frame period at which frames leave: each is waited for awake, for 1.5 ms. */
const PHASES_MAX = 4;
/** Requests without a decision, as docs/protocol.md asks. */
const REQUESTS_MAX = 10;

export interface TalkOptions {
  readonly talkers: readonly Talker[];
  /** The state of the talkgroup. */
  readonly snapshot: ServerMessageOf<'SYNCED'>;
  readonly ms: number;
  readonly late: Recorder;
  /** Ends the talk. */
  readonly signal: AbortSignal;
}

export interface Talker {
  readonly station: Station;
  /** Frames so far. */
  sent: number;
}

export interface Talked {
  readonly bursts: number;
  /** The longest wait for the floor. */
  readonly floorMsMax: number;
}

/** `open` lets all talk at once. In the other floor modes they take turns, one burst each. */
export async function talk({ talkers, snapshot, ms, late, signal }: TalkOptions): Promise<Talked> {
  const endMs = nowMs() + ms;
  const isOpen = snapshot.floor_mode === 'open';
  let bursts = 0;
  let floorMsMax = 0;
  for (let turn = 0; endMs - nowMs() >= PERIOD_MS; turn++) {
    signal.throwIfAborted();
    const speakers = isOpen ? talkers : talkers.slice(turn % talkers.length).slice(0, 1);
    const askedMs = nowMs();
    const limits = await Promise.all(speakers.map(({ station }) => takeFloor(station, snapshot)));
    floorMsMax = Math.max(floorMsMax, nowMs() - askedMs);
    const burstMs = Math.min(
      BURST_MS,
      endMs - nowMs(),
      ...limits.map((limit) => (limit === 0 ? BURST_MS : limit * LIMIT_SHARE)),
    );
    await burst(speakers, Math.max(1, Math.floor(burstMs / PERIOD_MS)));
    bursts += speakers.length;
    await around(Math.min(endMs, nowMs() + PAUSE_MS));
  }
  return { bursts, floorMsMax };

  async function burst(speakers: readonly Talker[], frames: number): Promise<void> {
    const phases = Math.min(speakers.length, PHASES_MAX);
    const first = Math.ceil((nowMs() + NOTICE_MS) / PERIOD_MS);
    for (let sequence = 0; sequence < frames; sequence++) {
      for (let phase = 0; phase < phases; phase++) {
        signal.throwIfAborted();
        const dueMs = (first + sequence + phase / phases) * PERIOD_MS;
        await exactly(dueMs);
        late.record(nowMs() - dueMs);
        const flags = sequence === frames - 1 ? END : 0;
        for (let i = phase; i < speakers.length; i += phases) say(speakers[i], { flags, sequence, dueMs });
      }
    }
  }

  function say(
    talker: Talker | undefined,
    frame: { readonly flags: number; readonly sequence: number; readonly dueMs: number },
  ): void {
    if (talker === undefined) return;
    talker.station.radio.send(loadFrame({ ...frame, talkgroup: snapshot.number, number: talker.sent++ }));
  }
}

/** More than talkers send: a bound for what listeners remember. */
export const framesIn = (ms: number): number => Math.ceil(ms / PERIOD_MS) + PHASES_MAX;

/** The talk limit of the burst (ms), 0: none. Throws Refused when the service does not grant it. */
async function takeFloor(
  { ask }: Station,
  { talkgroup_id, floor_mode }: ServerMessageOf<'SYNCED'>,
): Promise<number> {
  for (let requests = 1; ; requests++) {
    const answer = await ask({ type: 'FLOOR_REQUEST', talkgroup_id });
    if (answer.type === 'FLOOR_GRANTED') return answer.max_talk_ms;
    if (answer.type !== 'FLOOR_DENIED' || answer.code !== 'retry_later' || requests === REQUESTS_MAX)
      throw new Refused(denialOf(answer, floor_mode));
    await around(nowMs() + (answer.retry_ms ?? 0));
  }
}

function denialOf(answer: ServerMessage, floorMode: string): string {
  const code = answer.type === 'FLOOR_DENIED' || answer.type === 'ERROR' ? answer.code : answer.type;
  const denied = `a talker did not get the floor: ${code}`;
  if (code === 'forbidden')
    return `${denied}. In a talkgroup in \`${floorMode}\` dispatchers talk: the first tokens must be theirs`;
  if (answer.type === 'FLOOR_DENIED' && answer.talker !== undefined)
    return `${denied}, ${answer.talker.username} talks`;
  return code === 'busy' ? `${denied}. See TALKS_PER_USER and TALKERS_MAX` : denied;
}

/** Why the talk cannot go on, of a message to a talker. null: it can. */
export function interruptionIn(message: ServerMessage): string | null {
  // After a silence the next frame takes the floor again: the generator stood still, and its lateness tells.
  if (message.type === 'FLOOR_REVOKED' && message.code !== 'silence')
    return `the service took the floor back: ${message.code}`;
  if (message.type === 'FLOOR_DENIED') return denialOf(message, 'single');
  if (message.type === 'ERROR') return `the service rejects the audio: ${message.code}`;
  return null;
}
