// A field for a password, which a checkbox shows.
import { useSignal } from '@preact/signals';
import type { Ref } from 'preact';
import { firstTexts } from '../app/first-texts.js';

const TEXT = { type: 'text' } as const;
const HIDDEN = { type: 'password' } as const;

interface PasswordProps {
  readonly text: string;
  readonly autocomplete: 'current-password' | 'new-password';
  readonly field?: Ref<HTMLInputElement>;
}

export function PasswordField({ text, autocomplete, field = null }: PasswordProps) {
  const isShown = useSignal(false);
  return (
    <>
      <label class="field">
        {text}
        <input
          ref={field}
          name="password"
          {...(isShown.value ? TEXT : HIDDEN)}
          autocomplete={autocomplete}
          autocapitalize="none"
          spellcheck={false}
          required
        />
      </label>
      <label class="row">
        <input
          type="checkbox"
          checked={isShown.value}
          onChange={(event) => {
            isShown.value = event.currentTarget.checked;
          }}
        />
        {firstTexts.login.showPassword}
      </label>
    </>
  );
}
