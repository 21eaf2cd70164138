// The column at the right of the view. In a narrow window it is a sheet, which a bar above the view opens.
import { useSignal } from '@preact/signals';
import { AlarmWords, firstAlarm } from '../alarms/summary.js';
import { AlarmList } from '../alarms/view.js';
import { clockText } from '../app/ages.js';
import type { Desk } from '../app/desk.js';
import { nowMs } from '../app/ticking.js';
import { Icon } from '../icons/icon.js';
import { LastTen } from '../onair/last-ten.js';
import { shell } from './texts.js';

const { bar: words } = shell;

export function Side({ desk }: { desk: Desk }) {
  const isOpen = useSignal(false);
  return (
    <>
      <SideBar
        desk={desk}
        isOpen={isOpen.value}
        onPress={() => {
          isOpen.value = !isOpen.value;
        }}
      />
      <aside
        id="side"
        class={isOpen.value ? 'side open' : 'side'}
        aria-label={shell.side}
        onKeyDown={({ key }) => {
          if (key !== 'Escape' || !isOpen.peek()) return;
          isOpen.value = false;
          document.querySelector<HTMLElement>('.side-bar button')?.focus();
        }}
      >
        <AlarmList desk={desk} />
        <LastTen desk={desk} />
      </aside>
    </>
  );
}

/** Always there in a narrow window, so that an alarm moves nothing. The column is hidden then, so it speaks for it. */
function SideBar({ desk, isOpen, onPress }: { desk: Desk; isOpen: boolean; onPress(): void }) {
  const first = firstAlarm(desk);
  const serverMs = first === null ? 0 : nowMs.value + desk.connection.value.clockOffsetMs;
  return (
    <div class={`side-bar ${first?.state === 'raised' ? 'new' : ''}`}>
      <Icon name="triangle-alert" />
      <p class="line name" role="status">
        {first === null ? words.none : <AlarmWords desk={desk} />}
      </p>
      {first !== null && <span aria-hidden="true">{clockText(serverMs - Date.parse(first.raised_at))}</span>}
      <button
        type="button"
        aria-expanded={isOpen}
        aria-controls="side"
        aria-label={`${isOpen ? words.hide : words.show}: ${shell.side}`}
        onClick={onPress}
      >
        {isOpen ? words.hide : words.show}
      </button>
    </div>
  );
}
