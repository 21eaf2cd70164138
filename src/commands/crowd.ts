// Runs the command that connects many radios.
import { readFile } from 'node:fs/promises';
import { type Area, crowd, inWords } from '../client/terminal/crowd.js';
import { readCsv } from '../fleet/csv.js';
import { fail } from './running.js';

const RADIOS_MAX = 500;
/** Of its time. */
const TALKING_MAX = 0.5;
const STATUS_MS = 10_000;
const KM_MAX = 500;
/** Beyond it a circle of longitude is too short to drive on. */
const LAT_MAX = 85;

export interface CrowdCommand {
  readonly rest: string;
  readonly url: string;
  readonly users: string;
  readonly talking: string;
  readonly area?: string;
  readonly signal: AbortSignal;
}

/** Connects the first `count` users of the file until `signal` aborts. */
export async function crowdCommand(
  count: string,
  { rest, url, users, talking, area, signal }: CrowdCommand,
): Promise<void> {
  const radios = Number(count);
  if (!/^\d{1,3}$/.test(count) || radios < 1 || radios > RADIOS_MAX)
    fail(`the number of radios must be 1 to ${RADIOS_MAX}`);
  const share = Number(talking);
  if (!/^\d*\.?\d+$/.test(talking) || share > TALKING_MAX) fail(`--talking must be 0 to ${TALKING_MAX}`);
  const where = area === undefined ? {} : { area: readArea(area) };
  const figures = await crowd({
    ...{ rest, url, signal, talking: share, ...where },
    members: await readMembers(users, radios),
    report: (line) => console.error(line),
    statusMs: STATUS_MS,
  });
  console.log(`${figures.radios} radios: ${inWords(figures)}`);
}

async function readMembers(file: string, count: number) {
  const { lines, errors } = readCsv(await readFile(file));
  for (const { line, text } of errors) fail(`${file}, line ${line}: ${text}`);
  if (lines.length < count) fail(`${file} has users for ${lines.length} of the ${count} radios`);
  return lines.slice(0, count).map(({ line, cells: { username, password } }) => {
    if (username === undefined || password === undefined)
      return fail(`${file}, line ${line}: a radio needs a username and a password`);
    return { username, password };
  });
}

/** `LAT,LNG,KM` in degrees and kilometres. */
function readArea(text: string): Area {
  const [lat = Number.NaN, lng = Number.NaN, km = Number.NaN, ...more] = text
    .split(',')
    .map((part) => (part.trim() === '' ? Number.NaN : Number(part)));
  const isArea = Math.abs(lat) <= LAT_MAX && Math.abs(lng) <= 180 && km > 0 && km <= KM_MAX;
  if (!isArea || more.length > 0)
    fail(
      `--area must be latitude, longitude and kilometres, such as 53.55,9.99,8: at most ±${LAT_MAX}, ±180, ${KM_MAX}`,
    );
  return { lat, lng, km };
}
