// The dock: the key for all selected talkgroups, to whom it talks, and what became of each talk. Its height never changes.
import { type ReadonlySignal, useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import type { Desk } from '../app/desk.js';
import { Phrase } from '../app/phrase.js';
import { talkgroupAt } from '../app/talkgroup-at.js';
import { texts } from '../app/texts.js';
import { Icon } from '../icons/icon.js';
import { TalkKey, tickOf } from './key.js';
import { keyName } from './keys.js';
import { hasFailed, isLive } from './look.js';
import type { Shown } from './state.js';
import { targetsOf } from './targets.js';
import { sentenceOf, sentenceWithoutTime } from './words.js';

const { talk: words } = texts;

type TalkBarProps = {
  desk: Desk;
  /** What the console needs from the user, in the place of the sentences. */
  children: ComponentChildren;
  /** Also during a talk, which fails until the user has acted. */
  isUrgent: boolean;
};

export function TalkBar({ desk, children, isUrgent }: TalkBarProps) {
  const { talking, talkgroups } = desk;
  const selected = talkgroups.selected.value.map(({ id }) => id);
  const all = talkgroups.tiles.value.map(({ id }) => id);
  const targets = targetsOf({ selected, focused: null, all });
  return (
    <section class="talk-bar" aria-label={words.label}>
      <TalkKey
        talking={talking}
        id="talk-state"
        name={words.toSelected}
        text={words.holdToTalk}
        targets={targets}
        shown={[...talking.shown.value.values()]}
        describedBy="talk-hint"
      />
      <Targets desk={desk} targets={targets} count={selected.length} />
      {isUrgent ? <div class="states">{children}</div> : <States desk={desk}>{children}</States>}
      <Said desk={desk} />
    </section>
  );
}

/** The talkgroups of the presses that are held, else those that the key would talk to. */
function Targets({ desk, targets, count }: { desk: Desk; targets: readonly string[]; count: number }) {
  const { talking, talkgroups, settings } = desk;
  const focused = useFocusedTalkgroup().value;
  const key = keyName(settings.settings.value.talkKey);
  const held = [...talking.shown.value].filter(([, { isHeld }]) => isHeld).map(([id]) => id);
  const named = held.length > 0 ? held : targets;
  const isTicked = (id: string) => count > 0 && targets.includes(id);
  if (named.length === 0 && focused !== null && talkgroups.tile(focused) !== undefined) {
    return (
      <p id="talk-hint" class="targets quiet">
        <span>{words.keyTalksTo(key)}</span>
        <span class="chip">
          <bdi class="name line">{nameOf(talkgroups, focused)}</bdi>
        </span>
      </p>
    );
  }
  return (
    <p id="talk-hint" class="targets quiet">
      <span>{held.length > 0 ? words.youHold : named.length > 0 ? words.talkTo : words.noneSelected}</span>
      {named.map((id) => (
        <span key={id} class="chip">
          {isTicked(id) && <Icon name="check" />}
          <bdi class="name line">{nameOf(talkgroups, id)}</bdi>
        </span>
      ))}
      {held.length === 0 && (
        <>
          {count > 1 && <span>{words.selected(count)}</span>}
          <span class="key-hint">{words.orKey(key)}</span>
        </>
      )}
    </p>
  );
}

/** The talkgroup of the control with the focus: the talk key talks there while none is selected. */
function useFocusedTalkgroup(): ReadonlySignal<string | null> {
  const focused = useSignal<string | null>(null);
  useEffect(() => {
    const entered = ({ target }: FocusEvent) => {
      focused.value = talkgroupAt(target);
    };
    const left = ({ relatedTarget }: FocusEvent) => {
      focused.value = talkgroupAt(relatedTarget);
    };
    document.addEventListener('focusin', entered);
    document.addEventListener('focusout', left);
    return () => {
      document.removeEventListener('focusin', entered);
      document.removeEventListener('focusout', left);
    };
  }, [focused]);
  return focused;
}

/** With the countdown of the talk limit. */
function States({ desk: { talking, talkgroups }, children }: { desk: Desk; children: ComponentChildren }) {
  const live = [...talking.shown.value].filter(([, one]) => isLive(one));
  // A denial is in sight without scrolling.
  const shown = [...live.filter(([, one]) => hasFailed(one)), ...live.filter(([, one]) => !hasFailed(one))];
  const atMs = tickOf(shown.map(([, one]) => one));
  const trouble = troubleOf(talking);
  const { isConnected, isSilent } = talking.around;
  if (trouble === null && shown.length === 0) {
    if (isConnected.value) return <div class="states">{children}</div>;
    return (
      <p class="states">
        <strong class="denied">{words.nothingSent}</strong> {words.whenBack}
      </p>
    );
  }
  return (
    <ul class="states" aria-hidden="true">
      {trouble !== null && <li class="denied">{trouble}</li>}
      {isSilent.value && <li class="denied">{words.silent}</li>}
      {shown.map(([id, one]) => (
        <li key={id} class={`name ${classes[one.state.phase]}`}>
          <Phrase
            say={(name = '') => words.in(name, sentenceOf(one, atMs))}
            names={[nameOf(talkgroups, id)]}
          />
        </li>
      ))}
    </ul>
  );
}

const classes: Readonly<Record<Shown['state']['phase'], string>> = {
  asking: 'quiet',
  queued: 'quiet',
  talking: 'talk-now',
  refused: 'denied',
  over: 'denied',
};

/** For screen readers, without the seconds. A denial or a cut interrupts them, the own talk and the queue do not. */
export function Said({ desk: { talking, talkgroups } }: { desk: Desk }) {
  const trouble = troubleOf(talking);
  const said = (isSaid: (one: Shown) => boolean) =>
    [...talking.shown.value]
      .filter(([, one]) => isSaid(one))
      .map(([id, one]) => words.in(nameOf(talkgroups, id), sentenceWithoutTime(one)));
  const calm = said(({ state: { phase }, isHeld }) => phase === 'talking' || (isHeld && phase === 'queued'));
  const failed = said((one) => one.isHeld && hasFailed(one));
  return (
    <>
      <p role="status" class="visually-hidden">
        {trouble === null && calm.join(' ')}
        {talking.around.isSilent.value && ` ${words.silent}`}
      </p>
      <p aria-live="assertive" class="visually-hidden">
        {[trouble ?? '', ...failed].join(' ')}
      </p>
    </>
  );
}

function troubleOf({ interruption, noTarget }: Desk['talking']): string | null {
  if (interruption.value !== null) return words.ended[interruption.value];
  return noTarget.value === null ? null : words.noTarget[noTarget.value];
}

const nameOf = (talkgroups: Desk['talkgroups'], id: string) =>
  talkgroups.tile(id)?.view.value.name ?? texts.talkgroups.label;
