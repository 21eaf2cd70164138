// Below the key: the emergency button with its ring, where the talkgroup is among the others, and how to take an alarm back.
import { type Signal, useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { Confirmation, useFocusBack } from '../alarms/confirmation.js';
import { HINT, RaiseButton } from '../alarms/raise-button.js';
import { raiseText } from '../alarms/raise-text.js';
import type { Desk } from '../app/desk.js';
import { Phrase } from '../app/phrase.js';
import { texts } from '../app/texts.js';
import { Icon } from '../icons/icon.js';
import type { Phone } from './state.js';
import { phone as words } from './texts.js';

const { alarms } = texts;

/** Of more talkgroups the row says the number. */
const DOTS_MAX = 7;

type RowProps = { desk: Desk; phone: Phone };

export function EmergencyRow({ desk, phone }: RowProps) {
  const { emergencyTarget: target } = desk;
  const tile = desk.talkgroups.tiles.value.find(({ id }) => id === target.id.value);
  /** The talkgroup that the question is about. */
  const asked: Signal<string | null> = useSignal(null);
  const question = desk.settings.settings.value.isConfirming ? asked.value : null;
  useFocusBack(question !== null, () => document.querySelector<HTMLElement>('.phone-emergency'));
  useEffect(() => () => target.hold('pointer', false), [target]);
  return (
    <footer class="phone-row" data-region="emergency">
      {/* The focus does not keep the target: the talkgroup on the screen may change while the button has it. */}
      <section
        class="emergency-place"
        aria-label={alarms.emergency}
        onPointerEnter={() => target.hold('pointer', true)}
        onPointerLeave={() => target.hold('pointer', false)}
      >
        {tile === undefined ? (
          <button type="button" class="phone-emergency" aria-label={alarms.choose} disabled>
            <Face isHeld={false} />
          </button>
        ) : (
          <Button desk={desk} phone={phone} asked={asked} id={tile.id} name={tile.view.value.name} />
        )}
      </section>
      {question === null ? (
        <>
          <Position phone={phone} />
          <Said desk={desk} phone={phone} />
        </>
      ) : (
        <Question desk={desk} phone={phone} asked={asked} id={question} />
      )}
    </footer>
  );
}

type AskedProps = RowProps & { asked: Signal<string | null>; id: string };

function Button({ desk, phone, asked, id, name }: AskedProps & { name: string }) {
  const { raising, settings } = desk;
  const { isConfirming } = settings.settings.value;
  return (
    <>
      <RaiseButton
        class="phone-emergency"
        raise={() => phone.raise(id)}
        onAsk={() => {
          asked.value = id;
        }}
        {...{ desk, id, name }}
      >
        <Face isHeld={raising.states.value.get(id)?.phase === 'holding'} />
      </RaiseButton>
      <span id={HINT} class="visually-hidden">
        {isConfirming ? alarms.confirmHint : alarms.hold}
      </span>
    </>
  );
}

/** In the place of what else is beside the button. */
function Question({ desk: { raising, talkgroups: all }, phone, asked, id }: AskedProps) {
  return (
    <div class="phone-question">
      <Confirmation
        question={alarms.raiseQuestion(all.tile(id)?.view.value.name ?? '')}
        confirm={alarms.raiseNow}
        onAnswer={(isConfirmed) => {
          asked.value = null;
          if (isConfirmed) raising.act(id, () => phone.raise(id));
        }}
      />
    </div>
  );
}

/** The ring fills while the button is held. */
function Face({ isHeld }: { isHeld: boolean }) {
  return (
    <>
      <svg class={isHeld ? 'ring held' : 'ring'} viewBox="0 0 72 72" aria-hidden="true">
        <circle cx="36" cy="36" r="33" />
        {isHeld && <circle class="filled" cx="36" cy="36" r="33" pathLength="100" />}
      </svg>
      <Icon name="triangle-alert" />
    </>
  );
}

/** Where the talkgroup is. A press goes to the next one, as a swipe does. */
function Position({ phone: { ring } }: { phone: Phone }) {
  const tiles = ring.places.value;
  const next = ring.next(1);
  if (next === null) return <div class="phone-position" />;
  const current = ring.current.value;
  return (
    <button type="button" class="phone-position" onClick={() => ring.choose(next)}>
      {tiles.length > DOTS_MAX ? (
        <span class="phone-place">
          {current !== null && tiles.includes(current)
            ? words.place(tiles.indexOf(current) + 1, tiles.length)
            : words.noPlace}
        </span>
      ) : (
        <span class="phone-dots" aria-hidden="true">
          {tiles.map((tile) => (
            <span key={tile.id} class={tile === current ? 'current' : ''} />
          ))}
        </span>
      )}
      <span class="line name">
        <Phrase say={(name = '') => words.next(name)} names={[next.view.value.name]} />
      </span>
    </button>
  );
}

/** What becomes of the emergency button, and for a moment the way back. */
function Said({ desk, phone }: RowProps) {
  const offered = phone.undo.offered.value;
  const id = offered ?? desk.emergencyTarget.id.value ?? '';
  const name = desk.talkgroups.tile(id)?.view.value.name ?? '';
  const state = desk.raising.states.value.get(id);
  const text = (): string => {
    const failure = phone.notTakenBack.value;
    if (failure !== null) return words.emergency.notTakenBack(failure);
    if (offered !== null) return words.emergency.raised(name);
    if (state?.phase === 'holding') return words.emergency.holding(name);
    return raiseText(state, desk.connection.value.state === 'open');
  };
  return (
    <div class="phone-said">
      {offered === null || phone.notTakenBack.value !== null ? (
        <p aria-hidden="true">{text()}</p>
      ) : (
        <button
          type="button"
          class="primary"
          aria-label={words.emergency.undoName(name)}
          onClick={() => phone.takeBack(offered)}
        >
          {words.emergency.undo}
        </button>
      )}
      <p role="status" class="visually-hidden">
        {text()}
      </p>
    </div>
  );
}
