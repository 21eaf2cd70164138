// Writes recordings of the service to an Ogg Opus file, and says in lines what each of them has. For Node only.
import { createOpusWriter, type OpusWriter } from '../audio/ogg.js';
import {
  createRecordings,
  createRest,
  type OpenedRecording,
  opusPackets,
  type Recording,
  type RecordingKeys,
  type Recordings,
  RestError,
} from '../node.js';
import { seconds } from './opening.js';

export type ReplayOptions = {
  /** Address of the REST API. */
  url: string;
  token: string;
  /** Name or id. Not needed with `recording`. */
  talkgroup?: string;
  /** How many, 1 to 200. Default: 1. */
  last?: number;
  /** The id of one. */
  recording?: string;
  /** Ogg Opus file. Without it nothing is fetched but the list. */
  out?: string;
  keys?: RecordingKeys;
  signal?: AbortSignal;
  /** Prints a line. */
  report?: (line: string) => void;
};

/** Counts. `recordings`: those in the file. */
export type Replayed = { listed: number; recordings: number; packets: number };

/** The REST API gives an expired one, and one that is not for the user, the same answer. */
const NOT_FOUND = 'no such recording, or this user may not hear it';

/**
 * Reports the last recordings of a talkgroup, or one by its id, the oldest first. With `out` it writes their speech one behind the
 * other, with packets in place of missing ones as `listenToFile` does. There is no file when none can be written. Rejects with
 * RestError when the service rejects a call.
 */
export async function replayToFile({
  url,
  token,
  out,
  keys,
  signal,
  report = () => {},
  ...wanted
}: ReplayOptions): Promise<Replayed> {
  const rest = createRest({ url, token });
  const recordings = createRecordings({ rest, ...(keys && { keys }) });
  const abortable = signal === undefined ? {} : { signal };
  const found = await find(rest, recordings, wanted);
  const replayed: Replayed = { listed: found.length, recordings: 0, packets: 0 };
  let writer: OpusWriter | null = null;
  try {
    for (const recording of found) {
      if (signal?.aborted) break;
      if (out === undefined || recording.erased_at !== null) {
        report(lineOf(recording));
        continue;
      }
      const opened = await recordings.open(recording, abortable).catch(erasedMeanwhile);
      if (opened === null) {
        report(lineOf({ ...recording, erased_at: new Date().toISOString() }));
        continue;
      }
      const { packets } = opusPackets(opened);
      report([lineOf(recording), ...notWritten(opened, packets)].join(', '));
      if (packets.length === 0) continue;
      writer ??= await createOpusWriter(out);
      for (const packet of packets) await writer.write(packet);
      replayed.recordings += 1;
      replayed.packets += packets.length;
    }
  } finally {
    await writer?.close();
  }
  return replayed;
}

type Wanted = Pick<ReplayOptions, 'talkgroup' | 'last' | 'recording'>;

async function find(
  rest: ReturnType<typeof createRest>,
  recordings: Recordings,
  { talkgroup, last = 1, recording }: Wanted,
): Promise<Recording[]> {
  if (recording !== undefined) {
    const { recording: one } = await rest
      .get<{ recording: Recording }>(`/recordings/${encodeURIComponent(recording)}`)
      .catch((error: RestError) => {
        if (error.code === 'recording_not_found') throw new Error(NOT_FOUND);
        throw error;
      });
    return [one];
  }
  if (talkgroup === undefined) throw new Error('a talkgroup or a recording is needed');
  const { recordings: found } = await recordings.list(await idOf(rest, talkgroup), { limit: last });
  return found.reverse();
}

/** An administrator may name a talkgroup of which it is no member by its id. */
async function idOf(rest: ReturnType<typeof createRest>, nameOrId: string): Promise<string> {
  if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(nameOrId)) return nameOrId;
  const { talkgroups } = await rest.get<{
    talkgroups: { talkgroup_id: string; talkgroup: { name: string } }[];
  }>('/talkgroups');
  const named = talkgroups.filter(({ talkgroup }) => talkgroup.name === nameOrId);
  const [found] = named;
  if (found === undefined) throw new Error(`not a member of talkgroup ${nameOrId}`);
  // Names are not unique.
  if (named.length > 1) throw new Error(`several talkgroups are named ${nameOrId}: use the id`);
  return found.talkgroup_id;
}

/** null: an administrator erased it after it was listed. */
function erasedMeanwhile(error: unknown): null {
  if (error instanceof RestError && error.code === 'recording_erased') return null;
  throw error;
}

/** Time, talker, length, and what is missing. */
function lineOf({ started_at, username, ...recording }: Recording): string {
  const { duration_ms, missing, frames, emergency, erased_at, code, crypto } = recording;
  return [
    `${started_at} ${username ?? 'unknown talker'}`,
    duration_ms === null ? (code === null ? 'no end so far' : 'its end is unknown') : seconds(duration_ms),
    ...(emergency ? ['EMERGENCY'] : []),
    ...(crypto === undefined ? [] : ['encrypted']),
    ...(erased_at === null ? [] : ['erased by an administrator']),
    ...(missing === null || missing === 0 || erased_at !== null
      ? []
      : [`${missing} of ${frames} frames are missing${becauseOf(recording.missing_because)}`]),
  ].join(', ');
}

/** In the words of docs/rest-api.md. */
const reasons: Readonly<Record<string, string>> = {
  memory_full: 'the memory of the node was full',
  storage_full: 'the storage was full',
  failed: 'the database did not accept them',
  too_long: 'the burst was too long',
  too_many: 'the user talked too often',
};

function becauseOf(because: Recording['missing_because']): string {
  const named = Object.entries(because).map(([reason, count]) => `${reasons[reason] ?? reason}: ${count}`);
  return named.length === 0 ? '' : ` (${named.join(', ')})`;
}

/** Why the file has not all of it. */
function notWritten({ recording, unopened, frames }: OpenedRecording, packets: readonly unknown[]): string[] {
  const { encrypted, ...others } = unopened;
  const { name } = recording.codec ?? {};
  return [
    ...(encrypted === undefined ? [] : ['not written: this command has no keys for it']),
    ...Object.entries(others).map(([reason, count]) => `${count} frames could not be opened: ${reason}`),
    ...(frames.length > 0 && packets.length === 0 ? [`not written: ${name ?? 'it'} is not Opus`] : []),
    ...(frames.length === 0 && Object.keys(unopened).length === 0 ? ['not written: it has no speech'] : []),
  ];
}
