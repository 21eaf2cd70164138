// Lets the user choose a key: after a press of the button, the next key is the new one.
import { type Signal, useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { keyName } from '../talk/keys.js';
import { settings as words } from './texts.js';

type KeyChoiceProps = {
  name: string;
  /** KeyboardEvent.code. Empty: none. */
  code: string;
  change: string;
  press: string;
  hint: string;
  mayBe(code: string): boolean;
  choose(code: string): void;
  /** A further button. */
  children?: ComponentChildren;
};

export function KeyChoice({ name, code, change, press, hint, mayBe, choose, children }: KeyChoiceProps) {
  const asking: Signal<'no' | 'waiting' | 'unusable'> = useSignal('no');
  const take = (event: KeyboardEvent) => {
    if (asking.value === 'no' || event.code === 'Tab') return;
    event.preventDefault();
    // The key must not do its work while it is chosen.
    event.stopPropagation();
    if (event.code === 'Escape') asking.value = 'no';
    else if (!mayBe(event.code)) asking.value = 'unusable';
    else {
      choose(event.code);
      asking.value = 'no';
    }
  };
  return (
    <div class="field">
      <h4>
        {name}: {code === '' ? words.noKey : keyName(code)}
      </h4>
      <button
        type="button"
        onClick={(event) => {
          event.currentTarget.focus(); // Safari does not
          asking.value = 'waiting';
        }}
        onKeyDown={take}
        onBlur={() => {
          asking.value = 'no';
        }}
      >
        {change}
      </button>
      {children}
      <p role="status" class="said">
        {{ no: '', waiting: press, unusable: words.unusable }[asking.value]}
      </p>
      <p class="quiet">{hint}</p>
    </div>
  );
}
