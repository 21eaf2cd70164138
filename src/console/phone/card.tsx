// Shows who talks, or who talked last. Without a connection it says since when nothing is heard.
import type { ReadonlySignal } from '@preact/signals';
import { ageText, clockText } from '../app/ages.js';
import type { Desk } from '../app/desk.js';
import { Phrase } from '../app/phrase.js';
import { texts } from '../app/texts.js';
import { nowMs } from '../app/ticking.js';
import { Icon } from '../icons/icon.js';
import { onAir } from '../onair/texts.js';
import { isLost, lostWords, Reconnect } from '../shell/lost.js';
import { Meter } from '../sound/meter.js';
import { TalkerLock } from '../talkgroups/lock.js';
import { talkgroupLock } from '../talkgroups/lock-words.js';
import type { Tile } from '../talkgroups/state.js';
import type { Phone } from './state.js';
import type { Heard } from './talkers.js';
import { phone as words } from './texts.js';

const { talkgroups } = texts;
const LEVEL_BARS = 16;

export function Card({ desk, phone }: { desk: Desk; phone: Phone }) {
  const lost = isLost(desk.connection.value);
  const heard = lost ? null : phone.heard.value;
  const look = lost ? 'lost' : heard === null ? '' : 'talking';
  return (
    <section class={`phone-card ${look}`} aria-label={onAir.label} data-region="strip">
      {lost ? (
        <Lost desk={desk} />
      ) : heard === null ? (
        <Quiet tile={phone.ring.current.value} desk={desk} />
      ) : (
        <Talker heard={heard} current={phone.ring.current.value} level={desk.microphone.level} />
      )}
    </section>
  );
}

/** `level`: of the own microphone. */
function Talker({
  heard: { talker, tile, more, elsewhere },
  current,
  level,
}: {
  heard: Heard;
  current: Tile | null;
  level: ReadonlySignal<number>;
}) {
  const clock = clockText(nowMs.value - talker.startedAtMs);
  return (
    <>
      <p class="phone-talks line">
        <Icon name={talker.isOwn ? 'radio' : 'audio-lines'} />
        <span class="line name">
          {tile === current ? (
            words.talksFor(clock)
          ) : (
            <Phrase say={(name = '') => words.talksIn(name, clock)} names={[tile.view.value.name]} />
          )}
          {talker.emergency && ` (${talkgroups.inEmergency})`}
        </span>
      </p>
      <bdi class="phone-who line name">{talker.isOwn ? words.you : talker.username}</bdi>
      <p class="line name">
        {talker.isOwn && <Meter level={level} bars={LEVEL_BARS} />}
        <TalkerLock talker={talker} tile={tile} />
        {more > 0 && <span> {talkgroups.more(more)}</span>}
        {elsewhere > 0 && <span> {words.elsewhere(elsewhere)}</span>}
      </p>
    </>
  );
}

function Quiet({ tile, desk }: { tile: Tile | null; desk: Desk }) {
  if (tile === null) {
    if (desk.connection.value.state !== 'open') return <p class="quiet">{texts.loading}</p>;
    return <p class="quiet">{desk.account.role === 'admin' ? talkgroups.noneForAdmin : talkgroups.none}</p>;
  }
  const { last, missed, name } = tile.view.value;
  const lock = talkgroupLock(tile.view.value, tile.isEncrypting.value, desk.keys.phase.value);
  if (lock?.tone === 'alarm') {
    return (
      <>
        <strong class="phone-quiet">{talkgroups.quiet}</strong>
        <p class="error">{lock.text}</p>
      </>
    );
  }
  return (
    <>
      <p class="quiet">{words.nothing}</p>
      <strong class="phone-quiet">{talkgroups.quiet}</strong>
      <p class="line name">
        {missed > 0 ? (
          <span class="loss">
            <Phrase say={(shown = '') => talkgroups.missed(missed, shown)} names={[name]} />
          </span>
        ) : (
          last !== null && (
            <span class="quiet">
              <Phrase
                say={(shown = '') => words.last(shown, ageText(nowMs.value - last.endedAtMs))}
                names={[last.username]}
              />
            </span>
          )
        )}
      </p>
    </>
  );
}

function Lost({ desk }: { desk: Desk }) {
  const { since, why } = lostWords(desk);
  return (
    <>
      <strong>{since}</strong>
      <p aria-hidden="true">{why}</p>
      <Reconnect desk={desk} />
    </>
  );
}
