// Shows each new alarm as a notification of the system while the page is hidden, if the user wants it.
import { effect } from '@preact/signals';
import type { Emergency } from '../../client/radio.js';
import type { Desk } from '../app/desk.js';
import { texts } from '../app/texts.js';

/** Until the page is left. */
export function notifyWhileHidden({ alarms, settings, talkgroups }: Desk): void {
  /** Ids of the open emergencies that were looked at. */
  let known: ReadonlySet<string> = new Set();
  effect(() => {
    const open = alarms.open.value;
    const fresh = open.filter(({ emergency_id, state }) => state === 'raised' && !known.has(emergency_id));
    known = new Set(open.map(({ emergency_id }) => emergency_id));
    if (!document.hidden || !settings.settings.peek().areAlarmsNotified) return;
    for (const one of fresh) notify(one, talkgroups.tile(one.talkgroup_id)?.view.peek().name ?? '');
  });
}

function notify({ emergency_id, username }: Emergency, talkgroup: string): void {
  try {
    const shown = new Notification(texts.alarms.text(username, talkgroup), { tag: emergency_id });
    shown.onclick = () => {
      window.focus();
      shown.close();
    };
  } catch {
    // TypeError: Chrome for Android shows none without a service worker
  }
}
