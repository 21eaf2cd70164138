// Shows one talkgroup: who talks, its state and its controls. Nothing is said by colour alone, and its size never changes.
import { useComputed } from '@preact/signals';
import type { Desk } from '../app/desk.js';
import { useSameList } from '../app/same-list.js';
import { texts } from '../app/texts.js';
import { Icon } from '../icons/icon.js';
import { TalkgroupKey } from '../talk/key.js';
import { Facts } from './facts.js';
import { Lock } from './lock.js';
import { talkerLock, talkgroupLock } from './lock-words.js';
import { MuteButton } from './mute.js';
import type { Tile } from './state.js';
import { tiles as own } from './texts.js';

const { talkgroups: words } = texts;

type Props = { tile: Tile; desk: Desk };

export function TileView({ tile, desk }: Props) {
  const { grid } = desk;
  const view = tile.view.value;
  const { id, name, talkers } = view;
  const isSelected = tile.isSelected.value;
  const isCurrent = useComputed(() => grid.current.value === id).value;
  const alarms = useSameList(() => desk.alarms.open.value.filter(({ talkgroup_id }) => talkgroup_id === id));
  const lock = talkgroupLock(view, tile.isEncrypting.value, desk.keys.phase.value);
  const looks = [
    isSelected && 'selected',
    talkers.length > 0 && 'talking',
    (alarms.length > 0 || talkers.some(({ emergency }) => emergency)) && 'alarm',
  ].filter(Boolean);
  const hints = talkers.map((talker) => talkerLock(talker, view, tile.isEncrypting.value).hint);
  const tabIndex = isCurrent ? 0 : -1;
  const replay = desk.replay.value;
  return (
    <li>
      {/* biome-ignore lint/a11y/useSemanticElements: not a form, and a fieldset has a border and a size of its own */}
      <div role="group" aria-label={name} data-talkgroup={id} class={`tile ${looks.join(' ')}`}>
        {/* It lies below lines 1 and 2, so that a click on them selects. */}
        <button
          type="button"
          class="select"
          aria-label={words.select(name)}
          aria-pressed={isSelected}
          title={[name, lock?.text, ...hints].filter(Boolean).join('\n')}
          tabIndex={tabIndex}
          onClick={() => desk.talkgroups.select(tile, !isSelected)}
        />
        <div class="head">
          {isSelected && (
            <span class="tick">
              <Icon name="check" />
            </span>
          )}
          <h3 class="name line">
            <bdi>{name}</bdi>
          </h3>
          {lock !== null && <Lock lock={lock} />}
          <MuteButton {...{ tile, desk, tabIndex }} class="mute" title={words.short.mute} />
          <button
            type="button"
            id={`more-${id}`}
            aria-label={own.more(name)}
            aria-haspopup="dialog"
            aria-expanded={grid.menuOf.value === id}
            tabIndex={tabIndex}
            onClick={() => {
              grid.menuOf.value = grid.menuOf.value === id ? null : id;
            }}
          >
            <Icon name="ellipsis-vertical" />
          </button>
        </div>
        <Facts tile={tile} alarms={alarms} lock={lock} />
        {replay !== null && <replay.Last {...{ talkgroupId: id, name, tabIndex }} />}
        <TalkgroupKey
          talking={desk.talking}
          talkgroupId={id}
          id={`talk-state-${id}`}
          name={words.talk(name)}
          text={lock?.hasNoKey ? own.noKey : words.short.talk}
          tabIndex={tabIndex}
        />
      </div>
    </li>
  );
}
