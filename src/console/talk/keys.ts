// Decides which key presses are presses of the talk key.

/** The parts of a KeyboardEvent that count. */
export type KeyPress = {
  code: string;
  repeat: boolean;
  ctrlKey: boolean;
  altKey: boolean;
  metaKey: boolean;
  shiftKey: boolean;
};

/** The parts of the focused element that say whether it needs the key itself. */
export type FocusedElement = {
  tagName: string;
  /** Of an input. */
  type?: string | undefined;
  isContentEditable?: boolean | undefined;
};

// The space bar operates them, and no other key does.
const OWN_SPACE = new Set(['checkbox', 'radio', 'color', 'file']);
// They have no text, so only the space bar can belong to them.
const NO_TEXT = new Set(['button', 'submit', 'reset', 'range', 'image', ...OWN_SPACE]);
// Keys that neither write in a text field nor move in it.
const BESIDE_TEXT = /^(F\d+|Control|Shift|Pause|ScrollLock|Media)/;

/**
 * `talk`: the talk key. `answer`: the talk key with Shift. `repeat`: the talk key, still held. `other`: the page or the browser
 * handles it.
 */
export function readKey(
  press: KeyPress,
  talkKey: string,
  focused: FocusedElement | null,
): 'talk' | 'answer' | 'repeat' | 'other' {
  if (press.code !== talkKey) return 'other';
  const isModifier = /^(Control|Alt|Meta)/.test(talkKey);
  if (!isModifier && (press.ctrlKey || press.altKey || press.metaKey)) return 'other';
  if (focused !== null && keepsKey(focused, talkKey)) return 'other';
  if (press.repeat) return 'repeat';
  return press.shiftKey && !talkKey.startsWith('Shift') ? 'answer' : 'talk';
}

function keepsKey(
  { tagName, type = 'text', isContentEditable = false }: FocusedElement,
  key: string,
): boolean {
  const tag = tagName.toUpperCase();
  if (tag === 'INPUT' && NO_TEXT.has(type)) return key === 'Space' && OWN_SPACE.has(type);
  const isText = tag === 'INPUT' || tag === 'TEXTAREA' || tag === 'SELECT' || isContentEditable;
  return isText && writesText(key);
}

/** Whether a key writes in a text field, or moves in it. */
export const writesText = (code: string): boolean => !BESIDE_TEXT.test(code);

/** A key that can be the talk key. Enter, Tab, Escape and the arrows operate the page. */
export const mayTalk = (code: string): boolean =>
  code !== '' && !/^(Enter|NumpadEnter|Tab|Escape|Arrow|Unidentified)/.test(code);

/** The name of a key for readers: `KeyT` is `T`, `ControlRight` is `Control Right`. */
export function keyName(code: string): string {
  return code.replace(/^(Key|Digit)/, '').replace(/(?<=[a-z])(?=[A-Z0-9])/g, ' ');
}
