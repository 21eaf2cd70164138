// Decides which key presses replay a call.
import { type KeyPress, mayTalk, writesText } from '../talk/keys.js';

export type ReplayPlace = {
  /** KeyboardEvent.code. Empty: no key replays. */
  replayKey: string;
  talkKey: string;
  areLettersOn: boolean;
  /** The focus is in a text field, or a menu or dialog is open. */
  isElsewhere: boolean;
};

/** `last`: the last call. `before`: the one before. null: the press is for the page, the browser or the talk key. */
export function readReplayKey(press: KeyPress, place: ReplayPlace): 'last' | 'before' | null {
  const { replayKey, talkKey, areLettersOn, isElsewhere } = place;
  if (replayKey === '' || press.code !== replayKey || replayKey === talkKey || press.repeat) return null;
  if (press.ctrlKey || press.altKey || press.metaKey || isElsewhere) return null;
  if (!areLettersOn && writesText(replayKey)) return null;
  return press.shiftKey ? 'before' : 'last';
}

/** Whether a key can be the replay key. It is with Shift, too, and the other shortcuts keep theirs. */
export const mayReplay = (code: string): boolean =>
  mayTalk(code) && !/^(Shift|Control|Alt|Meta|CapsLock|Space|Digit|Slash|F6$|Key[ASMF]$)/.test(code);
