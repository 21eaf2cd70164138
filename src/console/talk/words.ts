// Says in words what became of a held talk key: a sentence for the talk bar, and a short reason for the key.
import { texts } from '../app/texts.js';
import type { TalkState } from '../worker/messages.js';
import type { Shown } from './state.js';

const { talk: words } = texts;

/** `refused` and `over`. */
export type FailedTalk = Extract<TalkState, { phase: 'refused' | 'over' }>;

const REASON_MAX = 16;

/** `nowMs`: Unix time, for the countdown of the talk limit. */
export function sentenceOf({ state, isHeld }: Shown, nowMs: number): string {
  switch (state.phase) {
    case 'asking':
      return words.asking;
    case 'queued':
      return words.queued(state.position, state.size);
    case 'talking':
      return isHeld ? talkingText(state, nowMs) : words.stopped;
    case 'refused':
    case 'over':
      return isHeld ? `${failureText(state)}${nextText(state)}` : failureText(state);
  }
}

/** The same without the seconds, for screen readers. */
export const sentenceWithoutTime = ({ state, isHeld }: Shown): string =>
  sentenceOf({ state: state.phase === 'talking' ? { ...state, limitMs: 0 } : state, isHeld }, 0);

/** At most 16 characters. */
export function reasonOf(state: FailedTalk): string {
  if (state.phase === 'over') return of(words.short.over, state.code) ?? words.short.over.lost;
  const { code, talker } = state;
  if (talker !== null) return words.key.talks(shortened(talker));
  return of(words.short.refused, code) ?? words.short.refused.unavailable;
}

/** Whole seconds of the talk limit that are left. It is above 0. */
export function leftS({ sinceMs, limitMs }: Extract<TalkState, { phase: 'talking' }>, nowMs: number): number {
  return Math.ceil(Math.max(0, limitMs - Math.max(0, nowMs - sinceMs)) / 1000);
}

/** The countdown is shown from the start, because a user plans a call by it. */
function talkingText(state: Extract<TalkState, { phase: 'talking' }>, nowMs: number): string {
  if (state.limitMs === 0) return words.talking;
  return `${words.talking}, ${words.left(leftS(state, nowMs))}`;
}

function failureText(state: FailedTalk): string {
  if (state.phase === 'over') return of(words.over, state.code) ?? words.over.lost;
  if (state.talker !== null) return words.takenBy(state.talker);
  return of(words.refused, state.code) ?? words.refused.unavailable;
}

function nextText({ phase, isFinal }: FailedTalk): string {
  if (!isFinal) return ` ${words.again}`;
  return phase === 'refused' ? ` ${words.notAgain}` : '';
}

const of = (all: Readonly<Record<string, string>>, code: string): string | undefined => all[code];

function shortened(username: string): string {
  const letters = [...username];
  const room = REASON_MAX - words.key.talks('').length;
  return letters.length <= room ? username : `${letters.slice(0, room - 1).join('')}…`;
}
