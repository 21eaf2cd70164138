// The strip above every tab: who is on air, and in its place that there is no connection.
import { connectionText } from '../app/connection.js';
import type { Desk } from '../app/desk.js';
import { texts } from '../app/texts.js';
import { nowMs } from '../app/ticking.js';
import { Icon } from '../icons/icon.js';
import { timeText } from './header.js';
import { shell as words } from './texts.js';

export function Strip({ desk }: { desk: Desk }) {
  const { state, close } = desk.connection.value;
  // At the start the view says that it is loading.
  const isLost = state !== 'open' && !(state === 'connecting' && close === null);
  return (
    <section class={`strip ${isLost ? 'lost' : ''}`} aria-label={words.onAirNow} data-region="strip">
      {isLost ? <Lost desk={desk} /> : <Label desk={desk} />}
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

function Label({ desk: { talkgroups } }: { desk: Desk }) {
  const count = talkgroups.tiles.value.reduce((sum, { view }) => sum + view.value.talkers.length, 0);
  return (
    <div class="strip-label">
      <h2>{words.onAirNow}</h2>
      <p class="quiet">{words.talkers(count)}</p>
    </div>
  );
}
