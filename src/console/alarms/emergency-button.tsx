// The button that raises an emergency when it is held for 1.5 s. It is always at the same place of the page, and in the menu
// of each tile.
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { Desk } from '../app/desk.js';
import { insideEvents } from '../app/inside.js';
import { Phrase } from '../app/phrase.js';
import { talkgroupAt } from '../app/talkgroup-at.js';
import { texts } from '../app/texts.js';
import { Icon } from '../icons/icon.js';
import type { Tile } from '../talkgroups/state.js';
import { Confirmation, useFocusBack } from './confirmation.js';
import { HINT, MENU_HINT, RaiseButton } from './raise-button.js';
import { raiseText } from './raise-text.js';

const { alarms: words, talkgroups } = texts;

export function EmergencyPlace({ desk }: { desk: Desk }) {
  const { talkgroups: all, emergencyTarget: target, focused } = desk;
  const id = target.id.value;
  const tile = all.tiles.value.find((one) => one.id === id);
  useEffect(() => {
    const follow = (event: FocusEvent) => {
      // On the way from a tile to this button the focus is elsewhere.
      focused.value = talkgroupAt(event.target) ?? focused.peek();
    };
    document.addEventListener('focusin', follow);
    return () => {
      document.removeEventListener('focusin', follow);
      for (const by of ['pointer', 'focus'] as const) target.hold(by, false);
    };
  }, [focused, target]);
  return (
    <section
      class="emergency-place"
      aria-label={words.emergency}
      data-region="emergency"
      {...insideEvents(target.hold)}
    >
      {tile === undefined ? (
        <button type="button" class="danger emergency" disabled>
          <Icon name="triangle-alert" />
          <span class="name emergency-text">{words.choose}</span>
        </button>
      ) : (
        <EmergencyButton id={tile.id} name={tile.view.value.name} desk={desk} hint={HINT} />
      )}
    </section>
  );
}

/** For the talkgroup of an open menu, whatever is selected. */
export function EmergencyInMenu({ tile, desk }: { tile: Tile; desk: Desk }) {
  return (
    <div class="emergency-place">
      <EmergencyButton id={tile.id} name={tile.view.value.name} desk={desk} hint={MENU_HINT} />
    </div>
  );
}

type ButtonProps = { id: string; name: string; desk: Desk; hint: string };

function EmergencyButton({ id, name, desk, hint }: ButtonProps) {
  const { raising, link, settings, connection } = desk;
  const state = raising.states.value.get(id);
  const text = raiseText(state, connection.value.state === 'open');
  const isAsking = useSignal(false);
  const { isConfirming } = settings.settings.value;
  useFocusBack(isAsking.value, () => document.querySelector<HTMLElement>(`[aria-describedby="${hint}"]`));
  const raise = () => link.raise(id);
  if (isAsking.value && isConfirming) {
    return (
      <div class="danger emergency asked">
        <Confirmation
          question={words.raiseQuestion(name)}
          confirm={words.raiseNow}
          onAnswer={(isConfirmed) => {
            isAsking.value = false;
            if (isConfirmed) raising.act(id, raise);
          }}
        />
      </div>
    );
  }
  return (
    <>
      <RaiseButton
        class="danger emergency"
        onAsk={() => {
          isAsking.value = true;
        }}
        {...{ desk, id, name, raise, hint }}
      >
        <Icon name="triangle-alert" />
        <span class="name emergency-text" title={name}>
          {text === '' ? <Phrase say={(shown = '') => talkgroups.emergency(shown)} names={[name]} /> : text}
        </span>
        {state?.phase === 'holding' && <span class="filling" aria-hidden="true" />}
      </RaiseButton>
      {/* Over the button, not in it: it is no part of its name. */}
      <span id={hint} class={text === '' ? 'emergency-hint' : 'visually-hidden'}>
        {isConfirming ? words.confirmHint : words.hold}
      </span>
      <span role="status" class="visually-hidden">
        {text}
      </span>
    </>
  );
}
