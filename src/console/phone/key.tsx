// The large key: a word and a sentence for each state of the talk.
import type { ComponentChildren } from 'preact';
import type { Desk } from '../app/desk.js';
import { Phrase } from '../app/phrase.js';
import { texts } from '../app/texts.js';
import { TalkKey, tickOf } from '../talk/key.js';
import { hasFailed, isLive, type Look } from '../talk/look.js';
import type { Shown } from '../talk/state.js';
import { leftS, sentenceOf } from '../talk/words.js';
import type { Tile } from '../talkgroups/state.js';
import { phone } from './texts.js';

const { talk, talkgroups } = texts;
const { key: words } = phone;

export function PhoneKey({ desk, tile }: { desk: Desk; tile: Tile | null }) {
  const { talking } = desk;
  const selected = desk.talkgroups.selected.value;
  const name = tile?.view.value.name ?? phone.none;
  const shown = [...talking.shown.value.values()];
  return (
    <TalkKey
      talking={talking}
      id="talk-state"
      name={selected.length > 1 ? talk.toSelected : talkgroups.talk(name)}
      text={talk.holdToTalk}
      targets={selected.map(({ id }) => id)}
      shown={shown}
      say={(look) => ({
        word: wordOf(look),
        sentence: sentence({ look, shown, talking, name, more: selected.length - 1 }),
      })}
    />
  );
}

function wordOf({ name, icon, word }: Look): string {
  if (icon === 'hourglass') return words.wait;
  if (name === 'on-air') return words.onAir;
  return word ?? talk.holdToTalk;
}

type SentenceParts = {
  look: Look;
  shown: readonly Shown[];
  talking: Desk['talking'];
  name: string;
  /** Number of further talkgroups that the key talks to. */
  more: number;
};

function sentence({ look, shown, talking, name, more }: SentenceParts): ComponentChildren {
  const live = shown.filter(isLive);
  const failed = live.find(hasFailed);
  if (look.name === 'denied') {
    return failed === undefined ? talk.noTarget.selection : sentenceOf(failed, 0);
  }
  const [first] = live.map(({ state }) => state).sort((one, other) => rankOf(one) - rankOf(other));
  if (first?.phase === 'asking') return talk.asking;
  if (first?.phase === 'queued') return words.queued(talk.queued(first.position, first.size));
  if (first?.phase === 'talking') {
    return first.limitMs === 0 ? words.heard : talk.left(leftS(first, tickOf(live)));
  }
  if (talking.interruption.value !== null) return talk.ended[talking.interruption.value];
  return (
    <Phrase say={(shown = '') => (more > 0 ? words.inMore(shown, more) : words.in(shown))} names={[name]} />
  );
}

/** What is not on air yet comes first. */
const rankOf = ({ phase }: Shown['state']) => (phase === 'talking' ? 1 : 0);
