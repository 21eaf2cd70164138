// Says the open alarms in a line, where their list is out of sight.
import type { Emergency } from '../../client/radio.js';
import type { Desk } from '../app/desk.js';
import { Phrase } from '../app/phrase.js';
import { shell } from '../shell/texts.js';

const { bar: words } = shell;

/** The oldest new one, else the oldest. null: none is open. */
export function firstAlarm({ alarms }: Desk): Emergency | null {
  const open = alarms.open.value;
  return open.find(({ state }) => state === 'raised') ?? open[0] ?? null;
}

/** Without an age, for screen readers. Nothing without an alarm. */
export function AlarmWords({ desk }: { desk: Desk }) {
  const first = firstAlarm(desk);
  if (first === null) return null;
  const open = desk.alarms.open.value;
  const fresh = open.filter(({ state }) => state === 'raised').length;
  const counts = [words.alarms(open.length), ...(fresh > 0 ? [words.fresh(fresh)] : [])].join(', ');
  return <Phrase say={(name = '') => `${counts}: ${name}`} names={[first.username]} />;
}
