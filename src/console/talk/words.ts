// Says in words what became of a held talk button.
import { texts } from '../app/texts.js';
import type { TalkState } from '../worker/messages.js';

const { talk: words } = texts;

export type TalkText = { text: string; tone: 'talking' | 'waiting' | 'ended' };

/** `nowMs`: Unix time, for the countdown of the talk limit. */
export function talkText(state: TalkState, nowMs: number): TalkText {
  switch (state.phase) {
    case 'asking':
      return { text: words.asking, tone: 'waiting' };
    case 'queued':
      return { text: words.queued(state.position, state.size), tone: 'waiting' };
    case 'talking':
      return { text: talkingText(state, nowMs), tone: 'talking' };
    case 'refused':
      return { text: `${refusalText(state)} ${state.isFinal ? words.notAgain : words.again}`, tone: 'waiting' };
    case 'over':
      return { text: state.isFinal ? overText(state) : `${overText(state)} ${words.again}`, tone: 'ended' };
  }
}

/** The countdown is shown from the start, because a user plans a call by it. */
function talkingText({ sinceMs, limitMs }: Extract<TalkState, { phase: 'talking' }>, nowMs: number): string {
  if (limitMs === 0) return words.talking;
  const left = Math.max(0, Math.ceil((sinceMs + limitMs - nowMs) / 1000));
  return `${words.talking}, ${words.left(left)}`;
}

function refusalText({ code, talker }: Extract<TalkState, { phase: 'refused' }>): string {
  if (talker !== null) return words.takenBy(talker);
  const refused: Readonly<Record<string, string>> = words.refused;
  return refused[code] ?? words.refused.unavailable;
}

function overText({ code }: Extract<TalkState, { phase: 'over' }>): string {
  const over: Readonly<Record<string, string>> = words.over;
  return over[code] ?? words.over.lost;
}
