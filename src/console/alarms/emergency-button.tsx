// The button of a tile that raises an emergency when it is held for 1.5 s.
import type { Desk } from '../app/desk.js';
import { texts } from '../app/texts.js';
import { HoldButton } from '../talk/hold-button.js';

const { alarms: words, talkgroups } = texts;

export function EmergencyButton({ id, name, desk }: { id: string; name: string; desk: Desk }) {
  const { raising } = desk;
  const state = raising.states.value.get(id);
  return (
    <>
      <HoldButton
        class="danger emergency"
        name={talkgroups.emergency(name)}
        describedBy={`emergency-${id}`}
        onHold={() => raising.press(id)}
        onLetGo={() => raising.release(id)}
      >
        {talkgroups.short.emergency}
        {state?.phase === 'holding' && <span class="filling" aria-hidden="true" />}
      </HoldButton>
      <span id={`emergency-${id}`} class="visually-hidden">
        {words.hold}
      </span>
      <span role="status" class={state?.phase === 'failed' ? 'error' : 'quiet'}>
        {state !== undefined && textOf(state)}
      </span>
    </>
  );
}

function textOf(state: { phase: 'holding' | 'raising' } | { phase: 'failed'; text: string }): string {
  if (state.phase === 'failed') return words.failed(state.text);
  return state.phase === 'holding' ? words.holding : words.raising;
}
