// Makes a setup code for a user, and shows it with its link as a picture for a phone.
import { useSignal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { encode } from 'uqr';
import type { Rest } from '../../client/rest.js';
import { setupLink } from '../../client/setup-link.js';
import { createAttempt } from '../app/attempt.js';
import { card as words } from './texts.js';

interface Made {
  readonly code: string;
  readonly expires_at: string;
}

interface CodeProps {
  readonly user: { readonly id: string; readonly username: string };
  readonly rest: Pick<Rest, 'post'>;
  readonly inWords: (error: unknown) => string;
  /** A time as the page shows it. */
  readonly when: (time: string) => string;
}

export function SetupCode({ user, rest, inWords, when }: CodeProps) {
  const attempt = useMemo(() => createAttempt(inWords), [inWords]);
  const made = useSignal<Made | null>(null);
  const outcome = attempt.outcome.value;
  const make = (hours: number) =>
    attempt.run(async () => {
      made.value = null;
      made.value = await rest.post<Made>(`/users/${user.id}/setup-code`, { hours });
      return null;
    });
  return (
    <form
      class="admin-form"
      onSubmit={(event) => {
        event.preventDefault();
        void make(Number(new FormData(event.currentTarget).get('hours')));
      }}
    >
      <p class="quiet">{words.hint}</p>
      <label class="field">
        {words.hours}
        <input name="hours" type="number" min="1" max="720" step="1" required defaultValue="72" />
      </label>
      <button type="submit" class="primary" aria-disabled={attempt.isBusy.value}>
        {words.make}
      </button>
      <p role="status" class={outcome?.isError ? 'error' : 'visually-hidden'}>
        {outcome?.text ?? (made.value === null ? '' : words.code(user.username))}
      </p>
      {made.value !== null && <Shown made={made.value} name={user.username} when={when} />}
    </form>
  );
}

function Shown({ made, name, when }: { made: Made; name: string } & Pick<CodeProps, 'when'>) {
  const link = setupLink(location.origin, made.code);
  const isCopied = useSignal(false);
  return (
    <section class="setup-code" aria-label={words.code(name)}>
      <output class="setup-text">{made.code}</output>
      <p class="quiet">{words.until(when(made.expires_at))}</p>
      <QrCode text={link} />
      {/* Only a page from this machine or by TLS has a clipboard. */}
      {'clipboard' in navigator && (
        <button
          type="button"
          onClick={async () => {
            // NotAllowedError: the browser asks for a permission. The code stays on the page.
            isCopied.value = await navigator.clipboard.writeText(link).then(
              () => true,
              () => false,
            );
          }}
        >
          {words.copy}
        </button>
      )}
      <span role="status" class="quiet">
        {isCopied.value ? words.copied : ''}
      </span>
      <p>{words.once}</p>
    </section>
  );
}

/** Dark on light in both themes, with the margin of 4 that ISO/IEC 18004 asks for. */
function QrCode({ text }: { text: string }) {
  const { size, path } = useMemo(() => {
    const { data, size } = encode(text, { ecc: 'M', border: 4 });
    const squares = data.flatMap((row, y) =>
      row.flatMap((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : [])),
    );
    return { size, path: squares.join('') };
  }, [text]);
  return (
    <svg class="setup-qr" viewBox={`0 0 ${size} ${size}`} role="img" aria-label={words.picture}>
      <path class="light" d={`M0 0h${size}v${size}H0z`} />
      <path class="dark" d={path} shape-rendering="crispEdges" />
    </svg>
  );
}
