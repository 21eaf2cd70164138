// The button that raises an emergency when it is held for 1.5 s. It is always at the same place of the page.
import { useEffect } from 'preact/hooks';
import type { Desk } from '../app/desk.js';
import { Phrase } from '../app/phrase.js';
import { texts } from '../app/texts.js';
import { Icon } from '../icons/icon.js';
import { HoldButton } from '../talk/hold-button.js';
import type { HeldState } from './held.js';

const { alarms: words, talkgroups } = texts;

export function EmergencyPlace({ desk }: { desk: Desk }) {
  const { talkgroups: all, emergencyTarget: target, focused } = desk;
  const id = target.id.value;
  const tile = all.tiles.value.find((one) => one.id === id);
  useEffect(() => {
    const follow = ({ target: element }: FocusEvent) => {
      if (!(element instanceof Element) || element.closest('.emergency-place') !== null) return;
      focused.value = element.closest<HTMLElement>('[data-talkgroup]')?.dataset.talkgroup ?? null;
    };
    document.addEventListener('focusin', follow);
    return () => document.removeEventListener('focusin', follow);
  }, [focused]);
  return (
    <section
      class="emergency-place"
      aria-label={words.emergency}
      data-region="emergency"
      onPointerEnter={() => target.hold('pointer', true)}
      onPointerLeave={() => target.hold('pointer', false)}
      onFocusIn={() => target.hold('focus', true)}
      onFocusOut={() => target.hold('focus', false)}
    >
      {tile === undefined ? (
        <button type="button" class="danger emergency" disabled>
          {words.choose}
        </button>
      ) : (
        <EmergencyButton id={tile.id} name={tile.view.value.name} desk={desk} />
      )}
    </section>
  );
}

function EmergencyButton({ id, name, desk: { raising, link } }: { id: string; name: string; desk: Desk }) {
  const state = raising.states.value.get(id);
  const text = state === undefined ? '' : textOf(state);
  return (
    <>
      <HoldButton
        class="danger emergency"
        name={talkgroups.emergency(name)}
        describedBy="emergency-hint"
        onHold={() => raising.press(id, () => link.raise(id))}
        onLetGo={() => raising.release(id)}
      >
        <Icon name="triangle-alert" />
        <span class="name emergency-text">
          {text === '' ? <Phrase say={(shown = '') => talkgroups.emergency(shown)} names={[name]} /> : text}
        </span>
        {state?.phase === 'holding' && <span class="filling" aria-hidden="true" />}
      </HoldButton>
      {/* Over the button, not in it: it is no part of its name. */}
      <span id="emergency-hint" class={text === '' ? 'emergency-hint' : 'visually-hidden'}>
        {words.hold}
      </span>
      <span role="status" class="visually-hidden">
        {text}
      </span>
    </>
  );
}

function textOf(state: HeldState): string {
  if (state.phase === 'failed') return words.failed(state.text);
  return { holding: words.holding, short: words.short, sent: words.raising }[state.phase];
}
