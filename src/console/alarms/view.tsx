// Shows the open emergencies above every tab. Each is said by screen readers when it comes, without its age.
import { type Signal, signal } from '@preact/signals';
import type { Emergency } from '../../client/radio.js';
import { ageText } from '../app/ages.js';
import type { Desk } from '../app/desk.js';
import { Phrase } from '../app/phrase.js';
import { texts } from '../app/texts.js';
import { nowMs } from '../app/ticking.js';

const { alarms: words } = texts;

/** Why the last acknowledgement or clearing was not possible. */
const failure: Signal<string | null> = signal(null);

export function AlarmList({ desk }: { desk: Desk }) {
  const open = desk.alarms.open.value;
  return (
    <section class="alarms" aria-label={words.label}>
      <ul>
        {open.map((emergency) => (
          <Alarm key={emergency.emergency_id} emergency={emergency} desk={desk} />
        ))}
      </ul>
      {failure.value !== null && (
        <p role="alert" class="error">
          {failure.value}
        </p>
      )}
    </section>
  );
}

function Alarm({ emergency, desk }: { emergency: Emergency; desk: Desk }) {
  const { emergency_id, talkgroup_id, username, user_id, state, raised_at } = emergency;
  const { account, talkgroups, connection, link } = desk;
  const talkgroup = talkgroups.tile(talkgroup_id)?.view.value.name ?? talkgroup_id;
  const ageMs = nowMs.value + connection.value.clockOffsetMs - Date.parse(raised_at);
  const isAdmin = account.role === 'admin';
  const ask = (type: 'EMERGENCY_ACK' | 'EMERGENCY_CLEAR') => {
    failure.value = null;
    link.request({ type, emergency_id }).catch((error: Error) => {
      failure.value = words.failed(error.message);
    });
  };
  return (
    <li class="alarm-row">
      <p role="alert" class="name">
        <Phrase say={(name = '', place = '') => words.text(name, place)} names={[username, talkgroup]} />
        {state === 'acknowledged' && ` (${words.acknowledged})`}
      </p>
      <span>{words.raised(ageText(ageMs))}</span>
      <span>{placeOf(emergency)}</span>
      {isAdmin && state === 'raised' && (
        <button type="button" class="primary" onClick={() => ask('EMERGENCY_ACK')}>
          {words.acknowledge}
        </button>
      )}
      {(isAdmin || user_id === account.userId) && (
        <button type="button" onClick={() => ask('EMERGENCY_CLEAR')}>
          {words.clear}
        </button>
      )}
    </li>
  );
}

/** Where the raiser is now, else where the emergency was raised. To five digits, which is about a metre. */
function placeOf(emergency: Emergency): string {
  const { lat, lng } = emergency.position ?? emergency;
  if (lat === undefined || lng === undefined) return words.noPlace;
  return words.place(lat.toFixed(5), lng.toFixed(5));
}
