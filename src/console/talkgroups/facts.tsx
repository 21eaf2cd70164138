// Shows the second line of a tile: who talks and since when, else an alarm or who talked last, loss, and how many are online.
// It is not said by screen readers by itself, because that would be chatter, but for speech that is not as expected.
import type { ComponentChildren } from 'preact';
import type { Emergency } from '../../client/radio.js';
import { ageText, clockText } from '../app/ages.js';
import { Phrase } from '../app/phrase.js';
import { texts } from '../app/texts.js';
import { nowMs } from '../app/ticking.js';
import { Icon } from '../icons/icon.js';
import { keys as keyTexts } from '../keys/texts.js';
import type { TalkerView } from '../worker/messages.js';
import { TalkerLock } from './lock.js';
import { type LockText, talkerLock } from './lock-words.js';
import type { Tile } from './state.js';
import { tiles as own } from './texts.js';

const { talkgroups: words } = texts;
const { lock: lockWords } = keyTexts;

type FactsProps = { tile: Tile; alarms: readonly Emergency[]; lock: LockText | null };

export function Facts({ tile, alarms, lock }: FactsProps) {
  const { talkers, online, missed, lostBetweenNodes, name } = tile.view.value;
  const [raiser] = alarms;
  const lost = missed + lostBetweenNodes;
  return (
    <div class="facts">
      {talkers.length > 0 ? (
        <Talkers tile={tile} hasAlarm={raiser !== undefined} />
      ) : (
        <>
          {raiser === undefined ? (
            <Last tile={tile} />
          ) : (
            <>
              <AlarmFlag>{own.alarm}</AlarmFlag>
              <bdi class="quiet name line last">{raiser.username}</bdi>
            </>
          )}
          {/* At the end, so that the words before them stay where they are. */}
          {lock?.chip != null && <strong class="flag">{lock.chip}</strong>}
          {lost > 0 && raiser === undefined && (
            <strong class="flag lost" aria-hidden="true">
              {own.lostFrames(lost)}
            </strong>
          )}
          <span class="online quiet">
            <Icon name="users" />
            {online}
            <span class="visually-hidden"> {own.online}</span>
          </span>
        </>
      )}
      <Loss missed={missed} lost={lostBetweenNodes} name={name} />
    </div>
  );
}

function AlarmFlag({ children }: { children: ComponentChildren }) {
  return (
    <strong class="flag red">
      <Icon name="triangle-alert" />
      {children}
    </strong>
  );
}

/** In words, for screen readers. Loss is counted as the relay counts it, until the page is loaded again. */
function Loss({ missed, lost, name }: { missed: number; lost: number; name: string }) {
  return (
    <>
      {missed > 0 && (
        <p class="visually-hidden">
          <Phrase say={(shown = '') => words.missed(missed, shown)} names={[name]} />
        </p>
      )}
      {lost > 0 && <p class="visually-hidden">{words.lost(lost)}</p>}
    </>
  );
}

/** One has room: whom the user does not hear or should not trust, else who is in an emergency, else the oldest. */
function Talkers({ tile, hasAlarm }: { tile: Tile; hasAlarm: boolean }) {
  const { talkers } = tile.view.value;
  const unsafe = talkers.find((talker) => isUnsafe(talker, tile));
  const shown = unsafe ?? talkers.find(({ emergency }) => emergency) ?? talkers[0];
  if (shown === undefined) return null;
  const others = talkers.filter((talker) => talker !== shown);
  return (
    <>
      {hasAlarm && !shown.emergency && (
        <AlarmFlag>
          <span class="visually-hidden">{own.alarm}</span>
        </AlarmFlag>
      )}
      <Talker talker={shown} tile={tile} others={others.length} />
      <span class="visually-hidden">
        {others.map((talker) => (
          <span key={talker.session}>
            <Name talker={talker} /> <TalkerLock talker={talker} tile={tile} />
          </span>
        ))}
      </span>
    </>
  );
}

const isUnsafe = (talker: TalkerView, { view, isEncrypting }: Tile) =>
  talkerLock(talker, view.value, isEncrypting.value).tone === 'alarm';

/** The word of an unexpected lock takes the place of icon and time, so that there is room for the name. */
function Talker({ talker, tile, others }: { talker: TalkerView; tile: Tile; others: number }) {
  const { startedAtMs, emergency, isOwn } = talker;
  const isFlagged = isUnsafe(talker, tile);
  return (
    <div class={emergency ? 'talker raiser' : 'talker'}>
      {(emergency || !isFlagged) && (
        <Icon name={emergency ? 'triangle-alert' : isOwn ? 'radio' : 'audio-lines'} />
      )}
      <TalkerLock talker={talker} tile={tile} />
      <Name talker={talker} />
      {others > 0 && (
        <span class="others">
          {own.others(others)}
          <span class="visually-hidden"> {words.more(others)}</span>
        </span>
      )}
      {!isFlagged && <span class="time">{clockText(nowMs.value - startedAtMs)}</span>}
    </div>
  );
}

/** The icon says that the user is talking, and screen readers say it in words. */
function Name({ talker: { username, isOwn, emergency } }: { talker: TalkerView }) {
  return (
    <span class="name line">
      {isOwn ? own.you : <bdi>{username}</bdi>}
      <span class="visually-hidden">
        {` ${isOwn ? own.areTalking : own.isTalking}`}
        {emergency && ` (${words.inEmergency})`}
      </span>
    </span>
  );
}

function Last({ tile }: { tile: Tile }) {
  const { last } = tile.view.value;
  if (last === null) return <span class="quiet name line last">{words.quiet}</span>;
  const age = ageText(nowMs.value - last.endedAtMs);
  return (
    <span class="quiet name line last">
      <bdi>{last.username}</bdi>
      <span class="visually-hidden"> {own.talked}</span> {age}
      <span class="visually-hidden"> {own.ago}</span>
      {last.isCutOff && lockWords.cutOff('')}
    </span>
  );
}
