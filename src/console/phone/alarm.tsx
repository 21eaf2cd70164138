// Says above the last calls that an alarm is open, and opens the alarms.
import { firstAlarm } from '../alarms/summary.js';
import { clockText } from '../app/ages.js';
import type { Desk } from '../app/desk.js';
import { Phrase } from '../app/phrase.js';
import { show } from '../app/places.js';
import { nowMs } from '../app/ticking.js';
import { Icon } from '../icons/icon.js';
import { shell } from '../shell/texts.js';
import { phone as words } from './texts.js';

export function AlarmBar({ desk }: { desk: Desk }) {
  const first = firstAlarm(desk);
  if (first === null) return null;
  const { talkgroup_id, username, raised_at, state } = first;
  const talkgroup = desk.talkgroups.tile(talkgroup_id)?.view.value.name ?? talkgroup_id;
  const ageMs = nowMs.value + desk.connection.value.clockOffsetMs - Date.parse(raised_at);
  return (
    <button
      type="button"
      class={state === 'raised' ? 'phone-alarm new' : 'phone-alarm'}
      onClick={() => show('alarms')}
    >
      <Icon name="triangle-alert" />
      <span class="visually-hidden">{`${shell.bar.show} ${words.views.alarms}: `}</span>
      <span class="line name">
        <Phrase say={(name = '', group = '') => words.alarm(name, group)} names={[username, talkgroup]} />
      </span>
      <span aria-hidden="true">{clockText(ageMs)}</span>
    </button>
  );
}
