// What a text about a conversation makes up (ids, numbers, times), and what of a real conversation it stands for.
import type { Json } from '../service/service.js';

/** Of one conversation. Kinds are `id`, `session`, `number` and `username`. */
export interface MadeUp {
  /** From here on this name stands for that, unless it stands for something already. */
  bind(kind: string, name: string, value: unknown): void;
  /** What the name stands for, or the name. */
  real(kind: string, name: string): unknown;
  /** The text with what its abbreviated ids (`f14e…`) stand for. Throws when one stands for nothing yet. */
  replace(text: string): string;
  /**
   * '' or the first difference, an absent or additional key included. What is made up stands for what was heard when it
   * first appears, and for that alone from then on. Times and durations need only make sense.
   */
  difference(shown: Json, heard: Json): string;
}

export function createMadeUp(): MadeUp {
  const real = new Map<string, unknown>();

  /** Whether the name stands for that, now or since long. */
  function bind(kind: string, name: string, value: unknown): boolean {
    const key = `${kind} ${name}`;
    if (real.has(key)) return real.get(key) === value;
    for (const [other, taken] of real) if (other.startsWith(`${kind} `) && taken === value) return false;
    real.set(key, value);
    return true;
  }

  function compare(shown: unknown, heard: unknown, key: string): string {
    const difference = `${key}: ${JSON.stringify(heard)} is not ${JSON.stringify(shown)}`;
    if (typeof shown !== typeof heard || Array.isArray(shown) !== Array.isArray(heard)) return difference;
    if (MEASURED.test(key)) return isSensible(key, heard) ? '' : `${key}: ${heard} makes no sense`;
    if (key === 'fixes' && typeof (shown as unknown[])[0] === 'number')
      return compareEach(rowOf(shown), rowOf(heard), key);
    const kind = kindOf(key, shown);
    if (kind !== null) return bind(kind, String(shown), heard) ? '' : `${difference} as before`;
    if (typeof shown === 'object' && shown !== null && heard !== null)
      return compareEach(shown as Json, heard as Json, key); // arrays have keys as well
    return shown === heard ? '' : difference;
  }

  function compareEach(shown: Json, heard: Json, key: string): string {
    for (const inner of new Set([...Object.keys(shown), ...Object.keys(heard)])) {
      if (!(inner in shown)) return `${key}.${inner} is heard and not shown`;
      if (!(inner in heard)) return `${key}.${inner} is shown and not heard`;
      const difference = compare(shown[inner], heard[inner], Array.isArray(shown) ? key : inner);
      if (difference !== '') return difference;
    }
    return '';
  }

  return {
    bind,
    real: (kind, name) => real.get(`${kind} ${name}`) ?? name,
    replace: (text) =>
      text.replaceAll(/[\w-]+…/g, (name) => {
        if (!real.has(`id ${name}`)) throw new Error(`${name} stands for nothing yet`);
        return String(real.get(`id ${name}`));
      }),
    difference(shown, heard) {
      const before = [...real];
      const difference = compare(shown, heard, '');
      if (difference === '') return '';
      real.clear();
      for (const [name, value] of before) real.set(name, value);
      return difference;
    },
  };
}

const SESSIONS = new Set(['session', 'left', 'next']);
/** Times and durations. */
const MEASURED = /^(server_time|missed|(age|duration|since|retry|use_in)_ms|\w+_at)$/;
const MINUTE_MS = 60_000;

/** A row of POSITIONS by the names of its values. */
function rowOf(row: unknown): Json {
  const [n, lat, lng, age_ms, speed, course, ...more] = row as unknown[];
  return { n, lat, lng, age_ms, speed, course, more };
}

/** null: as it is really sent. */
function kindOf(key: string, value: unknown): string | null {
  if (typeof value === 'string' && value.endsWith('…')) return 'id';
  if (key === 'number' || key === 'username') return key;
  if ((key === 'n' || key === 'gone') && typeof value === 'number') return 'device';
  return SESSIONS.has(key) && typeof value === 'number' ? 'session' : null;
}

function isSensible(key: string, value: unknown): boolean {
  const isNow = (ms: number) => Math.abs(Date.now() - ms) < MINUTE_MS;
  if (key.endsWith('_at'))
    return /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(String(value)) && isNow(Date.parse(String(value)));
  if (!Number.isInteger(value)) return false;
  return key === 'server_time' ? isNow(Number(value)) : Number(value) >= 0 && Number(value) < MINUTE_MS;
}
