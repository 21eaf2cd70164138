// Runs many radios that listen, talk and move: a fleet to try an app or a console with. For Node only.
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { type OpusRecording, readOpus } from '../audio/ogg.js';
import { speak } from '../audio/speak.js';
import type { Fix, RadioError } from '../connection/requests.js';
import { createRadio, type Radio } from '../node.js';
import { callRest, type RestError } from '../rest.js';

/** A radio says a piece of it. */
const SPEECH = fileURLToPath(new URL('../../../../bench/speech.ogg', import.meta.url));
/** A piece (ms). */
const PIECE_MS = [3000, 8000] as const;
/** Between two positions of a radio. */
const FIX_MS = 5000;
/** Radius of a circle (m), and speed on it (m/s). */
const RADIUS_M = [100, 500] as const;
const SPEED_M_S = [5, 14] as const;
const METRES_OF_DEGREE = 111_320;
/** RFC 6455, 7.4.1. */
const CLOSED_HERE = 1000;

/** Radios move on circles inside of it. */
export interface Area {
  readonly lat: number;
  readonly lng: number;
  readonly km: number;
}

export interface CrowdOptions {
  /** Addresses of the REST API and of the relay. */
  readonly rest: string;
  readonly url: string;
  readonly members: readonly { readonly username: string; readonly password: string }[];
  /** Of its time, 0 to 1, a radio talks. */
  readonly talking: number;
  /** Without it the radios report no position. */
  readonly area?: Area;
  readonly signal: AbortSignal;
  readonly report?: (line: string) => void;
  /** Between two lines with figures (ms). Without it there are none. */
  readonly statusMs?: number;
}

/** Counts of all radios. `missed`: packets that the relay skipped for a radio, or lost between nodes. */
export interface CrowdFigures {
  talks: number;
  denied: number;
  heard: number;
  missed: number;
}

/**
 * Logs the members in, one after the other, and lets them listen, talk and move until `signal` aborts, or the relay has
 * closed all of them for good. Rejects when a member cannot log in.
 */
export async function crowd(options: CrowdOptions): Promise<CrowdFigures & { readonly radios: number }> {
  const { members, url, signal, statusMs, report = () => {} } = options;
  const speech = await readOpus(SPEECH);
  const figures: CrowdFigures = { talks: 0, denied: 0, heard: 0, missed: 0 };
  const radios: Radio[] = [];
  const lives: Promise<unknown>[] = [];
  const onAir = () => radios.filter(({ state }) => state === 'open').length;
  const tellStatus = () => report(`${onAir()} of ${members.length} connected, ${inWords(figures)}`);
  const status = statusMs === undefined ? undefined : setInterval(tellStatus, statusMs);
  try {
    for (const member of members) {
      const token = await logIn(member, options);
      if (token === null) break;
      // Many in one process, and none replays.
      const radio = createRadio({ url, token, recallSeconds: 0 });
      radios.push(radio);
      lives.push(live(radio, { ...options, report, member, speech, figures }));
    }
    if (!signal.aborted) report(`${radios.length} radios are there`);
    await Promise.race([Promise.all(lives), aborted(signal)]);
  } finally {
    clearInterval(status);
    for (const radio of radios) radio.close();
    await Promise.all(lives);
  }
  return { radios: radios.length, ...figures };
}

export const inWords = ({ talks, denied, heard, missed }: CrowdFigures): string =>
  `${talks} talks, ${denied} denied, ${heard} packets heard, ${missed} missed`;

/** null: aborted. It waits while the service has no place for a login. */
async function logIn(
  { username, password }: CrowdOptions['members'][number],
  { rest, signal }: CrowdOptions,
): Promise<string | null> {
  while (!signal.aborted) {
    try {
      const call = { url: rest, method: 'POST', path: '/auth/login', body: { username, password } };
      return (await callRest<{ jwt: string }>(call)).jwt;
    } catch (error) {
      const { status, code, retryAfterS, message } = error as RestError;
      if (status !== 503 && code !== 'too_many_requests')
        throw new Error(`${username} cannot log in at ${rest}: ${message}`);
      await delay((retryAfterS ?? 1) * 1000, undefined, { signal }).catch(() => {}); // aborted
    }
  }
  return null;
}

interface Life extends CrowdOptions {
  readonly member: CrowdOptions['members'][number];
  readonly speech: OpusRecording;
  readonly figures: CrowdFigures;
  readonly report: (line: string) => void;
}

