// A question in the place of a button that is held. What confirms is at the left end, away from the button that asked.
import { useLayoutEffect, useRef } from 'preact/hooks';
import { texts } from '../app/texts.js';

type ConfirmationProps = { question: string; confirm: string; onAnswer(isConfirmed: boolean): void };

export function Confirmation({ question, confirm, onAnswer }: ConfirmationProps) {
  const cancel = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => cancel.current?.focus(), []);
  return (
    // biome-ignore lint/a11y/useSemanticElements: not a form, and a fieldset has a border and a size of its own
    <div
      role="group"
      class="confirmation"
      aria-label={question}
      onKeyDown={({ key }) => {
        if (key === 'Escape') onAnswer(false);
      }}
    >
      <button type="button" class="danger" onClick={() => onAnswer(true)}>
        {confirm}
      </button>
      <bdi class="line name" title={question}>
        {question}
      </bdi>
      <button ref={cancel} type="button" onClick={() => onAnswer(false)}>
        {texts.cancel}
      </button>
    </div>
  );
}

/** After the question the focus comes back to the button that asked, which `find` finds. */
export function useFocusBack(isAsking: boolean, find: () => HTMLElement | null | undefined): void {
  const wasAsking = useRef(false);
  useLayoutEffect(() => {
    if (wasAsking.current && !isAsking) find()?.focus();
    wasAsking.current = isAsking;
  });
}
