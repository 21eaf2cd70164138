// The strip above every tab: who is on air, and in its place that there is no connection.
import type { Desk } from '../app/desk.js';
import { Icon } from '../icons/icon.js';
import { OnAirNow } from '../onair/strip.js';
import { onAir } from '../onair/texts.js';
import { isLost, lostWords, Reconnect } from './lost.js';

export function Strip({ desk }: { desk: Desk }) {
  const lost = isLost(desk.connection.value);
  return (
    <section class={`strip ${lost ? 'lost' : ''}`} aria-label={onAir.label} data-region="strip">
      {lost ? <Lost desk={desk} /> : <OnAirNow desk={desk} />}
    </section>
  );
}

/** The time until the next attempt is shown second by second, and said once, in the header. */
function Lost({ desk }: { desk: Desk }) {
  const { since, why } = lostWords(desk);
  return (
    <>
      <Icon name="wifi-off" />
      <p class="lost-words">
        <strong role="alert">{since}</strong>
        <span aria-hidden="true">{why}</span>
      </p>
      <Reconnect desk={desk} />
    </>
  );
}
