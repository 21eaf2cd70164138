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
  /** Asks the user in place of being held. null: it is held. */
  onAsk: (() => void) | null;
};

export function AnswerButton({ emergencyId, meaning, desk, isScrolling, onAsk }: AnswerButtonProps) {
  const { answering, alarms } = desk;
  const isResting = alarms.resting.value.has(emergencyId);
  const phase = answering.states.value.get(emergencyId)?.phase;
  const isClear = meaning === 'clear';
  const isHeld = isClear && onAsk === null;
  const name = isHeld ? words.clear : isClear ? words.askToClear : words.acknowledge;
  const isConnected = desk.connection.value.state === 'open';
  const mayPress = () => isConnected && !alarms.resting.peek().has(emergencyId) && !isScrolling();
  const begin = (source: string) => {
    if (!mayPress()) return;
    hold(source, () => answering.release(emergencyId));
    answering.press(emergencyId, requestOf(desk, emergencyId, 'EMERGENCY_CLEAR'));
  };
  const text = isHeld ? clearText(phase) : name;
  const hint = `clear-${emergencyId}`;
  return (
    <>
      <button
        type="button"
        class={isClear ? 'answer hold' : 'answer primary'}
        aria-label={name}
        aria-disabled={isResting || !isConnected}
        aria-describedby={isHeld ? hint : undefined}
        onClick={() => {
          if (isHeld || !mayPress()) return;
          if (isClear) onAsk?.();
          else answering.act(emergencyId, requestOf(desk, emergencyId, 'EMERGENCY_ACK'));
        }}
        {...(isHeld && holdEvents(begin))}
        onContextMenu={(event) => event.preventDefault()}
      >
        {/* Another element for another text: none moves. */}
        <span key={text}>{text}</span>
        {phase === 'holding' && <span class="filling" aria-hidden="true" />}
      </button>
      {isHeld && (
        <span id={hint} class="visually-hidden">
          {words.clearHint}
        </span>
      )}
    </>
  );
}

/** Asks the relay. It may have been cleared elsewhere during the hold. */
export const requestOf =
  ({ alarms, link }: Desk, emergencyId: string, type: 'EMERGENCY_ACK' | 'EMERGENCY_CLEAR') =>
  async () => {
    const isOpen = alarms.open.peek().some(({ emergency_id }) => emergency_id === emergencyId);
    if (isOpen) await link.request({ type, emergency_id: emergencyId });
  };

function clearText(phase: string | undefined): string {
  if (phase === 'sent') return words.clearing;
  return phase === 'short' ? words.clearShort : words.clear;
}
