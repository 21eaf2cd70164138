// Shows the card of a device: who, where and how fast, with a talk key. It floats beside its marker and keeps its place.
import { useSignal } from '@preact/signals';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { AnswerButton } from '../../alarms/answer-button.js';
import type { Desk } from '../../app/desk.js';
import { nowMs } from '../../app/ticking.js';
import { Icon } from '../../icons/icon.js';
import { TalkgroupKey } from '../../talk/key.js';
import type { Stage } from '../canvas.js';
import { stopFollowing } from '../choices.js';
import { roomOf } from '../room.js';
import type { MapState } from '../state.js';
import { texts } from '../texts.js';
import { ageWords, batteryText, courseText, speedText } from './fields.js';
import { cornerOf, keepCard, type Point } from './placement.js';
import { Position } from './position.js';
import { type Subject, subjectOf } from './subject.js';

const { card: words } = texts;

type CardProps = { map: MapState; stage: Stage; desk: Desk };

export function OpenCard({ map, stage, desk }: CardProps) {
  map.edition.value;
  const card = map.choices.card.value;
  const subject = card === null ? null : subjectOf(card, map.fleet, map.marks.value);
  useEnd(map, card !== null && subject !== null);
  if (card === null || subject === null) return null;
  const key = 'device' in card ? card.device : card.emergency;
  return <Card key={key} subject={subject} map={map} stage={stage} desk={desk} />;
}

/** A card whose device or alarm is no longer on the map does not come back with it. The focus goes to the map. */
function useEnd({ choices }: MapState, isShown: boolean): void {
  const wasShown = useRef(false);
  useLayoutEffect(() => {
    if (wasShown.current && !isShown && choices.card.peek() !== null) {
      choices.card.value = null;
      if (document.activeElement === document.body) focusCanvas();
    }
    wasShown.current = isShown;
  }, [choices, isShown]);
}

const focusCanvas = () => document.querySelector<HTMLElement>('.maplibregl-canvas')?.focus();

function Card({ subject, map, stage, desk }: CardProps & { subject: Subject }) {
  const { username, mark } = subject;
  const { choices } = map;
  const element = useRef<HTMLElement>(null);
  useFloating(element, subject, map, stage);
  useFocus(element, choices.card.value?.hasFocus === true);
  const close = () => {
    choices.card.value = null;
    const [row] = document.getElementsByName(`show-${subject.device ?? mark?.id}`);
    if (row === undefined) focusCanvas();
    else row.focus();
  };
  const now = nowMs.value + map.connection.value.clockOffsetMs;
  const state = mark === null ? null : mark.isAcknowledged ? 'acknowledged' : 'raised';
  return (
    <section
      class={`map-card ${state ?? ''}`}
      aria-label={words.label(username)}
      ref={element}
      tabIndex={-1}
      onKeyDown={(event) => {
        if (event.key === 'Escape') close();
      }}
    >
      <header class="map-card-head">
        {state === null ? (
          <span class="quiet name line">{words.device(subject.deviceName)}</span>
        ) : (
          <>
            <Icon name="triangle-alert" />
            <strong class="name line">{words.emergency[state]}</strong>
          </>
        )}
        <button type="button" class="map-close" aria-label={words.close(username)} onClick={close}>
          <Icon name="x" />
        </button>
      </header>
      <div class="map-card-body">
        <Facts subject={subject} now={now} map={map} desk={desk} />
        <Position lat={subject.lat} lng={subject.lng} accuracy={subject.accuracy} />
        <Talk subject={subject} map={map} desk={desk} />
        <Actions subject={subject} map={map} stage={stage} desk={desk} />
      </div>
    </section>
  );
}

/** Placed by the object model, because the policy of the page allows no inline style. */
function useFloating(ref: { current: HTMLElement | null }, subject: Subject, map: MapState, stage: Stage) {
  const before = useRef<Point | null>(null);
  stage.moves.value;
  map.choices.isDrawerOpen.value;
  useLayoutEffect(() => {
    const drawing = stage.drawing.value;
    const card = ref.current;
    if (card === null) return;
    const { offsetWidth: width, offsetHeight: height } = card;
    const room = roomOf(card.parentElement);
    const isPlaced = drawing !== null && !Number.isNaN(subject.lat);
    before.current = isPlaced
      ? keepCard(before.current, {
          ...{ room, card: { width, height } },
          marker: drawing.camera.project(subject.lng, subject.lat),
        })
      : cornerOf(room, width);
    card.style.left = `${before.current.x}px`;
    card.style.top = `${before.current.y}px`;
  });
}

