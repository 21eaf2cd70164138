// Shows one alarm: who, where, since when, and its buttons. The row has the same height in each state.
import { useSignal } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { Emergency } from '../../client/radio.js';
import { ageText, clockText } from '../app/ages.js';
import type { Desk } from '../app/desk.js';
import { Phrase } from '../app/phrase.js';
import { show } from '../app/places.js';
import type { Account } from '../app/session.js';
import { texts } from '../app/texts.js';
import { nowMs } from '../app/ticking.js';
import { Icon } from '../icons/icon.js';
import { nearestWhenLoaded } from '../map/places/lazy.js';
import { TalkgroupKey } from '../talk/key.js';
import { AnswerButton, requestOf } from './answer-button.js';
import { Confirmation, useFocusBack } from './confirmation.js';
import type { AlarmRow } from './order.js';

const { alarms: words } = texts;

/** An age below it is shown as `6:14`. */
const HOUR_MS = 3_600_000;

type RowProps = { row: AlarmRow; desk: Desk; isScrolling(): boolean };

export function AlarmRowView({ row, desk, isScrolling }: RowProps) {
  const { emergency, end } = row;
  const { talkgroup_id: id, username, state, raised_at } = emergency;
  const talkgroup = desk.talkgroups.tile(id)?.view.value.name ?? id;
  const ageMs = nowMs.value + desk.connection.value.clockOffsetMs - Date.parse(raised_at);
  const group = useRef<HTMLDivElement>(null);
  // Its buttons go when it ends. The focus stays in the row, not at the beginning of the page.
  const hadFocus = group.current?.contains(document.activeElement) ?? false;
  useLayoutEffect(() => {
    if (hadFocus && !group.current?.contains(document.activeElement)) group.current?.focus();
  });
  const isNew = end === null && state === 'raised';
  return (
    <li>
      {/* biome-ignore lint/a11y/useSemanticElements: not a form, and a fieldset has a border and a size of its own */}
      <div
        role="group"
        aria-label={words.text(username, talkgroup)}
        class={`alarm-row ${end !== null ? 'ended' : state}`}
        ref={group}
        tabIndex={-1}
      >
        <p {...(end === null && { role: 'alert' })} class="visually-hidden">
          <Phrase say={(name = '', place = '') => words.text(name, place)} names={[username, talkgroup]} />
        </p>
        <div class="line">
          <Icon name="triangle-alert" />
          <bdi class="name line who">{username}</bdi>
          {isNew ? <strong class="fresh">{words.fresh}</strong> : <span>{stateText(row)}</span>}
          {/* With a key, so that it does not become the text of the state when that becomes a span. */}
          <span key="age" class="age">
            {ageMs < HOUR_MS ? clockText(ageMs) : ageText(ageMs)}
          </span>
        </div>
        <Facts row={row} talkgroup={talkgroup} desk={desk} />
        {end === null ? (
          <Buttons emergency={emergency} talkgroup={talkgroup} desk={desk} isScrolling={isScrolling} />
        ) : (
          <div class="line">{words.stays}</div>
        )}
      </div>
    </li>
  );
}

function stateText({ emergency, end }: AlarmRow): string {
  if (end !== null) return words.ended[end.why];
  return emergency.state === 'acknowledged' ? words.acknowledged : '';
}

/** Why the last request for this alarm failed, else the talkgroup and where the user is. */
function Facts({ row: { emergency }, talkgroup, desk }: { row: AlarmRow; talkgroup: string; desk: Desk }) {
  const state = desk.answering.states.value.get(emergency.emergency_id);
  if (state?.phase === 'failed') {
    return (
      <p role="alert" class="line error name">
        {words.failed(state.text)}
      </p>
    );
  }
  const atMs = emergency.position === undefined ? null : Date.parse(emergency.position.updated_at);
  const serverMs = nowMs.value + desk.connection.value.clockOffsetMs;
  return (
    <div class="line">
      <bdi class="name line">
        <b>{talkgroup}</b>
      </bdi>
      <Place emergency={emergency} />
      {atMs !== null && <span class="age">{words.old(ageText(serverMs - atMs))}</span>}
    </div>
  );
}

/** Where the raiser is now, else where the emergency was raised. In digits to five places, which is about a metre. */
function Place({ emergency }: { emergency: Emergency }) {
  const { lat, lng } = emergency.position ?? emergency;
  if (lat === undefined || lng === undefined) return <span>{words.noPlace}</span>;
  const digits = words.place(lat.toFixed(5), lng.toFixed(5));
  return <span title={digits}>{nearestWhenLoaded(lat, lng) ?? digits}</span>;
}

function Buttons({
  emergency,
  talkgroup,
  desk,
  isScrolling,
}: Pick<RowProps, 'desk' | 'isScrolling'> & { emergency: Emergency; talkgroup: string }) {
  const { emergency_id: id, talkgroup_id } = emergency;
  const { talking, onMap } = desk;
  const meaning = meaningFor(emergency, desk.account);
  const isAsking = useSignal(false);
  const { isConfirming } = desk.settings.settings.value;
  const line = useRef<HTMLDivElement>(null);
  useFocusBack(isAsking.value, () => line.current?.querySelector<HTMLElement>('button:last-of-type'));
  if (isAsking.value && isConfirming && meaning === 'clear') {
    return (
      <div class="line" ref={line}>
        <Confirmation
          question={words.clearQuestion(emergency.username)}
          confirm={words.clearNow}
          onAnswer={(isConfirmed) => {
            isAsking.value = false;
            if (isConfirmed) desk.answering.act(id, requestOf(desk, id, 'EMERGENCY_CLEAR'));
          }}
        />
      </div>
    );
  }
  const onAsk = isConfirming
    ? () => {
        isAsking.value = true;
      }
    : null;
  return (
    <div class="line" ref={line}>
      <button
        type="button"
        onClick={() => {
          onMap.value = id;
          show('map');
        }}
      >
        {words.map}
      </button>
      <TalkgroupKey
        talking={talking}
        talkgroupId={talkgroup_id}
        id={`talk-state-alarm-${id}`}
        name={texts.talkgroups.talk(talkgroup)}
        text={texts.talkgroups.short.talk}
      />
      {meaning !== null && <AnswerButton emergencyId={id} {...{ meaning, desk, isScrolling, onAsk }} />}
    </div>
  );
}

/** null: the user may do neither. */
function meaningFor(
  { state, user_id }: Emergency,
  { mayDispatch, userId }: Account,
): 'acknowledge' | 'clear' | null {
  if (mayDispatch.value && state === 'raised') return 'acknowledge';
  return mayDispatch.value || user_id === userId ? 'clear' : null;
}
