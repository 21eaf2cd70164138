// Reads what a load is to be, and refuses what is beyond its bounds.

/** What is asked for. */
export interface LoadSettings {
  /** With `/ws` at its end. */
  readonly url: string;
  /** Each once, in the order of the file. */
  readonly tokens: readonly string[];
  /** Its id. */
  readonly talkgroup: string;
  readonly listeners: number;
  readonly talkers: number;
  readonly seconds: number;
  /** Members who are online may hear the load. */
  readonly othersHear: boolean;
  /** Processes of the service on this machine: their CPU time is not that of all else. */
  readonly servicePids: readonly number[];
}

/** Why there is no load, in a sentence for the operator. */
export class Refused extends Error {
  override name = 'Refused';
}

/** A service that is in use is at the other end: a slip must not load it without end. */
const LISTENERS_MAX = 2_000;
const TALKERS_MAX = 32;
const SECONDS_MAX = 120;

/** `tokens` is the text of the file. Throws Refused. */
export function readSettings(
  env: Readonly<Record<string, string | undefined>>,
  tokens: string,
): LoadSettings {
  const talkgroup = env.TALKGROUP ?? '';
  if (!/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i.test(talkgroup))
    throw new Refused(`TALKGROUP must be the id of a talkgroup, got "${talkgroup}"`);
  const pids = (env.SERVICE_PIDS || '').split(',').filter((pid) => pid !== '');
  return {
    url: readUrl(env.URL ?? ''),
    tokens: readTokens(tokens),
    talkgroup: talkgroup.toLowerCase(),
    listeners: readCount(env, 'LISTENERS', { preset: 200, most: LISTENERS_MAX }),
    talkers: readCount(env, 'TALKERS', { preset: 1, most: TALKERS_MAX }),
    seconds: readCount(env, 'SECONDS', { preset: 30, most: SECONDS_MAX }),
    othersHear: env.OTHERS_HEAR === '1',
    servicePids: pids.map((pid) => readPid(pid.trim())),
  };
}

function readUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !['wss:', 'ws:'].includes(url.protocol))
    throw new Refused(`URL must be the address of the relay, such as wss://radio.example.com, got "${text}"`);
  return `${url.origin === 'null' ? `${url.protocol}//${url.host}` : url.origin}${url.pathname.replace(/\/(ws\/?)?$/, '')}/ws`;
}

/** A line holds a token, or a name before it. Each token counts once. */
export function readTokens(text: string): readonly string[] {
  const lines = text.split(/\r?\n/).map((line) => line.trim());
  const tokens = lines.flatMap((line, at) => {
    if (line === '') return [];
    const token = line.split(/\s/).at(-1) ?? '';
    // The line is not shown: it may hold a token that was cut.
    if (!/^[\w-]+\.[\w-]+\.[\w-]+$/.test(token))
      throw new Refused(`TOKENS: line ${at + 1} ends with no token`);
    return [token];
  });
  if (tokens.length === 0) throw new Refused('TOKENS: the file has no token');
  return [...new Set(tokens)];
}

function readCount(
  env: Readonly<Record<string, string | undefined>>,
  name: string,
  { preset, most }: { preset: number; most: number },
): number {
  const text = env[name] || `${preset}`;
  const count = /^[1-9]\d{0,8}$/.test(text) ? Number(text) : 0;
  if (count < 1 || count > most)
    throw new Refused(`${name} must be an integer from 1 to ${most}, got "${text}"`);
  return count;
}

function readPid(text: string): number {
  if (!/^[1-9]\d{0,9}$/.test(text))
    throw new Refused(`SERVICE_PIDS must be process ids with commas between them, got "${text}"`);
  return Number(text);
}
