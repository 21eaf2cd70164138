// Shows a field that finds talkgroups and users. It does not filter the tiles.
import { computed } from '@preact/signals';
import { useMemo, useRef } from 'preact/hooks';
import { systemClock } from '../../client/clock.js';
import type { Desk } from '../app/desk.js';
import { show } from '../app/places.js';
import { Icon } from '../icons/icon.js';
import { FIELD } from './field.js';
import { createFind, type Find as FindState, type Found } from './state.js';
import { find as words } from './texts.js';

const LIST = 'found';

export function Find({ desk }: { desk: Desk }) {
  const find = useMemo(() => findOf(desk), [desk]);
  const before = useRef<HTMLElement | null>(null);
  const { found, text } = find;
  const isOpen = text.value !== '';
  const shown = isOpen ? found.value : [];
  const active = Math.min(find.active.value, shown.length - 1);
  const open = ({ kind, id }: Found) => {
    find.look('');
    if (kind === 'user') {
      desk.cardOf.value = id;
      return show('admin');
    }
    const tile = desk.talkgroups.tile(id);
    if (tile === undefined) return;
    desk.talkgroups.select(tile, true);
    show('talkgroups');
    desk.grid.goTo(id);
  };
  return (
    <>
      <Icon name="search" />
      <input
        id={FIELD}
        type="text"
        role="combobox"
        autoComplete="off"
        aria-label={words.name}
        placeholder={words.name}
        aria-autocomplete="list"
        aria-expanded={shown.length > 0}
        aria-controls={LIST}
        aria-activedescendant={shown.length > 0 ? idOf(active) : undefined}
        value={text.value}
        onInput={({ currentTarget }) => find.look(currentTarget.value)}
        onFocus={({ relatedTarget }) => {
          before.current = relatedTarget instanceof HTMLElement ? relatedTarget : null;
        }}
        onBlur={() => find.look('')}
        onKeyDown={(event) => {
          const chosen = shown[active];
          if (event.key === 'Enter' && chosen !== undefined) open(chosen);
          else if (event.key === 'ArrowDown') find.move(1);
          else if (event.key === 'ArrowUp') find.move(-1);
          else if (event.key === 'Escape' && isOpen) find.look('');
          else if (event.key === 'Escape') leave(event.currentTarget, before.current);
          else return;
          event.preventDefault();
        }}
      />
      <span class="key" aria-hidden="true">
        /
      </span>
      <div id={LIST} role="listbox" class="found" aria-label={words.results} hidden={shown.length === 0}>
        {shown.map((one, at) => (
          // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the field, as the pattern combobox of ARIA wants
          // biome-ignore lint/a11y/useKeyWithClickEvents: Enter is heard in the field
          <div
            key={`${one.kind} ${one.id}`}
            id={idOf(at)}
            role="option"
            aria-selected={at === active}
            onPointerDown={(event) => event.preventDefault()} // the field keeps the focus, and so the list stays
            onClick={() => open(one)}
          >
            <bdi class="name line">{one.name}</bdi>
            <span class="quiet">{words[one.kind]}</span>
          </div>
        ))}
      </div>
      <span role="status" class="visually-hidden">
        {isOpen && (shown.length === 0 ? words.none : words.found(shown.length))}
      </span>
    </>
  );
}

/** Back to where the focus was, if that is still there. */
function leave(field: HTMLElement, before: HTMLElement | null): void {
  if (before?.isConnected) before.focus();
  else field.blur();
}

const idOf = (place: number) => `${LIST}-${place}`;

function findOf({ talkgroups, account }: Desk): FindState {
  return createFind({
    talkgroups: computed(() =>
      talkgroups.tiles.value.map(({ id, view }) => ({ id, name: view.peek().name })),
    ),
    rest: computed(() => (account.mayDispatch.value ? account.rest : null)),
    clock: systemClock,
  });
}
