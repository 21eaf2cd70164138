// Runs the command that exports recordings to files.

import { isOpus } from '../client/audio/opus.js';
import { noteAct } from '../db/acts.js';
import type { Database } from '../db/client.js';
import { readId, type TalkgroupId } from '../ids.js';
import { LONG_COMMAND, standBack } from '../priority.js';
import { missingFrames } from '../recordings/exporting/missing.js';
import {
  type ExportedRow,
  isTalkgroup,
  recordingsSaidIn,
  type Span,
  takeRecording,
} from '../recordings/exporting/store.js';
import { framesIn, recordingOf } from '../recordings/reading/shown.js';
import { readTime } from '../recordings/schemas.js';
import { readVersion } from '../version.js';
import { createExportFolder, type ExportFolder } from './export-folder.js';
import { oggOf } from './recording-ogg.js';
import { fail, operator, soon, whenInterrupted, withDatabase } from './running.js';

const FORMAT = 'talkgroup-radio-recordings';
const FORMAT_VERSION = 1;
/** Ids that one statement reads. */
const IDS_AT_ONCE = 1000;
/** Of a name in a file name (bytes of UTF-8). Most file systems allow 255 in all. */
const NAME_BYTES_MAX = 64;

export interface ExportOptions {
  readonly talkgroup: string;
  readonly from: string;
  readonly to: string;
  readonly out: string;
}

/** What was written, for the operator. */
interface Totals {
  recordings: number;
  bytes: number;
  missing: number;
  encrypted: number;
  erased: number;
}

/**
 * Writes the recordings of a talkgroup of which some was said in the span: frames as they are stored, Ogg Opus of clear ones, a
 * manifest and the sums of all files. The service may run. One recording is in memory at a time.
 */
export async function exportRecordingsCommand(options: ExportOptions): Promise<void> {
  standBack(LONG_COMMAND); // before any thread is started: audio must not wait for it
  const span = readSpanOf(options);
  const totals = await withDatabase(
    async (database) => {
      if (!(await isTalkgroup(database, soon(), span.talkgroup)))
        fail(`no such talkgroup: ${span.talkgroup}. Recordings name the id of a deleted one`);
      const folder = await createExportFolder(options.out);
      const forget = whenInterrupted(() => folder.forget());
      try {
        const details = { from: isoOf(span.from), to: isoOf(span.to) };
        await noteAct(database, soon(), operator(), {
          ...{ act: 'recordings_exported', talkgroup: span.talkgroup, details },
        });
        return await writeAll(database, folder, span);
      } catch (error) {
        folder.forget();
        throw error;
      } finally {
        forget();
      }
    },
    { mayCreate: false },
  );
  console.error(`${options.out}: ${inWords(totals)}`);
}

async function writeAll(database: Database, folder: ExportFolder, span: Span): Promise<Totals> {
  const by = operator().name ?? '';
  const totals: Totals = { recordings: 0, bytes: 0, missing: 0, encrypted: 0, erased: 0 };
  const manifest = await folder.text('manifest.json');
  const head = {
    ...{ format: FORMAT, version: FORMAT_VERSION, service: readVersion() },
    ...{ exported_at: new Date().toISOString(), exported_by: by },
    ...{ talkgroup_id: span.talkgroup, from: isoOf(span.from), to: isoOf(span.to) },
  };
  await manifest.add(`${JSON.stringify(head).slice(0, -1)},"recordings":[`);
  for (let after: string | null = null; ; ) {
    const page = { after, limit: IDS_AT_ONCE };
    const ids: readonly string[] = await recordingsSaidIn(database, soon(), span, page);
    for (const id of ids) {
      const row = await takeRecording(database, soon(), { id, by });
      if (row === null) continue; // it expired meanwhile
      const entry = await writeOne(folder, row);
      await manifest.add(`${totals.recordings === 0 ? '\n' : ',\n'}${JSON.stringify(entry)}`);
      count(totals, entry);
    }
    if (ids.length < IDS_AT_ONCE) break;
    after = ids.at(-1) ?? null;
  }
  await manifest.add('\n]}\n');
  await manifest.end();
  await folder.complete();
  return totals;
}

type Entry = Awaited<ReturnType<typeof writeOne>>;

/** Writes its files. Answers its entry of the manifest. */
async function writeOne(folder: ExportFolder, row: ExportedRow) {
  const recording = recordingOf(row);
  const missing_frames = missingFrames({
    ...{ firstFrame: row.first_frame, frames: row.frames, parts: row.parts },
  });
  if (row.speech === null) return { recording, missing_frames, files: [] };
  const frames = framesIn(row.id, { talkgroup: row.talkgroup_number, speech: row.speech });
  const { stem, file } = await folder.writeUnique(stemOf(row), '.frames', frames);
  const isClear = row.crypto === null && isOpus(row.codec ?? undefined);
  const ogg = isClear ? await oggOf(frames) : null;
  if (ogg === null) return { recording, missing_frames, files: [file] };
  const { bytes, ...gaps } = ogg;
  return {
    recording,
    missing_frames,
    files: [file, { ...(await folder.write(`${stem}.ogg`, bytes)), ...gaps }],
  };
}

function count(totals: Totals, { recording, files }: Entry): void {
  totals.recordings++;
  totals.missing += recording.missing ?? 0;
  if (recording.crypto !== undefined) totals.encrypted++;
  if (files.length === 0 && recording.erased_at !== null) totals.erased++;
  for (const { bytes } of files) totals.bytes += bytes;
}

/** Such as `Fire-1_2026-11-25T140322Z_ann`: no file system takes offence at it. */
export function stemOf({ talkgroup_name, started_at_ms, username }: ExportedRow): string {
  const at = new Date(started_at_ms).toISOString().replace(/\.\d+/, '').replaceAll(':', '');
  return [talkgroup_name, at, username ?? 'unknown']
    .map((text) => (text === at ? at : nameIn(text)))
    .join('_');
}

/** Letters and digits of any script. */
function nameIn(text: string): string {
  const plain = text
    .normalize('NFC')
    .replaceAll(/[^\p{L}\p{M}\p{N}]+/gu, '-')
    .replaceAll(/^-|-$/g, '');
  let short = '';
  for (const character of plain) {
    if (Buffer.byteLength(short + character) > NAME_BYTES_MAX) break;
    short += character;
  }
  return short === '' ? 'x' : short;
}

function readSpanOf({ talkgroup, from, to }: ExportOptions): Span {
  const span = {
    talkgroup:
      readId<TalkgroupId>(talkgroup) ?? fail(`--talkgroup must be the id of a talkgroup, got "${talkgroup}"`),
    from: readTimeOf('--from', from),
    to: readTimeOf('--to', to),
  };
  if (span.from >= span.to) fail('--from must be before --to');
  if (span.to > Date.now())
    fail('--to must not be in the future: speech that is not said yet would be missing');
  return span;
}

const readTimeOf = (option: string, text: string): number =>
  readTime(text) ?? fail(`${option} must be a time with a zone, such as 2026-11-25T14:00:00Z, got "${text}"`);

const isoOf = (ms: number) => new Date(ms).toISOString();

function inWords({ recordings, bytes, missing, encrypted, erased }: Totals): string {
  return [
    `${recordings} recordings, ${bytes} bytes, ${missing} missing frames`,
    ...(encrypted > 0 ? [`${encrypted} encrypted (no Ogg)`] : []),
    ...(erased > 0 ? [`${erased} erased (no files)`] : []),
  ].join(', ');
}
