// The column at the right of the view. In a narrow window it is a sheet, which a bar above the view opens.
import { useSignal } from '@preact/signals';
import { AlarmList } from '../alarms/view.js';
import { clockText } from '../app/ages.js';
import type { Desk } from '../app/desk.js';
import { Phrase } from '../app/phrase.js';
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
          if (key === 'Escape') isOpen.value = false;
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
  const open = desk.alarms.open.value;
  const fresh = open.filter(({ state }) => state === 'raised');
  const [first] = fresh.length > 0 ? fresh : open;
  const serverMs = open.length === 0 ? 0 : nowMs.value + desk.connection.value.clockOffsetMs;
  const counts = [words.alarms(open.length), ...(fresh.length > 0 ? [words.fresh(fresh.length)] : [])].join(
    ', ',
  );
  return (
    <div class={`side-bar ${fresh.length > 0 ? 'new' : ''}`}>
      <Icon name="triangle-alert" />
      <p class="line name" role="alert">
        {first === undefined ? (
          words.none
        ) : (
          <Phrase say={(name = '') => `${counts}: ${name}`} names={[first.username]} />
        )}
      </p>
      {first !== undefined && (
        <span aria-hidden="true">{clockText(serverMs - Date.parse(first.raised_at))}</span>
      )}
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
