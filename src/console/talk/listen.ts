// Hears the talk key, and everything that ends a talk: releases, a lost focus, a hidden tab.
import type { Desk } from '../app/desk.js';
import { talkgroupAt } from '../app/talkgroup-at.js';
import { latestTalker } from './answer.js';
import { letGo, letGoOfAll } from './holding.js';
import { readKey } from './keys.js';
import { targetsOf } from './targets.js';

const KEY = 'talk key';

/** Listens until the page is left. */
export function listenToPresses({ talking, talkgroups, onAir, settings }: Desk): void {
  addEventListener('keydown', keyDown);
  addEventListener('keyup', keyUp);
  addEventListener('pointerup', ({ pointerId }) => letGo(`pointer ${pointerId}`));
  addEventListener('pointercancel', ({ pointerId }) => letGo(`pointer ${pointerId}`));
  addEventListener('blur', () => interrupt('blur'));
  document.addEventListener('visibilitychange', () => {
    if (document.visibilityState === 'hidden') interrupt('hidden');
  });

  function keyDown(event: KeyboardEvent): void {
    const { talkKey } = settings.settings.peek();
    const press = readKey(event, talkKey, focusedElement());
    if (press === 'other' || event.defaultPrevented) return;
    // The space bar must neither scroll the page nor press the focused button.
    event.preventDefault();
    if (press === 'talk') talking.press(KEY, targets());
    if (press === 'answer') talking.press(KEY, latestTalker(onAir.heardAtMs, isMuted), 'talker');
  }

  function keyUp(event: KeyboardEvent): void {
    if (event.key === 'Enter') letGo('Enter');
    if (event.code !== settings.settings.peek().talkKey) return;
    // In Firefox the release is what presses a button.
    if (readKey(event, event.code, focusedElement()) !== 'other') event.preventDefault();
    talking.release(KEY);
  }

  function isMuted(talkgroupId: string): boolean {
    return talkgroups.tile(talkgroupId)?.isMuted.peek() ?? true;
  }

  function targets(): readonly string[] {
    const selected = talkgroups.selected.peek().map(({ id }) => id);
    const all = talkgroups.tiles.peek().map(({ id }) => id);
    return targetsOf({ selected, all, focused: talkgroupAt(document.activeElement) });
  }

  function interrupt(why: 'blur' | 'hidden'): void {
    talking.interrupt(why);
    letGoOfAll();
  }
}

function focusedElement() {
  const { activeElement } = document;
  if (!(activeElement instanceof HTMLElement)) return null;
  const { tagName, isContentEditable } = activeElement;
  return {
    tagName,
    isContentEditable,
    ...(activeElement instanceof HTMLInputElement && { type: activeElement.type }),
  };
}
