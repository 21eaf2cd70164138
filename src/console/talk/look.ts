// Decides how a talk key looks. Colour, filling, icon and word differ in each look.
import { clockText } from '../app/ages.js';
import { texts } from '../app/texts.js';
import type { IconName } from '../icons/icons.js';
import { ENDING_MS, type Shown } from './state.js';
import { leftS, reasonOf } from './words.js';

const {
  talk: { key: words },
} = texts;

export type Look = {
  /** `on-air` only while the server announces the own burst. */
  name: 'ready' | 'off' | 'asking' | 'on-air' | 'denied';
  icon: IconName;
  /** null: the key says what it is for. */
  word: string | null;
  /** Behind the word. It may have the name of a user. */
  reason: string | null;
  /** The part of the talk limit that is left, from 1 to 0. null: there is no limit, or no talk. */
  left: number | null;
  /** On air, and the microphone gives nothing. */
  isSilent: boolean;
};

const READY: Look = { name: 'ready', icon: 'mic', word: null, reason: null, left: null, isSilent: false };
/** Without a connection, while nothing is pressed. */
const OFF: Look = { ...READY, name: 'off', icon: 'wifi-off', word: texts.connection.off };
const RANKS = ['denied', 'asking', 'on-air'] as const;

/** Of a press without a talkgroup. */
export const noTarget: Look = {
  ...READY,
  name: 'denied',
  icon: 'mic-off',
  word: words.denied,
  reason: words.noTarget,
};

/** Whether the talk was refused or cut off. */
export const hasFailed = ({ state }: Shown): boolean => state.phase === 'refused' || state.phase === 'over';

/** Whether the talk is on show: what has failed stays for a moment after the release. */
export const isLive = (one: Shown): boolean => one.isHeld || hasFailed(one);

/** What lookOf takes of `Around`. */
export type Surroundings = { isConnected: boolean; isSilent: boolean };

/** Of one or more talks: the worst of them. Those that are held go before those that were released. `nowMs`: Unix time. */
export function lookOf(
  shown: readonly Shown[],
  nowMs: number,
  { isConnected, isSilent }: Surroundings = { isConnected: true, isSilent: false },
): Look {
  const look = lookOfAll(shown, nowMs);
  if (look.name === 'ready' && !isConnected) return OFF;
  if (look.name === 'on-air' && isSilent) return { ...look, word: words.silent, isSilent };
  return look;
}

function lookOfAll(shown: readonly Shown[], nowMs: number): Look {
  const held = shown.filter(({ isHeld }) => isHeld);
  const looks = (held.length > 0 ? held : shown).filter(isLive).map(({ state }) => lookOfState(state, nowMs));
  const worst = RANKS.flatMap((rank) => looks.filter(({ name }) => name === rank));
  const [first = READY] = worst;
  const count = (name: Look['name']) => looks.filter((look) => look.name === name).length;
  const isSame = looks.every(({ word, reason }) => word === first.word && reason === first.reason);
  if (isSame) return first;
  if (first.name === 'denied')
    return { ...first, word: words.deniedIn(count('denied'), looks.length), reason: null };
  if (first.name === 'asking' && count('on-air') > 0)
    return { ...first, word: words.onAirIn(count('on-air'), looks.length) };
  // The limit that comes first.
  return worst.reduce((one, other) => ((other.left ?? 1) < (one.left ?? 1) ? other : one));
}

function lookOfState(state: Shown['state'], nowMs: number): Look {
  switch (state.phase) {
    case 'asking':
      return { ...READY, name: 'asking', icon: 'ellipsis', word: words.asking };
    case 'queued':
      return { ...READY, name: 'asking', icon: 'hourglass', word: words.place(state.position, state.size) };
    case 'talking':
      return { ...READY, name: 'on-air', icon: 'radio', ...timeOf(state, nowMs) };
    case 'refused':
    case 'over': {
      const word = state.phase === 'over' ? words.cutOff : words.denied;
      return { ...READY, name: 'denied', icon: 'mic-off', word, reason: reasonOf(state) };
    }
  }
}

function timeOf(
  state: Extract<Shown['state'], { phase: 'talking' }>,
  nowMs: number,
): Pick<Look, 'word' | 'left'> {
  const elapsed = words.onAir(clockText(nowMs - state.sinceMs));
  if (state.limitMs === 0) return { word: elapsed, left: null };
  const seconds = leftS(state, nowMs);
  return {
    word: seconds * 1000 <= ENDING_MS ? words.ending(seconds) : elapsed,
    left: Math.min(1, (seconds * 1000) / state.limitMs),
  };
}
