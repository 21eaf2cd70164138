// Shows the talk bar: the key for all selected talkgroups, and what became of each talk. Its height never changes.
import type { Desk } from '../app/desk.js';
import { Phrase } from '../app/phrase.js';
import { texts } from '../app/texts.js';
import { TalkKey, tickOf } from './key.js';
import { keyName } from './keys.js';
import { hasFailed, isLive } from './look.js';
import type { Shown } from './state.js';
import { targetsOf } from './targets.js';
import { sentenceOf, sentenceWithoutTime } from './words.js';

const { talk: words } = texts;

export function TalkBar({ desk }: { desk: Desk }) {
  const { talking, talkgroups, settings } = desk;
  const selected = talkgroups.selected.value.map(({ id }) => id);
  const all = talkgroups.tiles.value.map(({ id }) => id);
  const targets = targetsOf({ selected, focused: null, all });
  const [only = ''] = selected.length === 0 ? targets : [];
  return (
    <section class="talk-bar" aria-label={words.label}>
      <TalkKey
        talking={talking}
        id="talk-state"
        name={words.toSelected}
        text={words.toSelected}
        targets={targets}
        shown={[...talking.shown.value.values()]}
        describedBy="talk-hint"
      />
      <p id="talk-hint" class="quiet name line">
        {only === '' ? (
          `${words.selected(selected.length)}.`
        ) : (
          <Phrase say={(name = '') => words.only(name)} names={[nameOf(talkgroups, only)]} />
        )}{' '}
        {words.hold}
        <span class="key-hint">{words.orKey(keyName(settings.settings.value.talkKey))}</span>.
      </p>
      <States desk={desk} />
      <Said desk={desk} />
    </section>
  );
}

/** With the countdown of the talk limit. */
function States({ desk: { talking, talkgroups } }: { desk: Desk }) {
  const live = [...talking.shown.value].filter(([, one]) => isLive(one));
  // A denial is in sight without scrolling.
  const shown = [...live.filter(([, one]) => hasFailed(one)), ...live.filter(([, one]) => !hasFailed(one))];
  const atMs = tickOf(shown.map(([, one]) => one));
  const trouble = troubleOf(talking);
  return (
    <ul aria-hidden="true">
      {trouble !== null && <li class="denied">{trouble}</li>}
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
function Said({ desk: { talking, talkgroups } }: { desk: Desk }) {
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
      </p>
      <p aria-live="assertive" class="visually-hidden">
        {[trouble ?? '', ...failed].join(' ')}
      </p>
    </>
  );
}

function troubleOf({ interruption, hasNoTarget }: Desk['talking']): string | null {
  if (interruption.value !== null) return words.ended[interruption.value];
  return hasNoTarget.value ? words.nothingSelected : null;
}

const nameOf = (talkgroups: Desk['talkgroups'], id: string) =>
  talkgroups.tile(id)?.view.value.name ?? texts.talkgroups.label;
