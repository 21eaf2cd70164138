// The strip above every tab: who is on air, and in its place that there is no connection.

import { connectionText } from '../app/connection.js';
import type { Desk } from '../app/desk.js';
import { texts } from '../app/texts.js';
import { nowMs } from '../app/ticking.js';
import { timeText } from '../app/time-of-day.js';
import { Icon } from '../icons/icon.js';
import { OnAirNow } from '../onair/strip.js';
import { onAir } from '../onair/texts.js';
import { shell as words } from './texts.js';

export function Strip({ desk }: { desk: Desk }) {
  const { state, close } = desk.connection.value;
  // At the start the view says that it is loading.
  const isLost = state !== 'open' && !(state === 'connecting' && close === null);
  return (
    <section class={`strip ${isLost ? 'lost' : ''}`} aria-label={onAir.label} data-region="strip">
      {isLost ? <Lost desk={desk} /> : <OnAirNow desk={desk} />}
    </section>
  );
}

/** The time until the next attempt is shown second by second, and said once, in the header. */
function Lost({ desk }: { desk: Desk }) {
  const view = desk.connection.value;
  const isCounting = view.state === 'waiting';
  const { lostAtMs } = desk;
  return (
    <>
      <Icon name="wifi-off" />
      <p class="lost-words">
        <strong>
          {lostAtMs.value === null
            ? words.neverConnected
            : words.hearNothing(timeText(new Date(lostAtMs.value)))}
        </strong>
        <span aria-hidden="true">{connectionText(view, isCounting ? nowMs.value : 0).text}</span>
      </p>
      {isCounting && (
        <button type="button" onClick={() => desk.link.send({ kind: 'reconnect' })}>
          {texts.connection.reconnect}
        </button>
      )}
    </>
  );
}
