// Shows who talks in a talkgroup and since when, or who talked last. Not said by screen readers: it would be chatter.
import { ageText, clockText } from '../app/ages.js';
import { Phrase } from '../app/phrase.js';
import { texts } from '../app/texts.js';
import { nowMs } from '../app/ticking.js';
import { Icon } from '../icons/icon.js';
import { keys as keyTexts } from '../keys/texts.js';
import type { TalkerView } from '../worker/messages.js';
import { TalkerLock } from './lock.js';
import type { Tile } from './state.js';

const { talkgroups: words } = texts;
const { lock } = keyTexts;

// A talkgroup in mode `open` can have 32.
const SHOWN_MAX = 3;

export function Talkers({ tile }: { tile: Tile }) {
  const { talkers } = tile.view.value;
  const hidden = talkers.length - SHOWN_MAX;
  return (
    <>
      {talkers.slice(0, SHOWN_MAX).map((talker) => (
        <Talker key={talker.session} talker={talker} tile={tile} />
      ))}
      {hidden > 0 && <span class="quiet">{words.more(hidden)}</span>}
    </>
  );
}

function Talker({ talker, tile }: { talker: TalkerView; tile: Tile }) {
  const { username, startedAtMs, emergency, isOwn } = talker;
  return (
    <div class="talker">
      <Icon name={isOwn ? 'radio' : 'audio-lines'} />
      <span class="name">{isOwn ? words.youTalk : <Phrase say={words.talking} names={[username]} />}</span>
      {emergency && <span>({words.inEmergency})</span>}
      <span class="quiet">{clockText(nowMs.value - startedAtMs)}</span>
      <TalkerLock talker={talker} tile={tile} />
    </div>
  );
}

export function Last({ tile }: { tile: Tile }) {
  const { last } = tile.view.value;
  if (last === null) return <span class="quiet">{words.quiet}</span>;
  const age = ageText(nowMs.value - last.endedAtMs);
  const say = (name = '') => words.last(name, age);
  return (
    <span class="quiet name">
      <Phrase
        say={(name = '') => (last.isCutOff ? lock.cutOff(say(name)) : say(name))}
        names={[last.username]}
      />
    </span>
  );
}
