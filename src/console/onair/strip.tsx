// Shows who is on air in four slots of one size, on every tab. Not said by screen readers: it would disturb listening.
import { ageText, clockText } from '../app/ages.js';
import type { Desk } from '../app/desk.js';
import { useInside } from '../app/inside.js';
import { nowMs } from '../app/ticking.js';
import { Icon } from '../icons/icon.js';
import type { IconName } from '../icons/icons.js';
import { HoldButton } from '../talk/hold-button.js';
import { SLOTS, type Slot } from './slots.js';
import { onAir as words } from './texts.js';

const places = Array.from({ length: SLOTS }, (_, index) => index);

export function OnAirNow({ desk }: { desk: Desk }) {
  return (
    <>
      <Label desk={desk} />
      <ul class="slots">
        {places.map((index) => (
          <Place key={index} index={index} desk={desk} />
        ))}
      </ul>
    </>
  );
}

function Label({ desk: { talkgroups, onAir } }: { desk: Desk }) {
  const count = talkgroups.tiles.value.reduce((sum, { view }) => sum + view.value.talkers.length, 0);
  const more = onAir.more.value;
  return (
    <div class="strip-label">
      <h2>{words.label}</h2>
      <p class={more > 0 ? '' : 'quiet'}>{more > 0 ? words.more(more) : words.talkers(count)}</p>
    </div>
  );
}

type PlaceProps = { index: number; desk: Desk };

function Place({ index, desk }: PlaceProps) {
  const { onAir } = desk;
  const slot = onAir.slots.value[index] ?? null;
  const inside = useInside((isInside) => onAir.keep(index, isInside));
  return (
    <li
      class={`slot ${slot === null ? 'free' : lookOf(slot, isHeard(slot, desk))}`}
      aria-hidden={slot === null}
      {...inside}
    >
      {slot !== null && <Content key={slot.key} slot={slot} desk={desk} />}
    </li>
  );
}

const isHeard = ({ talkgroupId, isOwn, isUnopened }: Slot, { talkgroups }: Desk) =>
  isOwn || !(isUnopened || talkgroups.tile(talkgroupId)?.isMuted.value);

function lookOf({ endedAtMs, emergency }: Slot, heard: boolean): string {
  if (endedAtMs !== null) return 'ended';
  return `${emergency ? 'urgent' : 'voice'} ${heard ? 'heard' : 'not-heard'}`;
}

function iconOf({ endedAtMs, emergency, isOwn }: Slot, heard: boolean): IconName {
  if (endedAtMs !== null) return 'clock';
  if (!heard) return 'volume-x';
  if (emergency) return 'triangle-alert';
  return isOwn ? 'radio' : 'audio-lines';
}

function Content({ slot, desk }: { slot: Slot; desk: Desk }) {
  const { talkgroupId, talkgroup, username, startedAtMs, endedAtMs, emergency, isOwn } = slot;
  const { talking } = desk;
  const heard = isHeard(slot, desk);
  const now = nowMs.value;
  return (
    <>
      <Icon name={iconOf(slot, heard)} />
      <div class="who">
        <p class="line name">{isOwn ? words.you : <bdi>{username}</bdi>}</p>
        <p>
          <bdi class="line name">{talkgroup}</bdi>
          <span>
            {words.time(
              endedAtMs === null ? clockText(now - startedAtMs) : words.ended(ageText(now - endedAtMs)),
            )}
          </span>
          {endedAtMs === null && (emergency || !heard) && (
            <span class="visually-hidden">
              {[emergency && words.emergency, !heard && words.notHeard].filter(Boolean).join(', ')}
            </span>
          )}
        </p>
      </div>
      {!isOwn && (
        <HoldButton
          class="reply"
          name={words.answerIn(username, talkgroup)}
          isPressed={talking.states.value.has(talkgroupId)}
          onHold={(source) => talking.press(source, [talkgroupId])}
          onLetGo={talking.release}
        >
          <Icon name="reply" />
          <span>{words.answer}</span>
        </HoldButton>
      )}
    </>
  );
}