/** It gets the focus when the keyboard has opened it, and keeps it when the button with the focus is removed. */
function useFocus(ref: { current: HTMLElement | null }, isOpenedByKey: boolean) {
  useEffect(() => {
    if (isOpenedByKey) ref.current?.focus();
  }, [isOpenedByKey, ref]);
  const hadFocus = ref.current?.contains(document.activeElement) ?? false;
  useLayoutEffect(() => {
    if (hadFocus && !ref.current?.contains(document.activeElement)) ref.current?.focus();
  });
}

type PartProps = { subject: Subject; map: MapState; desk: Desk };

const nameOf = (desk: Desk, id: string) => desk.talkgroups.tile(id)?.view.value.name ?? '';

/** Of the user, that of the emergency first. */
function talkgroupsOf({ userId, mark }: Subject, map: MapState): string[] {
  const known = map.memberships.of(userId);
  return mark === null ? known : [mark.talkgroupId, ...known.filter((id) => id !== mark.talkgroupId)];
}

function Facts({ subject, now, map, desk }: PartProps & { now: number }) {
  const names = talkgroupsOf(subject, map).map((id) => nameOf(desk, id));
  const facts = [
    [words.speed, speedText(subject.speed)],
    [words.course, courseText(subject.course)],
    [words.battery, batteryText(subject, now)],
    [words.age, ageWords(subject.fixedAtMs, now)],
  ] as const;
  return (
    <>
      <h2 class="map-card-name">
        <bdi class="name line">{subject.username}</bdi>{' '}
        <bdi class="name line quiet" title={names.join(', ')}>
          {names.length === 0 ? words.none : names.join(', ')}
        </bdi>
      </h2>
      <dl>
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </>
  );
}

function Talk({ subject, map, desk }: PartProps) {
  const ids = talkgroupsOf(subject, map);
  const wanted = useSignal('');
  const id = ids.find((one) => one === wanted.value) ?? ids[0];
  if (id === undefined) return null;
  const name = nameOf(desk, id);
  return (
    <>
      {ids.length > 1 && (
        <select
          aria-label={words.talkgroup}
          value={id}
          onChange={(event) => {
            wanted.value = event.currentTarget.value;
          }}
        >
          {ids.map((one) => (
            <option key={one} value={one}>
              {nameOf(desk, one)}
            </option>
          ))}
        </select>
      )}
      <TalkgroupKey
        talking={desk.talking}
        talkgroupId={id}
        id="talk-state-card"
        name={words.talk(name)}
        text={words.holdToTalk(name)}
      />
    </>
  );
}

function Actions({ subject, map, stage, desk }: PartProps & { stage: Stage }) {
  const { device, username, mark } = subject;
  const { choices } = map;
  const isTrailed = device !== null && choices.trailed.value.has(device);
  const isFollowed = device !== null && choices.followed.value === device;
  return (
    <div class="map-card-actions">
      {device !== null && (
        <>
          <button
            type="button"
            aria-label={words.followName(username)}
            aria-pressed={isFollowed}
            aria-disabled={stage.drawing.value === null}
            onClick={() => {
              if (stage.drawing.peek() === null) return;
              stopFollowing(choices);
              choices.followed.value = isFollowed ? null : device;
            }}
          >
            <Icon name="map-pin" />
            {words.follow}
          </button>
          <button
            type="button"
            aria-label={words.trailName(username)}
            aria-pressed={isTrailed}
            onClick={() => {
              const next = new Set(choices.trailed.peek());
              if (!next.delete(device)) next.add(device);
              choices.trailed.value = next;
            }}
          >
            <Icon name="history" />
            {words.trail}
          </button>
        </>
      )}
      {mark !== null && !mark.isAcknowledged && desk.account.mayDispatch.value && (
        <AnswerButton
          emergencyId={mark.id}
          meaning="acknowledge"
          desk={desk}
          isScrolling={() => false}
          onAsk={null}
        />
      )}
    </div>
  );
}
