// The right button of an alarm: it acknowledges by a press, and clears when it is held. One element is both, so that it
// keeps the focus and its place when its meaning changes.
import type { Desk } from '../app/desk.js';
import { texts } from '../app/texts.js';
import { holdEvents } from '../talk/hold-button.js';
import { hold } from '../talk/holding.js';

const { alarms: words } = texts;

type AnswerButtonProps = {
  emergencyId: string;
  meaning: 'acknowledge' | 'clear';
  desk: Desk;
  /** The list scrolls: no press is meant for the row that is under the pointer. */
  isScrolling(): boolean;
};

export function AnswerButton({ emergencyId, meaning, desk, isScrolling }: AnswerButtonProps) {
  const { answering, alarms, link } = desk;
  const isResting = alarms.resting.value.has(emergencyId);
  const phase = answering.states.value.get(emergencyId)?.phase;
  const isClear = meaning === 'clear';
  const mayPress = () => !alarms.resting.peek().has(emergencyId) && !isScrolling();
  const ask = (type: 'EMERGENCY_ACK' | 'EMERGENCY_CLEAR') => async () => {
    // It may have been cleared elsewhere during the hold.
    const isOpen = alarms.open.peek().some(({ emergency_id }) => emergency_id === emergencyId);
    if (isOpen) await link.request({ type, emergency_id: emergencyId });
  };
  const begin = (source: string) => {
    if (!mayPress()) return;
    hold(source, () => answering.release(emergencyId));
    answering.press(emergencyId, ask('EMERGENCY_CLEAR'));
  };
  const hint = `clear-${emergencyId}`;
  return (
    <>
      <button
        type="button"
        class={isClear ? 'answer hold' : 'answer primary'}
        aria-label={isClear ? words.clear : words.acknowledge}
        aria-disabled={isResting}
        aria-describedby={isClear ? hint : undefined}
        onClick={() => {
          if (!isClear && mayPress()) answering.act(emergencyId, ask('EMERGENCY_ACK'));
        }}
        {...(isClear && holdEvents(begin))}
        onContextMenu={(event) => event.preventDefault()}
      >
        {isClear ? clearText(phase) : words.acknowledge}
        {phase === 'holding' && <span class="filling" aria-hidden="true" />}
      </button>
      {isClear && (
        <span id={hint} class="visually-hidden">
          {words.clearHint}
        </span>
      )}
    </>
  );
}

function clearText(phase: string | undefined): string {
  if (phase === 'sent') return words.clearing;
  return phase === 'short' ? words.clearShort : words.clear;
}
