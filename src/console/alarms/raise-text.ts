// Says in words what becomes of an emergency that the user raises, for the buttons of the desk and of the phone.
import { texts } from '../app/texts.js';
import type { HeldState } from './held.js';

const { alarms: words } = texts;

/** The radio repeats the request until the relay has announced the emergency. */
export function raiseText(state: HeldState | undefined, isConnected: boolean): string {
  if (state === undefined) return '';
  if (state.phase === 'failed') return words.failed(state.text);
  if (state.phase === 'sent' && !isConnected) return words.waiting;
  return { holding: words.holding, short: words.short, sent: words.raising }[state.phase];
}
