// Shows the talk bar: the button for all selected talkgroups, and what became of each held talk.
import type { Desk } from '../app/desk.js';
import { Phrase } from '../app/phrase.js';
import { texts } from '../app/texts.js';
import { nowMs } from '../app/ticking.js';
import type { TalkState } from '../worker/messages.js';
import { HoldButton } from './hold-button.js';
import { keyName } from './keys.js';
import { targetsOf } from './targets.js';
import { type TalkText, talkText } from './words.js';

const { talk: words } = texts;

export function TalkBar({ desk }: { desk: Desk }) {
  const { talking, talkgroups, settings } = desk;
  const selected = talkgroups.selected.value.map(({ id }) => id);
  const all = talkgroups.tiles.value.map(({ id }) => id);
  const targets = targetsOf({ selected, focused: null, all });
  const isPressed = targets.length > 0 && targets.every((id) => talking.states.value.has(id));
  const [only = ''] = selected.length === 0 ? targets : [];
  return (
    <section class="talk-bar" aria-label={words.label}>
      <div class="row">
        <HoldButton
          name={words.toSelected}
          isPressed={isPressed}
          describedBy="talk-hint"
          onHold={(source) => talking.press(source, targets)}
          onLetGo={talking.release}
        >
          {words.toSelected}
        </HoldButton>
        <p id="talk-hint" class="quiet name">
          {only === '' ? (
            `${words.selected(selected.length)}.`
          ) : (
            <Phrase say={(name = '') => words.only(name)} names={[nameOf(talkgroups, only)]} />
          )}{' '}
          {words.hold}
          <span class="key-hint">{words.orKey(keyName(settings.settings.value.talkKey))}</span>.
        </p>
      </div>
      <States desk={desk} />
      <Said desk={desk} />
    </section>
  );
}

/** With the countdown of the talk limit. */
function States({ desk: { talking, talkgroups } }: { desk: Desk }) {
  const { value: states } = talking.states;
  const isCounting = [...states.values()].some(({ phase }) => phase === 'talking');
  const atMs = isCounting ? nowMs.value : 0;
  const trouble = troubleOf(talking);
  return (
    <ul aria-hidden="true">
      {trouble !== null && <li class="error">{trouble}</li>}
      {[...states].map(([id, state]) => {
        const { text, tone } = talkText(state, atMs);
        return (
          <li key={id} class={`name ${looks[tone]}`}>
            <Phrase say={(name = '') => words.in(name, text)} names={[nameOf(talkgroups, id)]} />
          </li>
        );
      })}
    </ul>
  );
}

const looks: Readonly<Record<TalkText['tone'], string>> = {
  talking: 'talk-now',
  waiting: 'quiet',
  ended: 'error',
};

/** The same for screen readers, without the seconds. */
function Said({ desk: { talking, talkgroups } }: { desk: Desk }) {
  const said = [...talking.states.value].map(([id, state]) =>
    words.in(nameOf(talkgroups, id), talkText(withoutLimit(state), 0).text),
  );
  return (
    <p role="status" class="visually-hidden">
      {[troubleOf(talking) ?? '', ...said].join(' ')}
    </p>
  );
}

const withoutLimit = (state: TalkState): TalkState =>
  state.phase === 'talking' ? { ...state, limitMs: 0 } : state;

function troubleOf({ interruption, hasNoTarget }: Desk['talking']): string | null {
  if (interruption.value !== null) return words.ended[interruption.value];
  return hasNoTarget.value ? words.nothingSelected : null;
}

const nameOf = (talkgroups: Desk['talkgroups'], id: string) =>
  talkgroups.tile(id)?.view.value.name ?? texts.talkgroups.label;
