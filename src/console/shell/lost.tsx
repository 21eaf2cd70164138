// What is said and offered while there is no connection.
import { connectionText } from '../app/connection.js';
import type { Desk } from '../app/desk.js';
import { useFocusLeft } from '../app/focus-left.js';
import { texts } from '../app/texts.js';
import { nowMs } from '../app/ticking.js';
import { timeText } from '../app/time-of-day.js';
import type { ConnectionView } from '../worker/messages.js';
import { shell as words } from './texts.js';

/** Not at the start, when the view says that it is loading. */
export const isLost = ({ state, close }: ConnectionView): boolean =>
  state !== 'open' && !(state === 'connecting' && close === null);

/** `why`: with the seconds until the next attempt. */
export function lostWords({ connection, lostAtMs }: Desk): { since: string; why: string } {
  const view = connection.value;
  const since = lostAtMs.value;
  return {
    since: since === null ? words.neverConnected : words.hearNothing(timeText(new Date(since))),
    why: connectionText(view, view.state === 'waiting' ? nowMs.value : 0).text,
  };
}

/** While the console waits for its next attempt. */
export function Reconnect({ desk }: { desk: Desk }) {
  return desk.connection.value.state === 'waiting' ? <ReconnectButton link={desk.link} /> : null;
}

/** When it goes, the region it was in gets the focus. */
function ReconnectButton({ link }: Pick<Desk, 'link'>) {
  const button = useFocusLeft((region) => {
    if (region === null) return;
    region.tabIndex = -1;
    region.focus();
  });
  return (
    <button type="button" ref={button} onClick={() => link.send({ kind: 'reconnect' })}>
      {texts.connection.reconnect}
    </button>
  );
}
