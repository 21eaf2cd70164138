// Lists recordings of the service, counts those that a user missed, and opens them.
import { ENCRYPTED, type Frame } from '../../protocol/frame.js';
import { isOpus, opusMs } from '../audio/opus.js';
import { type Clock, systemClock } from '../clock.js';
import { type Rest, RestError } from '../rest.js';
import { createTimeline, framesIn } from './frames.js';
import { askPatiently, pause } from './patience.js';
import type {
  MissedRecordings,
  OpenedRecording,
  RecordedFrame,
  Recording,
  RecordingKeys,
  RecordingPage,
  RecordingQuery,
  UnopenedBecause,
} from './types.js';

/** Without a codec a payload is an Opus packet of 20 ms. */
const PACKET_MS = 20;
/** A node sends few recordings at once. */
const OPEN_ATTEMPTS = 5;
/** Some minutes. */
const MISSED_ATTEMPTS = 8;

export type RecordingsOptions = {
  /** See createRest. */
  rest: Pick<Rest, 'get' | 'getBytes'>;
  /** Opens encrypted recordings. Without it their frames are unopened, with the reason `encrypted`. */
  keys?: RecordingKeys;
  /** Default: the clock of the browser or of Node. */
  clock?: Clock;
  /** A number in [0, 1). Default: Math.random. */
  random?: () => number;
};

/** `signal` ends the call, which then rejects with the reason of the signal. */
type Abortable = { signal?: AbortSignal };

/** Every method rejects with RestError. */
export type Recordings = {
  /** One page of the recordings that the user may hear. `talkgroupId` null: of all talkgroups, for administrators. */
  list(talkgroupId: string | null, query?: RecordingQuery): Promise<RecordingPage>;
  /**
   * Counts what others said from `since` on, in all talkgroups of the user. The service counts the last 24 hours. Times are Unix
   * time (ms) of the server. `until`: when the radio heard again, `server_time` of its WELCOME. Default: now. After a lost
   * connection pass 30,000 as `withinMs`: it asks at a random time within so long (ms), because all radios of a node lose it
   * together. Default: 0. While the service is busy it asks again, after the time of `Retry-After`.
   */
  missed(
    since: number,
    options?: Abortable & { until?: number; withinMs?: number },
  ): Promise<MissedRecordings>;
  /**
   * The speech of a recording, with the time of each frame. The service notes who listened. The recording is that of a list, or
   * an id. A running one has the frames so far. While the service is busy it asks again. Codes of the RestError:
   * `recording_not_found`, `recording_erased`.
   */
  open(recording: Recording | string, options?: Abortable): Promise<OpenedRecording>;
};

/** Recorded speech of the service. It asks nothing by itself. */
export function createRecordings({
  rest,
  keys,
  clock = systemClock,
  random = Math.random,
}: RecordingsOptions): Recordings {
  return {
    list(talkgroupId, query = {}) {
      return rest.get<RecordingPage>(
        `/recordings${queryOf({
          talkgroup_id: talkgroupId ?? undefined,
          user_id: query.userId,
          talker: query.talker,
          since: timeOf(query.since),
          until: timeOf(query.until),
          emergency: query.emergency ? 'true' : undefined,
          order: query.order,
          limit: query.limit?.toString(),
          after: query.after,
        })}`,
      );
    },
    async missed(since, { until, withinMs = 0, signal } = {}) {
      const path = `/recordings/missed${queryOf({ since: timeOf(since), until: timeOf(until) })}`;
      if (withinMs > 0) await pause(withinMs * random(), { clock, signal });
      return askPatiently(() => rest.get<MissedRecordings>(path), {
        ...{ attempts: MISSED_ATTEMPTS, clock, random, signal },
      });
    },
    async open(which, { signal } = {}) {
      const patience = { attempts: OPEN_ATTEMPTS, clock, random, signal };
      const path = `/recordings/${encodeURIComponent(typeof which === 'string' ? which : which.recording_id)}`;
      const recording =
        typeof which === 'string'
          ? (await askPatiently(() => rest.get<{ recording: Recording }>(path), patience)).recording
          : which;
      const frames = framesIn(await askPatiently(() => rest.getBytes(`${path}/frames`), patience));
      if (frames === null) throw new RestError(0, 'the answer of the service is no recording');
      return openAll(recording, frames, keys);
    },
  };
}

async function openAll(
  recording: Recording,
  stored: readonly Frame[],
  keys: RecordingKeys | undefined,
): Promise<OpenedRecording> {
  const isEncrypted = recording.crypto !== undefined || stored.some(({ flags }) => (flags & ENCRYPTED) !== 0);
  const payloadOf = isEncrypted
    ? ((await keys?.opener(recording)) ?? whyWithoutKeys)
    : ({ payload }: Frame) => payload;
  const opened = stored.map((frame) => ({
    frame,
    payload: frame.payload.length === 0 ? frame.payload : payloadOf(frame),
  }));
  const packetMs = packetMsOf(recording, opened);
  const dueOf = createTimeline({ packetMs, durationMs: recording.duration_ms });
  const frames: RecordedFrame[] = [];
  const unopened: Partial<Record<UnopenedBecause, number>> = {};
  let lengthMs = 0;
  for (const { frame, payload } of opened) {
    const due = dueOf(frame.sequence);
    lengthMs = due.atMs + packetMs;
    if (typeof payload === 'string') unopened[payload] = (unopened[payload] ?? 0) + 1;
    // The END of a burst may be empty.
    else if (payload.length > 0) frames.push({ ...frame, ...due, payload });
  }
  return { recording, frames, unopened, packetMs, lengthMs };
}

/** A clear frame in an encrypted recording is not what its talker sent. */
const whyWithoutKeys = ({ flags }: Frame): UnopenedBecause =>
  (flags & ENCRYPTED) === 0 ? 'clear' : 'encrypted';

/** Opus packets say it themselves. */
function packetMsOf(
  { codec }: Recording,
  opened: readonly { payload: Uint8Array | UnopenedBecause }[],
): number {
  const announcedMs = codec?.frame_ms ?? PACKET_MS;
  if (!isOpus(codec)) return announcedMs;
  for (const { payload } of opened)
    if (typeof payload !== 'string' && payload.length > 0) return opusMs(payload) ?? announcedMs;
  return announcedMs;
}

const timeOf = (unixMs: number | undefined): string | undefined =>
  unixMs === undefined ? undefined : new Date(unixMs).toISOString();

/** Of the fields that are not undefined. */
function queryOf(fields: Record<string, string | undefined>): string {
  const given = Object.entries(fields).filter((field): field is [string, string] => field[1] !== undefined);
  return given.length === 0 ? '' : `?${new URLSearchParams(given)}`;
}
