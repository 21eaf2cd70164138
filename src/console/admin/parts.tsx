// The parts that the lists beside the tables share: members of a talkgroup, key holders of a user.
import type { ComponentChildren } from 'preact';
import type { Attempt } from '../app/attempt.js';
import { type List, PAGE_ROWS, type Row } from './list.js';
import { texts } from './texts.js';

/** Reload, the rows, and a button for the next page that keeps its place and the focus. */
export function ListView<Item>({
  list,
  label,
  render,
}: {
  list: List<Item>;
  label: string;
  render: (row: Row<Item>) => ComponentChildren;
}) {
  const rows = list.rows.value;
  const isReading = list.isReading.value;
  const isWhole = list.isWhole.value;
  const words = isReading ? texts.reading : isWhole ? texts.whole(rows.length) : texts.part(rows.length);
  return (
    <>
      <div class="row">
        <button type="button" aria-disabled={isReading} onClick={() => void list.reload()}>
          {texts.reload}
        </button>
        <span class="quiet" role="status">
          {list.failure.value === null ? words : ''}
        </span>
        <Failure words={list.failure.value} />
      </div>
      {rows.length === 0 && isWhole && !isReading && <p class="quiet">{texts.nothing}</p>}
      <ul class="admin-rows" aria-label={label}>
        {rows.map((row) => (
          <li key={row.id}>{render(row)}</li>
        ))}
      </ul>
      {(!isWhole || rows.length > PAGE_ROWS) && (
        <button type="button" aria-disabled={isReading || isWhole} onClick={() => void list.more()}>
          {isWhole ? texts.whole(rows.length) : texts.more}
        </button>
      )}
    </>
  );
}

/** What the last change said, beside what it was about. The element stays, so that screen readers hear a change. */
export function Said({ action }: { action: Attempt }) {
  const outcome = action.outcome.value;
  return (
    <p class={outcome?.isError ? 'admin-said error' : 'admin-said quiet'} role="status">
      {outcome?.text ?? ''}
    </p>
  );
}

export function Failure({ words }: { words: string | null }) {
  return (
    <span class="error" role="status">
      {words ?? ''}
    </span>
  );
}

/** A button that keeps the focus while its action runs, and then does nothing. */
export function ActionButton({
  action,
  label,
  onPress,
}: {
  action: Attempt;
  label: string;
  onPress: () => void;
}) {
  return (
    <button
      type="button"
      aria-disabled={action.isBusy.value}
      onClick={() => {
        if (!action.isBusy.peek()) onPress();
      }}
    >
      {label}
    </button>
  );
}

/** As a `ref` it runs once, when the element appears. */
export function focusAtOnce(element: HTMLElement | null): void {
  element?.focus();
}

/** After the next rendering, because a button in the place of a form appears with it. */
export function focusSoon(id: string): void {
  requestAnimationFrame(() => document.getElementById(id)?.focus());
}

/** A text field of a submitted form. */
export function textIn(data: FormData, name: string): string {
  const value = data.get(name);
  return typeof value === 'string' ? value : '';
}
