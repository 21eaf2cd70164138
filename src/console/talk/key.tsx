// The talk key, of a tile, of the talk bar and of a phone: held to talk, and shows what became of its talks.
import { computed } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { type Desk, desk } from '../app/desk.js';
import { texts } from '../app/texts.js';
import { nowMs } from '../app/ticking.js';
import { Icon } from '../icons/icon.js';
import { HoldButton } from './hold-button.js';
import { type Look, lookOf, noTarget } from './look.js';
import type { Shown } from './state.js';
import { sentenceWithoutTime } from './words.js';

const { talk: dock, talkgroups } = texts;

type TalkKeyProps = {
  talking: Desk['talking'];
  /** On the page once. */
  id: string;
  /** Accessible name. It stays in every state, and the state is the description. */
  name: string;
  /** While it is ready. */
  text: string;
  /** What it talks to. */
  targets: readonly string[];
  /** The talks that it shows. */
  shown: readonly Shown[];
  /** Ids of further descriptions. */
  describedBy?: string;
  tabIndex?: number;
  /** Of a large key: a word, and a sentence below it. */
  say?: (look: Look) => Large;
};

type Large = { word: string; sentence: ComponentChildren };

/** The key of one talkgroup. It shows the talk there, and is drawn anew for no other. */
export function TalkgroupKey({
  talkgroupId,
  ...props
}: Omit<TalkKeyProps, 'targets' | 'shown'> & { talkgroupId: string }) {
  const { talking } = props;
  const shown = useMemo(
    () => computed(() => talking.shown.value.get(talkgroupId)),
    [talking, talkgroupId],
  ).value;
  return <TalkKey {...props} targets={[talkgroupId]} shown={shown === undefined ? [] : [shown]} />;
}

export function TalkKey({
  talking,
  id,
  name,
  text,
  targets,
  shown,
  describedBy = '',
  tabIndex,
  say,
}: TalkKeyProps) {
  const hasTarget = targets.length > 0;
  const { isConnected, isSilent } = talking.around;
  const around = { isConnected: isConnected.value, isSilent: isSilent.value };
  const look =
    !hasTarget && talking.noTarget.value === 'selection' ? noTarget : lookOf(shown, tickOf(shown), around);
  const isPressed = useMemo(
    () => computed(() => targets.length > 0 && targets.every((target) => talking.states.value.has(target))),
    [talking, targets.join()],
  );
  const days = recordingDaysOf(targets);
  const note = days > 0 ? talkgroups.recorded(days) : null;
  return (
    <div class={`talk-key ${look.name} ${look.isSilent ? 'silent' : ''}`}>
      <HoldButton
        name={name}
        isPressed={isPressed.value}
        describedBy={`${describedBy} ${id}`.trim()}
        {...(tabIndex !== undefined && { tabIndex })}
        onHold={(source) => talking.press(source, targets)}
        onLetGo={talking.release}
      />
      <Face look={look} text={text} note={note} large={say?.(look)} />
      <span id={id} class="visually-hidden">
        {note !== null && `${note} `}
        {look.name === 'off' && look.word}
        {look.isSilent && dock.silent}
        {shown
          .filter(({ isHeld }) => isHeld)
          .map(sentenceWithoutTime)
          .join(' ')}
      </span>
    </div>
  );
}

/** The longest time, where it talks to several. 0: none is recorded. */
const recordingDaysOf = (targets: readonly string[]): number =>
  Math.max(0, ...targets.map((id) => desk.value?.talkgroups.tile(id)?.view.value.recordingDays ?? 0));

/** The one clock of all countdowns. It ticks only while a talk is counted. */
export const tickOf = (shown: readonly Shown[]): number =>
  shown.some(({ state, isHeld }) => isHeld && state.phase === 'talking') ? nowMs.value : 0;

/** Over the button, not in it: a state is no label of the button, and is not in its name. */
function Face({
  look: { name, icon, word, reason, left },
  text,
  note,
  large,
}: {
  look: Look;
  text: string;
  /** While it is ready, where the key has room. */
  note: string | null;
  large: Large | undefined;
}) {
  return (
    // Another element for another text: none moves.
    <span key={`${word} ${reason}`} class="face" aria-hidden="true">
      <Icon name={icon} />
      <span class="word">
        {large?.word ?? word ?? text}
        {large === undefined && reason !== null && (
          <>
            : <bdi>{reason}</bdi>
          </>
        )}
      </span>
      {large !== undefined && <span class="sentence">{large.sentence}</span>}
      {name === 'ready' && note !== null && <span class="note">{note}</span>}
      {left !== null && (
        <svg class="left" aria-hidden="true">
          <rect width={`${left * 100}%`} height="100%" />
        </svg>
      )}
    </span>
  );
}
