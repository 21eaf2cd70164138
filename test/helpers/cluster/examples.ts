// Reads the histories that broke a promise once, from examples.json. They were found with other messages and delays.
import { readFileSync } from 'node:fs';
import { floorModes } from '../../../src/protocol/codes.js';
import type { Event, RelayScript, Script, Step } from './script.js';

const EXAMPLES = 'test/helpers/cluster/examples.json';

/** As the file has it. */
interface Row {
  /** The rule that was wrong. */
  readonly was: string;
  readonly seed: number;
  readonly mode: string;
  readonly loss: number;
  readonly delayMsMax: number;
  /** `id origin rate`, then the users of its radios. */
  readonly relays: readonly string[];
  /** Steps with `; ` between them: the time (ms), the name, and its numbers in the order of their fields. */
  readonly steps: string;
}

export interface Example {
  readonly was: string;
  readonly script: Script;
}

export function readExamples(): readonly Example[] {
  const rows: readonly Row[] = JSON.parse(readFileSync(EXAMPLES, 'utf8'));
  return rows.map(({ was, mode, relays, steps, ...rest }) => {
    const script = {
      ...rest,
      mode: modeOf(mode),
      relays: relays.map(relayOf),
      steps: steps.split('; ').map(stepOf),
    };
    return { was, script };
  });
}

function modeOf(text: string | undefined) {
  const mode = floorModes.find((one) => one === text);
  if (mode === undefined) throw new Error(`no floor mode: ${text}`);
  return mode;
}

function relayOf(text: string): RelayScript {
  const [id = 0, origin = 0, rate = 1, ...users] = text.split(' ').map(Number);
  return { id, origin, rate, users };
}

function stepOf(text: string): Step {
  const [atMs, is, ...rest] = text.split(' ');
  return { atMs: Number(atMs), ...eventOf(is, rest) };
}

function eventOf(is: string | undefined, rest: readonly string[]): Event {
  const [first = 0, second = 0, third] = rest.map(Number);
  switch (is) {
    case 'press':
    case 'end':
    case 'use':
    case 'release':
    case 'silent':
    case 'lose':
    case 'back':
    case 'leave':
    case 'emergency':
      return { is, radio: first };
    case 'request':
      return { is, radio: first, priority: second, queue: third === 1 };
    case 'come':
      return { is, relay: first, user: second };
    case 'remove':
    case 'join':
      return { is, user: first };
    case 'mode':
      return { is, mode: modeOf(rest[0]), maxTalkMs: second };
    case 'cut':
      return { is, from: first, to: rest.slice(1).map(Number) };
    case 'mend':
      return { is };
    case 'stop':
    case 'go':
    case 'kill':
      return { is, relay: first };
    case 'start':
      return { is, relay: relayOf(rest.join(' ')) };
    default:
      throw new Error(`no step: ${is}`);
  }
}