/** Until the radio stops for good. */
async function live(radio: Radio, life: Life): Promise<void> {
  const { member, figures, report } = life;
  const over = new AbortController();
  radio.on('stopped', ({ code, reason }) => {
    over.abort();
    if (code !== CLOSED_HERE)
      report(`${member.username}: the relay closed the connection: ${reason || code}`);
  });
  radio.on('audio', () => {
    figures.heard++;
  });
  for (const event of ['lag', 'missed'] as const)
    radio.on(event, ({ missed }) => {
      figures.missed += missed;
    });
  await Promise.all([converse(radio, life, over.signal), move(radio, life, over.signal)]);
}

/** Talks in one of its talkgroups, waits, and talks again. */
async function converse(radio: Radio, { talking, speech, figures }: Life, over: AbortSignal): Promise<void> {
  if (talking === 0) return;
  const pauseMs = (PIECE_MS[0] + PIECE_MS[1]) * (1 / talking - 1); // at most: half of it on average
  while (await pause(pauseMs * Math.random(), over)) {
    const clear = [...radio.talkgroups.keys()].filter((id) => !radio.isRequired(id));
    const talkgroupId = clear[Math.floor(clear.length * Math.random())];
    if (talkgroupId === undefined || radio.state !== 'open') continue;
    const talk = radio.talk({ talkgroupId, floor: 'request' });
    await speak({ talk, packets: pieceOf(speech), packetMs: speech.packetMs, signal: over });
    const { kind, code } = await talk.ended;
    if (kind === 'denied') figures.denied++;
    if (code === 'released') figures.talks++; // as the relay tells it
  }
}

function pieceOf({ packets, packetMs }: OpusRecording): Uint8Array[] {
  const from = Math.floor(packets.length * Math.random());
  const around = [...packets.slice(from), ...packets];
  return around.slice(0, Math.round(between(PIECE_MS) / packetMs));
}

/** Reports where it is on its circle. */
async function move(radio: Radio, { area, member, report }: Life, over: AbortSignal): Promise<void> {
  if (area === undefined) return;
  const circle = circleIn(area);
  for (let ms = FIX_MS * Math.random(); await pause(ms, over); ms = FIX_MS) {
    try {
      await radio.gps(fixOn(circle, performance.now() / 1000));
    } catch (error) {
      if ((error as RadioError).code !== 'unknown_device') continue; // such as not connected: the next one is due soon
      return report(`${member.username} has no device, and therefore no position`);
    }
  }
}

/** Of a radio. Angles in radians, clockwise from north. */
interface Circle {
  readonly lat: number;
  readonly lng: number;
  readonly radiusM: number;
  readonly startRad: number;
  readonly speedMS: number;
}

function circleIn({ lat, lng, km }: Area): Circle {
  const radiusM = Math.min(between(RADIUS_M), km * 500);
  const distanceM = Math.sqrt(Math.random()) * (km * 1000 - radiusM); // by the root, so that the middle is no denser
  const centre = away({ lat, lng }, { metres: distanceM, rad: turn() });
  return { ...centre, radiusM, startRad: turn(), speedMS: between(SPEED_M_S) };
}

function fixOn({ lat, lng, radiusM, startRad, speedMS }: Circle, second: number): Fix {
  const rad = startRad + (speedMS * second) / radiusM;
  const course = ((rad * 180) / Math.PI + 90) % 360; // along the circle
  return { ...away({ lat, lng }, { metres: radiusM, rad }), alt: 0, speed: speedMS, course };
}

/** On a plane, which is exact enough for a town. */
function away(
  { lat, lng }: { lat: number; lng: number },
  { metres, rad }: { metres: number; rad: number },
): { lat: number; lng: number } {
  const degrees = metres / METRES_OF_DEGREE;
  const east = (degrees * Math.sin(rad)) / Math.cos((lat * Math.PI) / 180);
  return { lat: lat + degrees * Math.cos(rad), lng: ((lng + east + 540) % 360) - 180 };
}

const turn = () => 2 * Math.PI * Math.random();
const between = ([least, most]: readonly [number, number]) => least + (most - least) * Math.random();

/** False when it is over. */
const pause = (ms: number, over: AbortSignal): Promise<boolean> =>
  delay(ms, true, { signal: over }).catch(() => false);

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
