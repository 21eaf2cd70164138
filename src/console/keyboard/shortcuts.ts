// Decides which key presses are shortcuts, and what they do. The talk key is none: talk/keys.ts reads it.

export type Shortcut =
  | { kind: 'region'; step: 1 | -1 }
  | { kind: 'find' | 'list' | 'alarm' }
  /** Of the tile with the focus. */
  | { kind: 'select' | 'mute' | 'favour' }
  /** From 1. */
  | { kind: 'favourite'; number: number };

/** The parts of a KeyboardEvent that count. */
export type Press = {
  key: string;
  code: string;
  shiftKey: boolean;
  ctrlKey: boolean;
  altKey: boolean;
  metaKey: boolean;
  repeat: boolean;
};

export type Place = {
  talkKey: string;
  /** The user has not switched off letters, digits and signs (WCAG 2.2, 2.1.4). */
  areLettersOn: boolean;
  /** The focus is in a text field. */
  isText: boolean;
  /** The focus is in a menu, or a dialog is open. */
  isInDialog: boolean;
  /** A tile has the focus. */
  isInTile: boolean;
};

/** null: the page or the browser handles it. */
export function readShortcut(press: Press, place: Place): Shortcut | null {
  const { key, code, shiftKey } = press;
  if (press.ctrlKey || press.altKey || press.metaKey || place.isInDialog || code === place.talkKey)
    return null;
  if (key === 'F6') return { kind: 'region', step: shiftKey ? -1 : 1 };
  if (place.isText || !place.areLettersOn || press.repeat) return null;
  if (/^[1-9]$/.test(key)) return { kind: 'favourite', number: Number(key) };
  switch (key.toLowerCase()) {
    case '/':
      return { kind: 'find' };
    case '?':
      return { kind: 'list' };
    case 'a':
      return { kind: 'alarm' };
    case 's':
      return place.isInTile ? { kind: 'select' } : null;
    case 'm':
      return place.isInTile ? { kind: 'mute' } : null;
    case 'f':
      return place.isInTile ? { kind: 'favour' } : null;
    default:
      return null;
  }
}
